"""Drawings of plain HTML boxes, placed in percent: they follow the page's width, theme and text size.

No chart library is loaded. Every drawing stands beside its
numbers, so it is hidden from screen readers. Scores are drawn between the limits of their metric, other values from 0
to 1 unless noted otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from hellofresh.core.quarters import utc_text
from hellofresh.results.board.release_rows import Distribution, FunnelStep, PeriodBalance
from hellofresh.results.board.system_rows import NO_ANSWER, REFUSED, AnswerShare, ReliabilityBin
from leaderboard.components.markup import Html, el, join, named, visible
from leaderboard.components.scale import Scale, figure
from leaderboard.data.board import MetricValue

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _percent(share: float) -> str:
    """A share between 0 and 1 as a CSS length; NaN counts as 0."""
    bounded = 0.0 if math.isnan(share) else min(1.0, max(0.0, share))
    return f"{100 * bounded:.2f}%"


def _box(kind: str, **lengths: float) -> Html:
    return el("i", class_=f"hf-{kind}", style=";".join(f"{name}:{_percent(share)}" for name, share in lengths.items()))


def interval_bar(metric: MetricValue, scale: Scale) -> Html:
    """A metric in a table row: its interval as a band, its value as a tick, and a line for the constant answer.

    A single empty element, whose style holds all positions, also the bootstrap's: there may be hundreds of rows.
    Bands and lines of people and of a ceiling are drawn behind it.
    """
    low, high = scale.share(metric.low), scale.share(metric.high)
    places = {"low": low, "width": high - low, "at": scale.share(metric.value)}
    places |= {} if scale.reference is None else {"line": scale.share(scale.reference)}
    if metric.bootstrap_low is not None and metric.bootstrap_high is not None:
        from_here, to_here = scale.share(metric.bootstrap_low), scale.share(metric.bootstrap_high)
        places |= {"from": from_here, "wide": to_here - from_here}
    style = ";".join(f"--{name}:{_percent(share)}" for name, share in places.items())
    return el("i", *_behind(scale), class_="hf-interval", style=style)


def _beside(scale: Scale) -> list[tuple[str, str, MetricValue]]:
    """References drawn beside systems: kind, name and score of each."""
    known = (("person", "one person", scale.people), ("top", "ceiling", scale.ceiling))
    return [(kind, name, value) for kind, name, value in known if value is not None]


def _behind(scale: Scale) -> Iterator[Html]:
    """The band and the line of one person, and of the ceiling, if known."""
    for kind, _, value in _beside(scale):
        low, at, high = (scale.share(end) for end in (value.low, value.value, value.high))
        yield from (_box(f"human hf-{kind}", left=low, width=high - low), _box(f"human-line hf-{kind}", left=at))


def interval_scale(scale: Scale) -> Html:
    """The scale above the bars of `interval_bar`, and the names of the lines above it."""
    names = []
    for kind, name, value in _beside(scale):
        edge = len(name) / 50  # so that the name stays within the column
        at = min(1 - edge, max(edge, scale.share(value.value)))
        drawn = el("span", name, style=f"left:{_percent(at)}")
        names.append(el("div", drawn, class_=f"hf-scale hf-named hf-{kind}"))
    return join([*names, _scale(scale.marks)])


def _scale(marks: Sequence[tuple[float, str]]) -> Html:
    drawn = (el("span", text, style=f"left:{_percent(at)}") for at, text in marks)
    return el("div", *drawn, class_="hf-scale", aria_hidden="true")


def _levels(scale: Scale) -> list[Html]:
    return [el("span", text, class_="hf-level", style=f"bottom:{_percent(at)}") for at, text in scale.marks]


def difference_bar(value: float, low: float, high: float, reach: float) -> Html:
    """A difference with its interval on a scale from -reach to reach; the dashed line marks 0."""
    start, end, at = ((x / reach + 1) / 2 for x in (low, high, value))
    return el(
        "div",
        _box("reference", left=0.5),
        _box("range", left=max(start, 0), width=min(end, 1) - max(start, 0)),
        _box("tick", left=at),
        class_="hf-signed",
        aria_hidden="true",
    )


def difference_scale(reach: float) -> Html:
    """The scale above the bars of `difference_bar`."""
    return _scale(((0, f"\N{MINUS SIGN}{reach:g}"), (0.5, "0"), (1, f"+{reach:g}")))


def period_tick(period: str) -> str:
    """A short name of a month (`Apr`) or an ISO week (`W14`)."""
    part = period.rpartition("-")[2]
    return _MONTHS[int(part) - 1] if part in {f"{month:02d}" for month in range(1, 13)} else part


def reliability_plot(bins: Sequence[ReliabilityBin]) -> Html:
    """Stated probability to the right, the observed share upwards; both are equal on the diagonal."""
    marks = []
    for step in bins:
        size = f"bottom:{_percent(step.low)};height:{_percent(step.high - step.low)}"
        at, share = f"left:{_percent(step.confidence)}", f"bottom:{_percent(step.share)}"
        marks.append(el("i", class_="hf-range", style=f"{at};{size}"))
        marks.append(el("i", class_="hf-dot", style=f"{at};{share}"))
    plot = el("div", *_levels(Scale()), el("i", class_="hf-diagonal"), *marks, class_="hf-plot")
    return el("div", plot, interval_scale(Scale()), class_="hf-reliability", aria_hidden="true")


def spread_bar(found: Distribution, reach: float) -> Html:
    """A distribution on a scale from 0 to reach: the middle half solid, the middle 80% pale, the median a tick."""
    whole = max(reach, 1e-9)
    return el(
        "div",
        _box("offered", left=found.p10 / whole, width=(found.p90 - found.p10) / whole),
        _box("range", left=found.p25 / whole, width=(found.p75 - found.p25) / whole),
        _box("tick", left=found.median / whole),
        class_="hf-spread",
        aria_hidden="true",
    )


def funnel_bar(step: FunnelStep, before: int, rows_in: int) -> Html:
    """A step of the funnel: rows left after it, and rows dropped by it, as shares of the rows in.

    Args:
        step: the step.
        before: rows left before the step.
        rows_in: rows before the first step.
    """
    whole = max(rows_in, 1)
    left = before - step.count if step.dropped else step.count
    dropped = _box("dropped", left=left / whole, width=step.count / whole) if step.dropped and step.count else None
    return el("div", _box("left", left=0, width=left / whole), dropped, class_="hf-flow", aria_hidden="true")


def answers_bar(shares: Sequence[AnswerShare]) -> Html:
    """The frequency of each answer: classes, last one first, then missing answers and refusals."""
    whole = max(sum(share.samples for share in shares), 1)
    parts, start = [], 0.0
    for share in sorted(shares, key=lambda share: (share.said < 0, -share.said)):
        parts.append(_box(answer_style(share.said), left=start, width=share.samples / whole))
        start += share.samples / whole
    return el("div", *parts, class_="hf-flow", aria_hidden="true")


def answer_style(said: int) -> str:
    """The style of an answer in drawings: a class, a missing answer or a refusal."""
    return {NO_ANSWER: "said-none", REFUSED: "said-blocked"}.get(said, f"said-{said}")


def trend(places: Sequence[tuple[float, float]]) -> Html:
    """A line through points of the unit square, from left to right: a box clipped to the shape of the line."""
    above = [f"{_percent(across)} {_percent(1 - up)}" for across, up in places]
    below = [f"{_percent(across)} calc({_percent(1 - up)} + 2px)" for across, up in reversed(places)]
    return el("i", class_="hf-trend", style=f"clip-path:polygon({','.join([*above, *below])})")


def frontier(costs: Sequence[float], values: Sequence[float], scale: Scale) -> list[int]:
    """Indices of the Pareto frontier by rising cost: points better than all cheaper ones."""
    found: list[int] = []
    for at in sorted(range(len(costs)), key=lambda at: (costs[at], scale.order(values[at]))):
        if not found or scale.order(values[at]) < scale.order(values[found[-1]]):
            found.append(at)
    return found


def decades(costs: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around positive costs."""
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    return low, max(high, low + 1)


def label_sides(places: Sequence[tuple[float, float]], names: Mapping[int, str]) -> dict[int, str]:
    """On which side of their points names fit in a plot of at least 310 by 240 pixels: `left`, `right` or `below`.

    Args:
        places: of all points, from left to right and upwards, 0 to 1.
        names: by index, in the order of their importance; those that would cover a point or another name are left out.
    """
    points = [(310 * across, 240 * upwards) for across, upwards in places]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    found: dict[int, str] = {}
    for at, name in names.items():
        (x, y), wide = points[at], 7 * len(name)
        boxes = {
            "left": (x - 2 - wide, y + 6, x - 2, y + 22),
            "right": (x + 2, y + 6, x + 2 + wide, y + 22),
            "below": (x + 2, y - 22, x + 2 + wide, y - 6),
        }
        for side, (left, bottom, right, top) in boxes.items():
            inside = left >= 0 and bottom >= 0 and right <= 310 and top <= 264
            if inside and all(a >= right or c <= left or b >= top or d <= bottom for a, b, c, d in taken):
                found[at] = side
                taken.append((left, bottom, right, top))
                break
    return found


def curves(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    ticks: Sequence[tuple[float, str]],
    scale: Scale,
    *,
    most: int = 6,
    square: bool = False,
    bands: Sequence[Sequence[tuple[float, float, float]]] = (),
) -> Html:
    """Lines in one frame, each with a colour, with the line of a constant answer and a legend.

    Args:
        series: names, possibly equal, with places from left (0) to right (1) and values.
        ticks: places and texts below the frame.
        scale: of the values.
        most: lines with a colour and a name; the others are grey.
        bands: for each series, places with the limits of intervals.
        square: whether both directions share a unit, with the diagonal.
    """
    drawn = []
    values = [value for _, points in series for _, value in points] + [
        end for one in bands for _, *ends in one for end in ends
    ]
    scale = scale if square else scale.zoomed(MetricValue("", value, value, value) for value in values)
    for number, (name, points) in enumerate(series):
        kind = f"hf-line hf-line-{number}" if number < most else "hf-line"
        marks = [
            el("i", class_="hf-dot", style=f"left:{_percent(across)};bottom:{_percent(scale.share(value))}",
               title=visible(f"{name}: {figure(value, scale.title)}", 160))
            for across, value in points
        ]  # fmt: skip
        ranges = [
            _box("range", left=across, bottom=scale.share(low), height=scale.share(high) - scale.share(low))
            for across, low, high in (bands[number] if number < min(len(bands), most) else ())
        ]
        line = trend([(across, scale.share(value)) for across, value in points]) if len(points) > 1 else None
        drawn.append(el("div", line, *ranges, *marks, class_=kind))
    behind = el("i", class_="hf-diagonal") if square else None
    if scale.reference is not None:
        behind = _box("reference", bottom=scale.share(scale.reference))
    plot = el("div", *_levels(scale), behind, *reversed(drawn), class_="hf-plot")
    kind = "hf-reliability" if square else "hf-curves"
    shown = el("div", plot, _scale(ticks), class_=kind, style=f"--ticks:{len(ticks)}", aria_hidden="true")
    names = [
        el("li", el("i", class_=f"hf-line-{number}"), named(name, 40)) for number, (name, _) in enumerate(series[:most])
    ]
    others = el("li", el("i", class_="hf-line"), f"{len(series) - most} more") if len(series) > most else None
    return el("div", shown, el("ul", *names, others, class_="hf-key"))


def histogram(counts: Mapping[str, int]) -> Html:
    """A bar for each step, with its number above and its name below."""
    most = max([*counts.values(), 1])
    bars = [
        el("li", el("strong", f"{count:,}"), el("i", style=f"--part:{count / most:.4f}"), el("span", name))
        for name, count in counts.items()
    ]
    return el("ol", *bars, class_="hf-histogram")


def calendar_bar(opens: datetime, deadline: datetime, reveals: datetime) -> Html:
    """From opening to reveal: the time for predictions is pale, the deadline a dashed line.

    The copy's script and, in the app, `dated` draw how much of it has passed.
    """
    due = (deadline - opens).total_seconds() / max((reveals - opens).total_seconds(), 1.0)
    ends = {"data_from": utc_text(opens), "data_to": utc_text(reveals)}
    over = el("i", class_="hf-left", data_hf="over", **ends, style="width:0%")
    drawn = (_box("offered", left=0, width=due), over, _box("due", left=due))
    return el("div", *drawn, class_="hf-flow hf-course", aria_hidden="true")


def balance_bars(balance: PeriodBalance, most: int) -> Html:
    """A bar for each class of a period, the last class on top; the part drawn for the split is solid.

    Args:
        balance: the period.
        most: the largest class of all periods, which fills the width.
    """
    bars = (
        el(
            "div",
            _box("offered", left=0, width=offered / max(most, 1)),
            _box("left", left=0, width=balance.taken_per_class / max(most, 1)),
        )
        for offered in balance.offered
    )
    return el("div", join(bars), class_="hf-pair", aria_hidden="true")
