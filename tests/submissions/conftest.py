"""Submissions to a small quarter, and what is due in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter
from hellofresh.submissions.check import Due
from tests.submissions.checks import write_submission

QUARTER = Quarter(2023, 2)
OPEN = datetime(2023, 8, 1, 12, tzinfo=UTC)

HandIn = Callable[..., Path]


@pytest.fixture
def due() -> Due:
    """A hundred and twenty notes and one edit."""
    calendar = CalendarRule().of(QUARTER)
    ids = {"x-notes": tuple(f"xn-{n}" for n in range(120)), "wikipedia-edits": ("we-1-0",)}
    return Due(QUARTER, ids, dict.fromkeys(ids, calendar))


@pytest.fixture
def open_day() -> datetime:
    """A day on which predictions for 2023Q2 are taken."""
    return OPEN


@pytest.fixture
def hand_in(tmp_path: Path, due: Due) -> HandIn:
    """Makes the folder of a submission, outside the folder of submissions unless told where."""

    def make(
        place: str = "acme/system",
        labels: Mapping[str, int | None] | None = None,
        *,
        root: Path | None = None,
        team: str = "Acme",
        name: str = "System",
        extra: str = "",
        confidences: Mapping[str, float] | None = None,
    ) -> Path:
        folder = (root or tmp_path / "outside") / str(QUARTER) / place
        said = labels if labels is not None else {key: len(key + name) % 2 for key in due.ids["x-notes"]}
        rows = [
            {"id": key, "label": label} | ({"confidence": confidences[key]} if confidences else {})
            for key, label in said.items()
        ]
        return write_submission(folder, rows, name, team, more=extra)

    return make
