"""Take samples down: content is deleted; a tombstone, the commitment and the reason in the manifest stay."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import read_ids, read_jsonl, read_models, write_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.exposure import keep_sketches, places, record
from hellofresh.releases.life.load import UnfilledSample, load_labels
from hellofresh.releases.life.manifest import (
    TOMBSTONES,
    LabelCorrection,
    Manifest,
    Tombstone,
    amend_manifest,
    file_entry,
    read_manifest,
    read_tombstones,
    tombstone_rows,
)
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, Split

MAX_REASON = 500  # a sentence for a public list, not a case file
_GONE = {"post: deleted", "post: suspended", "post: protected"}


@dataclass(frozen=True, slots=True)
class TakedownReport:
    """The result of a takedown: samples taken down now and before, and the manifest's version that records them."""

    edition: Edition
    task: str
    ids: tuple[str, ...]
    before: tuple[str, ...]
    version: int
    split: str = MAIN


def find_sample(workspace: Workspace, sample_id: str, edition: Edition | None = None) -> tuple[Edition, Task, Split]:
    """Find the release and split of a sample, also if it was taken down; raises UsageError if it is unknown."""
    tasks = [name for name, task in TASKS.items() if sample_id.startswith(task.id_prefix)]
    for place in places(workspace):
        if place[1] in tasks and edition in (None, place[0]) and sample_id in _known(workspace.release(*place)):
            return place[0], get_task(place[1]), place[2]
    raise UsageError(
        f"no sample {sample_id[:80]!r}",
        where=str(workspace.root / "releases"),
        expected=f"an id of a released sample{f' of {edition}' if edition else ''}",
        code="unknown-sample",
    )


def _known(folder: Path) -> set[str]:
    """The ids at a split's publication, from its commitments or, without them, from samples and tombstones."""
    commitments = folder / "commitments.jsonl"
    if commitments.is_file():
        return set(read_ids(commitments))
    return set(read_ids(folder / "samples.jsonl")) | {item.id for item in read_tombstones(folder)}


def take_down(
    workspace: Workspace,
    edition: Edition,
    task: Task,
    reasons: Mapping[str, str],
    moment: datetime,
    *,
    split: str = MAIN,
) -> TakedownReport:
    """Remove samples, each for a reason, from a release and from its private texts.

    Commitments, and public labels, stay: they hold no content and are needed to verify the rest. Earlier versions of
    the manifest stay too, with hashes of files that no longer exist.

    Raises:
        UsageError: if a reason is empty, too long, or has control characters, or the release has no such sample.
        DataError: if the release is damaged.
    """
    folder = workspace.release(edition, task.name, split)
    _check(reasons, _known(folder), f"{task.name} {edition}")
    # The manifest, not the file of tombstones, which an interrupted takedown may have written first.
    manifest = read_manifest(folder)
    old = manifest.takedowns
    before = {item.id for item in old}
    new = [Tombstone(key, reasons[key].strip(), utc_text(moment)) for key in sorted(reasons.keys() - before)]
    tombstones = [*old, *new]
    # Readers may have kept a sample, so the ledger keeps its group and a sketch of its text.
    keep_sketches(workspace, (edition, task.name, Split(split)), [item.id for item in tombstones])
    record(workspace)
    texts = [workspace.private(edition, task.name, split) / "samples.jsonl", workspace.hydrated(edition, task.name)]
    kept = [path for path in texts if path.is_file()]
    gone = {item.id for item in tombstones}
    for path in kept:
        _drop(path, gone, mode=0o600)
    changed = kept[:1] if kept[:1] == texts[:1] else []
    version = manifest.version
    if new:
        changed += _amend(folder, manifest, tombstones)
        version += 1
    if split == MAIN:
        Stage.amend(workspace, f"release/{edition}/{task.name}", changed)
    done = tuple(item.id for item in new)
    return TakedownReport(edition, task.name, done, tuple(sorted(reasons.keys() & before)), version, split)


def correct_label(workspace: Workspace, key: str, label: int, reason: str, moment: datetime) -> TakedownReport:
    """Put the right label of a sample on record, in the next version of the manifest; the old one stays in its file.

    Raises:
        UsageError: if the labels of the sample are not public, or the label or the reason is not valid.
    """
    edition, task, split = find_sample(workspace, key)
    folder = workspace.release(edition, task.name, split)
    manifest, classes = read_manifest(folder), range(len(task.classes))
    _check({key: reason}, _known(folder), f"{task.name} {edition}")
    labels = load_labels(workspace, edition, task) if split == MAIN and manifest.has_labels else {}
    if key not in labels or label not in classes or label == labels[key].label:
        expected = f"a public label of a main split, and another one of {', '.join(map(str, classes))}"
        raise UsageError(f"the label of {key} cannot become {label}", expected=expected, code="bad-correction")
    new = LabelCorrection(key, reason.strip(), utc_text(moment), label, labels[key].label)
    written = amend_manifest(folder, manifest.amended(corrections=(*manifest.corrections, new)), [])
    Stage.amend(workspace, f"release/{edition}/{task.name}", written)
    return TakedownReport(edition, task.name, (key,), (), manifest.version + 1)


def _check(reasons: Mapping[str, str], committed: Collection[str], where: str) -> None:
    for key, reason in reasons.items():
        if key not in committed:
            raise UsageError(f"no sample {key[:80]!r}", where=where, code="unknown-sample")
        plain = all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in reason.strip())
        if not (plain and 0 < len(reason.strip()) <= MAX_REASON):
            raise UsageError(
                "not a reason for a takedown",
                where=key,
                expected=f"a line of 1 to {MAX_REASON} characters; it is public, so do not name anybody",
                code="bad-reason",
            )


def _amend(folder: Path, manifest: Manifest, tombstones: Sequence[Tombstone]) -> list[Path]:
    """Write the public files, tombstones first, since a rebuilt release respects them."""
    samples, stones = folder / "samples.jsonl", folder / TOMBSTONES
    stone_rows = tombstone_rows(tombstones)
    write_jsonl(stones, stone_rows)
    rows = _drop(samples, {item.id for item in tombstones}, mode=0o644)
    files = [file_entry(folder, samples, rows), file_entry(folder, stones, len(stone_rows))]
    before = manifest.file(samples.name)
    opening = manifest.samples_at_opening or (before.sha256 if before else None)
    ordered = tuple(sorted(tombstones, key=lambda item: item.id))
    amended = manifest.amended(samples_at_opening=opening, takedowns=ordered)
    return [samples, stones, *amend_manifest(folder, amended, files)]


def _drop(path: Path, ids: Collection[str], *, mode: int) -> int:
    """Rewrite a file of samples without some of them; returns the number of lines that stay."""
    rows = [row for row in read_jsonl(path) if row["id"] not in ids]
    return write_jsonl(path, rows, mode=mode)


def gone_samples(workspace: Workspace, edition: Edition, task: Task) -> dict[str, str]:
    """Reasons, by id, of samples whose post was deleted by its author or X, from the last `hellofresh hydrate`.

    Posts that were only unavailable this time, and notes that a dump lacks, are left out.

    Raises:
        ReleaseError: if `hellofresh hydrate` has not run.
    """
    path = workspace.gone(edition, task.name)
    if not path.is_file():
        raise ReleaseError(
            f"it is not known yet which posts of {task.name} {edition} are gone",
            where=str(path),
            fix=f"Run: hellofresh hydrate --quarter {edition} --dump DIR --posts-from ...",
            code="not-hydrated",
        )
    return {row.id: row.why for row in read_models(path, UnfilledSample) if row.why in _GONE}
