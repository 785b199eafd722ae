"""Tables and charts of scores, as notebooks and terminals show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec

import polars as pl
from rich.table import Table

from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.results.figures.image import render
from hellofresh.results.figures.vega import place


@dataclass(frozen=True, slots=True)
class _Shown:
    """A table as other libraries take it."""

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
        table: one row a system, prompt and metric, the headline metric first.
        headline: the metric that systems are ranked by.
    """

    headline: str

    def chart(self, metric: str = "") -> ScoreChart:
        """A chart of one metric, the headline metric if none is named."""
        return ScoreChart(self.table, metric or self.headline)

    @property
    def _headlines(self) -> pl.DataFrame:
        return self.table.filter(pl.col("metric") == self.headline)

    def __rich__(self) -> Table:
        shown = Table("system", "prompt", self.headline, "95% interval", "samples")
        for row in self._headlines.iter_rows(named=True):
            interval = f"{row['low']:.3f} to {row['high']:.3f}"
            shown.add_row(row["system"], row["prompt"], f"{row['value']:.3f}", interval, f"{row['n']:,}")
        return shown

    def __repr__(self) -> str:
        return "\n".join(
            f"{row['system']}, {row['prompt']}: {self.headline} {row['value']:.3f} "
            f"(95% interval {row['low']:.3f} to {row['high']:.3f}, {row['n']:,} samples)"
            for row in self._headlines.iter_rows(named=True)
        )

    def _repr_html_(self) -> str:
        return str(self._headlines._repr_html_())


@dataclass(frozen=True, slots=True)
class ComparisonTable(_Shown):
    """Where systems stand, and how each two compare.

    Attributes:
        table: one row a system: `rank` with the best and the worst that the data allow (`low`, `high`), `tie_group`,
            chance of being first.
        pairs: one row a pair: difference of the headline metric with its interval, p-value, and the p-value adjusted
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
        metric: which metric.
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
        """For notebooks: a picture where it can be drawn, and the chart itself for those that draw Vega-Lite 6."""
        drawn = {"image/svg+xml": self.svg} if find_spec("vl_convert") is not None else {}
        return {"application/vnd.vegalite.v6+json": self.specification, "text/plain": repr(self), **drawn}
