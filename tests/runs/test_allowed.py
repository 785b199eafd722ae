"""Sources that hold a task's answers are read only where that is asked for, and such a run stands apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.core.quarters import Quarter
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.runs.evaluate import Evaluation
from hellofresh.runs.web_access import with_web
from hellofresh.tasks import get_task

CLAIMS = get_task("claims")


def parameters(*allowed: str) -> object:
    evaluation = Evaluation(Quarter(2026, 2), CLAIMS, "coin", "web-search", allowed=allowed)
    web = with_web(evaluation, replay=True).web
    assert web is not None
    return web.parameters


def test_fact_checkers_are_blocked_unless_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    usual, open_to_all = (ExcludedSources.load(groups=groups) for groups in (CLAIMS.blocked_sources, ()))
    address = "https://www.politifact.com/factchecks/2026/"
    assert usual.reason(address) and not open_to_all.reason(address)
    assert parameters() != parameters("fact-checkers")
    with pytest.raises(UnknownNameError, match="fact-checkers"):
        parameters("wikimedia")
