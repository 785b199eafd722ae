"""The way to the web that the settings describe, for regimes that need one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hellofresh.config import Settings
from hellofresh.core.errors import UnknownNameError
from hellofresh.evidence.settings import WebSettings
from hellofresh.evidence.web import Web, open_web
from hellofresh.evidence.web.store import TEXTS_ALREADY, user_agent
from hellofresh.runs.evaluate import Evaluation, WebAccess
from hellofresh.runs.regimes import Need, get_regime

__all__ = ["with_web"]


def with_web(
    evaluation: Evaluation, *, replay: bool = False, provider: str = "", others: Sequence[Path] = ()
) -> Evaluation:
    """The evaluation with a way to the web, if its regime needs one.

    Args:
        evaluation: what is to be asked.
        replay: nothing goes to the network; only what the run has kept is there.
        provider: the search provider, empty for the configured one.
        others: folders of other runs, whose searches and pages are used where the same is asked for.

    Raises:
        ConfigError, UsageError: if the provider cannot be opened as it is configured.
    """
    if evaluation.web is not None or Need.WEB not in get_regime(evaluation.regime, evaluation.settings).needs:
        return evaluation
    settings = _settings(evaluation, provider)
    groups = _groups(evaluation)
    with tempfile.TemporaryDirectory() as folder:  # what it is set to must be known before there is a run
        web = open_web(settings, Path(folder), replay=True, groups=groups)
        parameters = dict(web.parameters)
        asyncio.run(web.close())

    def opened(folder: Path) -> Web:
        return open_web(settings, folder, replay=replay, groups=groups, others=others)

    introduced = "" if replay or settings.provider in TEXTS_ALREADY else user_agent(settings.contact)
    return replace(evaluation, web=WebAccess(parameters, opened, introduced))


def _groups(evaluation: Evaluation) -> tuple[str, ...]:
    """The groups of sources that hold the task's answers, without those that are allowed."""
    listed = evaluation.task.blocked_sources
    for name in evaluation.allowed:
        if name not in listed:
            raise UnknownNameError(f"group of sources that {evaluation.task.name} blocks", name, listed)
    return tuple(name for name in listed if name not in evaluation.allowed)


def _settings(evaluation: Evaluation, provider: str) -> WebSettings:
    settings = Settings.load().web
    wanted = get_regime(evaluation.regime, evaluation.settings).results
    chosen = {"provider": provider} if provider else {}
    return WebSettings.model_validate({
        **settings.model_dump(),
        "excluded": [*settings.excluded, *evaluation.blocked],
        "count": max(settings.count, wanted),
        **chosen,
    })  # fmt: skip
