"""Two entries side by side: the difference with its interval, whole and by period, and how often they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hellofresh.results.standings import Pair
from leaderboard.components.charts import difference_bar, difference_scale, period_tick
from leaderboard.components.markup import DASH, Html, el, join, named
from leaderboard.components.pieces import cell, heading, notice, table
from leaderboard.components.scale import Scale
from leaderboard.components.verdict import APART, limits_text, p_text, signed
from leaderboard.data.tables import ALL_PERIODS, BoardEntry

__all__ = ["comparison"]


def comparison(both: tuple[BoardEntry, BoardEntry], pairs: Sequence[Pair], scale: Scale, *, bundled: bool) -> Html:
    """Which of two is better, by period, and how often they agree."""
    said = "This quarter was written for the project, to try it out; differences here mean nothing."
    side = "Right" if scale.rising else "Left"
    whole = [pair for pair in pairs if pair.period == ALL_PERIODS]
    return join(
        [
            notice("Bundled sample.", said) if bundled else None,
            *(_verdict(pair, both, scale) for pair in whole),
            heading(f"Difference in {scale.title}", "First minus second, with 95% intervals; the interval of the whole "
                    f"quarter is adjusted for all pairs. {side} of the dashed line the first is better."),
            _differences(pairs),
            *(join([heading("Agreement"), _agreement(pair, both)]) for pair in whole),
        ]
    )  # fmt: skip


def _verdict(pair: Pair, both: tuple[BoardEntry, BoardEntry], scale: Scale) -> Html:
    """The answer in a sentence."""
    leads = scale.order(pair.difference) <= 0
    better, worse = both if leads else (both[1], both[0])
    if pair.adjusted is not None and pair.adjusted < APART:
        ahead = pair if leads else pair.turned()
        names = (el("strong", named(better.name)), " is better than ", named(worse.name))
        surely = f" by {abs(ahead.difference):.3f} {scale.title} ({limits_text(ahead)}); {p_text(pair)}."
        return el("p", *names, surely, " Chance in the choice of samples does not explain it.", class_="hf-verdict")
    differ = f": the difference in {scale.title} is {signed(pair.difference)} ({limits_text(pair)}); {p_text(pair)}."
    return el("p", "The two ", el("strong", "do not differ significantly"), differ, class_="hf-verdict")


def _differences(pairs: Sequence[Pair]) -> Html:
    widest = max(max(abs(pair.low), abs(pair.high), abs(pair.difference)) for pair in pairs)
    reach = max(0.1, math.ceil(10 * widest) / 10)
    rows = (
        el(
            "tr",
            cell("Period", "Whole quarter" if pair.period == ALL_PERIODS else _period(pair.period), None, "name"),
            cell("Difference", signed(pair.difference), f"{signed(pair.low)} to {signed(pair.high)}"),
            el("td", difference_bar(pair.difference, pair.low, pair.high, reach), class_="hf-drawn", role="cell"),
            cell("Samples", f"{pair.n:,}"),
            class_="hf-total" if pair.period == ALL_PERIODS else None,
            role="row",
        )
        for pair in pairs
    )
    columns: list[tuple[str, Html | str]] = [
        ("name", "Period"), ("number", "Difference"), ("drawn", difference_scale(reach)), ("number", "Samples"),
    ]  # fmt: skip
    return table("Difference by period", columns, [el("tbody", *rows, role="rowgroup")], "hf-balance")


def _period(period: str) -> str:
    return f"{period_tick(period)} {period[:4]}"


def _agreement(pair: Pair, both: tuple[BoardEntry, BoardEntry]) -> Html:
    neither = pair.n - pair.both_right - pair.one_right - pair.two_right
    lines: list[tuple[Html, int]] = [
        (join(["Same answer"]), pair.same),
        (join(["Both were right"]), pair.both_right),
        (join(["Only ", named(both[0].name), " was right"]), pair.one_right),
        (join(["Only ", named(both[1].name), " was right"]), pair.two_right),
        (join(["Neither was right"]), neither),
    ]
    rows = (
        el("tr", cell("", text, None, "name"), cell("Samples", f"{count:,}"),
           cell("Share", f"{count / pair.n:.1%}" if pair.n else DASH), role="row")
        for text, count in lines
    )  # fmt: skip
    columns = [("name", "Answers"), ("number", "Samples"), ("number", "Share")]
    return table("Agreement", columns, [el("tbody", *rows, role="rowgroup")], "hf-balance")
