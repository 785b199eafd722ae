"""Submitted responses that repeat what others wrote: the notes and responses of a rated study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hellofresh.editions import Edition
from hellofresh.outputs import Response
from hellofresh.ratings.study import read_responses
from hellofresh.ratings.table import StudyFiles
from hellofresh.releases.build.duplicates import METHOD, near_duplicates
from hellofresh.submissions import Fault
from hellofresh.submissions.intake.predictions import Prediction
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["about_copied_responses"]


def about_copied_responses(
    workspace: Workspace,
    edition: Edition,
    samples: Mapping[str, Sequence[str]],
    predictions: Sequence[Prediction],
    path: Path,
) -> Iterator[Fault]:
    """A warning for each task whose submitted responses are near-duplicates of those of its rated study.

    Args:
        workspace: where studies are.
        edition: what is submitted to.
        samples: ids of the released samples, by task.
        predictions: what is submitted.
        path: its file, for messages.
    """
    for task, ids in samples.items():
        files = StudyFiles(workspace, edition, task)
        if get_task(task).output is not Response or not files.responses.is_file():
            continue
        known = set(ids)
        texts = {item.id: item.text for item in predictions if item.id in known and item.text and item.repetition == 1}
        references = {item.id: item for item in read_responses(files)}
        found = near_duplicates(texts, {name: item.text for name, item in references.items()})
        same = [name for name, item in found.items() if references[item.earlier].sample == name]
        if same:
            what = f"{len(same)} responses repeat ones that were rated already, the first is that to {same[0]}"
            yield Fault("copied-response", str(path), what, f"Found by {METHOD}. Responses must be the system's own.")
