"""Protect published predictions: none may be removed or changed, and no submission added, unless a maintainer names it.

A run may have more samples, prompts or repetitions than were published, since it can be resumed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_ids, read_models, sha256_file
from hellofresh.releases.life.load import Published
from hellofresh.results.split.entries import Entry
from hellofresh.results.split.panel import MAJORITY
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response

# The label of a choice, a text, or documents in order; None stands for no answer.
_Answer = int | str | tuple[str, ...] | None


def check_published(
    published: Published, entries: Sequence[Entry], allowed: Collection[str], redo: str, submissions: Path
) -> None:
    """Refuse entries that would remove or change published predictions, or add submissions.

    Samples that were taken down since are ignored.

    Args:
        published: the split.
        entries: all entries that would be published now.
        allowed: entries named by a maintainer, which may be removed, changed or added.
        redo: the command to which the maintainer adds the entry's name.
        submissions: the edition's folder of submissions.

    Raises:
        ReleaseError: with each such entry and its change.
    """
    path, manifest = published.folder / "predictions.jsonl", published.manifest
    if not path.is_file():
        return
    released = set(read_ids(published.folder / "samples.jsonl"))
    differences = sorted(_differences(path, released, entries, quotes=not manifest.withheld))
    if (gone := [name for name, what in differences if what == "go" and _is_submission(name)]) and not (
        submissions.is_dir()
    ):
        raise ReleaseError(
            f"the folder of submissions is missing, but {len(gone)} are published, such as {gone[0]}",
            where=str(submissions),
            expected="the folder with the submissions: its absence is not a withdrawal",
            fix="Restore it. If it has moved: hellofresh submission list --folder DIR",
            code="no-submissions",
        )
    found = [(name, what) for name, what in differences if name not in allowed]
    listed = manifest.file(path.name)
    if found and (listed is None or sha256_file(path) != listed.sha256):
        raise ReleaseError(
            f"the file is not the one in the manifest, and differs from what {found[0][0]} answered",
            where=str(path),
            expected="the predictions that were published",
            fix="Restore the file from a backup or from the publication.",
            code="bad-hash",
        )
    if found:
        named = ", ".join(f"{name} would {what}" for name, what in found)
        raise ReleaseError(
            f"the published predictions are final: {named}",
            where=str(path),
            expected="the entries that were published, each with the same predictions",
            fix="Restore the submission or the run. To change them on purpose: "
            f"{redo} {' '.join(f'--change {name}' for name, _ in found)}",
            code="published",
        )


@dataclass(frozen=True, slots=True)
class _PublishedPrediction:
    """The part of a published prediction by which it is compared."""

    entry: str
    system: str
    regime: str
    prompt: str
    id: str
    settings: str = ""
    label: int | None = None
    text: str | None = None
    documents: tuple[str, ...] | None = None

    @property
    def answer(self) -> _Answer:
        """What was said."""
        return self.text or self.documents or self.label


def _differences(
    path: Path, ids: AbstractSet[str], entries: Sequence[Entry], *, quotes: bool
) -> Iterator[tuple[str, str]]:
    """Entries that differ from their published state, with the change; `quotes` if texts were published."""
    before: dict[str, dict[tuple[str, str], _Answer]] = defaultdict(dict)
    settings: dict[str, str] = {}
    for row in read_models(path, _PublishedPrediction):
        settings[row.entry] = row.settings
        if row.id in ids:
            before[row.entry][row.prompt, row.id] = row.answer
    now = {entry.origin: entry for entry in entries}
    for name, had in settings.items():
        entry, was = now.get(name), before[name]
        if entry is None:
            yield name, "go"
            continue
        said = {
            (prompt, key): _answer(found) if quotes or not isinstance(found, Response) else None
            for prompt, some in entry.outputs.items()
            for key, found in some.items()
        }
        if not _is_submission(name):
            # Of a run that went on, a vote may change: of more prompts, or of more repetitions, as its settings say.
            prompts = {prompt for prompt, _ in was}
            voted = prompts if had != entry.settings else {MAJORITY} if prompts != entry.outputs.keys() else set()
            was = {place: answer for place, answer in was.items() if place[0] not in voted}
        if {place: said[place] for place in was if place in said} != was:
            yield name, "change"
    yield from ((name, "be added") for name in now.keys() - settings.keys() if _is_submission(name))


def _is_submission(origin: str) -> bool:
    """Whether an entry was submitted: its origin names a team's folder and a system's, a run's only one."""
    return "/" in origin


def _answer(output: Output) -> _Answer:
    match output:
        case Choice(label=label):
            return label
        case Response(text=text):
            return text or None
        case Ranking(documents=documents):
            return documents or None
    return None
