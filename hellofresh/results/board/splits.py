"""One split of a quarter and task as the board's tables are made of it: samples, labels, systems, and what they said.

The main split is a release; the prospective one beside it holds what nobody had decided when it was published, and
counts once it is resolved, with the samples that were decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError, Row, Table
from hellofresh.core.quarters import Quarter
from hellofresh.core.systems import IDENTITY
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import load_prospective, prospective_outcomes, prospective_splits
from hellofresh.releases.life.load import load_labels, load_public, load_release
from hellofresh.releases.life.manifest import Manifest, calendar_of, read_manifest
from hellofresh.results.build import arranged_outputs, panel_of
from hellofresh.results.entries import Entry
from hellofresh.results.judgements import (
    entry_numbers,
    entry_outputs,
    judgements_file,
    numbers_file,
    read_kept,
    receipts_file,
    waiting_file,
)
from hellofresh.results.panel import EntrySection, Panel, section_of
from hellofresh.results.score import SCORES, WITHOUT_LABELS
from hellofresh.results.tables import JUDGEMENTS, NUMBERS, RECEIPTS, WAITING
from hellofresh.tasks import TASKS, Task, get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Label, Sample


@dataclass(frozen=True, slots=True, order=True)
class SplitPlace:
    """Which split: the quarter, the task, and `main` or `prospective`; the folder of its public files, its manifest."""

    edition: Edition
    task: str
    split: str
    folder: Path = field(compare=False)
    manifest: Manifest = field(compare=False, repr=False)

    def texts(self, workspace: Workspace) -> list[Path]:
        """Files that may hold the texts of a split which are not published."""
        private = workspace.private(self.edition, self.task)
        if self.split == PROSPECTIVE:
            return [private / PROSPECTIVE / "samples.jsonl"]
        return [private / "samples.jsonl", workspace.hydrated(self.edition, self.task)]

    def has_opened(self, moment: datetime) -> bool:
        """Whether its samples may be seen by then; a quarter that says nothing of its days never opens."""
        known = self.manifest.calendar is not None
        return not self.edition.is_living or (known and moment >= calendar_of(self.manifest, self.folder).opens)

    @property
    def keys(self) -> dict[str, str]:
        """What names it in every table."""
        return {"edition": str(self.edition), "task": self.task, "split": self.split}


def places(workspace: Workspace) -> list[SplitPlace]:
    """All splits of a workspace, in order, each with its manifest, which nothing else reads.

    Raises:
        ReleaseError: if a manifest is damaged.
    """
    found = []
    for split, known in ((MAIN, workspace.released()), (PROSPECTIVE, prospective_splits(workspace))):
        for edition, task in known:
            folder = workspace.release(edition, task) / ("" if split == MAIN else split)
            found.append(SplitPlace(edition, task, split, folder, read_manifest(folder)))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class BoardSplit:
    """What is known of a split.

    Attributes:
        workspace, place: where it is.
        systems: the rows of the scores that stand for a system, for the whole quarter; of a split that is not shown
            only what no label decides.
        said: the judgements of its samples.
        numbers: what metrics are means of.
        receipts: of submissions.
        waiting: who handed predictions in that are not used before the deadline.
        samples: as they are published; of a resolved prospective split those that were decided.
        full: the same with their texts, where these are at hand.
        labels: by sample id, where they are shown.
        shown: whether labels are public, or the board is the maintainers' own.
        withheld: whether texts are.
        panel: the judgements with labels as arrays; None without labels or judgements.
    """

    workspace: Workspace
    place: SplitPlace
    systems: Sequence[Mapping[str, Any]] = field(repr=False)
    said: pl.DataFrame = field(repr=False)
    numbers: pl.DataFrame = field(repr=False)
    receipts: pl.DataFrame = field(repr=False)
    waiting: pl.DataFrame = field(repr=False)
    samples: Sequence[Sample] = field(default=(), repr=False)
    full: Sequence[Sample] = field(default=(), repr=False)
    labels: Mapping[str, Label] = field(default_factory=dict, repr=False)
    shown: bool = False
    withheld: bool = False
    panel: Panel | None = field(default=None, repr=False)

    @property
    def known_since(self) -> datetime:
        """From when on outcomes may have been known: the quarter's first day, or when the data set was published."""
        if isinstance(self.place.edition, Quarter):
            return self.place.edition.start
        dataset = self.place.manifest.dataset
        return datetime.fromisoformat(dataset.published if dataset else "0001-01-01").replace(tzinfo=UTC)

    @property
    def is_bundled(self) -> bool:
        """Whether its samples were written for the project."""
        return self.place.manifest.bundled or any(row["bundled"] for row in self.systems)

    @property
    def ranked(self) -> dict[str, bool]:
        """By origin, whether an entry is ranked."""
        sections = ((row["origin"], section_of(row["kind"], row["regime"], smoke_test=row["smoke_test"]))
                    for row in self.systems)  # fmt: skip
        return {origin: section is EntrySection.SYSTEM for origin, section in sections}


def open_split(
    workspace: Workspace, place: SplitPlace, scores: pl.DataFrame, moment: datetime, *, private: bool = False
) -> BoardSplit:
    """Read a split.

    Args:
        workspace: where everything lives.
        place: which split.
        scores: all scores, from `read_scores`.
        moment: the time that counts as now.
        private: whether labels that are not public may be shown.

    Raises:
        DataError: if a file of it is damaged.
    """
    manifest = place.manifest
    shown = manifest.has_labels or private
    systems = systems_of(scores, place.keys, shown=shown)
    said = _kept(workspace, place, judgements_file, JUDGEMENTS)
    numbers = _kept(workspace, place, numbers_file, NUMBERS)
    receipts = _kept(workspace, place, receipts_file, RECEIPTS)
    waits = WAITING.schema.to_frame()
    if place.split == MAIN:
        waits = read_kept(waiting_file(workspace, place.edition), WAITING).filter(pl.col("task") == place.task)
    bare = BoardSplit(workspace, place, systems, said, numbers, receipts, waits)
    dated = manifest.calendar is not None or manifest.dataset is not None
    if place.task not in TASKS or manifest.file("samples.jsonl") is None or not dated:
        return bare
    return _main(bare, moment, shown=shown) if place.split == MAIN else _prospective(bare)


class _FileOf(Protocol):
    """Where a file of a split lies, on the public or the private side."""

    def __call__(self, workspace: Workspace, edition: Edition, split: str, *, private: bool) -> Path: ...


def _kept(workspace: Workspace, place: SplitPlace, of: _FileOf, table: Table[Row]) -> pl.DataFrame:
    """What is kept of the split's task, public or private: after a reveal it moves with the next scoring."""
    sides = [read_kept(of(workspace, place.edition, place.split, private=private), table) for private in (False, True)]
    return pl.concat(sides).filter(pl.col("task") == place.task)


def _main(bare: BoardSplit, moment: datetime, *, shown: bool) -> BoardSplit:
    workspace, edition, task = bare.workspace, bare.place.edition, get_task(bare.place.task)
    if bare.said.is_empty() and not bare.place.has_opened(moment):
        return bare
    labels = load_labels(workspace, edition, task) if shown else {}
    samples, withheld = load_public(workspace, edition, task)
    full = load_release(workspace, edition, task).samples if withheld else samples
    return _filled(bare, samples, full, labels, shown=shown, withheld=withheld)


def _prospective(bare: BoardSplit) -> BoardSplit:
    task = get_task(bare.place.task)
    labels = prospective_outcomes(bare.workspace, bare.place.edition, task)
    drawn = load_prospective(bare.workspace, bare.place.edition, task).samples
    resolved = bare.place.manifest.resolved is not None
    full = [sample for sample in drawn if sample.id in labels or not resolved]
    withheld = bare.place.manifest.withheld
    samples = [_published(task, sample) for sample in full] if withheld else full
    return _filled(bare, samples, full, labels, shown=resolved, withheld=withheld)


def _published(task: Task, sample: Sample) -> Sample:
    """As it is published; it is so already where its texts are not at hand."""
    return sample if isinstance(sample, task.public_type or task.sample_type) else task.public(sample)


def _filled(
    bare: BoardSplit,
    samples: Sequence[Sample],
    full: Sequence[Sample],
    labels: Mapping[str, Label],
    *,
    shown: bool,
    withheld: bool,
) -> BoardSplit:
    """With its samples; what was said of others, taken down or never decided, counts no more."""
    said = bare.said.filter(pl.col("id").is_in(_ids(samples)))
    found = replace(bare, said=said, samples=samples, full=full, labels=labels, shown=shown, withheld=withheld)
    return replace(found, panel=_panel(found)) if labels and said.height else found


def _panel(split: BoardSplit) -> Panel:
    """All systems' outputs as arrays, from the scores' rows and the judgements."""
    task = get_task(split.place.task)
    bundled = any(row["bundled"] for row in split.systems)
    place = split.place
    if not task.classes:
        return panel_of(task, place.edition, split.samples, split.labels, _measured_entries(split), split=place.split,
                        bundled=bundled)  # fmt: skip
    given = set(split.said["origin"].unique())
    known = (row for row in split.systems if row["origin"] in given)
    entries = [Entry(**{name: row[name] for name in IDENTITY}, outputs={}) for row in known]
    said = arranged_outputs(split.said, [sample.id for sample in split.samples if sample.id in split.labels],
                            len(task.classes))  # fmt: skip
    return panel_of(task, place.edition, split.samples, split.labels, entries, split=place.split, bundled=bundled,
                    said=said)  # fmt: skip


def _measured_entries(split: BoardSplit) -> list[Entry]:
    """Entries whose outputs are no choices, from the rows that stand for them and their judgements."""
    outputs = split.said.partition_by("origin", as_dict=True)
    numbers = {str(origin): entry_numbers(rows) for (origin,), rows in split.numbers.group_by("origin")}
    return [
        Entry(**{name: row[name] for name in IDENTITY}, outputs=entry_outputs(found),
              numbers=numbers.get(row["origin"], {}))
        for row in split.systems
        if (found := outputs.get((row["origin"],))) is not None
    ]  # fmt: skip


def _ids(samples: Iterable[Sample]) -> list[str]:
    return [sample.id for sample in samples]


_KEYS = ("edition", "task", "split")


def score_files(workspace: Workspace) -> list[tuple[str, Path]]:
    """The files of scores with the split that each is about, in order."""
    folders = [workspace.side(private=private) / "scores" for private in (False, True)]
    main = [(MAIN, path) for folder in folders for path in folder.glob("*.parquet")]
    others = [(PROSPECTIVE, path) for folder in folders for path in (folder / PROSPECTIVE).glob("*.parquet")]
    return [*sorted(main, key=_place), *sorted(others, key=_place)]


def _place(file: tuple[str, Path]) -> tuple[str, Path]:
    return file[1].name, file[1]


def read_scores(workspace: Workspace, splits: Sequence[SplitPlace] = ()) -> pl.DataFrame:
    """All scores, with the columns `split` and `public`: whether labels of the row's split are, of these splits.

    Without scores the table has no columns.

    Raises:
        DataError: if a file is damaged, or an earlier version wrote it.
    """
    tables = [_read(path, split).with_columns(split=pl.lit(split)) for split, path in score_files(workspace)]
    if not tables:
        return pl.DataFrame()
    found = pl.concat(tables)
    public = [tuple(place.keys.values()) for place in splits if place.manifest.has_labels]
    known = pl.DataFrame(public, schema=dict.fromkeys(_KEYS, pl.String), orient="row")
    found = found.join(known.with_columns(public=pl.lit(True)), on=_KEYS, how="left", maintain_order="left")
    return found.with_columns(pl.col("public").fill_null(False))


def _read(path: Path, split: str) -> pl.DataFrame:
    """The scores of a file, with the columns of `Score`."""
    try:
        return SCORES.read(path)
    except BadTableError as error:
        option = "" if split == MAIN else f" --split {split}"
        fix = f"Recreate it: hellofresh score --edition {path.stem}{option}"
        what = f"{error}; an earlier version may have written it"
        raise DataError(what, where=str(path), fix=fix, code="damaged-scores") from error


def systems_of(scores: pl.DataFrame, keys: Mapping[str, str], *, shown: bool) -> Sequence[Mapping[str, Any]]:
    """One row for each system of a split, of its headline metric in the whole quarter.

    Of a split that is not shown it has only what no label decides.
    """
    mine = [pl.col(name) == value for name, value in keys.items()]
    rows = scores.filter("headline", pl.col("period") == "all", *mine).unique(
        "origin", keep="first", maintain_order=True
    )
    return (rows if shown else rows.select(WITHOUT_LABELS)).to_dicts()
