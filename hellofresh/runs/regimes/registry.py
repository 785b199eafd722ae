"""All regimes, those of other packages included, and their settings."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.plugins import Registry
from hellofresh.runs.prompts import has_prompts
from hellofresh.runs.regimes._base import Regime
from hellofresh.runs.regimes.agents import AGENT, PROXY, load_agent, load_proxy
from hellofresh.runs.regimes.correction import Correction
from hellofresh.runs.regimes.evidence_response import EvidenceResponse
from hellofresh.runs.regimes.placebo import Placebo
from hellofresh.runs.regimes.search_agent import SearchAgent
from hellofresh.runs.regimes.stepwise import Hiss, RetrieveVerify
from hellofresh.runs.regimes.web_search import WebSearch, WebSearchSettings
from hellofresh.runs.regimes.zero_shot import Propose, Retrieve, ZeroShot
from hellofresh.tasks import Task

_ALL: tuple[Regime, ...] = (
    ZeroShot(),
    WebSearch(),
    WebSearch(WebSearchSettings(before="sample"), "web-search-dated"),
    Placebo(),
    SearchAgent(),
    Hiss(),
    RetrieveVerify(),
    Retrieve(),
    EvidenceResponse(),
    Correction(),
    Propose(),
)
REGIMES: Registry[Regime] = Registry("regime", "hellofresh.regimes", _ALL)


def regimes_for(task: Task) -> list[str]:
    """Names of the regimes that have prompts for a task and an output that it accepts or lets people rate."""
    fitting = (regime for regime in REGIMES.values() if task.takes(regime.gives))
    return [regime.name for regime in fitting if has_prompts(task.name, regime.prompts_from)]


def open_regime(name: str, settings: Sequence[str] = ()) -> Regime:
    """The regime of that name, see `get_regime`."""
    kind, _, rest = name.partition(":")
    regime: Regime
    if kind == AGENT:
        regime = load_agent(rest)
    elif kind == PROXY and rest:
        title, _, roles = rest.partition(":")
        regime = load_proxy(title, tuple(filter(None, roles.split(","))))
    elif name in REGIMES:
        regime = REGIMES[name]
    else:
        raise UnknownNameError("regime", name, REGIMES)
    return configure(regime, settings) if settings else regime


def configure(regime: Regime, settings: Sequence[str]) -> Regime:
    """A regime with other settings, each as NAME=VALUE.

    Raises:
        UnknownNameError: if it has no setting of that name.
        UsageError: if a value does not fit.
    """
    chosen: dict[str, str] = {}
    known = type(regime.settings).model_fields
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"the setting {setting!r} has no value", expected="NAME=VALUE", code="bad-setting")
        if name not in known:
            others = [other.name for other in REGIMES.values() if name in type(other.settings).model_fields]
            fix = f"{name} is a setting of {', '.join(others)}: choose one with --regime." if others else ""
            raise UnknownNameError(f"setting of {regime.name}", name, known, fix=fix)
        chosen[name] = value
    try:
        # Values come from a command line: texts, from which numbers are read.
        parsed = type(regime.settings).model_validate(regime.settings.model_dump() | chosen, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"the setting {name}={chosen.get(name, '')}: {first['msg'].lower()}", where=regime.name, code="bad-setting"
        ) from None
    return regime.configured(parsed)
