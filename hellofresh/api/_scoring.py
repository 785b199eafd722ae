"""Score and compare predictions by the leaderboard's rules, and show the results in notebooks and terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any, overload

import numpy as np
import polars as pl
import polars.selectors as cs
from rich.table import Table

from hellofresh.api._loading import LoadedEdition
from hellofresh.api._predictions import Predictions, outputs_of
from hellofresh.core.errors import UsageError
from hellofresh.results.comparison import ScoreComparison, compare_scores
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.figures.image import render
from hellofresh.results.figures.vega import place
from hellofresh.results.score_files import ColumnNames, scores_of
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.entries import Entry
from hellofresh.results.split.panel import ALL_PERIODS, SINGLE, Panel
from hellofresh.results.standings import standings_of
from hellofresh.tasks.outputs import Choice, Output


@dataclass(frozen=True, slots=True)
class _Shown:
    """Convert the table for other libraries."""

    table: pl.DataFrame = field(repr=False)

    def to_pandas(self) -> object:
        """The table as a pandas data frame; needs pandas and pyarrow."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class ScoreTable(_Shown):
    """Scores with 95% intervals.

    Attributes:
        table: one row per system, prompt and metric, the headline metric first.
        headline: the metric that systems are ranked by.
        note: why these scores differ from the leaderboard's; empty if they do not.
    """

    headline: str
    note: str = ""

    def chart(self, metric: str = "") -> ScoreChart:
        """A chart of one metric, by default the headline metric."""
        return ScoreChart(self.table, metric or self.headline)

    @property
    def _headlines(self) -> pl.DataFrame:
        return self.table.filter(pl.col("metric") == self.headline)

    def __rich__(self) -> Table:
        shown = Table("system", "prompt", self.headline, "95% interval", "samples", caption=self.note or None)
        for row in self._headlines.iter_rows(named=True):
            interval = f"{row['low']:.3f} to {row['high']:.3f}"
            shown.add_row(row["system"], row["prompt"], f"{row['value']:.3f}", interval, f"{row['n']:,}")
        return shown

    def __repr__(self) -> str:
        lines = [
            f"{row['system']}, {row['prompt']}: {self.headline} {row['value']:.3f} "
            f"(95% interval {row['low']:.3f} to {row['high']:.3f}, {row['n']:,} samples)"
            for row in self._headlines.iter_rows(named=True)
        ]
        return "\n".join([*lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        return f"{self._headlines._repr_html_()}<p>{escape(self.note)}</p>"


@dataclass(frozen=True, slots=True)
class ComparisonTable(_Shown):
    """Ranks of systems and their pairwise comparisons.

    Attributes:
        table: one row per system: `rank` with its best and worst plausible values (`low`, `high`), `tie_group`,
            chance of being first.
        pairs: one row per pair: difference of the headline metric with its interval, p-value, and the p-value adjusted
            for all pairs.
        headline: the metric that systems are ranked by.
    """

    pairs: pl.DataFrame = field(repr=False)
    headline: str

    def __repr__(self) -> str:
        lines = []
        for row in self.table.iter_rows(named=True):
            span = f"{row['low']} to {row['high']}" if row["low"] < row["high"] else "certain"
            lines.append(f"{row['rank']}. {row['system']} (rank interval: {span}, tie group {row['tie_group']})")
        for row in self.pairs.iter_rows(named=True):
            tested = "" if row["adjusted"] is None else f", adjusted p {row['adjusted']:.3f}"
            difference = f"{row['difference']:+.3f} (95% interval {row['low']:+.3f} to {row['high']:+.3f}{tested})"
            lines.append(f"{row['one']} less {row['two']}: {self.headline} {difference}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}{self.pairs._repr_html_()}"


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """Scores of one metric as the site draws them; notebooks show it.

    Attributes:
        table: the scores.
        metric: its name.
    """

    table: pl.DataFrame = field(repr=False)
    metric: str

    @property
    def _figure(self) -> tuple[Figure, list[Mark]]:
        columns = ("system", "prompt", "value", "low", "high", "n")
        shown = self.table.filter(pl.col("metric") == self.metric).select(columns).iter_rows()
        marks = [
            Mark(system, "", value, low, high, n, row=f"{system}, {prompt}")
            for system, prompt, value, low, high, n in shown
        ]
        return Figure((Chart("intervals", Axis.share(self.metric, marks), series=Series()),), ()), marks

    @property
    def _question(self) -> str:
        return f"{self.metric} of each system and prompt"

    @property
    def specification(self) -> dict[str, object]:
        """The chart in Vega-Lite."""
        placed = place(*self._figure, self._question)
        return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "width": 600, **placed[0].spec}

    @property
    def svg(self) -> str:
        """The chart as a picture; needs the extra `analyse`."""
        return render(*self._figure, self._question, png=False).svg.decode()

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """Give notebooks a picture where it can be drawn, and the Vega-Lite 6 chart."""
        drawn = {"image/svg+xml": self.svg} if find_spec("vl_convert") is not None else {}
        return {"application/vnd.vegalite.v6+json": self.specification, "text/plain": repr(self), **drawn}


def score(edition: LoadedEdition, predictions: Predictions, *, name: str = "predictions") -> ScoreTable:
    """Score predictions with the leaderboard's own scorer.

    Args:
        edition: on what, from `load`.
        predictions: labels or outputs by sample id, a frame with the columns `id` and `label`, or a file of
            predictions. A label of None stands for no answer and counts as wrong; other samples are not counted.
        name: what to call the system.

    Raises:
        UsageError: if an id is unknown, or the task does not take an answer.
        ReleaseError: if labels are not public yet.
    """
    return scored(edition, [_entry(name, "submission", outputs_of(edition, predictions))])


@overload
def compare(scores: LoadedEdition, systems: Mapping[str, Predictions]) -> ComparisonTable: ...


@overload
def compare(
    scores: object,
    *,
    baseline: str = ...,
    lower_is_better: bool = ...,
    item: str = ...,
    system: str = ...,
    score: str = ...,
    cluster: str = ...,
    repeat: str = ...,
    human: str = ...,
    systems: Sequence[str] | str = ...,
    without: Sequence[str] | str = ...,
    scale: tuple[float, float] = ...,
    missing: str = ...,
) -> ScoreComparison: ...


def compare(
    scores: object,
    systems: Mapping[str, Predictions] | Sequence[str] | str | None = None,
    *,
    baseline: str = "",
    lower_is_better: bool = False,
    missing: str = "fit",
    **columns: Any,
) -> ComparisonTable | ScoreComparison:
    """Rank systems and compare each two of them: predictions on an edition, or any table of scores.

        hf.compare(edition, {"mine": "predictions.jsonl", "theirs": run})
        hf.compare(frame, item="post", cluster="topic")

        >>> import numpy
        >>> scores = numpy.array([[1, 0]] * 30 + [[1, 1]] * 60 + [[0, 1]] * 10)
        >>> compare(scores).sentence
        'system 1 leads with 0.900 on 100 items: significantly ahead of system 2 (adjusted p < .05).'

    Args:
        scores: an edition, from `load`; or a frame of polars or pandas, long (item, system, score) or wide (a column a
            system), or an array of numpy, shape (items, systems).
        systems: on an edition, the predictions of each system by its name, as `score` takes them.
        baseline, lower_is_better, missing: for a table, as in `hellofresh compare`.
        columns: for a table, names of the columns `item`, `system`, `score`, `cluster` and `repeat`, which are guessed
            if left out; `human`, `without` and `scale`. With a table, `systems` are names of columns.

    Raises:
        UsageError: if there are fewer than two systems, predictions are refused, or a column is missing.
        DataError: if the scores of a table cannot be compared.
        ReleaseError: if labels are not public yet.
    """
    if isinstance(scores, LoadedEdition):
        if systems is not None and not isinstance(systems, Mapping):
            raise UsageError("systems without predictions", expected="a mapping", code="bad-table")
        return _on_edition(scores, systems or {})
    names = ColumnNames(**columns, systems=[*systems] if isinstance(systems, Mapping) else systems or "")
    found = scores_of({"": _framed(scores)}, names)
    return compare_scores(found, baseline=baseline, lower_is_better=lower_is_better, missing=missing)


def _framed(scores: Any) -> pl.DataFrame:
    """A pandas or numpy table as a polars frame; NaN becomes a missing score."""
    if isinstance(scores, pl.DataFrame):
        return scores
    if isinstance(scores, np.ndarray):
        columns = {f"system {number + 1}": column.tolist() for number, column in enumerate(scores.T)}
    elif hasattr(scores, "columns"):
        columns = {str(name): scores[name].tolist() for name in scores.columns}
    else:
        raise UsageError(f"a {type(scores).__name__}", expected="a frame, an array or an edition", code="bad-table")
    return pl.DataFrame(columns, strict=False).with_columns(cs.float().fill_nan(None))


def _on_edition(edition: LoadedEdition, systems: Mapping[str, Predictions]) -> ComparisonTable:
    """Compare as the leaderboard does: on the samples that all systems answered."""
    if len(systems) < 2:
        raise UsageError("nothing to compare", expected="predictions of two systems or more", code="too-few-systems")
    entries = [_entry(name, "submission", outputs_of(edition, said)) for name, said in systems.items()]
    panel = _panel(edition, entries)
    found = standings_of(panel)
    named = ("rank", "low", "high", "origin", "tie_group", "first", "n")
    ranks = pl.DataFrame([{name: getattr(item, name) for name in named} for item in found.ranked])
    pairs = found.pairs.filter(pl.col("period") == ALL_PERIODS)
    compared = pairs.select("one", "two", "difference", "low", "high", "p_value", "adjusted", "n")
    return ComparisonTable(ranks.rename({"origin": "system"}), compared, edition.task.headline.name)


def scored(edition: LoadedEdition, entries: Sequence[Entry]) -> ScoreTable:
    """The scores of entries and of the constant-class baselines."""
    ids = {key for entry in entries for said in entry.outputs.values() for key in said}  # baselines get these samples
    always = [
        _entry(f"always {name}", "baseline", dict.fromkeys(ids, Choice(label=number)))
        for number, name in enumerate(edition.task.classes)
    ]
    everyone = [*entries, *always]
    order = {entry.origin: number for number, entry in enumerate(everyone)}
    rows = sorted(_rows(_panel(edition, everyone)), key=lambda row: order[str(row["origin"])])
    part, every = len(ids), len(edition.release.samples)
    note = f"{part} of {every} samples: not comparable with the board" if part < every else ""
    return ScoreTable(pl.DataFrame(rows).drop("origin"), edition.task.headline.name, note)


def _panel(edition: LoadedEdition, entries: Sequence[Entry]) -> Panel:
    release = edition.release
    return panel_of(release.task, release.edition, release.samples, edition.need_labels(), entries)


def _entry(name: str, kind: str, outputs: Mapping[str, Output]) -> Entry:
    return Entry(
        system=name, team="", kind=kind, regime="none", smoke_test=False, knowledge_cutoff="unknown",
        about="", origin=name, outputs={SINGLE: outputs},
    )  # fmt: skip


def _rows(panel: Panel) -> Iterator[dict[str, object]]:
    for system in panel.systems:
        for said in system.said:
            for metric in panel.metrics:
                value, some = panel.measured(said, said.asked, metric)
                yield {
                    "origin": system.origin,
                    "system": system.name,
                    "regime": system.regime,
                    "prompt": said.prompt,
                    "metric": metric.name,
                    "value": value,
                    "low": some.low,
                    "high": some.high,
                    "n": int(said.asked.sum()),
                    "silent": int(np.count_nonzero(said.predictions(said.asked) < 0)),
                    "clusters": some.clusters,
                }
