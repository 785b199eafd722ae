"""Two systems on the same samples: is one really better, in which periods, and where do they differ?"""

from __future__ import annotations

from functools import partial

import polars as pl
import streamlit as st

from hellofresh.results.board.schema import SAMPLES
from leaderboard.components.comparison import comparison
from leaderboard.components.labels import entry_label
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import el
from leaderboard.components.open_quarter import not_revealed
from leaderboard.components.pieces import heading
from leaderboard.components.sample import sample_list
from leaderboard.components.scale import plain_scale
from leaderboard.data.records import Records
from leaderboard.data.tables import BoardEntry, SplitKey
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import choose_one, choose_split, open_board, open_records

__all__ = ["PAGE"]

_LEDE = "Two systems on the same samples: is one really better, when, and where do they differ?"
_MOST_SAMPLES = 15


def _render() -> None:
    header("Compare", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, lanes=True)
    entries = {result.entry.origin: result.entry for result in board.headlines(split)}
    if len(entries) < 2:
        said = "A comparison needs two systems; this task and quarter have fewer."
        show(not_revealed(records, split) if board.is_open(split) else el("p", said))
        return
    with st.container(horizontal=True):
        first, second = list(entries)[:2]
        one = choose_one("one", "First system", list(entries), lambda key: entry_label(entries[key]), width=400,
                         first=first)  # fmt: skip
        two = choose_one("two", "Second system", list(entries), lambda key: entry_label(entries[key]), width=400,
                         first=second)  # fmt: skip
    if one == two:
        show(el("p", "Choose two different systems."))
        return
    pairs = records.pairs(split, one, two)
    if not pairs:
        said = (
            "They are not compared: one of them judged less than half as many samples as the others, or the board "
            "was built without their answers."
        )
        show(el("p", said))
        return
    both = (entries[one], entries[two])
    show(comparison(both, pairs, plain_scale(split.task), bundled=board.is_bundled(split)))
    _show_differing(records, split, both)


def _show_differing(records: Records, split: SplitKey, both: tuple[BoardEntry, BoardEntry]) -> None:
    """Samples on which exactly one of the two was right; only after the reveal."""
    samples = records.samples(split)
    origins = [entry.origin for entry in both]
    said = records.answers(split, origins=origins).filter("headline")
    if said.is_empty():
        show(heading("Where they differ", "Shown once the labels are revealed."))
        return
    right = pl.col("label").eq_missing(pl.col("truth"))
    judged = said.join(samples.select("id", truth="label"), on="id").with_columns(right.alias("was_right"))
    sides = {origin: set(judged.filter(pl.col("origin") == origin, "was_right")["id"]) for origin in origins}
    show(heading("Where they differ"))
    titles = {"one": f"Only {entry_label(both[0])}", "two": f"Only {entry_label(both[1])}"}
    side = choose_one("side", "Samples that only one got right", list(titles), lambda key: titles[key], width=480)
    first, second = (sides[origin] for origin in (origins if side == "one" else reversed(origins)))
    found = samples.filter(pl.col("id").is_in(sorted(first - second)))
    shown = SAMPLES.rows(found.head(_MOST_SAMPLES))
    count = f"{found.height:,} samples; the first {len(shown)} by period."
    listed = sample_list(shown, split.task, partial(SiteLinks().sample, split))
    show(el("p", count), listed if shown else el("p", "There are none."))


PAGE = SitePage("Compare", "compare", _render, _LEDE)
