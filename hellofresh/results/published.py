"""Protect published predictions: none may be removed, changed or added unless a maintainer names the entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_ids, read_models
from hellofresh.releases.life.manifest import read_manifest
from hellofresh.results.entries import Entry
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response

_Answer = int | str | tuple[str, ...] | None
"""The label of a choice, a text, or documents in order; None stands for no answer."""
_System = tuple[str, str]
"""A system and its regime, which one of our own runs may take over from another."""


def check_published(folder: Path, entries: Sequence[Entry], allowed: Collection[str], redo: str) -> None:
    """Refuse entries that would remove or change published predictions, or add submissions.

    A run may be replaced by another run of the same system. Samples that were taken down since are ignored.

    Args:
        folder: folder of the published split.
        entries: all entries that would be published now.
        allowed: entries named by a maintainer, which may be removed, changed or added.
        redo: the command to which the maintainer adds the entry's name.

    Raises:
        ReleaseError: with each such entry and its change.
    """
    path = folder / "predictions.jsonl"
    if not path.is_file():
        return
    found = [(name, what) for name, what in sorted(_differences(folder, path, entries)) if name not in allowed]
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
    label: int | None = None
    text: str | None = None
    documents: tuple[str, ...] | None = None

    @property
    def answer(self) -> _Answer:
        """What was said."""
        return self.text or self.documents or self.label


def _differences(folder: Path, path: Path, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Entries that differ from their published state, with the change."""
    ids, quotes = set(read_ids(folder / "samples.jsonl")), not read_manifest(folder).withheld
    before: dict[str, dict[tuple[str, str], _Answer]] = defaultdict(dict)
    systems: dict[str, _System] = {}
    for row in read_models(path, _PublishedPrediction):
        systems[row.entry] = row.system, row.regime
        if row.id in ids:
            before[row.entry][row.prompt, row.id] = row.answer
    now = {entry.origin: entry for entry in entries}
    there = {(entry.system, entry.regime) for entry in entries if not _is_submission(entry.origin)}
    for name, system in systems.items():
        if name not in now and (_is_submission(name) or system not in there):
            yield name, "go"
        elif name in now and _is_submission(name):
            # A text only where texts are published.
            said = {
                (prompt, key): _answer(found) if quotes or not isinstance(found, Response) else None
                for prompt, some in now[name].outputs.items()
                for key, found in some.items()
            }
            if {place: said[place] for place in before[name] if place in said} != before[name]:
                yield name, "change"
    yield from ((name, "be added") for name in now.keys() - systems.keys() if _is_submission(name))


def _is_submission(origin: str) -> bool:
    """Whether an entry was handed in: its origin names a team's folder and a system's, a run's only one."""
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
