"""The type of an analysis, and shared parts: findings, scores on parts of a panel, comparisons, subgroups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.split.panel import Panel, PromptOutputs, System
from hellofresh.stats.intervals import FEW_CLUSTERS, Interval
from hellofresh.stats.metrics import Metric
from hellofresh.stats.paired import Comparison, compare

Cell = str | int | float | bool | None
Row = Mapping[str, object]
Where = NDArray[np.bool_]
"""Mask of a panel's samples, shape (n,)."""
P = TypeVar("P")

LEAST_SAMPLES = 20
"""A subgroup with fewer samples is left out."""
NO_SYSTEM = "No system has answered."
PROMPT_KINDS = ("one prompt", "vote of all prompts")
_MOST_BINS = 12  # more would be a list, not a comparison


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The result of an analysis.

    Attributes:
        table: one row per finding; empty if the data allow none.
        figure: its description; None without a figure.
        marks: the figure's marks, for all systems.
        notes: sentences for readers of the figure.
        missing: sentence with the reason for a missing figure, else empty.
    """

    table: pl.DataFrame
    figure: Figure | None = None
    notes: Sequence[str] = ()
    missing: str = ""
    marks: Sequence[Mark] = ()


@dataclass(frozen=True, slots=True)
class Analysis(Generic[P]):
    """One question about a panel, or about its agents' behaviour.

    Attributes:
        name: name on the command line and in files.
        title: a few words.
        question: one sentence with a question mark.
        how_to_read: what the figure shows and what may be concluded; `{metric}` is replaced by the task's headline.
        run: computes the result from a panel.
    """

    name: str
    title: str
    question: str
    how_to_read: str
    run: Callable[[P], AnalysisResult]


def analysis(
    name: str, title: str, question: str, how_to_read: str = ""
) -> Callable[[Callable[[P], AnalysisResult]], Analysis[P]]:
    """Decorator that makes an analysis from a function; see `Analysis`."""
    return lambda run: Analysis(name, title, question, how_to_read, run)


@dataclass(slots=True)
class Findings:
    """Collects the findings of an analysis.

    Attributes:
        panel: what it is made from.
        rows: of the table.
        marks: of the figure.
        intervals: intervals to check for too few groups.
        notes: sentences for readers.
    """

    panel: Panel
    rows: list[Row] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: Row, made: Interval, *marks: Mark) -> None:
        """Add a row with its interval and the figure's marks."""
        self.rows.append(row)
        self.intervals.append(made)
        self.marks.extend(marks)

    def missing(self, why: str) -> AnalysisResult:
        """A result without a figure but with the rows; `why` is the reason."""
        return AnalysisResult(table_of(self.rows), None, self.notes, why)

    def drawn(
        self,
        *charts: Chart,
        order: Literal["name", "label", "marks"] = "name",
        most: int = 12,
        columns: int = 1,
        by_system: bool = False,
        one_key: bool = False,
    ) -> AnalysisResult:
        """A result with a figure of the systems that have marks.

        Args:
            charts: of the figure, as the other options of `Figure` are.
            order: of the systems: the best first, whom marks call by name or by label, or as the marks have them.
            most, columns, by_system, one_key: see `Figure`.
        """
        names = list(dict.fromkeys(mark.who for mark in self.marks))
        if order != "marks":
            called = {id(one): one.name if order == "name" else one.label for one in self.panel.systems}
            shown = _best_first(self.panel, [one for one in self.panel.systems if called[id(one)] in names])
            names = list(dict.fromkeys(called[id(one)] for one in shown))
        figure = Figure(charts, tuple(names), most, columns, by_system, one_key)
        return AnalysisResult(table_of(self.rows), figure, [*self.notes, *few_note(self.intervals)], marks=self.marks)

    def by_factor(
        self, axis: Axis, factors: Iterable[str], *, order: Literal["name", "marks"] = "name"
    ) -> AnalysisResult:
        """A result with a panel of intervals for each factor, in this order, a mark for each system."""
        charts = (Chart("intervals", axis, series=Series("system"), panel=factor) for factor in dict.fromkeys(factors))
        return self.drawn(*charts, order=order, most=4, one_key=True)


def missing(why: str, notes: Sequence[str] = ()) -> AnalysisResult:
    """A result without rows and figure, with the reason."""
    return AnalysisResult(pl.DataFrame(), None, notes, why)


def table_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows as a table; an empty column has the type of text."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    return table.with_columns(pl.col(pl.Null).cast(pl.String))


def few_note(intervals: Sequence[Interval]) -> list[str]:
    """A warning if intervals rest on too few groups."""
    few = [made for made in intervals if made.few]
    if not few:
        return []
    least = min(made.effective_clusters for made in few)
    return [
        f"{len(few)} of {len(intervals)} intervals rest on fewer than {FEW_CLUSTERS} effective clusters of samples, or "
        f"fewer than skewed numbers need (the smallest on {least:.1f}): read them with care."
    ]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric on some samples, with its interval."""

    metric: Metric
    value: float
    interval: Interval

    @property
    def cells(self) -> dict[str, Cell]:
        """For a row of a table."""
        made = self.interval
        cells: dict[str, Cell] = {"n": made.n, "clusters": made.clusters, "effective_clusters": made.effective_clusters}
        return cells | {"metric": self.metric.name, **limited("value", self.value, made), "interval": str(made.method)}

    def mark(self, who: str, series: str = "", *, row: str = "", panel: str = "", more: str = "") -> Mark:
        """The mark of this measure in a figure; its row is the system's own by default."""
        made = self.interval
        return Mark(who, series, self.value, made.low, made.high, made.n, row=row or who, panel=panel, more=more)


def measure(
    panel: Panel, said: PromptOutputs, where: Where | None = None, metric: Metric | None = None
) -> Measure | None:
    """A metric on the asked samples; None if it is undefined.

    It is also None for the headline on samples of a single class, where it would only depend on the class.

    Args:
        panel: the panel.
        said: a system's answers with one prompt.
        where: shape (n,), which samples; all if left out.
        metric: which metric; the task's headline if left out.
    """
    chosen = said.asked if where is None else said.asked & where
    if not chosen.any() or (metric in {None, panel.task.headline} and panel.is_one_class(chosen)):
        return None
    return Measure(metric or panel.task.headline, *panel.measured(said, chosen, metric))


def limited(name: str, value: float | None, made: Interval | None, ends: str | None = None) -> dict[str, Cell]:
    """A value with its limits, as cells of a row; None if absent.

    Args:
        name: of the column of the value.
        value, made: the value and its interval.
        ends: what the names of the limits begin with; the value's name if left out, nothing for `value`.
    """
    first = f"{name}_" if ends is None and name != "value" else ends or ""
    low, high = (None, None) if made is None else (made.low, made.high)
    return {name: value, f"{first}low": low, f"{first}high": high}


def about(system: System, said: PromptOutputs | None = None) -> dict[str, Cell]:
    """The columns that identify a row's system."""
    names: dict[str, Cell] = {"system": system.label, "team": system.team, "regime": system.regime, "kind": system.kind}
    return names | {"smoke_test": system.smoke_test, "prompt": (said or system.headline).prompt}


def _best_first(panel: Panel, systems: Sequence[System]) -> list[System]:
    scored = [(measure(panel, system.headline), system) for system in systems]
    sign = panel.task.headline.sign
    values = {id(system): sign * found.value if found else -float("inf") for found, system in scored}
    return sorted(systems, key=lambda system: (-values[id(system)], system.label, system.regime))


def compare_said(
    panel: Panel, first: PromptOutputs, second: PromptOutputs, *, where: Where | None = None, together: int = 1
) -> Comparison:
    """Compare two systems' answers on the samples that both were asked.

    Args:
        panel: the panel.
        first, second: the answers; both were asked one sample at least.
        where: shape (n,), on these of the samples only.
        together: how many comparisons are shown together.
    """
    both = first.asked & second.asked
    both = both if where is None else both & where
    one, two = panel.tables((first, second), both)
    return compare(one, two, panel.task.headline, together=together, n=int(both.sum()))


@dataclass(frozen=True, slots=True)
class Subgroup:
    """The samples with one value of one fact; `where` has shape (n,)."""

    factor: str
    name: str
    where: Where

    @property
    def row(self) -> str:
        """Its name in figures."""
        return f"{self.name} (n = {int(self.where.sum())})"


def subgroups(panel: Panel) -> tuple[Sequence[Subgroup], list[str]]:
    """The subgroups of each factor with two or more, the largest first, and sentences on those left out."""
    found: list[Subgroup] = []
    notes = []
    for factor in panel.task.subgroups:
        pairs = zip(panel.facts, panel.samples, strict=True)
        values = [_text(facts.get(factor, getattr(sample, factor, None))) for facts, sample in pairs]
        counts = Counter(value for value in values if value)
        large = sorted((value for value in counts if counts[value] >= LEAST_SAMPLES), key=lambda v: (-counts[v], v))
        small = [counts[value] for value in counts if counts[value] < LEAST_SAMPLES]
        if small:
            notes.append(
                f"{factor}: {len(small)} bins of fewer than {LEAST_SAMPLES} samples ({sum(small)} in all) are left out."
            )
        if len(large) > _MOST_BINS:
            notes.append(f"{factor}: the {_MOST_BINS} largest of {len(large)} bins are shown.")
        if len(large) > 1:
            shown = large[:_MOST_BINS]
            found += [Subgroup(factor, name, np.array([v == name for v in values], dtype=np.bool_)) for name in shown]
    return found, notes


def _text(value: object) -> str:
    """Empty where nothing is known."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value or "")
