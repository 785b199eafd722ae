"""The two files that a submission begins with: every sample without an answer, and a `system.toml` to be filled in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from hellofresh.core.files import canonical_json
from hellofresh.submissions.intake.due import Due
from hellofresh.submissions.intake.predictions import ANSWERS
from hellofresh.submissions.intake.system import REGIMES, SystemInfo, system_toml
from hellofresh.tasks import get_task

__all__ = ["blank_info", "blank_predictions", "blank_rows", "cutoff_of"]


def blank_rows(due: Due, tasks: Iterable[str]) -> list[dict[str, object]]:
    """A row without an answer for every sample of the tasks, by id."""
    fields = {key: ANSWERS[get_task(task).output] for task in tasks for key in due.ids[task]}
    return [{"id": key, fields[key]: None} for key in sorted(fields)]


def blank_predictions(due: Due, tasks: Iterable[str]) -> bytes:
    """The file of predictions with those rows, as JSON lines."""
    return "".join(canonical_json(row) + "\n" for row in blank_rows(due, tasks)).encode()


def blank_info() -> bytes:
    """A `system.toml` with every field; it is taken once those that are needed have been filled in."""
    info = SystemInfo.model_construct(
        name="", team="", contact="", regime="other", models=[""], knowledge_cutoff="unknown", url="", notes=""
    )
    said = (
        "# name, team, contact (where the maintainers can reach you) and models are needed.\n"
        f'# regime: {", ".join(REGIMES)}. knowledge_cutoff: a date such as 2026-01-31 without quotes, or "unknown".\n'
    )
    return f"{said}{system_toml(info)}".encode()


def cutoff_of(text: str) -> date | str:
    """A knowledge cutoff as somebody typed it: a date, or the text where it is none."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text
