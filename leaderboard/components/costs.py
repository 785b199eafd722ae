"""What each system cost for its score, as one chart: who is not beaten by one that costs no more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hellofresh.leaderboard.components.labels import money
from hellofresh.leaderboard.components.markup import Html, el, join, visible
from hellofresh.leaderboard.components.pieces import heading
from hellofresh.leaderboard.components.scale import Scale, figure
from hellofresh.leaderboard.components.standings import Line, group_of
from hellofresh.leaderboard.components.tables import facts

_FEWEST = 3
_MOST_NAMED = 8
_Point = tuple[float, Line]


def cost_section(lines: Sequence[Line], scale: Scale) -> Html | None:
    """Cost for 1,000 samples to the right (logarithmic), score upwards; None for fewer than three known costs."""
    points = []
    for line in lines:
        known = line.facts
        if known is not None and known.cost_usd and known.judged and group_of(line.result) == "system":
            points.append((1000 * known.cost_usd / known.judged, line))
    points.sort(key=lambda point: (point[0], scale.order(point[1].result.headline.value)))
    if len(points) < _FEWEST:
        return None
    best = frontier(points, scale)
    drawn = scale.zoomed([line.result.headline for _, line in points])
    low, high = math.floor(math.log10(points[0][0])), math.ceil(math.log10(points[-1][0]))
    high = max(high, low + 1)

    def across(cost: float) -> str:
        return f"{100 * (math.log10(cost) - low) / (high - low):.2f}%"

    def upwards(line: Line) -> str:
        return f"{100 * drawn.share(line.result.headline.value):.2f}%"

    marks = []
    for cost, line in points:
        value = figure(line.result.headline.value, scale.title)
        said = f"{line.result.entry.name}: {scale.title} {value}, {money(cost)} for 1,000"
        kind = "hf-dot" if (cost, line) in best else "hf-dot hf-behind"
        place = f"left:{across(cost)};bottom:{upwards(line)}"
        marks.append(el("i", class_=kind, style=place, title=visible(said, 160)))
    steps = [
        el(
            "i",
            class_="hf-step",
            style=f"left:{across(cost)};right:calc(100% - {across(after)});bottom:{upwards(line)}",
        )
        for (cost, line), (after, _) in zip(best, [*best[1:], (10.0**high, best[-1][1])], strict=True)
    ]
    ticks = (
        el("span", money(10.0**k), style=f"left:{100 * (k - low) / (high - low):.2f}%")
        for k in range(low, high + 1, max(1, (high - low) // 4))
    )
    levels = (el("span", text, class_="hf-level", style=f"bottom:{100 * at:.2f}%") for at, text in drawn.marks)
    chart = el(
        "div",
        el("div", *levels, *steps, *marks, class_="hf-plot"),
        el("div", *ticks, class_="hf-scale"),
        class_="hf-costs",
        aria_hidden="true",
    )
    said = (
        f"US dollars for 1,000 samples to the right, {scale.title} upwards. The line joins the systems that no cheaper "
        "one matches."
    )
    named = facts(
        (
            visible(line.result.entry.name, 60),
            f"{scale.title} {figure(line.result.headline.value, scale.title)} for {money(cost)}",
        )
        for cost, line in best[-_MOST_NAMED:]
    )
    return join([heading(f"Cost and {scale.title}", said), el("div", chart, named, class_="hf-beside")])


def frontier(points: Sequence[_Point], scale: Scale) -> list[_Point]:
    """The points that no cheaper one equals in score, by rising cost.

    Args:
        points: by rising cost, the better first of those that cost the same.
        scale: says which scores are better.
    """
    found: list[_Point] = []
    for point in points:
        value = scale.order(point[1].result.headline.value)
        if not found or value < scale.order(found[-1][1].result.headline.value):
            found.append(point)
    return found
