"""The board's further tables: standings, comparisons, systems, samples, answers; read and checked like the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from leaderboard.tables import Split, read_manifest, read_table

__all__ = [
    "Answer",
    "Days",
    "Fixed",
    "Pair",
    "Records",
    "SampleRow",
    "SearchStep",
    "Standing",
    "SystemFacts",
    "load_records",
]

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "quarters": dict.fromkeys(("quarter", "task", "opens", "deadline", "reveals"), "text"),
    "standings": {
        **dict.fromkeys(("quarter", "task", "origin"), "text"),
        **dict.fromkeys(("rank", "low", "high", "tie_group", "n", "clusters"), "whole numbers"),
        "first": "numbers", "few_clusters": "true or false",
    },
    "pairs": {
        **dict.fromkeys(("quarter", "task", "one", "two", "period"), "text"),
        **dict.fromkeys(("difference", "low", "high"), "numbers"),
        **dict.fromkeys(("p_value", "adjusted"), "numbers?"),
        **dict.fromkeys(("n", "both_right", "one_right", "two_right", "same"), "whole numbers"),
    },
    "fixed": {
        **dict.fromkeys(("task", "origin", "system", "team", "lane", "kind", "regime", "latest"), "text"),
        **dict.fromkeys(("bundled", "smoke_test"), "true or false"),
        **dict.fromkeys(("part", "quarters", "of_quarters"), "whole numbers"),
        "score": "numbers", **dict.fromkeys(("low", "high", "additivity_p"), "numbers?"),
    },
    "systems": {
        **dict.fromkeys(("quarter", "task", "origin", "contamination", "prompts", "manifest"), "text"),
        **dict.fromkeys(("failed", "tokens_in", "tokens_out"), "whole numbers?"), "cost_usd": "numbers?",
    },
    "samples": {
        **dict.fromkeys(("quarter", "task", "id", "period", "date", "license", "facts"), "text"),
        **dict.fromkeys(("title", "section", "context", "text", "deleted", "added", "link"), "text"),
        **dict.fromkeys(("revealed", "texts"), "true or false"), **dict.fromkeys(("label", "right"), "whole numbers?"),
        "judged": "whole numbers",
    },
    "answers": {
        **dict.fromkeys(("quarter", "task", "id", "origin", "prompt", "verdict"), "text"), "headline": "true or false",
    },
    "searches": {
        **dict.fromkeys(("quarter", "task", "id", "origin", "kind", "text", "url", "title", "problem"), "text"),
        "place": "whole numbers",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Days:
    """When a quarter opens, takes its last prediction, and is revealed."""

    opens: datetime
    deadline: datetime
    reveals: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """A system's rank by F1 with the best and worst rank that the data allow, see `hellofresh.board_ranks`."""

    origin: str
    rank: int
    low: int
    high: int
    first: float
    tie_group: int
    n: int
    clusters: int
    few_clusters: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """The first system against the second, on the whole quarter or in a period, see `hellofresh.board_ranks`."""

    one: str
    two: str
    period: str
    n: int
    difference: float
    low: float
    high: float
    p_value: float | None
    adjusted: float | None
    both_right: int
    one_right: int
    two_right: int
    same: int

    def turned(self) -> Pair:
        """The second against the first."""
        return Pair(self.two, self.one, self.period, self.n, -self.difference, -self.high, -self.low, self.p_value,
                    self.adjusted, self.both_right, self.two_right, self.one_right, self.same)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fixed:
    """A system's F1 on the scale of all quarters; limits are None where too few quarters tell."""

    origin: str
    system: str
    team: str
    lane: str
    kind: str
    regime: str
    smoke_test: bool
    part: int
    quarters: int
    of_quarters: int
    latest: str
    score: float
    low: float | None
    high: float | None
    additivity_p: float | None


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """What is known of an entry besides its scores; None is unknown, `manifest` empty for submissions."""

    origin: str
    contamination: str
    prompts: str
    failed: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    manifest: str


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample as the board has it; `label` and `right` are None before the reveal."""

    id: str
    period: str
    date: str
    license: str
    revealed: bool
    texts: bool
    label: int | None
    facts: str
    title: str
    section: str
    context: str
    text: str
    deleted: str
    added: str
    link: str
    judged: int
    right: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system said of a sample with one prompt."""

    id: str
    origin: str
    prompt: str
    headline: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The query of a system's web search for a sample, or one of the pages found."""

    origin: str
    place: int
    kind: str
    text: str
    url: str
    title: str
    problem: str


_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Records:
    """The further tables of a board."""

    _tables: Mapping[str, pl.DataFrame] = field(repr=False)

    def days(self, split: Split) -> Days | None:
        """The split's days, None where its release does not say."""
        rows = self._of("quarters", split).select("opens", "deadline", "reveals").rows()
        return Days(*(datetime.fromisoformat(text) for text in rows[0])) if rows else None

    def standings(self, split: Split) -> dict[str, Standing]:
        """By origin, in the order of ranks; empty where nobody is ranked."""
        return {row.origin: row for row in _rows(Standing, self._of("standings", split).sort("rank", "origin"))}

    def pairs(self, split: Split, one: str, two: str) -> list[Pair]:
        """The two systems' comparison, the whole quarter first, then by period; empty where there is none."""
        wanted = self._of("pairs", split).filter(pl.col("one").is_in([one, two]), pl.col("two").is_in([one, two]))
        found = _rows(Pair, wanted.sort(pl.col("period") != "all", "period"))
        return [pair if pair.one == one else pair.turned() for pair in found]

    def fixed(self, task: str, *, bundled: bool) -> list[Fixed]:
        """Systems over all quarters, the best of each part first."""
        rows = self._tables["fixed"].filter(pl.col("task") == task, pl.col("bundled") == bundled)
        return _rows(Fixed, rows.sort("part", "score", "system", descending=[False, True, False]))

    def systems(self, split: Split) -> dict[str, SystemFacts]:
        """What is known of each entry, by origin."""
        return {row.origin: row for row in _rows(SystemFacts, self._of("systems", split))}

    def samples(self, split: Split) -> pl.DataFrame:
        """All samples of a split with the columns of `SampleRow`, by period and id."""
        return self._of("samples", split).select(_names(SampleRow)).sort("period", "id")

    def sample(self, split: Split, sample: str) -> SampleRow | None:
        """One sample, None if the split has no such."""
        found = _rows(SampleRow, self._of("samples", split).filter(pl.col("id") == sample))
        return found[0] if found else None

    def answers(self, split: Split, *, sample: str = "", origins: Sequence[str] = ()) -> pl.DataFrame:
        """Answers with the columns of `Answer`, to one sample or by some systems."""
        rows = self._of("answers", split)
        rows = rows.filter(pl.col("id") == sample) if sample else rows
        rows = rows.filter(pl.col("origin").is_in(list(origins))) if origins else rows
        return rows.select(_names(Answer))

    def searches(self, split: Split, sample: str) -> list[SearchStep]:
        """The searches for a sample, by system in their order."""
        return _rows(SearchStep, self._of("searches", split).filter(pl.col("id") == sample).sort("origin", "place"))

    def _of(self, name: str, split: Split) -> pl.DataFrame:
        return self._tables[name].filter(pl.col("quarter") == split.quarter, pl.col("task") == split.task)


def _names(kind: type) -> list[str]:
    return [item.name for item in fields(kind)]


def _rows(kind: type[_Row], table: pl.DataFrame) -> list[_Row]:
    names = _names(kind)
    values: list[dict[str, Any]] = table.select(names).to_dicts()
    return [kind(**row) for row in values]


def load_records(folder: Path) -> Records:
    """Read the further tables of a board.

    Raises:
        DataError: as `leaderboard.tables.load_board`.
    """
    _, stated = read_manifest(folder)
    return Records(
        {name: read_table(folder / f"{name}.parquet", stated, columns) for name, columns in _COLUMNS.items()}
    )
