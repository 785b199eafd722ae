"""Filling in, on a reader's machine, the texts that a release could not publish, checked against its hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.files import as_model, write_jsonl
from hellofresh.core.texts import without_hidden
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_public
from hellofresh.tasks import Task
from hellofresh.tasks.samples import Sample, to_json

Fill = Callable[[Sequence[Sample]], Mapping[str, Sample | str]]
"""Gives each public sample, by id, with its texts, or says why they cannot be had."""


@dataclass(frozen=True, slots=True)
class UnfilledSample:
    """A sample that stays without texts: what is gone and why, or which parts are not what was released."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Hydration:
    """What was filled in, in which file (None where the release has its texts), is gone, or has other texts now."""

    task: str
    edition: Edition
    path: Path | None
    samples: int
    filled: int
    gone: tuple[UnfilledSample, ...] = ()
    changed: tuple[UnfilledSample, ...] = ()


def hydrate(workspace: Workspace, edition: Edition, task: Task, fill: Fill) -> Hydration:
    """Fill the texts in and write the samples that are what was released, and beside them what is gone (mode 0600).

    Raises:
        ReleaseError: if the release is missing or damaged.
        SourceError: if the sources of the texts are broken; nothing is written then.
    """
    public, withheld = load_public(workspace, edition, task)
    if not withheld:
        return Hydration(task.name, edition, None, len(public), len(public))
    found = fill(public)
    filled, gone, changed = [], [], []
    for sample in public:
        item = found[sample.id]
        if isinstance(item, str):
            gone.append(UnfilledSample(sample.id, item))
        elif (parts := _different(sample, task.public(item))) and not _different(
            sample, task.public(plain := as_model(task.sample_type, without_hidden(to_json(item)), where=sample.id))
        ):
            filled.append(plain)  # as candidates are kept
        elif parts:
            changed.append(UnfilledSample(sample.id, " and ".join(parts)))
        else:
            filled.append(item)
    path = workspace.hydrated(edition, task.name)
    write_jsonl(path, (to_json(sample) for sample in filled), mode=0o600)
    write_jsonl(workspace.gone(edition, task.name), (to_json(item) for item in gone), mode=0o600)
    return Hydration(task.name, edition, path, len(public), len(filled), tuple(gone), tuple(changed))


def _different(released: Sample, now: Sample) -> list[str]:
    return [field.name for field in fields(released) if getattr(released, field.name) != getattr(now, field.name)]
