"""Build the tables that the site reads, so that pages compute nothing expensive.

`board/` holds `scores.parquet` (all scores of all quarters and splits), `periods.parquet` (what each period offered and
gave), `funnels.parquet` (what each filter dropped), the other tables of `hellofresh.results.board.schema`, and
`manifest.json` (size and hash of each, rows of tables).

`analyses/<quarter>/<task>/` holds, for each analysis that was made of a scored quarter, `<name>.parquet`,
`<name>.points.parquet` and `<name>.svg` where there are such, and `index.json`: a list in the order of names of what
each asks, how to read it, its notes, how its figure is drawn and, where it could not be made, why.

`released/<edition>/<task>/` holds what the release's manifest lists, `released/<edition>/<task>-prospective/` what that
of the prospective samples does. Only what has been public since the opening is copied, with the hashes that manifests
state, so that visitors can take samples away.

Of a split whose labels are not public it holds only what does not depend on labels, not even by a hash or the order of
rows. The maintainers' own view, with all figures, is another board: `private/board/`.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hellofresh import __version__
from hellofresh.config import Settings
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.files import (
    sha256_file,
    temporary_prefix,
    write_bytes,
    write_json,
)
from hellofresh.core.intake import Intake
from hellofresh.core.makers import makers, plugin_makers
from hellofresh.core.parquet import sink_parquet, write_parquet
from hellofresh.core.plugins import plugins
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.results.board import asked, data, ratings, systems
from hellofresh.results.board.manifest import (
    FORMAT,
    RELEASED,
    BoardManifest,
    describe_file,
    read_board_manifest,
)
from hellofresh.results.board.release_rows import DueId
from hellofresh.results.board.schema import added_tables, all_tables
from hellofresh.results.figures.charts import ORDER, AnalysisIndex, AnalysisText, IndexedAnalysis, read_record
from hellofresh.results.over_quarters import over_quarters, quarter_scores
from hellofresh.results.split.open import (
    BoardSplit,
    ScoredSplits,
    copy_released,
    due_ids,
    open_each,
    scored_splits,
)
from hellofresh.results.split.panel import QuarterScore
from hellofresh.results.split.rated import rater_tests
from hellofresh.results.standings import standings_of
from hellofresh.tasks import TASKS, get_task, task_makers
from hellofresh.tasks.samples import MAIN

_LARGE = 50_000  # rows of a table that wait in memory before they go to a file
_PART = 100_000  # answers that are sorted at once
_COPIED = ("parquet", "points.parquet", "svg", "narrow.svg")  # endings of the files of an analysis that the board shows
# The tables that are made from single splits, with the functions that make their rows.
_OF_SPLIT: Mapping[str, Callable[[BoardSplit], Iterable[object]]] = {
    "quarters": data.dates,
    "distributions": data.distributions,
    "dates": data.period_dates,
    "labels": data.labels,
    "licenses": data.licenses,
    "releases": data.releases,
    "files": lambda split: split.place.manifest.files,
    "sources": lambda split: split.place.manifest.collection.sources,
    "prospective": data.prospects,
    "datasets": lambda split: filter(None, [split.place.manifest.dataset]),
    "systems": systems.facts,
    "participants": systems.participants,
    "shares": systems.shares,
    "agreement": systems.agreements,
    "receipts": systems.receipts,
    "mistakes": systems.mistakes,
    "confusion": systems.confusion,
    "conduct": systems.conduct,
    "samples": data.samples,
    "prompts": asked.prompts,
    "questions": asked.questions,
    "ratings": ratings.rated,
    "people": ratings.people,
    "judges": ratings.judges,
    "responses": ratings.responses,
    "documents": data.documents,
}


@dataclass(frozen=True, slots=True)
class BoardBuilt:
    """The result of a build: rows by table, quarters on the board, whether it was up to date already, else what has
    changed since the last one, what is left out, and what became of the rows of scores and of judgements.
    """

    folder: Path
    rows: Mapping[str, int]
    quarters: Sequence[str]
    skipped: bool
    why: str = ""
    notes: Sequence[str] = ()
    ledgers: Sequence[Intake] = ()


def build_board(workspace: Workspace, *, private: bool = False) -> BoardBuilt:
    """Write the board's tables from all scored quarters.

    Args:
        workspace: where everything lives.
        private: whether to write the maintainers' own board, with the figures of quarters that are not revealed.

    Raises:
        DataError: if no quarter has been scored.
    """
    splits = scored_splits(workspace, private=private)
    notes = list(splits.notes)
    quarters = sorted(splits.scores.select(pl.col("edition").unique()).collect(engine="streaming")["edition"])
    if not quarters:
        raise DataError(
            "no edition has been scored",
            where=str(workspace.root),
            fix="Run: hellofresh score --edition ...",
            code="nothing-scored",
        )
    analyses = analyses_to_show(splits, quarters)
    settings = Settings.load()
    addresses, added = settings.site, {name: one.model_dump(mode="json") for name, one in settings.added.items()}
    inputs = [
        FORMAT,
        [[name, str(table.schema)] for name, table in all_tables().items()],
        *(one.inputs for one in analyses),
        addresses.model_dump(mode="json"),
        *([added] if added else []),  # tables of other packages may depend on them
        [place in splits.opened for place in splits.places],
        [[path.relative_to(workspace.root).as_posix(), sha256_file(path)] for path in _files(splits) if path.is_file()],
    ]
    # Figures that are not public are their owner's alone.
    folder, mode = (workspace.private_board, 0o600) if private else (workspace.board, 0o644)
    tasks = {one.task for one in splits.places} & TASKS.keys()
    made_by = makers(__name__) | plugin_makers("hellofresh.tables", added_tables()) | task_makers(*map(get_task, tasks))
    notes += _older(workspace, analyses)
    stage = Stage.of(workspace, "private board" if private else "board", inputs, made_by)
    changes = stage.changes()
    if changes == []:
        there = read_board_manifest(folder)
        return BoardBuilt(folder, there.rows, there.quarters, skipped=True, notes=notes, ledgers=there.ledgers)
    rows, ledgers = _put_tables(splits, folder, mode, notes)
    shown = [path for one in analyses for path in one.copy_to(folder, mode)]
    released = copy_released(splits.opened, folder / RELEASED, mode)
    manifest = BoardManifest(
        format=FORMAT,
        code=f"hellofresh {__version__}",
        quarters=tuple(quarters),
        files=tuple(describe_file(folder, folder / f"{name}.parquet", number) for name, number in rows.items()),
        analyses=tuple(describe_file(folder, path) for path in shown),
        released=tuple(describe_file(folder, path) for path in released),
        addresses=addresses,
        private=private,
        ledgers=ledgers,
    )
    listed = manifest.write(folder, mode)
    stage.record([*(folder / entry.path for entry in manifest.files), *shown, *released, listed])
    why = "; ".join(changes or ())
    return BoardBuilt(folder, manifest.rows, quarters, skipped=False, why=why, notes=notes, ledgers=ledgers)


def _older(workspace: Workspace, analyses: Sequence[AnalysesOnBoard]) -> Iterator[str]:
    """A sentence on each shown analysis of another package whose code has changed since."""
    for name, one in plugins("hellofresh.analyses").items():
        packages = plugin_makers("hellofresh.analyses", [name])
        for found in analyses:
            last, again = f"analyses/{found.edition}/{found.task}/{one.name}", f"{one.name} --edition {found.edition}"
            yield from Stage.older(workspace, last, packages, f"hellofresh analyse {again}")


def _height(table: pl.LazyFrame) -> int:
    return int(table.select(pl.len()).collect(engine="streaming").item())


def _put_tables(
    splits: ScoredSplits, folder: Path, mode: int, notes: list[str]
) -> tuple[dict[str, int], tuple[Intake, Intake]]:
    """Write the tables of opened splits.

    `notes` gets a sentence on each split with samples whose texts are not on this machine.

    Returns:
        The rows by table, and what became of the rows of scores and of judgements.
    """
    opened = (_noted(split, notes) for split in open_each(splits))
    rows = {}
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("board"), dir=splits.workspace.root) as parts:
        tables, answers = board_tables(opened, Path(parts))
        shown = splits.scores if splits.private else splits.scores.filter("public")
        tables["scores"].written.append(shown.select(all_tables()["scores"].schema.names()))
        for keys, ids, gone in due_ids(splits.places, splits.opened):
            tables["due_ids"].add(keys, (DueId(key, taken_down=gone) for key in ids))
        for name, made in tables.items():
            table = made.whole()
            sink_parquet(folder / f"{name}.parquet", table, mode=mode)
            rows[name] = _height(table)
    came_in, known = _height(splits.every), _height(splits.scores)
    left_out = {"unknown-metric": came_in - known, "not-revealed": known - _height(shown)}
    of_answers = Intake("answers", answers.pop("came in", 0), rows["answers"], answers)
    return rows, (Intake("scores", came_in, rows["scores"], left_out), of_answers)


def _noted(split: BoardSplit, notes: list[str]) -> BoardSplit:
    """The split; a sentence is added where samples have no texts here."""
    place, kind = split.place, TASKS[split.place.task].sample_type if split.place.task in TASKS else object
    if missing := sum(not isinstance(sample, kind) for sample in split.full):
        what = f"{missing:,} of {len(split.full):,} samples have no texts here"
        notes.append(f"{place.task} {place.edition}: {what}, so figures on texts leave them out")
    return split


def _files(splits: ScoredSplits) -> Iterator[Path]:
    """The files that tables rest on, those of other packages too; some may be absent."""
    yield from splits.files
    for edition in dict.fromkeys(place.edition for place in splits.places):
        for added in added_tables().values():
            yield from added.files(splits.workspace, edition)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A table in the making: rows wait in memory until they are many, then in files of `folder`."""

    folder: Path
    name: str
    written: list[pl.LazyFrame] = field(default_factory=list)
    waiting: list[pl.DataFrame] = field(default_factory=list)

    def add(self, keys: Mapping[str, str | bool], rows: Iterable[object]) -> None:
        table = all_tables()[self.name]
        if isinstance(rows, pl.DataFrame):
            self.keep(
                rows.with_columns(**{name: pl.lit(key) for name, key in keys.items()}).select(table.schema.names())
            )
        else:
            self.keep(table.frame(rows, **keys))

    def keep(self, frame: pl.DataFrame) -> None:
        self.waiting.append(frame)
        if sum(one.height for one in self.waiting) > _LARGE:
            path = self.folder / f"{self.name}-{len(self.written)}.parquet"
            write_parquet(path, pl.concat(self.waiting))
            self.written.append(pl.scan_parquet(path))
            self.waiting.clear()

    def whole(self) -> pl.LazyFrame:
        return pl.concat(
            [all_tables()[self.name].schema.to_frame().lazy(), *self.written, *map(pl.DataFrame.lazy, self.waiting)]
        )


def board_tables(splits: Iterable[BoardSplit], parts: Path) -> tuple[dict[str, _Parts], Counter[str]]:
    """Every table that splits decide, empty ones too; and how many answers came in and were left out, by reason.

    Args:
        splits: each is used and let go before the next one is taken.
        parts: a folder for the parts of long tables.
    """
    made, counts = {name: _Parts(parts, name) for name in all_tables()}, Counter[str]()
    over: dict[tuple[str, str, bool], list[QuarterScore]] = defaultdict(list)
    for split in splits:
        place = split.place
        if place.split == MAIN:
            release = {"edition": place.manifest.edition, "task": place.manifest.task}
            made["periods"].add(release, data.periods(split))
            made["funnels"].add(release, data.funnel(split))
        for answers in _answers(split, counts):
            made["answers"].keep(answers)
        for name, rows in _rows(split):
            made[name].add(place.keys, rows)
        if split.panel is not None and place.edition.is_living:
            over[place.task, place.split, split.panel.bundled] += quarter_scores(split.panel)
    for (task, kind, bundled), its in sorted(over.items()):
        keys: dict[str, str | bool] = {"task": task, "split": kind, "bundled": bundled}
        made["fixed"].add(keys, over_quarters(its, get_task(task).on(kind).headline).systems)
    return made, counts


def _answers(split: BoardSplit, counts: Counter[str]) -> Iterator[pl.DataFrame]:
    """Answers to each sample, sorted by id and origin, in parts of some hundred thousand rows; empty before the
    reveal.
    """
    came_in = _height(split.said)
    counts["came in"] += came_in
    if not split.shown:
        counts["not-revealed"] += came_in
        return
    origins = sorted({str(row["origin"]) for row in split.systems})
    said = split.said.filter(pl.col("origin").is_in(origins))
    of_sample = said.group_by("id").len().sort("id").collect(engine="streaming")
    counts["of-systems-without-scores"] += came_in - int(of_sample["len"].sum())
    if split.withheld:  # answers may quote the sample's texts
        said = said.with_columns(rationale=pl.lit(""), text=pl.lit(None, pl.String))
    said = said.with_columns(**{name: pl.lit(value) for name, value in split.place.keys.items()})
    for (_,), ids in of_sample.group_by(pl.col("len").cum_sum() // _PART, maintain_order=True):
        # Sorting by the numbers of names is several times faster than by names; their order is the same.
        numbered = [pl.col("id").cast(pl.Enum(ids["id"])), pl.col("origin").cast(pl.Enum(origins))]
        part = said.filter(pl.col("id").is_in(ids["id"].implode())).with_columns(numbered)
        found = part.collect(engine="streaming").sort("id", "origin", maintain_order=True)
        yield found.select(all_tables()["answers"].schema.names()).cast(all_tables()["answers"].schema)


def _rows(split: BoardSplit) -> Iterator[tuple[str, Iterable[object]]]:
    """The rows of a split by table; of some tables several times."""
    yield from ((name, of_split(split)) for name, of_split in _OF_SPLIT.items())
    for calibrated, bins in systems.calibrations(split):
        yield "calibration", [calibrated]
        yield "reliability", bins
    yield from ((name, added.rows(split)) for name, added in added_tables().items())
    yield from (("transcripts", steps) for steps in asked.transcripts(split))
    if split.panel is not None:
        standings = standings_of(
            split.panel, tests=rater_tests(split.panel, split.study.rated if split.study else None)
        )
        yield "standings", standings.ranked
        yield "pairs", standings.pairs
        yield "card", standings.card


@dataclass(frozen=True, slots=True)
class AnalysesOnBoard:
    """The analyses of one quarter and task that are in the workspace.

    Attributes:
        edition, task: of which release.
        sources: their JSON files, tables and figures.
    """

    edition: Edition
    task: str
    sources: Sequence[Path]

    @property
    def inputs(self) -> object:
        """The inputs of the copies."""
        return [str(self.edition), self.task, [[path.name, sha256_file(path)] for path in self.sources]]

    def copy_to(self, board: Path, mode: int = 0o644) -> list[Path]:
        """Write copies and index below the board's folder, and return the paths."""
        folder = board / "analyses" / str(self.edition) / self.task
        kept = []
        described = []
        for path in self.sources:
            if path.suffix == ".json":
                record = read_record(path)
                files = [f"{path.stem}.{end}" for end in _COPIED if path.with_suffix(f".{end}") in self.sources]
                text = {name: getattr(record, name) for name in AnalysisText.model_fields}
                described.append(IndexedAnalysis(**text, files=files))
            else:
                kept.append(folder / path.name)
                write_bytes(folder / path.name, path.read_bytes(), mode=mode)
        index = folder / "index.json"
        listed = AnalysisIndex(edition=str(self.edition), task=self.task, analyses=described)
        write_json(index, listed.model_dump(mode="json"), mode=mode)
        return [index, *kept]


def analyses_to_show(splits: ScoredSplits, quarters: Sequence[str]) -> list[AnalysesOnBoard]:
    """The results of `hellofresh analyse` for these quarters, in order, except those of chosen systems and of packages
    that are no longer installed.

    Quarters with secret labels are included only for the private board.
    """
    found, known = [], {*ORDER, *(one.name for one in plugins("hellofresh.analyses").values())}
    for place in splits.places:
        public, (edition, task, split) = place.manifest.has_labels, place.keys.values()
        folder = splits.workspace.analyses(place.edition, task, private=not public)
        if split == MAIN and edition in quarters and folder.is_dir() and (public or splits.private):
            described = sorted(path for path in folder.glob("*.json") if path.stem in known)
            copied = [path.with_suffix(f".{end}") for path in described for end in _COPIED]
            sources = [*described, *(path for path in copied if path.is_file())]
            if described:
                found.append(AnalysesOnBoard(place.edition, task, sources))
    return found
