"""Two systems on the same samples: is one really better, in which periods, and where do they differ?"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from hellofresh.results.board.schema import SAMPLES, SampleRow
from hellofresh.results.tables import AnswerRow
from leaderboard.components.comparison import comparison, contenders
from leaderboard.components.labels import entry_label
from leaderboard.components.markup import el, inner_link, named
from leaderboard.components.open_quarter import not_revealed
from leaderboard.components.pieces import heading
from leaderboard.components.sample import sample_list
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import all_lines
from leaderboard.data.board import Board, BoardEntry, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "Two systems on the same samples: is one really better, when, and where do they differ?"
_MOST_SAMPLES = 15


def _compose(visit: Visit) -> None:
    visit.header("Compare", _LEDE)
    board = visit.board
    split = visit.split()
    entries = board.entries(split)
    if len(entries) < 2:
        said = "A comparison needs two systems; this task and quarter have fewer."
        visit.show(not_revealed(board, split) if board.is_open(split) else el("p", said))
        return
    titles = {origin: entry_label(entry) for origin, entry in entries.items()}
    with visit.row():
        first, second = list(entries)[:2]
        one = visit.one("one", "First system", list(entries), titles.__getitem__, width=400, first=first)
        two = visit.one("two", "Second system", list(entries), titles.__getitem__, width=400, first=second)
    if one == two:
        visit.show(el("p", "Choose two different systems."))
        return
    ways = [inner_link(visit.links.to("system", split, system=key), named(entries[key].name)) for key in (one, two)]
    visit.subject("Is the lead real?", ways[0], " and ", ways[1], ", the first two on ")
    pairs = board.pairs(split, one, two)
    if not pairs:
        said = (
            "They are not compared: one of them judged less than half as many samples as the others, or the board "
            "was built without their answers."
        )
        visit.show(el("p", said))
        return
    both = (entries[one], entries[two])
    visit.show(comparison(both, pairs, plain_scale(split.task), bundled=board.is_bundled(split)))
    if visit.live:
        _show_differing(visit, split, both)


def _show_differing(visit: Visit, split: SplitKey, both: tuple[BoardEntry, BoardEntry]) -> None:
    """Samples on which exactly one of the two was right; only after the reveal."""
    samples = visit.board.frame(SampleRow, split)
    origins = [entry.origin for entry in both]
    said = visit.board.frame(AnswerRow, split, pl.col("origin").is_in(origins), pl.col("headline"))
    if said.is_empty():
        visit.show(heading("Where they differ", "Shown once the labels are revealed."))
        return
    right = pl.col("label").eq_missing(pl.col("truth"))
    judged = said.join(samples.select("id", truth="label"), on="id").filter(right)
    sides = {origin: set(judged.filter(origin=origin)["id"]) for origin in origins}
    visit.show(heading("Where they differ"))
    titles = {"one": f"Only {entry_label(both[0])}", "two": f"Only {entry_label(both[1])}"}
    side = visit.one("side", "Samples that only one got right", list(titles), titles.__getitem__, width=480)
    first, second = (sides[origin] for origin in (origins if side == "one" else reversed(origins)))
    found = samples.filter(pl.col("id").is_in(sorted(first - second))).sort("period", "id")
    shown = SAMPLES.rows(found.head(_MOST_SAMPLES))
    count = f"{found.height:,} samples; the first {len(shown)} by period."
    listed = sample_list(shown, split.task, lambda sample: visit.links.to("samples", split, sample=sample))
    visit.show(el("p", count), listed if shown else el("p", "There are none."))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    """The first two, if they can be compared."""
    first = [line.result.entry.origin for line in contenders(all_lines(board, split), plain_scale(split.task))[:2]]
    return [{"one": first[0], "two": first[1]}] if len(first) > 1 and board.pairs(split, *first) else []


PAGE = Page("Compare", "compare", _compose, _LEDE, _copies, "lead")
