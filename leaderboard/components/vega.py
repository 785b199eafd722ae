"""Charts in Vega-Lite: scores with their intervals, and cost against score. Tooltips show the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leaderboard.components.charts import decades, frontier, label_sides
from leaderboard.components.labels import money
from leaderboard.components.markup import visible
from leaderboard.components.parts import ChartPart
from leaderboard.components.scale import Scale
from leaderboard.components.tables import Value, estimate
from leaderboard.data.board import MetricValue

Values = dict[str, list[Value]]
_MOST = 40  # maximal rows in a chart of scores; more would be indistinguishable
# Pixels for names beside a chart; on a phone its dots need the room.
_NAMES = {"expr": "windowSize()[0] < 600 ? 120 : 200"}
# Colours that are safe for colour-blind readers, on white and on black.
_KINDS = {"Systems": "#2f7ec7", "Controls": "#88929d", "Baselines": "#d5711e", "Smoke test": "#a24c86"}


def scored(names: Sequence[str], metrics: Sequence[MetricValue | None]) -> Values:
    """Columns of names, of values with their limits, and of tooltips."""
    values: Values = {"name": [visible(name, 48) for name in names]}
    for end in MetricValue._fields[1:]:
        values[end] = [None if metric is None else getattr(metric, end) for metric in metrics]
    values["said"] = [None if metric is None else estimate(metric) for metric in metrics]
    return values


def _hover(**titles: str) -> list[dict[str, Any]]:
    return [{"field": name, "type": "nominal", "title": title} for name, title in titles.items()]


def _number(field: str, title: str, **scale: Any) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False, **scale}}


def _by_kind(values: Values) -> dict[str, Any]:
    kinds = [kind for kind in _KINDS if kind in values["kind"]]
    colours = {"domain": kinds, "range": [_KINDS[kind] for kind in kinds]}
    legend = {"orient": "top", "columns": 2} if len(kinds) > 1 else None
    return {"field": "kind", "type": "nominal", "title": None, "scale": colours, "legend": legend}


def interval_chart(scale: Scale, values: Values) -> ChartPart:
    """A dot with its 95% interval for each of the first rows, and the line of a constant answer; with `kind`."""
    tooltip = _hover(name="System", said=f"{scale.title}, 95% interval", kind="Kind")
    common = {
        "y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": _NAMES}},
        "color": _by_kind(values),
        "tooltip": tooltip,
    }
    across = _number("lower", scale.title)
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "height": 8, "opacity": 0.35, "cornerRadius": 4},
            "encoding": {**common, "x": across, "x2": {"field": "upper"}},
        },
        {
            "mark": {"type": "point", "filled": True, "shape": "circle", "size": 60, "opacity": 1},
            "encoding": {**common, "x": _number("value", scale.title)},
        },
    ]
    line = f"; the dashed line is {scale.constant}" if scale.constant else ""
    first = [{"window": [{"op": "row_number", "as": "row"}]}, {"filter": f"datum.row <= {_MOST}"}]
    most = f", of the first {_MOST}" if len(values["name"]) > _MOST else ""
    title = f"{scale.title} with 95% intervals{most}{line}."
    # A single box, drawn by Vega, shows the bootstrap's interval instead.
    other = any(end is not None for end in values["bootstrap_low"])
    bind = {"input": "checkbox", "name": "Draw bootstrap intervals "}
    params = [{"name": "bootstrap", "value": False, **({"bind": bind} if other else {})}]
    ends = [
        {"calculate": f"bootstrap ? datum.bootstrap_{end} : datum.{end}", "as": limit}
        for end, limit in (("low", "lower"), ("high", "upper"))
    ]
    layers += [] if scale.reference is None else [_rule(scale, scale.reference, scale.constant, "#88929d", [4, 4])]
    layers += [] if scale.ceiling is None else [_rule(scale, scale.ceiling.value, "ceiling", "#8a6d00", [1, 0])]
    spec = {"height": {"step": 22}, "params": params, "transform": [*first, *ends], "layer": layers}
    return ChartPart(title, spec, values)


def _rule(scale: Scale, at: float, said: str, colour: str, dash: Sequence[int]) -> dict[str, Any]:
    """A line across all rows: the score of the best constant answer, or the ceiling."""
    return {
        "data": {"values": [{"x": at, "said": said}]},
        "mark": {"type": "rule", "strokeDash": dash, "color": colour},
        "encoding": {"x": _number("x", scale.title), "tooltip": _hover(said="Line")},
    }


def cost_chart(scale: Scale, values: Values, costs: Sequence[float | None]) -> ChartPart:
    """Score against cost for 1,000 samples (logarithmic), with names on the frontier of systems; values have `kind`."""
    scores, priced = values["value"], [at for at, cost in enumerate(costs) if cost is not None]
    known = {at: (float(costs[at] or 0), float(scores[at] or 0)) for at in priced}
    low, high = decades([cost for cost, _ in known.values()])
    drawn = scale.zoomed(MetricValue("", score, score, score) for _, score in known.values())
    systems = [at for at in priced if values["kind"][at] == "Systems"]
    best = frontier([known[at][0] for at in systems], [known[at][1] for at in systems], scale)
    places = [((math.log10(cost) - low) / (high - low), drawn.share(score)) for cost, score in known.values()]
    names = {priced.index(systems[at]): str(values["name"][systems[at]]) for at in reversed(best)}
    sides = {priced[at]: side for at, side in label_sides(places, names).items()}
    more: Values = {
        "cost": list(costs),
        "price": ["unknown" if cost is None else money(cost) for cost in costs],
        "side": [sides.get(at, "") for at in range(len(costs))],
    }
    place = {
        "x": _number("cost", "USD for 1,000 samples", type="log", domain=[10.0**low, 10.0**high]),
        "y": _number("value", scale.title, domain=[drawn.low, drawn.high]),
    }
    tooltip = _hover(name="System", price="For 1,000 samples", said=f"{scale.title}, 95% interval")
    point = {"type": "point", "filled": True, "shape": "circle", "size": 80, "opacity": 0.9}
    text = {
        "type": "text", "fontSize": 12, "color": "#77828d",
        "align": {"expr": "datum.side === 'left' ? 'right' : 'left'"},
        "dx": {"expr": "datum.side === 'left' ? -2 : 2"}, "dy": {"expr": "datum.side === 'below' ? 14 : -14"},
    }  # fmt: skip
    layers: list[dict[str, Any]] = [
        {"mark": point, "encoding": {**place, "color": _by_kind(values), "tooltip": tooltip}},
        {
            "transform": [{"filter": "datum.side !== ''"}],
            "mark": text,
            "encoding": {**place, "text": {"field": "name"}},
        },
    ]
    spec = {"height": 320, "transform": [{"filter": "datum.cost > 0"}], "layer": layers}
    title = f"Cost and {scale.title}: US dollars for 1,000 samples to the right, {scale.title} upwards."
    return ChartPart(title, spec, values | more)
