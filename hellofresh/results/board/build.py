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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from hellofresh import __version__
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import DataError
from hellofresh.core.files import (
    atomic_path,
    canonical_json,
    remove_file,
    sha256_file,
    temporary_prefix,
    write_bytes,
    write_json,
)
from hellofresh.core.makers import makers, plugin_makers
from hellofresh.core.parquet import sink_parquet, write_parquet
from hellofresh.core.plugins import plugins
from hellofresh.core.quarters import utc_text
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.judging.study import StudyFiles
from hellofresh.releases.life.load import Published
from hellofresh.releases.life.manifest import MANIFEST, Manifest, read_counts
from hellofresh.releases.publish import copy_file
from hellofresh.results.board import asked as board_asked
from hellofresh.results.board import data as board_data
from hellofresh.results.board import ratings as board_ratings
from hellofresh.results.board import systems as board_systems
from hellofresh.results.board.manifest import (
    FORMAT,
    RELEASED,
    BoardManifest,
    describe_file,
    read_board_manifest,
)
from hellofresh.results.board.schema import (
    FunnelStep,
    PeriodBalance,
    SampleRow,
    added_tables,
    all_tables,
)
from hellofresh.results.ceiling import ceilings
from hellofresh.results.figures.charts import ORDER, AnalysisIndex, AnalysisText, IndexedAnalysis, read_record
from hellofresh.results.over_quarters import over_quarters, quarter_scores
from hellofresh.results.split.judgements import Part, judgements_file
from hellofresh.results.split.open import BoardSplit, open_split, places, scan_scores, score_files
from hellofresh.results.split.panel import QuarterScore
from hellofresh.results.standings import standings_of
from hellofresh.runs.record import PROMPTS, RESPONSES
from hellofresh.tasks import TASKS, get_task, task_makers
from hellofresh.tasks.samples import MAIN, Split
from hellofresh.tasks.transcripts import TRANSCRIPTS


@dataclass(frozen=True, slots=True)
class BoardBuilt:
    """The result of a build: rows by table, quarters on the board, whether it was up to date already, else what has
    changed since the last one, and what is left out.
    """

    folder: Path
    rows: Mapping[str, int]
    quarters: Sequence[str]
    skipped: bool
    why: str = ""
    notes: Sequence[str] = ()


def build_board(workspace: Workspace, *, private: bool = False) -> BoardBuilt:
    """Write the board's tables from all scored quarters.

    Args:
        workspace: where everything lives.
        private: whether to write the maintainers' own board, with the figures of quarters that are not revealed.

    Raises:
        DataError: if no quarter has been scored.
    """
    splits, moment = places(workspace), now()
    for place in splits:
        main = place.split == MAIN
        again = f"hellofresh score --edition {place.edition}{'' if main else f' --split {place.split}'}"
        Stage.hold(workspace, f"score{'' if main else f'-{place.split}'}/{place.edition}", again)
    scored, notes = _of_known_metrics(scan_scores(workspace, splits))
    quarters = sorted(scored.select(pl.col("edition").unique()).collect(engine="streaming")["edition"])
    if not quarters:
        raise DataError(
            "no edition has been scored",
            where=str(workspace.root),
            fix="Run: hellofresh score --edition ...",
            code="nothing-scored",
        )
    analyses = analyses_to_show(workspace, splits, quarters, private=private)
    opened = [place for place in splits if place.has_opened(workspace, moment)]
    addresses = Settings.load().site
    inputs = [
        *([path.relative_to(workspace.root).as_posix(), sha256_file(path)] for _, path in score_files(workspace)),
        FORMAT,
        [[name, str(table.schema)] for name, table in all_tables().items()],
        *(one.inputs for one in analyses),
        addresses.model_dump(mode="json"),
        _split_inputs(workspace, splits, moment),
    ]
    folder = workspace.private_board if private else workspace.board
    made_by = (
        makers(__name__)
        | plugin_makers("hellofresh.tables", added_tables())
        | task_makers(*(get_task(place.task) for place in splits if place.task in TASKS))
    )
    stage = Stage.of(workspace, "private board" if private else "board", inputs, made_by)
    changes = stage.changes()
    if changes == []:
        there = read_board_manifest(folder)
        return BoardBuilt(folder, there.rows, there.quarters, skipped=True, notes=notes)
    mode = 0o600 if private else 0o644
    files = []
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("board"), dir=workspace.root) as parts:
        for name, table in _tables(workspace, splits, scored, moment, Path(parts), private=private).items():
            sink_parquet(folder / f"{name}.parquet", table, mode=mode)
            rows = table.select(pl.len()).collect().item()
            files.append(describe_file(folder, folder / f"{name}.parquet", rows))
    for path in folder.glob("*.parquet"):  # of packages that are no longer installed
        if path.stem not in all_tables():
            remove_file(path)
    shown = _put_analyses(analyses, folder, mode)
    released = put_released(opened, folder, mode)
    manifest = BoardManifest(
        format=FORMAT,
        code=f"hellofresh {__version__}",
        quarters=tuple(quarters),
        files=tuple(files),
        analyses=tuple(describe_file(folder, path) for path in shown),
        released=tuple(describe_file(folder, path) for path in released),
        addresses=addresses,
        private=private,
    )
    stage.record([*(folder / entry.path for entry in files), *shown, *released, manifest.write(folder, mode)])
    return BoardBuilt(folder, manifest.rows, quarters, skipped=False, why="; ".join(changes or ()), notes=notes)


def _of_known_metrics(scores: pl.LazyFrame) -> tuple[pl.LazyFrame, list[str]]:
    """Scores without metrics that a package brought which is no longer installed, and a sentence on each."""
    there = scores.select("edition", "task", "metric").unique().sort(pl.all()).collect(engine="streaming")
    known = {task: {one.name for kind in Split for one in its.on(kind).every_metric} for task, its in TASKS.items()}
    gone = [row for row in there.rows() if row[2] not in known.get(row[1], row)]
    notes = [
        f"scores of {task} {edition} by {metric} are left out, since no installed package computes it. "
        f"To remove them, run: hellofresh score --edition {edition}"
        for edition, task, metric in gone
    ]
    left_out = pl.LazyFrame(gone, there.schema, orient="row")
    return scores.join(left_out, on=["edition", "task", "metric"], how="anti", maintain_order="left"), notes


def _put_analyses(analyses: Sequence[AnalysesOnBoard], folder: Path, mode: int) -> list[Path]:
    """Copy shown analyses into the board's folder, and delete others."""
    shown = [path for one in analyses for path in one.copy_to(folder, mode)]
    for path in (folder / "analyses").rglob("*"):
        if path.is_file() and path not in shown:
            path.unlink()
    return shown


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


def _tables(
    workspace: Workspace,
    splits: Sequence[Published],
    scores: pl.LazyFrame,
    moment: datetime,
    parts: Path,
    *,
    private: bool,
) -> dict[str, pl.LazyFrame]:
    """Every table, empty ones too."""
    made = {name: _Parts(parts, name) for name in all_tables()}
    shown = scores if private else scores.filter("public")
    made["scores"].written.append(shown.select(all_tables()["scores"].schema.names()))
    over: dict[tuple[str, str, bool], list[QuarterScore]] = defaultdict(list)
    for place in splits:
        split = open_split(workspace, place, scores, moment, private=private)
        if place.split == MAIN:
            release = {"edition": place.manifest.edition, "task": place.manifest.task}
            made["periods"].add(release, _periods(workspace, place.manifest, private=private))
            made["funnels"].add(release, _funnel(place.manifest))
        for name, rows in _rows(split):
            made[name].add(place.keys, rows)
        if split.panel is not None and place.edition.is_living:
            over[place.task, place.split, split.panel.bundled] += quarter_scores(split.panel)
        for answers in _answers(split):
            made["answers"].keep(answers)
    for (task, kind, bundled), its in sorted(over.items()):
        keys: dict[str, str | bool] = {"task": task, "split": kind, "bundled": bundled}
        made["fixed"].add(keys, over_quarters(its, get_task(task).on(kind).headline).systems)
    due = (("due_ids", key, ids) for key, ids in board_data.due_ids(workspace, splits, moment))
    for name, key, rows in due:
        made[name].add(key, rows)
    return {name: table.whole() for name, table in made.items()}


def _answers(split: BoardSplit) -> Iterator[pl.DataFrame]:
    """Answers to each sample, sorted by id and origin, in parts of some hundred thousand rows; empty before the
    reveal.
    """
    if not split.shown:
        return
    origins = sorted({str(row["origin"]) for row in split.systems})
    said = split.said.filter(pl.col("origin").is_in(origins))
    counts = said.group_by("id").len().sort("id").collect(engine="streaming")
    if split.withheld:  # answers may quote the sample's texts
        said = said.with_columns(rationale=pl.lit(""), text=pl.lit(None, pl.String))
    said = said.with_columns(**{name: pl.lit(value) for name, value in split.place.keys.items()})
    for (_,), ids in counts.group_by(pl.col("len").cum_sum() // _PART, maintain_order=True):
        # Sorting by the numbers of names is several times faster than by names; their order is the same.
        numbered = [pl.col("id").cast(pl.Enum(ids["id"])), pl.col("origin").cast(pl.Enum(origins))]
        part = said.filter(pl.col("id").is_in(ids["id"].implode())).with_columns(numbered)
        found = part.collect(engine="streaming").sort("id", "origin", maintain_order=True)
        yield found.select(all_tables()["answers"].schema.names()).cast(all_tables()["answers"].schema)


def _rows(split: BoardSplit) -> Iterator[tuple[str, Iterable[object]]]:
    """The rows of a split by table; of some tables several times."""
    yield from ((name, of_split(split)) for name, of_split in _OF_SPLIT.items())
    for calibrated, bins in board_systems.calibrations(split):
        yield "calibration", [calibrated]
        yield "reliability", bins
    yield from ((name, added.rows(split)) for name, added in added_tables().items())
    yield from (("transcripts", steps) for steps in board_asked.transcripts(split))
    if split.panel is not None:
        standings = standings_of(split.panel)
        yield "standings", standings.ranked
        yield "pairs", standings.pairs
        yield "ceilings", ceilings(split.panel)


def _periods(workspace: Workspace, manifest: Manifest, *, private: bool) -> Iterator[PeriodBalance]:
    """Samples of each period and, once labels are public, its candidates by label."""
    counts = (manifest.counts or {}) if manifest.revealed or private else {}
    if private and not counts and manifest.selection is not None:
        counts = read_counts(workspace.private(parse_edition(manifest.edition), manifest.task)) or {}
    if manifest.selection is None:
        return
    for name, period in manifest.selection.periods.items():
        found = counts[name].by_label if name in counts else None
        yield PeriodBalance(manifest.source, name, found, period.taken_per_class, manifest.selection.classes)


def _funnel(manifest: Manifest) -> Iterator[FunnelStep]:
    """One row a step, from rows in to candidates kept, in the order in which the filters apply."""
    funnel = manifest.collection.funnel
    steps = [
        ("rows in", f"{funnel.unit} found in the source", funnel.rows_in, False),
        *((drop.reason, drop.meaning, drop.count, True) for drop in funnel.drops),
        ("candidates", "kept by every filter", funnel.total_kept, False),
    ]
    for number, step in enumerate(steps):
        yield FunnelStep(manifest.source, number, *step)


_LARGE = 50_000
_PART = 100_000


def _split_inputs(workspace: Workspace, splits: Sequence[Published], moment: datetime) -> object:
    """The inputs, besides scores, of the tables on splits."""
    files = [path for place in splits for path in (place.folder / MANIFEST, *place.texts(workspace))]
    parts: tuple[Part, ...] = ("", "receipts", "waiting")
    for edition, split in sorted({(place.edition, place.split) for place in splits}):
        for private in (False, True):
            files += [judgements_file(workspace, edition, split, part, private=private) for part in parts]
    studies = (StudyFiles(workspace, edition, task) for edition, task in workspace.released())
    files += [path for study in studies for path in (study.ratings, study.key, study.responses)]
    for edition in dict.fromkeys(place.edition for place in splits):
        files += [path for added in added_tables().values() for path in added.files(workspace, edition)]
    for name in ("run.json", "plan.json", PROMPTS, RESPONSES, TRANSCRIPTS):
        files += sorted(workspace.runs.glob(f"*/{name}"))
    hashes = [[path.relative_to(workspace.root).as_posix(), sha256_file(path)] for path in files if path.is_file()]
    return {"files": hashes, "opened": [place.has_opened(workspace, moment) for place in splits]}


def _samples(split: BoardSplit) -> Iterator[SampleRow]:
    tally = board_systems.tallies(split)
    for sample in split.samples:
        label = split.labels[sample.id] if split.shown else None
        facts = {} if label is None else {name: value for name, value in label.facts.items() if value is not None}
        task = get_task(split.place.task)
        page, (judged, right) = task.page_of(sample), tally[sample.id]
        yield SampleRow(
            id=sample.id,
            period=sample.period,
            date=utc_text(sample.date),
            group=sample.group,
            license=sample.license,
            revealed=label is not None,
            published=not split.withheld,
            label=None if label is None or not task.classes else label.label,
            facts=canonical_json(facts),
            title=page.title,
            parts=tuple(part.name for part in page.parts),
            kinds=tuple(part.kind for part in page.parts),
            texts=tuple(part.text for part in page.parts),
            link="" if split.is_bundled else page.link,
            judged=judged,
            right=None if label is None or not task.classes else right,
        )


_OF_SPLIT: Mapping[str, Callable[[BoardSplit], Iterable[object]]] = {
    "quarters": board_data.dates,
    "distributions": board_data.distributions,
    "dates": board_data.period_dates,
    "labels": board_data.labels,
    "licenses": board_data.licenses,
    "releases": board_data.releases,
    "files": lambda split: split.place.manifest.files,
    "sources": lambda split: split.place.manifest.collection.sources,
    "prospective": board_data.prospects,
    "datasets": lambda split: filter(None, [split.place.manifest.dataset]),
    "systems": board_systems.facts,
    "participants": board_systems.participants,
    "shares": board_systems.shares,
    "agreement": board_systems.agreements,
    "receipts": board_systems.receipts,
    "mistakes": board_systems.mistakes,
    "confusion": board_systems.confusion,
    "conduct": board_systems.conduct,
    "samples": _samples,
    "prompts": board_asked.prompts,
    "questions": board_asked.questions,
    "ratings": board_ratings.rated,
    "people": board_ratings.people,
    "judges": board_ratings.judges,
    "responses": board_ratings.responses,
    "documents": board_data.documents,
}
"""The tables that are made from single splits, with the functions that make their rows."""

_COPIED = ("parquet", "points.parquet", "svg", "narrow.svg")


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
        """Write copies and index below the board's folder, delete other files, and return the paths."""
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
        for path in folder.iterdir():
            if path != index and path not in kept:
                remove_file(path)
        return [index, *kept]


def analyses_to_show(
    workspace: Workspace, splits: Sequence[Published], quarters: Sequence[str], *, private: bool = False
) -> list[AnalysesOnBoard]:
    """The results of `hellofresh analyse` for these quarters, in order, except those of chosen systems and of packages
    that are no longer installed.

    Quarters with secret labels are included only for the private board.
    """
    found, known = [], {*ORDER, *(one.name for one in plugins("hellofresh.analyses").values())}
    for place in splits:
        public, (edition, task, split) = place.manifest.has_labels, place.keys.values()
        folder = workspace.analyses(place.edition, task, private=not public)
        if split == MAIN and edition in quarters and folder.is_dir() and (public or private):
            described = sorted(path for path in folder.glob("*.json") if path.stem in known)
            copied = [path.with_suffix(f".{end}") for path in described for end in _COPIED]
            sources = [*described, *(path for path in copied if path.is_file())]
            if described:
                found.append(AnalysesOnBoard(place.edition, task, sources))
    return found


def put_released(opened: Sequence[Published], board: Path, mode: int) -> list[Path]:
    """Write the copies, delete other files, and return the paths.

    Raises:
        ReleaseError: if a file does not match its manifest (`bad-hash`).
    """
    kept: dict[Path, None] = {}
    for place in opened:
        name = place.task if place.split == MAIN else f"{place.task}-{place.split}"
        for entry in place.manifest.files:
            copy = board / RELEASED / str(place.edition) / name / entry.path
            with atomic_path(copy, mode=mode) as new:
                copy_file(place.folder / entry.path, entry.sha256, new)
            kept[copy] = None
    for path in (board / RELEASED).rglob("*"):
        if path.is_file() and path not in kept:
            remove_file(path)
    return list(kept)
