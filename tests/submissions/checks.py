"""A submission's folder, and its check for tests that know a quarter's ids and nothing else of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.files import write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.submissions.check import Due, Submission, SubmissionCheck, check_predictions, inspect_submission
from hellofresh.submissions.format import Fault

Ids = Mapping[str, Iterable[str]]


def write_submission(
    folder: Path,
    rows: Iterable[object],
    name: str = "System",
    team: str = "Acme",
    *,
    file: str = "predictions.jsonl",
    regime: str = "other",
    cutoff: str = '"unknown"',
    more: str = "",
) -> Path:
    """Write the two files of a submission; returns its folder."""
    write_jsonl(folder / file, rows)
    (folder / "system.toml").write_text(
        f'name = "{name}"\nteam = "{team}"\ncontact = "c"\nregime = "{regime}"\nmodels = ["m"]\n'
        f"knowledge_cutoff = {cutoff}\n{more}",
        encoding="utf-8",
    )
    return folder


def due_of(edition: Edition, samples: Ids, taken_down: Collection[str] = ()) -> Due:
    """What is due in a quarter whose days do not matter."""
    return Due(edition, {task: tuple(ids) for task, ids in samples.items()}, {}, frozenset(taken_down))


def inspected(folder: Path, edition: Edition, samples: Ids, moment: datetime | None = None) -> SubmissionCheck:
    return inspect_submission(folder, due_of(edition, samples), moment)


def check_submission(
    folder: Path, edition: Edition, samples: Ids, taken_down: Collection[str] = ()
) -> tuple[Submission | None, list[Fault]]:
    found = inspect_submission(folder, due_of(edition, samples, taken_down))
    return found.submission, list(found.faults)


def read_submission(folder: Path, edition: Edition, samples: Ids, taken_down: Collection[str] = ()) -> Submission:
    """A submission that must be without fault."""
    submission, faults = check_submission(folder, edition, samples, taken_down)
    assert submission is not None, faults
    return submission


def check_file(path: Path, samples: Ids) -> SubmissionCheck:
    return check_predictions(path, due_of(Quarter(2023, 2), samples), [])
