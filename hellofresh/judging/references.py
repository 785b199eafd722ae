"""Texts that people wrote for samples: rated beside responses, secret with the labels, and not to be submitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError
from hellofresh.core.net.addresses import links_in
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import SystemResponse
from hellofresh.judging.study import StudyFiles, read_responses
from hellofresh.releases.collection import read_candidates
from hellofresh.releases.draw.duplicates import METHOD, near_duplicates
from hellofresh.releases.exposure import waits
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.submissions.format import Fault, Prediction
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Response


def reference_responses(workspace: Workspace, edition: Edition, task: Task) -> list[SystemResponse]:
    """People's texts for the released samples, as responses of systems such as `human-high`.

    They are stored with the candidates on the machine that collected these; empty for tasks without such texts.

    Raises:
        DataError: if the candidates or the release are damaged.
    """
    candidates = workspace.candidates(task.name, edition)
    if task.references is None or not candidates.is_file():
        return []
    released = {sample.id for sample in load_release(workspace, edition, task).samples}
    return [
        SystemResponse(item.sample.id, system, text, links_in(text))
        for item in read_candidates(candidates, task)
        if item.sample.id in released
        for system, text in task.references(item).items()
    ]


def labels_are_secret(files: StudyFiles) -> bool:
    """Whether a study would reveal secrets: which notes a post has, and systems' results."""
    return files.edition.is_living and not labels_are_public(files.workspace, files.edition, files.task)


def refuse_before_reveal(files: StudyFiles, *, private: bool) -> None:
    """Refuse to show secret results of systems, unless `private` is set.

    Raises:
        ReleaseError: with the time from which results are public.
    """
    if private or not labels_are_secret(files):
        return
    folder = files.workspace.release(files.edition, files.task)
    known = (folder / MANIFEST).is_file()
    until = waits(files.workspace, files.edition, files.task) if known else None
    when = f", from {utc_text(until)} on" if until else ""
    raise ReleaseError(
        f"the labels of {files.task} {files.edition} are not revealed, and figures by system would reveal them",
        expected=f"their reveal{when}",
        fix="Maintainers can add --private; keep the results private.",
        code="not-revealed",
    )


def about_copied_responses(
    workspace: Workspace,
    edition: Edition,
    samples: Mapping[str, Sequence[str]],
    predictions: Sequence[Prediction],
    path: Path,
) -> Iterator[Fault]:
    """A warning for each task whose submitted responses are near-duplicates of rated ones, or of what people wrote.

    Args:
        workspace: where studies and candidates are.
        edition: what is submitted to.
        samples: ids of the released samples, by task.
        predictions: what is submitted.
        path: its file, for messages.
    """
    for task, ids in samples.items():
        if get_task(task).output is not Response:
            continue
        if edition.is_living and not labels_are_public(workspace, edition, task):
            continue  # a warning would reveal which notes are rated beside responses
        known = set(ids)
        texts = {item.id: item.text for item in predictions if item.id in known and item.text and item.repetition == 1}
        files = StudyFiles(workspace, edition, task)
        rated = read_responses(files) if files.responses.is_file() else []
        references = {item.id: (item.sample, item.text) for item in rated}
        for one in reference_responses(workspace, edition, get_task(task)):
            references[f"{one.system}/{one.sample}"] = one.sample, one.text
        found = near_duplicates(texts, {name: text for name, (_, text) in references.items()}) if references else {}
        same = [name for name, item in found.items() if references[item.earlier][0] == name]
        if same:
            what = f"{len(same)} responses repeat ones by others, the first is that to {same[0]}"
            yield Fault("copied-response", str(path), what, f"Found by {METHOD}. Responses must be the system's own.")
