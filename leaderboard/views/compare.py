"""Two systems on the same samples: is one really better, in which periods, and where do they differ?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
import streamlit as st

from leaderboard.charts import difference_bar, difference_scale, period_tick
from leaderboard.markup import DASH, Html, el, join, named
from leaderboard.records import Pair, Records, SampleRow
from leaderboard.session import choose_one, choose_split, entry_label, open_board, open_records
from leaderboard.tables import ALL_PERIODS, Board, Entry, Split
from leaderboard.views._base import Page, cell, header, heading, notice, table
from leaderboard.views.samples import sample_list

__all__ = ["PAGE"]

_LEDE = "Two systems on the same samples: is one really better, when, and where do they differ?"
_MOST_SAMPLES = 15
_APART = 0.05


def _render() -> None:
    header("Compare", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board)
    entries = {result.entry.origin: result.entry for result in board.headlines(split)}
    if len(entries) < 2:
        said = "Two systems are needed, and this task and quarter have fewer so far."
        st.html(str(el("p", said, class_="hf")))
        return
    with st.container(horizontal=True):
        first, second = list(entries)[:2]
        one = choose_one("one", "First system", list(entries), lambda key: entry_label(entries[key]), width=400,
                         default=first)  # fmt: skip
        two = choose_one("two", "Second system", list(entries), lambda key: entry_label(entries[key]), width=400,
                         default=second)  # fmt: skip
    if one == two:
        st.html(str(el("p", "Choose two different systems.", class_="hf")))
        return
    pairs = records.pairs(split, one, two)
    if not pairs:
        said = (
            "They are not compared: one of them judged less than half as many samples as the others, or the board was "
            "built without their answers."
        )
        st.html(str(el("p", said, class_="hf")))
        return
    both = (entries[one], entries[two])
    st.html(str(el("div", _comparison(board, split, both, pairs), class_="hf")))
    _show_differing(records, split, both)


def _comparison(board: Board, split: Split, both: tuple[Entry, Entry], pairs: Sequence[Pair]) -> Html:
    bundled = "This quarter was written for the project, to try it out; differences here mean nothing."
    whole = [pair for pair in pairs if pair.period == ALL_PERIODS]
    return join(
        [
            notice("Bundled sample.", bundled) if board.is_bundled(split) else None,
            *(_verdict(pair, both) for pair in whole),
            heading("Difference in F1", "First less second, with 95% intervals; both systems' answers to the same "
                    "samples are resampled together. Right of the dashed line the first is better."),
            _differences(pairs),
            *(join([heading("Agreement"), _agreement(pair, both)]) for pair in whole),
        ]
    )  # fmt: skip


def _verdict(pair: Pair, both: tuple[Entry, Entry]) -> Html:
    """The answer in a sentence."""
    p_value = 1.0 if pair.adjusted is None else pair.adjusted
    better, worse = both if pair.difference >= 0 else (both[1], both[0])
    size = f"{abs(pair.difference):.3f}"
    low, high = sorted((abs(pair.low), abs(pair.high))) if pair.low * pair.high > 0 else (pair.low, pair.high)
    limits = f" (95% interval {_signed(low)} to {_signed(high)})"
    tested = f"p = {p_value:.3f}, adjusted for all pairs" if p_value >= 0.001 else "p < 0.001, adjusted for all pairs"
    if p_value < _APART:
        ahead = (el("strong", named(better.system)), " is better than ", named(worse.system))
        surely = f" by {size} F1{limits}; {tested}. That is more than luck in the choice of samples explains."
        return el("p", *ahead, surely, class_="hf-verdict")
    differ = f": first less second, their F1 differs by {_signed(pair.difference)}{limits}; {tested}."
    return el("p", "The two are ", el("strong", "not separable"), differ, class_="hf-verdict")


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def _differences(pairs: Sequence[Pair]) -> Html:
    widest = max(max(abs(pair.low), abs(pair.high), abs(pair.difference)) for pair in pairs)
    reach = max(0.1, math.ceil(10 * widest) / 10)
    rows = (
        el(
            "tr",
            cell("Period", "Whole quarter" if pair.period == ALL_PERIODS else _period(pair.period), None, "name"),
            cell("Difference", _signed(pair.difference), f"{_signed(pair.low)} to {_signed(pair.high)}"),
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


def _agreement(pair: Pair, both: tuple[Entry, Entry]) -> Html:
    neither = pair.n - pair.both_right - pair.one_right - pair.two_right
    lines: list[tuple[Html, int]] = [
        (join(["Both said the same"]), pair.same),
        (join(["Both were right"]), pair.both_right),
        (join(["Only ", named(both[0].system), " was right"]), pair.one_right),
        (join(["Only ", named(both[1].system), " was right"]), pair.two_right),
        (join(["Neither was right"]), neither),
    ]
    rows = (
        el("tr", cell("", text, None, "name"), cell("Samples", f"{count:,}"),
           cell("Share", f"{count / pair.n:.1%}" if pair.n else DASH), role="row")
        for text, count in lines
    )  # fmt: skip
    columns = [("name", "Answers"), ("number", "Samples"), ("number", "Share")]
    return table("Agreement", columns, [el("tbody", *rows, role="rowgroup")], "hf-balance")


def _show_differing(records: Records, split: Split, both: tuple[Entry, Entry]) -> None:
    """Samples on which exactly one of the two was right; only after the reveal."""
    samples = records.samples(split)
    origins = [entry.origin for entry in both]
    said = records.answers(split, origins=origins).filter("headline")
    if said.is_empty():
        st.html(str(el("div", heading("Where they differ", "Shown when the quarter is revealed."), class_="hf")))
        return
    right = pl.when(pl.col("label") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")) == pl.col("verdict")
    judged = said.join(samples.select("id", "label"), on="id").with_columns(right.alias("was_right"))
    sides = {origin: set(judged.filter(pl.col("origin") == origin, "was_right")["id"]) for origin in origins}
    st.html(str(el("div", heading("Where they differ"), class_="hf")))
    titles = {"one": f"Only {entry_label(both[0])}", "two": f"Only {entry_label(both[1])}"}
    side = choose_one("side", "Samples that only one got right", list(titles), lambda key: titles[key], width=480,
                      default="one")  # fmt: skip
    first, second = (sides[origin] for origin in (origins if side == "one" else reversed(origins)))
    found = samples.filter(pl.col("id").is_in(sorted(first - second)))
    shown = [SampleRow(**row) for row in found.head(_MOST_SAMPLES).to_dicts()]
    count = f"{found.height:,} samples; the first {len(shown)} by period. Open one on the page Samples."
    body = sample_list(shown, split.task) if shown else el("p", "There is none.")
    st.html(str(el("div", el("p", count), body, class_="hf")))


PAGE = Page("Compare", "compare", _render)
