"""The ledger of exposure: the groups whose labels are or will be public, over all tasks, editions and splits.

Two samples reveal each other's labels if they share an id or group, or have near-equal texts. (For tasks without
`Task.groups_tell`: if they are near-equal as a whole, or share a mark, see `marks`; one split then has only one sample
per lineage.) No such group may be in two splits: a draw leaves out the groups of other splits. If two splits share a
group anyway (drawn by an earlier version, or with a text that was unavailable), the labels of one wait until the
deadline of the other. The labels of the bundled sample are public, so its splits are separate.

`private/exposure.parquet` has a row for each group (or name of a lineage) and label: `group`, `sample`, `task`,
`edition`, `split`, and `since`, the time from which the label is public (UTC; null while a later collection will decide
it). It can be derived from the releases, except for samples that were taken down, since readers may have kept them.
Splits that only a publication on this machine holds count, too. `private/sketches.parquet` keeps a sketch of each
released text, and of each text that a label names, such as the notes of x-posts (`duplicates.sketch`): so near-equal
texts are found after the texts are gone. Equal texts are also found by the hashes in public samples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from hellofresh.core.editions import Edition, Frozen, is_edition, parse_edition
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl, sha256_text
from hellofresh.core.parquet import BadTableError, Table, write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.duplicates import near_duplicates, near_sketches, shingle_hashes, sketch
from hellofresh.releases.life.load import Published, load_release
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest
from hellofresh.releases.life.record import has_opened, publications_at_hand
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Candidate, Sample, Split

Place = tuple[Edition, str, Split]
"""Edition, task and split."""
_WORDS = 3  # words in a shingle of texts; claims are too short for shingles of several words
# Fewest words by which a text, other than the first, identifies a sample; shorter texts occur in many samples.
_LONG = 8


@dataclass(frozen=True, slots=True, order=True)
class ExposedLabel:
    """A row of the ledger: a sample's group and split, and the time from which its label is public (UTC), if known."""

    group: str
    sample: str
    task: str
    edition: str
    split: str
    since: str | None


@dataclass(frozen=True, slots=True, order=True)
class SketchedText:
    """The sketch of a text of a released sample, or one that its label names, by shingles of one word or of three."""

    sample: str
    task: str
    edition: str
    split: str
    words: int
    sketch: str

    @property
    def of(self) -> tuple[str, str, str]:
        """Its edition, task and split."""
        return self.edition, self.task, self.split


_LEDGER = Table(ExposedLabel)
_SKETCHES = Table(SketchedText)
_EXPOSURE, _SKETCHED = "private/exposure.parquet", "private/sketches.parquet"


def places(workspace: Workspace) -> list[Place]:
    """All splits that were drawn or imported, main splits first, in order."""
    return places_in(workspace.root / "releases")


def places_in(folder: Path) -> list[Place]:
    """The same of a folder of releases, such as a publication's."""
    found = []
    for path in folder.glob(f"*/*/**/{MANIFEST}"):
        edition, task, *split = path.parent.relative_to(folder).parts
        if is_edition(edition) and split in ([], [PROSPECTIVE]):
            found.append((parse_edition(edition), task, PROSPECTIVE if split else MAIN))
    return sorted(found, key=lambda place: (place[2], place[0].sort_key, place[1]))


@dataclass(frozen=True)
class _Exposed:
    """One split of the ledger with its manifest."""

    workspace: Workspace
    place: Place
    folder: Path
    manifest: Manifest

    @classmethod
    def all_of(cls, workspace: Workspace) -> list[_Exposed]:
        """All splits except those of the bundled sample, also those that only a publication on this machine holds."""
        found: dict[Place, _Exposed] = {}
        for folder in (workspace.root / "releases", *(there for _, there in publications_at_hand(workspace))):
            for place in places_in(folder):
                own = folder.joinpath(workspace.release(*place).relative_to(workspace.root / "releases"))
                found.setdefault(place, cls(workspace, place, own, read_manifest(own)))
        return [split for split in found.values() if not split.manifest.bundled]

    @property
    def is_own(self) -> bool:
        """Whether the workspace has it."""
        return self.folder == self.workspace.release(*self.place)

    def is_final(self, moment: datetime) -> bool:
        """Whether its samples are public at a moment, so that the draw is final."""
        return (
            not self.is_own
            or self.manifest.has_labels
            or has_opened(self.workspace, self.folder, self.manifest, moment)
        )

    @property
    def deadline(self) -> datetime | None:
        """The deadline of its predictions; None if its labels are public."""
        return None if self.manifest.has_labels else calendar_of(self.manifest, self.folder).deadline

    @property
    def since(self) -> str | None:
        """The time from which its labels are or will be public, if known."""
        if self.manifest.dataset is not None:
            return self.manifest.dataset.published
        if self.place[2] == PROSPECTIVE:
            return self.manifest.resolved.at if self.manifest.resolved else None
        return (self.manifest.calendar or {}).get("reveals")

    @cached_property
    def rows(self) -> list[ExposedLabel]:
        """The ledger's rows for its published samples."""
        edition, task, split = self.place
        return [
            ExposedLabel(str(group), str(row["id"]), task, str(edition), str(split), self.since)
            for row in read_jsonl(self.folder / "samples.jsonl")
            for group in (row["group"], *_names(row.get("lineage")))
        ]

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """Its samples, with the texts that are available."""
        task, published = self.place[1], Published(*self.place, self.folder, self.manifest)
        if task not in TASKS:
            return ()
        of_task = get_task(task)
        return published.release(self.workspace, of_task).samples if self.is_own else published.samples(of_task)

    def texts(self) -> Iterator[tuple[str, str]]:
        """The available texts of its samples."""
        return _texts(get_task(self.place[1]), self.samples) if self.samples else iter(())

    @cached_property
    def without_texts(self) -> frozenset[str]:
        """Ids of its samples whose texts are not on this machine, and of those that were taken down."""
        whole = get_task(self.place[1]).sample_type if self.samples else Sample
        gone = (item.id for item in self.manifest.takedowns)
        return frozenset((*gone, *(sample.id for sample in self.samples if not isinstance(sample, whole))))

    def hashes(self) -> Iterator[str]:
        """The hashes of texts in its public samples."""
        for row in read_jsonl(self.folder / "samples.jsonl"):
            yield from _hashes(row)

    def marks(self) -> Iterator[str]:
        """The marks of its samples, if the task has lineages."""
        for sample in self.samples:
            yield from marks(get_task(self.place[1]), sample)


def _texts(task: Task, samples: Iterable[Sample]) -> Iterator[tuple[str, str]]:
    """The available texts that identify samples, each with the sample's id and a number.

    These are the first text of each sample and long ones; without `Task.groups_tell`, the sample as a whole.
    """
    for sample in samples:
        if isinstance(sample, task.sample_type):
            for number, text in enumerate(task.own_texts(sample) if task.groups_tell else (task.text(sample),)):
                if not number or len(text.split()) >= _LONG:
                    yield f"{sample.id} {number}", text


def _hashes(part: object) -> Iterator[str]:
    """The values of fields such as `text_sha256`, at any depth."""
    for key, value in part.items() if isinstance(part, dict) else ():
        if key.endswith("_sha256") and isinstance(value, str):
            yield value
        yield from _hashes(value)
    for item in part if isinstance(part, list) else ():
        yield from _hashes(item)


def named_texts(task: Task, items: Iterable[Candidate]) -> dict[str, tuple[str, ...]]:
    """The texts that labels name, by sample: whoever reads such a label learns something of them."""
    if task.references is None:
        return {}
    return {item.sample.id: tuple(task.references(item).values()) for item in items if item.extras}


def _names(lineage: object) -> list[object]:
    return lineage if isinstance(lineage, list) else []


def marks(task: Task, sample: Sample) -> frozenset[str]:
    """Marks that two samples share if one reveals the outcome of the other; empty if the task has no lineages.

    They are the names of its lineage, and all its sequences of eight words within its group, since another source of
    the same history may start elsewhere and then gives other names.
    """
    if task.lineage is None or not isinstance(sample, task.sample_type):
        return frozenset()
    texts = (text for text in task.own_texts(sample) if len(text.split()) >= _LONG)
    runs = (f"{sample.group} {run}" for text in texts for run in shingle_hashes(text, _LONG).tolist())
    return frozenset((*task.lineage(sample), *runs))


def repeated(task: Task, samples: Sequence[Sample], key: str) -> frozenset[str]:
    """Ids of all samples but one per lineage: the one with the smallest keyed hash stays.

    Labels must not matter, so this is done before they are read.
    """
    gone, taken = set(), set[str]()
    for sample in sorted(samples, key=lambda sample: sha256_text(f"{key}:lineage:{sample.id}")):
        own = marks(task, sample)
        if own.isdisjoint(taken):
            taken |= own
        else:
            gone.add(sample.id)
    return frozenset(gone)


def beyond(task: Task, samples: Sequence[Sample], key: str, most: int | None) -> frozenset[str]:
    """Ids of the samples beyond `most` of a group whose labels tell of each other: those with the smallest keyed hashes
    stay, whatever their labels; nothing without a limit.
    """
    seen, gone = Counter[str](), set()
    for sample in sorted(samples, key=lambda sample: sha256_text(f"{key}:group:{sample.id}")):
        seen[sample.group] += 1
        if most is not None and task.groups_tell and seen[sample.group] > most:
            gone.add(sample.id)
    return frozenset(gone)


@dataclass(frozen=True, slots=True)
class ExposureLedger:
    """The groups, texts and marks that some splits expose."""

    workspace: Workspace
    splits: tuple[_Exposed, ...]

    @classmethod
    def before(cls, workspace: Workspace, place: Place, moment: datetime, *, bundled: bool) -> ExposureLedger:
        """The splits whose groups are left out by a draw that is made at a moment, or opens before it.

        A main split may be drawn again until it opens; until then it leaves out the groups of preceding splits. A
        prospective split is public at once and drawn once, so all other splits precede it.

        Raises:
            DataError, ReleaseError: if the manifest of a split is damaged.
        """
        others = [] if bundled else [split for split in _Exposed.all_of(workspace) if split.place != place]
        if place[2] == MAIN:
            # Earlier quarters precede later ones, then tasks by their order.
            turn = {name: number for number, name in enumerate(TASKS)}
            mine = place[0].sort_key, turn.get(place[1], -1)
            turns = ((split, (split.place[0].sort_key, turn.get(split.place[1], -1))) for split in others)
            others = [split for split, its in turns if split.is_final(moment) or its < mine]
        return cls(workspace, tuple(others))

    def key(self) -> dict[str, str]:
        """What identifies the splits."""
        return {" ".join(map(str, split.place)): split.manifest.samples_sha256 for split in self.splits}

    def blind(self) -> int:
        """Samples with neither their texts nor sketches on this machine: only equal texts are found, by hashes."""
        known = {(row.edition, row.task, row.split, row.sample) for row in _sketches(self.workspace)}
        places = ((tuple(map(str, one.place)), one.without_texts) for one in self.splits)
        return sum((*place, key) not in known for place, ids in places for key in ids)

    def known(
        self, task: Task, samples: Sequence[Sample], named: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> frozenset[str]:
        """Ids of the samples whose group is in one of the splits; near-equal texts count as one group.

        Args:
            task, samples: what is to be drawn.
            named: texts that labels of the samples name, which count as theirs.

        Raises:
            DataError, ReleaseError: if one of the splits is damaged.
        """
        rows = [row for split in _with_taken_down(self.workspace, self.splits) for row in split]
        ids = {row.sample for row in rows}
        groups = {row.group for row in rows} if task.groups_tell else set()
        own = {sample.id: found for sample in samples if (found := marks(task, sample))}
        shown = {row.group for row in rows}.union(*(split.marks() for split in self.splits)) if own else set()
        ids |= {key for key, found in own.items() if not found.isdisjoint(shown)}
        ids |= {item.id for split in self.splits for item in split.manifest.takedowns}
        earlier = (pair for split in self.splits for pair in split.texts())
        texts, words = dict(_texts(task, samples)), 1 if task.track == "statements" else _WORDS
        texts |= {f"{key} named{number}": text for key, said in named.items() for number, text in enumerate(said)}
        near = near_duplicates(texts, earlier, words=words).keys() | near_sketches(texts, self._sketched(words), words)
        shown = {value for split in self.splits for value in split.hashes()} if task.public_type else set()
        # texts too short for shingles are compared whole
        near |= {key for key, text in texts.items() if sha256_text(text) in shown and shingle_hashes(text, 1).size}
        ids |= {key.rsplit(" ", 1)[0] for key in near}
        if task.groups_tell:
            # one near copy gives away its whole group
            groups |= {sample.group for sample in samples if sample.id in ids}
        return frozenset(sample.id for sample in samples if sample.id in ids or sample.group in groups)

    def _sketched(self, words: int) -> Iterator[str]:
        """Sketches of texts that are not on this machine, and of all texts of tasks whose labels name some."""
        splits = {(str(one.place[0]), one.place[1], str(one.place[2])): one for one in self.splits}
        for row in _sketches(self.workspace):
            split = splits.get((row.edition, row.task, row.split)) if row.words == words else None
            if split and (row.sample in split.without_texts or (row.task in TASKS and get_task(row.task).references)):
                yield row.sketch


def withdraw(workspace: Workspace, place: Place, samples: Sequence[Sample], moment: datetime) -> list[Place]:
    """Withdraw the unopened main splits that share a group with a split that was just drawn.

    Their public files are removed, so that they are drawn again before they open. Returns the withdrawn splits.
    """
    task, gone = get_task(place[1]), []
    for split in _Exposed.all_of(workspace):
        gives_way = split.place != place and not split.is_final(moment)
        if gives_way and ExposureLedger(workspace, (split,)).known(task, samples):
            for name in (MANIFEST, "samples.jsonl", "commitments.jsonl"):
                (split.folder / name).unlink()
            gone.append(split.place)
    return gone


def waits(workspace: Workspace, edition: Edition, task: str, split: str = MAIN) -> datetime | None:
    """The time until which a split's labels must stay secret; None if they are public.

    Everything that publishes labels or results derived from them checks this: reveals, resolutions, ratings, reports.
    A time in the past means that the labels may be published but are not public yet.

    Raises:
        DataError, ReleaseError: if the split is missing, or it or one that shares a group with it is damaged.
    """
    place = (edition, task, Split(split))
    manifest = read_manifest(workspace.release(*place))
    if manifest.has_labels or isinstance(edition, Frozen):
        return None
    days = calendar_of(manifest, workspace.release(*place))
    own = until = days.deadline if place[2] == PROSPECTIVE else days.reveals
    if manifest.bundled or task not in TASKS:
        return own
    own_place, samples = (str(edition), task, str(split)), None
    for other in _Exposed.all_of(workspace):
        deadline = other.deadline
        if other.place == place or deadline is None or deadline <= until:
            continue
        samples = load_release(workspace, edition, get_task(task), split).samples if samples is None else samples
        names = get_task(task).references and other.samples
        named = [row.sketch for row in _sketches(workspace) if names and row.words == _WORDS and row.of == own_place]
        if ExposureLedger(workspace, (other,)).known(get_task(task), samples) or near_sketches(
            dict(other.texts()) if named else {}, named, _WORDS
        ):
            until = deadline
    return until


def _with_taken_down(workspace: Workspace, splits: Iterable[_Exposed]) -> Iterator[list[ExposedLabel]]:
    """The rows of each split, with rows of samples that were taken down, which only the file still has."""
    kept = defaultdict(list)
    for row in _read(workspace.root / _EXPOSURE, _LEDGER):
        kept[row.edition, row.task, row.split].append(row)
    for split in splits:
        gone = {item.id for item in split.manifest.takedowns}
        edition, task, name = split.place
        yield split.rows + [row for row in kept[str(edition), task, str(name)] if row.sample in gone]


_Row = TypeVar("_Row", ExposedLabel, SketchedText)


def _read(path: Path, table: Table[_Row]) -> list[_Row]:
    """The rows of one of the ledger's two files; empty before it is written."""
    if not path.is_file():
        return []
    try:
        return table.rows(table.read(path))
    except BadTableError as error:
        raise ReleaseError(
            f"not the ledger of exposure: {error}",
            where=str(path),
            fix="Restore it from a backup. Without it, groups of samples that were taken down are not known.",
            code="damaged-ledger",
        ) from None


def _sketches(workspace: Workspace) -> list[SketchedText]:
    return _read(workspace.root / _SKETCHED, _SKETCHES)


def sketch_released(
    workspace: Workspace,
    place: Place,
    samples: Sequence[Sample],
    named: Mapping[str, Sequence[str]],
    gone: Container[str] = (),
) -> None:
    """Store the sketches of a split that was just drawn, in place of those of an earlier draw.

    Args:
        place, samples: the split and its samples with their texts.
        named: the texts that its labels name.
        gone: ids of samples that were taken down, whose sketches stay.
    """
    task, texts = get_task(place[1]), defaultdict[str, list[str]](list)
    for key, text in _texts(task, samples):
        texts[key.rsplit(" ", 1)[0]].append(text)
    for key, said in named.items():
        texts[key] += said
    of = (str(place[0]), place[1], str(place[2]))
    others = [row for row in _sketches(workspace) if row.of != of or row.sample in gone]
    _write_sketches(workspace, others, place, texts)


def _write_sketches(
    workspace: Workspace, others: Sequence[SketchedText], place: Place, texts: Mapping[str, Sequence[str]]
) -> None:
    edition, task, split = place
    rows = [
        SketchedText(sample, task, str(edition), str(split), words, sketch(text, words))
        for sample, found in texts.items()
        for text in found or [""]
        for words in (1, _WORDS)
    ]
    write_parquet(workspace.root / _SKETCHED, _SKETCHES.frame(sorted({*others, *rows})), mode=0o600)


def keep_sketches(workspace: Workspace, place: Place, ids: Collection[str]) -> None:
    """Store sketches of the texts of samples that are about to be taken down, in addition to the stored ones."""
    edition, task, split = place
    of = (str(edition), task, str(split))
    # An interrupted takedown may have removed texts after their sketches were written.
    new = set(ids) - {row.sample for row in _sketches(workspace) if row.of == of}
    if new and task in TASKS:
        texts: dict[str, list[str]] = {key: [] for key in new}
        for key, text in _texts(get_task(task), load_release(workspace, edition, get_task(task), split).samples):
            texts.get(key.rsplit(" ", 1)[0], []).append(text)
        _write_sketches(workspace, _sketches(workspace), place, texts)


def record(workspace: Workspace) -> None:
    """Write the current ledger; rows of samples that were taken down stay in it."""
    rows = {row for split in _with_taken_down(workspace, _Exposed.all_of(workspace)) for row in split}
    write_parquet(workspace.root / _EXPOSURE, _LEDGER.frame(sorted(rows)), mode=0o600)
