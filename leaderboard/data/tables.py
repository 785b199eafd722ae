"""The scores, periods and funnels of a board, which every page needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from hellofresh.core.editions import is_edition, parse_edition
from hellofresh.core.errors import DataError
from hellofresh.core.quarters import EditionKey
from hellofresh.results.board.manifest import RELEASED, BoardAddresses, BoardManifest
from hellofresh.results.board.read import BoardFiles
from hellofresh.results.board.schema import TABLES, FunnelStep, PeriodBalance
from hellofresh.results.names import SystemName, short_names
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.data.keeping import kept

__all__ = [
    "ALL_PERIODS",
    "MAIN",
    "PROSPECTIVE",
    "Board",
    "BoardEntry",
    "MetricValue",
    "ScoreCell",
    "SplitKey",
    "load_board",
]

ALL_PERIODS = "all"
"""What the column `period` says where a score is of the whole quarter."""

_BUNDLED = "bundled-sample"
_OPENED = ("scores", "periods", "funnels", "datasets")
"""The tables that every page needs."""
_ENTRY = ["system", "team", "lane", "kind", "regime", "origin"]


class SplitKey(NamedTuple):
    """A task in a quarter; `kind` says whether its main samples or those that nobody had decided (`prospective`)."""

    edition: str
    task: str
    kind: str = MAIN


class BoardEntry(NamedTuple):
    """What tells one line of the board from another.

    `number` tells apart what is otherwise alike, such as two submissions with the same name and team. `name` is what
    sentences and tables call it; no two entries of a split share one.
    """

    system: str
    team: str
    lane: str
    kind: str
    regime: str
    origin: str
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class MetricValue:
    """The value of a metric with the limits of its 95% interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """How an entry did with one prompt in one period; counts are samples.

    Attributes:
        entry: whose result it is.
        n, n_split: samples judged, and samples there are.
        clusters: groups of samples that the intervals rest on.
        none, blocked: samples judged without a readable answer, and with a refusal.
        metrics: the task's metrics, the one that ranks first.
        method: how its interval was made.
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

    @property
    def headline(self) -> MetricValue:
        """What systems are ranked by."""
        return self.metrics[0]

    def metric(self, name: str) -> MetricValue | None:
        """The metric of that name, None where the board does not have it."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    @property
    def no_answer(self) -> float:
        """Share of the judged samples without an answer."""
        return (self.none + self.blocked) / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class Board:
    """All tables of a board.

    Attributes:
        splits: the main splits on it, the latest quarter first, then by task.
        code: the version of the code that built it.
        private: whether it is the maintainers' own, with figures of quarters that are not revealed.
        addresses: where the project lives.
        known: see `leaderboard.data.keeping`.
    """

    splits: tuple[SplitKey, ...]
    code: str
    _bundled: frozenset[SplitKey] = field(repr=False)
    _open: frozenset[SplitKey] = field(repr=False)
    _scores: pl.DataFrame = field(repr=False)
    _periods: pl.DataFrame = field(repr=False)
    _funnels: pl.DataFrame = field(repr=False)
    private: bool = False
    addresses: BoardAddresses = field(default_factory=BoardAddresses)
    _released: Mapping[str, Sequence[Path]] = field(default_factory=dict, repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def is_bundled(self, split: SplitKey) -> bool:
        """Whether the split was made from the bundled sample sources."""
        return split._replace(kind=MAIN) in self._bundled

    def is_open(self, split: SplitKey) -> bool:
        """Whether the labels of the main split are not revealed, so that the board holds no figure that they decide."""
        return split in self._open

    def has_quarters(self, task: str) -> bool:
        """Whether the task has quarters, so that its systems can be brought onto one scale over them."""
        return any(split.task == task and parse_edition(split.edition).is_living for split in self.splits
                   if is_edition(split.edition))  # fmt: skip

    def newest(self, task: str) -> SplitKey:
        """The task's newest revealed quarter with scores; where there is none the newest of all."""
        ours = [split for split in self.splits if split.task == task]
        return next((split for split in ours if not self.is_open(split) and self.has_scores(split)), ours[0])

    def released(self, split: SplitKey) -> Mapping[str, Path]:
        """Copies of the split's released files by name, samples first."""
        config = split.task if split.kind == MAIN else f"{split.task}-{split.kind}"
        found = {path.name: path for path in self._released.get(f"{split.edition}/{config}", ())}
        return {name: found[name] for name in sorted(found, key=_samples_first)}

    def has_scores(self, split: SplitKey) -> bool:
        """Whether anybody has been scored on the split."""
        return not _of(self._scores, split).is_empty()

    def lanes(self, split: SplitKey) -> list[str]:
        """The lanes of all entries, in order."""
        return sorted(_of(self._scores, split)["lane"].unique().to_list())

    @kept
    def headlines(self, split: SplitKey) -> Sequence[ScoreCell]:
        """The row that stands for each entry, whole quarter, the best first (then by name)."""
        rows = _of(self._scores, split).filter(pl.col("headline"), pl.col("period") == ALL_PERIODS)
        return _best_first(map(_result, rows.to_dicts()), split.task)

    def by_period(self, split: SplitKey, entries: Sequence[BoardEntry]) -> dict[BoardEntry, list[ScoreCell]]:
        """The headline prompt's results in each period, in order of time, for each of the entries."""
        rows = _of(self._scores, split).filter(pl.col("headline"), pl.col("period") != ALL_PERIODS).sort("period")
        found: dict[BoardEntry, list[ScoreCell]] = {entry: [] for entry in entries}
        for result in map(_result, _only(rows, entries).to_dicts()):
            found[result.entry].append(result)
        return found

    def by_prompt(self, split: SplitKey, entry: BoardEntry) -> list[ScoreCell]:
        """The entry's results with each prompt in the whole quarter, the headline first, then by prompt name."""
        rows = _of(self._scores, split).filter(pl.col("period") == ALL_PERIODS)
        ordered = _only(rows, [entry]).sort(["headline", "prompt"], descending=[True, False])
        return [_result(row) for row in ordered.to_dicts()]

    @kept
    def prompts(self, split: SplitKey) -> Sequence[str]:
        """Names of all prompts that some system was asked with, besides those that stand for one."""
        rows = _of(self._scores, split).filter(~pl.col("headline"))
        return sorted(rows["prompt"].unique().to_list())

    def with_prompt(self, split: SplitKey, prompt: str) -> list[ScoreCell]:
        """The whole quarter's result of each entry that was asked with the prompt, the best first (then by name)."""
        rows = _of(self._scores, split).filter(pl.col("prompt") == prompt, pl.col("period") == ALL_PERIODS)
        return _best_first(map(_result, rows.to_dicts()), split.task)

    def funnel(self, split: SplitKey) -> list[FunnelStep]:
        """From rows in to candidates, in the order in which the filters apply."""
        return TABLES["funnels"].rows(_here(self._funnels, split).sort("step"))

    def balance(self, split: SplitKey) -> list[PeriodBalance]:
        """What each period offered and gave, in order of time."""
        return TABLES["periods"].rows(_here(self._periods, split).sort("period"))


def load_board(folder: Path) -> Board:
    """Read a board.

    Raises:
        DataError: if there is none (`no-board`), or its files are not what the manifest or the pages say
            (`damaged-board`).
    """
    files = BoardFiles.at(folder)
    tables = {name: files.read(name) for name in _OPENED}
    scores = _named(_cells(tables["scores"]))
    splits = {SplitKey(*row) for name in ("scores", "periods", "datasets") for row in _splits(tables[name])}
    if not splits:
        raise DataError("the board is empty", where=str(folder), fix="Run: make release", code="no-board")
    bundled = {
        *_splits(scores.filter(pl.col("bundled"))),
        *_splits(tables["periods"].filter(pl.col("source") == _BUNDLED)),
    }
    hidden = _splits(tables["periods"].filter(pl.col("candidates").is_null()))
    ordered = sorted(sorted(splits, key=lambda split: split.task), key=_newest_last, reverse=True)
    return Board(
        tuple(ordered),
        files.manifest.code,
        frozenset(SplitKey(*row) for row in bundled),
        frozenset(hidden),
        scores,
        tables["periods"],
        tables["funnels"],
        files.manifest.private,
        files.manifest.addresses,
        _copies(folder, files.manifest),
    )


def _copies(folder: Path, manifest: BoardManifest) -> Mapping[str, Sequence[Path]]:
    """By edition and configuration."""
    found: dict[str, list[Path]] = {}
    for entry in manifest.released:
        _, edition, config, *names = PurePosixPath(entry.path).parts
        found.setdefault(f"{edition}/{config}", []).append(folder.joinpath(RELEASED, edition, config, *names))
    return found


def _samples_first(name: str) -> tuple[bool, bool, str]:
    return name != "samples.jsonl", name not in ("labels.jsonl", "outcomes.jsonl"), name


def _cells(scores: pl.DataFrame) -> pl.DataFrame:
    """One row for each entry, prompt and period, with lists of metrics and the column `number`.

    Entries are written one after the other, so equal ones come in a fixed order.
    """
    cell = ["edition", "task", "split", *_ENTRY, "settings", "prompt", "period", "number"]
    several = ["metric", "value", "low", "high"]
    numbered = scores.with_columns(pl.int_range(pl.len()).over([*cell[:-1], "metric"]).alias("number"))
    same = [pl.col(name).first() for name in scores.columns if name not in (*cell, *several)]
    return numbered.group_by(cell, maintain_order=True).agg(*several, *same)


def _named(scores: pl.DataFrame) -> pl.DataFrame:
    """With the column `name`, see `hellofresh.results.names.short_names`."""
    parts = ["system", "team", "regime", "settings", "origin"]
    split = ["edition", "task", "split"]
    entries = scores.select(*split, *parts).unique(maintain_order=True)
    found = [
        part.with_columns(name=pl.Series(short_names([SystemName(*row) for row in part.select(parts).iter_rows()])))
        for part in entries.partition_by(split, maintain_order=True)
    ]
    names = pl.concat(found) if found else entries.with_columns(name=pl.lit(""))
    return scores.join(names, on=[*split, *parts], how="left", maintain_order="left")


def _splits(table: pl.DataFrame) -> Iterator[SplitKey]:
    return (SplitKey(*row) for row in table.select("edition", "task").unique().iter_rows())


def _of(table: pl.DataFrame, split: SplitKey) -> pl.DataFrame:
    return _here(table, split).filter(pl.col("split") == split.kind)


def _here(table: pl.DataFrame, split: SplitKey) -> pl.DataFrame:
    """The rows of the quarter and task in a table that is about the main samples only."""
    return table.filter(pl.col("edition") == split.edition, pl.col("task") == split.task)


def _only(rows: pl.DataFrame, entries: Sequence[BoardEntry]) -> pl.DataFrame:
    schema = {name: rows.schema[name] for name in BoardEntry._fields}
    wanted = pl.DataFrame(list(entries), schema=schema, orient="row")
    return rows.join(wanted, on=list(BoardEntry._fields), how="semi", maintain_order="left")


def _result(row: Mapping[str, Any]) -> ScoreCell:
    same = ("prompt", "period", "smoke_test", "knowledge_cutoff", "about", "n", "n_split", "clusters", "none",
            "blocked", "method")  # fmt: skip
    metrics = zip(row["metric"], row["value"], row["low"], row["high"], strict=True)
    return ScoreCell(
        entry=BoardEntry(*(row[name] for name in BoardEntry._fields)),
        **{name: row[name] for name in same},
        metrics=tuple(MetricValue(*metric) for metric in metrics),
    )


def _best_first(results: Iterable[ScoreCell], task: str) -> list[ScoreCell]:
    """By the headline metric, then by name."""
    known = TASKS.get(task)
    sign = known.headline.sign if known else 1
    return sorted(results, key=lambda result: (-sign * result.headline.value, result.entry))


def _newest_last(split: SplitKey) -> tuple[bool, EditionKey, str]:
    """Data sets by name and version, then quarters by time; a name that is no edition's comes first."""
    if not is_edition(split.edition):
        return False, (-1, split.edition, ()), ""
    edition = parse_edition(split.edition)
    return edition.is_living, edition.sort_key, split.edition
