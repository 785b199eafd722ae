"""The analyses' figures, drawn anew from the board's tables: which kind each has, of which systems, and with what said.

An analysis that is not known here, or whose table lacks what its figure needs, has no drawing: its file's picture
stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from leaderboard.drawing.vega import (
    Axis,
    Cell,
    Chart,
    Mark,
    Region,
    Series,
    curves,
    intervals_in_rows,
    pairs,
    regions,
    scatter,
)

__all__ = ["Drawing", "Findings", "draw", "lead", "systems_of"]

_NO_MODEL = "a rule without a language model"
_REGIMES = ("zero-shot", "web-search", "placebo")
_QUARTERS = ("lowest quarter", "second", "third", "highest quarter")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a figure is drawn from.

    Attributes:
        name: of the analysis.
        question: what it asks; part of what is said of each chart to those who do not see it.
        table, points: as on the board.
        shown: the systems to draw, in order, from `systems_of`.
        picked: series in full colour where charts share one key; empty for all.
    """

    name: str
    question: str
    table: pl.DataFrame = field(repr=False)
    points: pl.DataFrame = field(repr=False)
    shown: Sequence[str] = ()
    picked: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Charts that make up a figure.

    Attributes:
        charts: in order.
        columns: how many stand side by side where there is room.
        key: the series of all charts, where the charts themselves have no legend.
    """

    charts: Sequence[Chart]
    columns: int = 1
    key: Series | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one analysis is drawn.

    Attributes:
        needs: columns of the table.
        draw: makes the charts.
        most: systems drawn if nobody chooses others.
        by_regime: whether a system stands in it once for each of its regimes.
        points: columns of the points, which must be there too.
        who: which rows of the table have something to draw.
    """

    needs: tuple[str, ...]
    draw: Callable[[Findings], Drawing]
    most: int = 12
    by_regime: bool = True
    points: tuple[str, ...] = ()
    who: pl.Expr | None = None


def systems_of(name: str, table: pl.DataFrame) -> list[str]:
    """The systems that a figure can show, in the order of the table; empty where there is no drawing."""
    kind = _KINDS.get(name)
    if kind is None or not set(kind.needs) <= set(table.columns):
        return []
    rows = table if kind.who is None else table.filter(kind.who)
    if name == "agreement":
        both = pl.concat([rows.select(who=_who("first")), rows.select(who=_who("second"))])
        return both["who"].unique(maintain_order=True).to_list()
    who = _who("system") if kind.by_regime else pl.col("system")
    return rows.select(who=who)["who"].unique(maintain_order=True).to_list()


def lead(name: str, systems: Sequence[str], scores: pl.DataFrame) -> list[str]:
    """The systems that a figure shows if nobody chooses others, those with the best F1 first.

    Args:
        name: of the analysis.
        systems: from `systems_of`.
        scores: a table with the columns `system`, `regime`, `metric` and `value`; systems not in it come last.
    """
    kind = _KINDS[name]
    if name == "ranking":
        return list(systems[: kind.most])
    best: dict[str, float] = {}
    if {"system", "regime", "metric", "value"} <= set(scores.columns):
        found = scores.filter(pl.col("metric") == "f1")
        who = _who("system") if kind.by_regime else pl.col("system")
        for key, value in found.select(who.alias("who"), "value").iter_rows():
            best[key] = max(best.get(key, -1.0), -1.0 if value is None else value)
    return sorted(systems, key=lambda key: -best.get(key, -1.0))[: kind.most]


def draw(findings: Findings) -> Drawing | None:
    """The figure of an analysis; None where it has no drawing, or nothing to show of these systems."""
    kind = _KINDS.get(findings.name)
    known = kind is not None and set(kind.needs) <= set(findings.table.columns)
    if kind is None or not known or not set(kind.points) <= set(findings.points.columns):
        return None
    drawing = kind.draw(findings)
    return drawing if drawing.charts else None


def _who(column: str) -> pl.Expr:
    """A system's name, with its regime where it has one."""
    regime = pl.col("regime" if column == "system" else f"{column}_regime")
    return pl.when(regime.is_in(["none", ""])).then(pl.col(column)).otherwise(pl.col(column) + " · " + regime)


def _rows(findings: Findings, table: pl.DataFrame | None = None) -> list[dict[str, Any]]:
    """The rows of the systems to draw, each with `who`, in the order in which they are to be drawn."""
    kind = _KINDS[findings.name]
    place = {key: number for number, key in enumerate(findings.shown)}
    rows = (findings.table if table is None else table).with_columns(_who("system").alias("who"))
    key = "who" if kind.by_regime else "system"
    kept = rows if kind.who is None or table is not None else rows.filter(kind.who)
    found = kept.filter(pl.col(key).is_in(list(findings.shown))).to_dicts()
    return sorted(found, key=lambda row: place[row[key]])


def _mark(cells: Row, value: str, series: str, *, limits: tuple[str, str] | None = None, **more: Any) -> Mark:
    """A mark from a row's cells; limits are `<value>_low` and `<value>_high` if not said."""
    low, high = limits or (f"{value}_low", f"{value}_high")
    found = {"row": cells["who"], "n": cells.get("n"), **more}
    return Mark(series=series, value=_number(cells[value]), low=_number(cells[low]), high=_number(cells[high]), **found)


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else math.nan


def _first(names: Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """Each name once, known ones before others."""
    once = list(dict.fromkeys(names))
    return [*(name for name in known if name in once), *(name for name in once if name not in known)]


def _axis(title: str, marks: Sequence[Mark], *, ticks: int | None = None) -> Axis:
    """From 0 to 1, less what no interval reaches."""
    ends = [end for mark in marks for end in (mark.low, mark.high, mark.value) if math.isfinite(end)]
    low, high = (math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10) if ends else (0.0, 1.0)
    return Axis(title, max(0.0, low), min(1.0, max(high, low + 0.1)), ticks=ticks)


_BARE = ("low", "high")


def _ranking(of: Findings) -> Drawing:
    rows = _rows(of)
    marks = [
        _mark(row, "rank", f"tie group {row['tie_group']}",
              more=f"first with a probability of {_number(row['probability_first']):.0%}") for row in rows
    ]  # fmt: skip
    groups = _first(mark.series for mark in marks)
    last = max([mark.high for mark in marks], default=1)
    axis = Axis("rank by F1 (1 is best)", 0.5, last + 0.5, whole=True)
    series = Series("tie group", groups, legend=len(groups) <= 8)
    return Drawing([intervals_in_rows("", of.question, marks, axis, series)] if marks else [])


def _temporal(of: Findings) -> Drawing:
    rows = [{**row, "regime": _NO_MODEL if row["regime"] in {"none", ""} else row["regime"]} for row in _rows(of)]
    periods = sorted({row["period"] for row in rows})
    names = {period: period.rpartition("-")[2] for period in periods}
    key = Series("regime", _first((row["regime"] for row in rows), _REGIMES), of.picked, legend=False)
    marks_of: dict[str, list[Mark]] = {system: [] for system in of.shown}
    for row in rows:
        marks_of[row["system"]].append(_mark(row, "value", row["regime"], limits=_BARE, at=names[row["period"]]))
    axes = (Axis("period"), _axis("F1", [mark for marks in marks_of.values() for mark in marks], ticks=5))
    charts = []
    for system, marks in marks_of.items():
        if marks:
            charts.append(curves(system, of.question, marks, axes, key, places=list(names.values())))
    return Drawing(charts, 2 if len(periods) > 6 else 3, key)


def _search_gain(of: Findings) -> Drawing:
    kinds = ("vote of all prompts", "one prompt")
    marks = [
        _mark(row, "difference", kinds[row["prompt"] != "majority"], limits=_BARE,
              row=f"{row['system']}: {row['prompt']}", more=f"p = {_number(row['p_adjusted']):.3f}, adjusted")
        for row in _rows(of)
    ]  # fmt: skip
    series = Series("", _first((mark.series for mark in marks), kinds))
    axis = Axis("gain in F1 by web search", zero=True)
    return Drawing([intervals_in_rows("", of.question, marks, axis, series)] if marks else [])


def _placebo(of: Findings) -> Drawing:
    marks = [_mark(row, "value", row["regime"], limits=_BARE, row=row["system"]) for row in _rows(of)]
    series = Series("regime", _first((mark.series for mark in marks), ("zero-shot", "placebo", "web-search")))
    return Drawing([intervals_in_rows("", of.question, marks, _axis("F1", marks), series)] if marks else [])


def _deployment(of: Findings) -> Drawing:
    parts = {
        "first_precision": "precision, first half", "second_precision": "precision, second half",
        "second_recall": "recall, second half",
    }  # fmt: skip
    marks = [
        _mark(row, column, name, n=row[f"{column.partition('_')[0]}_n"], more=f"prompt {row['prompt']}")
        for row in _rows(of) for column, name in parts.items() if row[column] is not None
    ]  # fmt: skip
    axis = _axis("precision or recall", marks)
    return Drawing([intervals_in_rows("", of.question, marks, axis, Series("", list(parts.values())))] if marks else [])


def _precision_recall(of: Findings) -> Drawing:
    rows = _rows(of)
    key = Series("prompt", _first(row["prompt"] for row in rows), of.picked, legend=False)
    axes = (Axis("recall", 0, 1, ticks=5), Axis("precision", 0, 1, ticks=5))
    charts = []
    for system in of.shown:
        found = [_region(row) for row in rows if row["who"] == system]
        if found:
            charts.append(regions(system, of.question, found, axes, key))
    return Drawing(charts, 3, key)


def _region(row: Row) -> Region:
    precision, recall = _number(row["precision"]), _number(row["recall"])
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    limits = f"{_number(row['recall_low']):.3f} to {_number(row['recall_high']):.3f}"
    mark = _mark(row, "precision", row["prompt"], at=recall, more=f"recall {recall:.3f} ({limits}), F1 {f1:.3f}")
    return Region(mark, *(_number(row[f"ellipse_{part}"]) for part in ("width", "height", "angle_degrees")))


def _sensitivity(of: Findings) -> Drawing:
    kinds = ("one prompt", "vote of all prompts")
    prompts = [
        Mark(row["who"], kinds[row["prompt"] == "majority"], _number(row["value"]), math.nan, math.nan, row["n"],
             more=f"prompt {row['prompt']}")
        for row in _rows(of, of.points)
    ]  # fmt: skip
    rows = _rows(of)
    spread = {row["who"]: row for row in rows}
    shown = [mark for mark in prompts if mark.row in spread]
    spans = [
        Mark(row["who"], kinds[0], math.nan, _number(row["f1_least"]), _number(row["f1_most"]), row["n"])
        for row in rows
    ]  # fmt: skip
    share = [_mark(row, "share", "", limits=_BARE) for row in rows]
    if not rows:
        return Drawing([])
    left = intervals_in_rows(
        "F1 of each prompt",
        of.question,
        [*spans, *shown],
        _axis("F1", [*spans, *shown]),
        Series("", kinds),
        side_by_side=False,
    )
    axis = Axis("share of the variance of F1", 0, 1)
    right = intervals_in_rows("What is due to the wording", of.question, share, axis, Series("", [""]))
    return Drawing([left, right], 2)


def _contamination(of: Findings) -> Drawing:
    sides = {"before": "until the cutoff", "after": "after the cutoff"}
    rows = _rows(of)
    marks = [
        _mark(row, side, name, n=row[f"{side}_n"], more=f"cutoff {row['knowledge_cutoff']}")
        for row in rows for side, name in sides.items()
    ]  # fmt: skip
    gaps = [_mark(row, "difference", "", limits=_BARE, more=f"cutoff {row['knowledge_cutoff']}") for row in rows]
    if not rows:
        return Drawing([])
    series = Series("samples", list(sides.values()))
    left = intervals_in_rows("F1 on both sides of the cutoff", of.question, marks, _axis("F1", marks), series)
    axis = Axis("F1 until minus after the cutoff", zero=True)
    return Drawing([left, intervals_in_rows("Difference", of.question, gaps, axis, Series("", [""]))], 2)


def _votes(of: Findings) -> Drawing:
    metrics = {"f1": "F1", "recall": "share found", "negative_recall": "share found"}
    rows = _rows(of)
    charts = []
    for factor in _first(row["factor"] for row in rows):
        own = [row for row in rows if row["factor"] == factor]
        marks = [
            _mark(row, "value", row["quarter_of"], limits=_BARE,
                  more=f"{_number(row['from']):,.6g} to {_number(row['to']):,.6g}") for row in own
        ]  # fmt: skip
        series = Series("quarter", _first((mark.series for mark in marks), _QUARTERS))
        axis = _axis(metrics.get(own[0]["metric"], str(own[0]["metric"])), marks)
        charts.append(intervals_in_rows(factor, of.question, marks, axis, series))
    return Drawing(charts)


def _slices(of: Findings) -> Drawing:
    marks_of: dict[str, list[Mark]] = {}
    for row in sorted(_rows(of), key=lambda row: str(row["slice"])):
        mark = _mark(row, "value", row["who"], limits=_BARE, row=f"{row['slice']} ({row['samples']})",
                     more=f"{row['positives']} of {row['samples']} are positive")  # fmt: skip
        marks_of.setdefault(row["factor"], []).append(mark)
    axis = _axis("F1", [mark for marks in marks_of.values() for mark in marks])
    ordered = [factor for factor in _first(of.table["factor"].to_list()) if factor in marks_of]
    return Drawing([
        intervals_in_rows(factor, of.question, marks_of[factor], axis, Series("system", of.shown)) for factor in ordered
    ])  # fmt: skip


def _agreement(of: Findings) -> Drawing:
    place = {key: number for number, key in enumerate(of.shown)}
    both = of.table.with_columns(_who("first").alias("one"), _who("second").alias("two"))
    kept = both.filter(pl.col("one").is_in(list(place)), pl.col("two").is_in(list(place)))
    cells = []
    for row in kept.to_dicts():
        said = (
            f"95% interval {_number(row['kappa_low']):.2f} to {_number(row['kappa_high']):.2f}; the same answer to "
            f"{_number(row['agreement']):.0%} of {row['n']:,} samples"
        )
        for one, two in ((row["one"], row["two"]), (row["two"], row["one"])):
            if math.isfinite(_number(row["kappa"])):
                cells.append(Cell(place[one], place[two], row["kappa"], said))
    axis = Axis("Cohen's kappa", 0, 1)
    return Drawing([pairs("", of.question, cells, of.shown, axis)] if cells else [])


def _calibration(of: Findings) -> Drawing:
    rows = _rows(of, of.points)
    whole = {(row["who"], row["prompt"]): row for row in _rows(of)}
    axes = (Axis("stated probability of label 1", 0, 1, ticks=5), Axis("share with label 1", 0, 1, ticks=5))
    charts = []
    for system in of.shown:
        own = [row for row in rows if row["who"] == system]
        if own:
            marks = [
                _mark(row, "share", "", limits=_BARE, at=_number(row["confidence"]),
                      more=f"stated {_number(row['confidence']):.0%}") for row in own
            ]  # fmt: skip
            found = whole.get((system, own[0]["prompt"]), {})
            title = f"{system}: ECE {_number(found.get('ece')):.2f}, Brier {_number(found.get('brier')):.2f}"
            charts.append(curves(title, of.question, marks, axes, Series("", [""]), places=[]))
    return Drawing(charts, 3)


def _silence(of: Findings) -> Drawing:
    rows = _rows(of)
    headline: dict[str, str] = {}
    for row in rows:
        headline.setdefault(row["who"], row["prompt"])
    shown = [
        {**row, **{name: 100 * _number(row[name]) for name in ("share", *_BARE)}}
        for row in rows if row["prompt"] == headline[row["who"]]
    ]  # fmt: skip
    marks = [_mark(row, "share", row["what"], limits=_BARE, more=f"{row['count']:,} samples") for row in shown]
    series = Series("", _first((mark.series for mark in marks), ("no readable answer", "blocked")))
    axis = Axis("share of samples (%)", 0, digits=1)
    return Drawing([intervals_in_rows("", of.question, marks, axis, series)] if marks else [])


def _cost(of: Findings) -> Drawing:
    marks = [
        _mark(row, "value", row["who"], limits=_BARE, at=_number(row["usd_per_1000_samples"])) for row in _rows(of)
    ]
    series = Series("", _first(mark.series for mark in marks))
    axes = (Axis("US dollars for 1,000 samples, all prompts"), _axis("F1", marks))
    return Drawing([scatter("", of.question, marks, axes, series)] if marks else [])


_COMMON = ("system", "regime", "kind", "prompt")
_SCORED = (*_COMMON, "n", "value", "low", "high")
_LIMITED = ("", "_low", "_high")
_NO_BASELINE = pl.col("kind") != "baseline"
_KINDS: Mapping[str, _Kind] = {
    "ranking": _Kind((*_SCORED, "rank", "rank_low", "rank_high", "tie_group", "probability_first"), _ranking, 20),
    "temporal-consistency": _Kind((*_SCORED, "period"), _temporal, 6, by_regime=False),
    "search-gain": _Kind((*_COMMON, "n", "difference", "low", "high", "p_adjusted"), _search_gain, 6, by_regime=False),
    "placebo": _Kind(_SCORED, _placebo, by_regime=False),
    "deployment": _Kind(
        (*_COMMON, "first_n", "second_n", *(f"{name}{end}" for name in ("first_precision", "second_precision",
                                                                         "second_recall") for end in _LIMITED)),
        _deployment, who=_NO_BASELINE & pl.col("prompt").is_not_null(),
    ),
    "precision-recall": _Kind(
        (*_COMMON, "n", *(f"{name}{end}" for name in ("precision", "recall") for end in _LIMITED), "ellipse_width",
         "ellipse_height", "ellipse_angle_degrees"), _precision_recall, 6,
    ),
    "prompt-sensitivity": _Kind(
        (*_COMMON, "n", "f1_least", "f1_most", "share", "low", "high"), _sensitivity, points=(*_COMMON, "n", "value"),
    ),
    "contamination": _Kind(
        (*_COMMON, "knowledge_cutoff", "status", "difference", "low", "high",
         *(f"{name}{end}" for name in ("before", "after") for end in (*_LIMITED, "_n"))),
        _contamination, who=pl.col("status") == "both sides",
    ),
    "votes": _Kind((*_SCORED, "factor", "quarter_of", "from", "to", "metric"), _votes, 6),
    "slices": _Kind((*_SCORED, "factor", "slice", "samples", "positives"), _slices, 4),
    "agreement": _Kind(
        ("first", "first_regime", "second", "second_regime", "n", "agreement", "kappa", "kappa_low", "kappa_high"),
        _agreement,
    ),
    "calibration": _Kind((*_COMMON, "n", "ece", "brier"), _calibration, 6,
                         points=(*_COMMON, "n", "confidence", "share", "low", "high")),
    "silence": _Kind((*_COMMON, "n", "what", "count", "share", "low", "high"), _silence, who=_NO_BASELINE),
    "cost": _Kind((*_SCORED, "usd_per_1000_samples"), _cost, who=pl.col("usd_per_1000_samples").is_not_null()),
}  # fmt: skip
