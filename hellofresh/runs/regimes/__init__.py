"""Regimes: ways of working on samples. A new one is a file, a line in `registry.py`, and a table in prompts of tasks.

Another package adds one by an entry point of the group `hellofresh.regimes`, whose name is the regime's.

A regime gets a `Case` and returns an `Outcome`; it never sees the run, the journal or the provider. docs/extending.md
has a worked example and the rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.runs.prompts import has_prompts
from hellofresh.runs.regimes._base import MAIN, Ask, BaseRegime, Case, Need, Outcome, Regime, RegimeSettings
from hellofresh.runs.regimes._reading import is_refusal, is_refusal_of_paper, read_choice, read_elsewhere
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.tasks import Task

__all__ = [
    "MAIN",
    "Ask",
    "BaseRegime",
    "Case",
    "Need",
    "Outcome",
    "Regime",
    "RegimeSettings",
    "get_regime",
    "is_refusal",
    "is_refusal_of_paper",
    "read_choice",
    "read_elsewhere",
    "usual_regime",
]


def get_regime(name: str, settings: Sequence[str] = ()) -> Regime:
    """The regime of that name.

    >>> get_regime("web-search", ["pages=5"]).settings.pages
    5

    Args:
        name: name of the regime; `agent:FILE:FUNCTION` for an agent in the user's file, `proxy:NAME:ROLE,ROLE` for an
            external program with further roles.
        settings: settings that differ from the defaults, each as NAME=VALUE.

    Raises:
        UnknownNameError: if the regime or a setting is unknown.
        UsageError: if a value does not fit, or an agent cannot be loaded.
    """
    if name == "zero-shot" and not settings:
        return ZeroShot()
    from hellofresh.runs.regimes.registry import open_regime  # with the web, agents and pictures

    return open_regime(name, settings)


def usual_regime(task: Task) -> str:
    """The default regime of a task: zero-shot, or the only one that fits it."""
    if task.takes(ZeroShot.gives) and has_prompts(task.name, "zero-shot"):
        return "zero-shot"
    from hellofresh.runs.regimes.registry import regimes_for  # as above

    fitting = regimes_for(task)
    return fitting[0] if len(fitting) == 1 else "zero-shot"
