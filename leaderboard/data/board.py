"""A board: its tables as typed rows, and derived data for the pages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, update_wrapper
from pathlib import Path, PurePosixPath
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import polars as pl

from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import is_edition, parse_edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import Row, Table
from hellofresh.core.quarters import EditionKey
from hellofresh.core.strict import SiteSettings
from hellofresh.core.systems import MODEL_FACTS, ModelFacts, SystemId
from hellofresh.results.board.manifest import RELEASED, BoardFiles
from hellofresh.results.board.release_rows import Dates, PeriodBalance, ReleaseFacts
from hellofresh.results.board.schema import all_tables
from hellofresh.results.board.system_rows import RatedRow, SystemFacts
from hellofresh.results.over_quarters import OverQuartersRow
from hellofresh.results.split.panel import short_names
from hellofresh.results.split.tables import HAS_WORDS, AnswerRow, Score
from hellofresh.results.standings import Pair, Standing
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN
from leaderboard.data.analyses import BoardAnalysis, load_analyses

ALL_PERIODS = "all"
"""The value of the column `period` for a score of the whole quarter."""

_ENTRY = ["system", "team", "provenance", "kind", "regime", "origin"]
# Tables with a row for each pair of systems, each sample with its texts, or each answer: too large for memory.
_LARGE = {"pairs", "samples", "answers", "transcripts", "questions", "responses", "documents"}
_MOST_REASONS = 5  # a visitor reads a few; the samples' page has all
_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def kept(method: Callable[Concatenate[Board, _Asked], _Answer]) -> Callable[Concatenate[Board, _Asked], _Answer]:
    """Cache a function's results in the board, which never changes, for all pages.

    Its arguments must have few values, such as splits: the cache is kept as long as the board.
    """

    def ask(self: Board, /, *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        key = (method, args, tuple(sorted(named.items())))
        if key not in self.known:
            self.known[key] = method(self, *args, **named)
        found: _Answer = self.known[key]
        return found

    update_wrapper(ask, method)
    return ask


class SplitKey(NamedTuple):
    """A task in a quarter; `kind` is that of its main samples or of those that were undecided (`prospective`)."""

    edition: str
    task: str
    kind: str = MAIN


class BoardEntry(NamedTuple):
    """The identity of a line of the board.

    `number` distinguishes entries that are otherwise alike, such as submissions with equal names and teams. `name` is
    used in sentences and tables, and unique within a split.
    """

    system: str
    team: str
    provenance: str
    kind: str
    regime: str
    origin: str
    number: int
    name: str


class MetricValue(NamedTuple):
    """The value of a metric with the limits of its 95% interval, and of the bootstrap's, if any."""

    name: str
    value: float
    low: float
    high: float
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """The result of an entry with one prompt in one period; counts are samples.

    Attributes:
        entry: of the result.
        n, n_split: judged samples, and all samples.
        clusters: groups of samples that the intervals are based on.
        none, blocked: samples answered without a readable answer, and with a refusal.
        metrics: the task's metrics, the ranking one first.
        method: of its interval.
        facts: on its model.
    """

    entry: BoardEntry
    prompt: str
    period: str
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    n: int
    n_split: int
    clusters: int
    none: int
    blocked: int
    metrics: tuple[MetricValue, ...]
    method: str
    facts: ModelFacts = field(default_factory=ModelFacts)

    @property
    def headline(self) -> MetricValue:
        """The metric that ranks systems."""
        return self.metrics[0]

    def metric(self, name: str) -> MetricValue | None:
        """The metric of that name, or None if the board lacks it."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    @property
    def no_answer(self) -> float:
        """Share of the samples without an answer, of those asked."""
        return (self.none + self.blocked) / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class Board:
    """All tables of a board; the large ones stay in their files, and each query reads a part.

    Attributes:
        splits: the main splits, the latest quarter first, then by task.
        code: the version of the code that built it.
        private: whether it is the maintainers' own, with figures of unrevealed quarters.
        addresses: of the project.
        folder: of the board.
        known: cached results.
    """

    splits: tuple[SplitKey, ...] = ()
    code: str = ""
    _tables: Mapping[str, pl.DataFrame | pl.LazyFrame] = field(default_factory=dict, repr=False)
    _bundled: frozenset[SplitKey] = field(default=frozenset(), repr=False)
    _open: frozenset[SplitKey] = field(default=frozenset(), repr=False)
    private: bool = False
    addresses: SiteSettings = field(default_factory=SiteSettings)
    _released: Mapping[str, Sequence[Path]] = field(default_factory=dict, repr=False)
    folder: Path = field(default=Path(), repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, row: type[Row], split: SplitKey, *wanted: pl.Expr, **equal: str) -> list[Row]:
        """The split's rows of this type, in the order of the board.

        Args:
            row: a type of `hellofresh.results.board.schema`, which names the table.
            split: quarter and task; tables of main samples only ignore its kind.
            wanted: further conditions on their columns.
            equal: required values of columns.

        Raises:
            DataError: if the board has since been replaced (`damaged-board`).
        """
        return table_of(row).rows(self.frame(row, split, *wanted, **equal))

    def first(self, row: type[Row], split: SplitKey, *wanted: pl.Expr, **equal: str) -> Row | None:
        """The first of `rows`, None if absent."""
        return next(iter(self.rows(row, split, *wanted, **equal)), None)

    def has(self, row: type, split: SplitKey) -> bool:
        """Whether any such rows exist, without reading the texts of a large table."""
        table = self._tables[_names()[row]].lazy()
        return bool(table.filter(**_keys(_names()[row], split)).select(pl.len() > 0).collect().item())

    def frame(
        self, row: type, split: SplitKey, *wanted: pl.Expr, columns: Sequence[pl.Expr | str] = (), **equal: str
    ) -> pl.DataFrame:
        """The result of `rows` as a table, with these columns only, if any: others of a large table are not read."""
        name = _names()[row]
        table, keys = self._tables[name], _keys(name, split)
        if isinstance(table, pl.DataFrame):
            if "origin" in equal:
                keys["origin"] = equal.pop("origin")
            table = self._parts(name, *keys).get(tuple(keys.values()), table.clear())
            table = table.filter(*wanted, **equal) if wanted or equal else table
            return table.select(columns) if columns else table
        try:
            return table.filter(*wanted, **keys, **equal).select(columns or pl.all()).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(
                "its files were replaced just now", fix="Reload this page.", code="damaged-board"
            ) from error

    @kept
    def _parts(self, name: str, *columns: str) -> Mapping[tuple[object, ...], pl.DataFrame]:
        """A table partitioned by the values of columns, so that no page scans all of it."""
        table = self._tables[name]
        assert isinstance(table, pl.DataFrame)
        return table.partition_by(columns, as_dict=True, maintain_order=True)

    def is_bundled(self, split: SplitKey) -> bool:
        """Whether the split was made from the bundled sample sources."""
        return split._replace(kind=MAIN) in self._bundled

    def is_open(self, split: SplitKey) -> bool:
        """Whether the main split's labels are unrevealed, so that the board has no figures that depend on them."""
        return split in self._open

    def is_revealed(self, split: SplitKey) -> bool:
        """Whether the release's labels of the split are public."""
        release = self.first(ReleaseFacts, split)
        return release is not None and release.revealed

    def newest(self, task: str) -> SplitKey:
        """The task's newest revealed quarter with scores, or, without one, its newest."""
        ours = [split for split in self.splits if split.task == task]
        return next((split for split in ours if not self.is_open(split) and self.has_scores(split)), ours[0])

    def released(self, split: SplitKey) -> Mapping[str, Path]:
        """Copies of the split's released files by name, samples first."""
        config = split.task if split.kind == MAIN else f"{split.task}-{split.kind}"
        found = {path.name: path for path in self._released.get(f"{split.edition}/{config}", ())}
        first, *then = ("samples.jsonl", "labels.jsonl", "outcomes.jsonl")
        return {name: found[name] for name in sorted(found, key=lambda name: (name != first, name not in then, name))}

    def has_scores(self, split: SplitKey) -> bool:
        """Whether any system has a score on the split."""
        return not self.frame(Score, split).is_empty()

    @kept
    def headlines(self, split: SplitKey) -> Sequence[ScoreCell]:
        """The headline row of each entry over the whole quarter, the best first (then by name)."""
        return self._best_first(split, pl.col("headline"))

    def entries(self, split: SplitKey) -> dict[str, BoardEntry]:
        """The entries of a split by origin, the best first."""
        return {result.entry.origin: result.entry for result in self.headlines(split)}

    def by_period(self, split: SplitKey, entry: BoardEntry) -> list[ScoreCell]:
        """The entry's results with the headline prompt in each period, in order of time."""
        wanted = (pl.col("headline"), pl.col("period") != ALL_PERIODS)
        rows = self.frame(Score, split, *wanted, origin=entry.origin).filter(**entry._asdict())
        return [_result(row) for row in rows.sort("period").to_dicts()]

    def by_prompt(self, split: SplitKey, entry: BoardEntry) -> list[ScoreCell]:
        """The entry's results with each prompt in the whole quarter, the headline first, then by prompt name."""
        rows = self.frame(Score, split, period=ALL_PERIODS, origin=entry.origin).filter(**entry._asdict())
        return [_result(row) for row in rows.sort(["headline", "prompt"], descending=[True, False]).to_dicts()]

    @kept
    def prompts(self, split: SplitKey) -> Sequence[str]:
        """Names of all prompts used by any system, except headline ones."""
        return sorted(self.frame(Score, split, ~pl.col("headline"))["prompt"].unique().to_list())

    def with_prompt(self, split: SplitKey, prompt: str) -> list[ScoreCell]:
        """The result over the whole quarter of each entry with this prompt, the best first (then by name)."""
        return self._best_first(split, pl.col("prompt") == prompt)

    def _best_first(self, split: SplitKey, wanted: pl.Expr) -> list[ScoreCell]:
        """Results of the whole quarter by the headline metric, then by name."""
        sign = TASKS[split.task].on(split.kind).headline.sign if split.task in TASKS else 1
        found = [_result(row) for row in self.frame(Score, split, wanted, period=ALL_PERIODS).to_dicts()]
        if found and self.has(RatedRow, split):  # scores have intervals over other samples alone
            rated = self.rows(RatedRow, split, kind="person", criterion=found[0].headline.name, part="")
            wide = {row.origin: row for row in rated}
            found = [_over_raters(one, wide[one.entry.origin]) if one.entry.origin in wide else one for one in found]
        return sorted(found, key=lambda result: (-sign * result.headline.value, result.entry))

    def balance(self, split: SplitKey) -> list[PeriodBalance]:
        """Available and drawn samples of each period, in order of time."""
        return sorted(self.rows(PeriodBalance, split), key=lambda row: row.period)

    def days(self, split: SplitKey) -> Calendar | None:
        """The split's days, None if its release has none."""
        dates = self.first(Dates, split)
        return Calendar(*map(datetime.fromisoformat, (dates.opens, dates.deadline, dates.reveals))) if dates else None

    @kept
    def reasons(self, split: SplitKey) -> Mapping[str, Sequence[AnswerRow]]:
        """The first answers of each system that have a text, a ranking, a rationale or sources, by origin."""
        found = self.frame(AnswerRow, split, HAS_WORDS).sort("id", ~pl.col("headline"), "prompt")
        first = found.group_by("origin", maintain_order=True).head(_MOST_REASONS)
        return {
            str(origin): table_of(AnswerRow).rows(part)
            for (origin,), part in first.partition_by("origin", as_dict=True).items()
        }

    @kept
    def standings(self, split: SplitKey) -> Mapping[str, Standing]:
        """By origin, in the order of ranks; empty if no system is ranked."""
        found = self.rows(Standing, split)
        return {row.origin: row for row in sorted(found, key=lambda row: (row.rank, row.origin))}

    @kept
    def systems(self, split: SplitKey) -> Mapping[str, SystemFacts]:
        """Facts on each entry, by origin."""
        return {row.origin: row for row in self.rows(SystemFacts, split)}

    def pairs(self, split: SplitKey, one: str, two: str) -> list[Pair]:
        """The two systems' comparison, the whole quarter first, then by period; empty if absent."""
        found = self.rows(Pair, split, *(pl.col(name).is_in([one, two]) for name in ("one", "two")))
        ordered = sorted(found, key=lambda pair: (pair.period != ALL_PERIODS, pair.period))
        return [pair if pair.one == one else pair.turned() for pair in ordered]

    @kept
    def against(self, split: SplitKey, origin: str) -> Mapping[str, Pair]:
        """One system compared with each of the others over the whole quarter, by the other's origin."""
        mine = (pl.col("one") == origin) | (pl.col("two") == origin)
        found = self.rows(Pair, split, mine, period=ALL_PERIODS)
        return {pair.two: pair for pair in (pair if pair.one == origin else pair.turned() for pair in found)}

    def fixed(self, task: str, split: str = MAIN, *, bundled: bool) -> list[OverQuartersRow]:
        """Systems over all quarters, real ones or the bundled sample's: the best first, those without a score last."""
        rows = (
            self._tables["fixed"].lazy().filter(task=task, split=split).filter(pl.col("bundled") == bundled).collect()
        )
        return all_tables()["fixed"].rows(rows)

    def analyses(self, split: SplitKey) -> Sequence[BoardAnalysis]:
        """The analyses of a split, in reading order; empty if none were made.

        Raises:
            DataError: if an index of them is missing or damaged (`damaged-board`).
        """
        return self._all_analyses().get((split.edition, split.task), ()) if split.kind == MAIN else ()

    @kept
    def _all_analyses(self) -> Mapping[tuple[str, str], Sequence[BoardAnalysis]]:
        return load_analyses(self.folder)


def _keys(name: str, split: SplitKey) -> dict[str, str]:
    """The columns of a table that name a split, with their values; some tables are about main samples only."""
    keys = zip(("edition", "task", "split"), split, strict=True)
    return {key: value for key, value in keys if key in all_tables()[name].keys or name == "scores"}


@cache
def _names() -> Mapping[type, str]:
    """Names of tables by the types of their rows, on use, since pages of other packages import this module."""
    return {table.row: name for name, table in all_tables().items() if name != "due_ids"}


def table_of(row: type[Row]) -> Table[Row]:
    """The board's table of such rows."""
    return all_tables()[_names()[row]]


def load_board(folder: Path) -> Board:
    """Read a board.

    Raises:
        DataError: if there is none (`no-board`), or its files do not match the manifest or the pages' needs
            (`damaged-board`).
    """
    files = BoardFiles.at(folder)
    tables = {name: files.scan(name) if name in _LARGE else files.read(name) for name in _names().values()}
    scores, periods, datasets = tables.pop("scores"), tables["periods"], tables["datasets"]
    assert isinstance(scores, pl.DataFrame) and isinstance(periods, pl.DataFrame) and isinstance(datasets, pl.DataFrame)
    scores = _named(_cells(scores))
    splits = {split for table in (scores, periods, datasets) for split in _splits(table)}
    if not splits:
        raise DataError("the board is empty", where=str(folder), fix="Run: hellofresh release run", code="no-board")
    made_up = (scores.filter("bundled"), periods.filter(source="bundled-sample"))
    released: dict[str, list[Path]] = {}
    for entry in files.manifest.released:
        _, edition, config, *names = PurePosixPath(entry.path).parts
        released.setdefault(f"{edition}/{config}", []).append(folder.joinpath(RELEASED, edition, config, *names))
    return Board(
        tuple(sorted(sorted(splits, key=lambda split: split.task), key=_newest_last, reverse=True)),
        files.manifest.code,
        tables | {"scores": scores},
        frozenset(split for table in made_up for split in _splits(table)),
        frozenset(_splits(periods.filter(pl.col("candidates").is_null()))),
        files.manifest.private,
        files.manifest.addresses,
        released,
        folder,
    )


def _cells(scores: pl.DataFrame) -> pl.DataFrame:
    """One row for each entry, prompt and period, with lists of metrics and the column `number`.

    Entries are written consecutively, so equal ones have a fixed order.
    """
    cell = ["edition", "task", "split", *_ENTRY, "settings", "prompt", "period", "number"]
    several = ["metric", *MetricValue._fields[1:]]
    numbered = scores.with_columns(pl.int_range(pl.len()).over([*cell[:-1], "metric"]).alias("number"))
    same = [pl.col(name).first() for name in scores.columns if name not in (*cell, *several)]
    return numbered.group_by(cell, maintain_order=True).agg(*several, *same)


def _named(scores: pl.DataFrame) -> pl.DataFrame:
    """Add the column `name`, see `hellofresh.results.split.panel.short_names`."""
    parts = ["system", "team", "regime", "settings", "origin"]
    split = ["edition", "task", "split"]
    entries = scores.select(*split, *parts).unique(maintain_order=True)
    found = [
        part.with_columns(name=pl.Series(short_names([SystemId(**row) for row in part.select(parts).to_dicts()])))
        for part in entries.partition_by(split, maintain_order=True)
    ]
    names = pl.concat(found) if found else entries.with_columns(name=pl.lit(""))
    return scores.join(names, on=[*split, *parts], how="left", maintain_order="left")


def _splits(table: pl.DataFrame) -> Iterator[SplitKey]:
    return (SplitKey(*row) for row in table.select("edition", "task").unique().iter_rows())


def _over_raters(result: ScoreCell, rated: RatedRow) -> ScoreCell:
    """The result with the interval over other samples and other raters."""
    first = result.headline._replace(low=rated.low, high=rated.high, bootstrap_low=None, bootstrap_high=None)
    return replace(result, metrics=(first, *result.metrics[1:]), method="over other posts and raters")


def _result(row: Mapping[str, Any]) -> ScoreCell:
    same = ("prompt", "period", "smoke_test", "knowledge_cutoff", "about", "n", "n_split", "clusters", "none",
            "blocked", "method")  # fmt: skip
    metrics = zip(row["metric"], *(row[name] for name in MetricValue._fields[1:]), strict=True)
    return ScoreCell(
        entry=BoardEntry(*(row[name] for name in BoardEntry._fields)),
        **{name: row[name] for name in same},
        facts=ModelFacts.model_construct(**{name: row[name] for name in MODEL_FACTS}),
        metrics=tuple(MetricValue(*metric) for metric in metrics),
    )


def _newest_last(split: SplitKey) -> tuple[bool, EditionKey, str]:
    """Sort key: data sets by name and version, then quarters by time; other names first."""
    if not is_edition(split.edition):
        return False, (-1, split.edition, ()), ""
    edition = parse_edition(split.edition)
    return edition.is_living, edition.sort_key, split.edition
