"""Evidence retrieval: systems by metric, the recall curve, and two systems query by query with their documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from hellofresh.results.board.schema import FoundDocument, SampleRow
from hellofresh.results.tables import AnswerRow
from leaderboard.components.labels import entry_label
from leaderboard.components.markup import el, named, visible
from leaderboard.components.pieces import heading
from leaderboard.components.retrieval import (
    DEPTH,
    FAMILIES,
    RETRIEVAL_LEDE,
    Found,
    QueryPair,
    agreement,
    metric_table,
    queries_table,
    query_pairs,
    rankings,
    recall_curve,
    retrieval_metrics,
)
from leaderboard.components.scale import plain_scale
from leaderboard.data.board import Board, BoardEntry, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_USUAL_CURVES, _MOST_CURVES = 3, 6
_MOST_QUERIES = 25
_COPIED_QUERIES = 5
_TITLES = {Found.ONE: "only the first", Found.TWO: "only the second", Found.BOTH: "both", Found.NEITHER: "neither"}


def _compose(visit: Visit) -> None:
    visit.header("Retrieval", RETRIEVAL_LEDE)
    board = visit.board
    known = [split for split in board.splits if _copies(board, split)]
    if not known:
        said = "No system has looked for evidence yet. A corpus comes in with: "
        visit.show(el("p", said, el("code", "hellofresh corpus import")))
        return
    with visit.row():
        split = visit.split_among("queries", "Queries", known)
        families = visit.each("family", "Metrics", list(FAMILIES), FAMILIES.__getitem__, default="ndcg")
    results, metrics = board.headlines(split), retrieval_metrics(split.task)
    visit.show(*(metric_table(results, family, metrics) for family in families))
    entries = board.entries(split)
    titles = {origin: entry_label(entry) for origin, entry in entries.items()}
    shown = visit.many(
        "curves",
        "Systems in the recall curve",
        list(entries),
        titles.__getitem__,
        default=list(entries)[: _USUAL_CURVES if visit.live else _MOST_CURVES],
        most=_MOST_CURVES,
        about=" ".join(split),
    )
    drawn = [one for one in results if one.entry.origin in shown]
    visit.show(recall_curve(drawn, metrics, plain_scale(split.task)))
    if len(entries) < 2:
        return
    visit.show(heading("Two systems"))
    with visit.row():
        one = visit.one("one", "First system", list(entries), titles.__getitem__, width=400)
        two = visit.one("two", "Second system", list(entries), titles.__getitem__, width=400, first=list(entries)[1])
    _compare(visit, split, (entries[one], entries[two]))


def _compare(visit: Visit, split: SplitKey, both: tuple[BoardEntry, BoardEntry]) -> None:
    """Two systems, query by query."""
    samples = sorted(visit.board.rows(SampleRow, split), key=lambda row: (row.period, row.id))
    pairs = query_pairs(samples, *(visit.board.rows(AnswerRow, split, origin=entry.origin) for entry in both))
    if both[0] == both[1] or not pairs:
        visit.show(el("p", "Choose two different systems." if both[0] == both[1] else "They have no query in common."))
        return
    visit.show(agreement(pairs, both))
    kinds = {str(kind): title for kind, title in _TITLES.items()}
    label, copied = f"Evidence among the first {DEPTH} of", [str(Found.ONE), str(Found.TWO)]
    for kind in visit.each("found", label, list(kinds), kinds.__getitem__, copied=copied):
        mine = [pair for pair in pairs if pair.found is Found(kind)]
        if visit.live:
            visit.show(el("p", f"{len(mine):,} queries; the first {min(len(mine), _MOST_QUERIES)}."))
        else:
            who = named(both[Found(kind) is Found.TWO].name)
            visit.show(el("h3", "Only ", who, f" found the evidence: {len(mine):,} queries"))
        if mine:
            visit.show(queries_table(mine[:_MOST_QUERIES], both))
            _open(visit, split, mine, both)


def _open(visit: Visit, split: SplitKey, pairs: Sequence[QueryPair], both: tuple[BoardEntry, BoardEntry]) -> None:
    """Queries with the documents of both."""
    by_id = {pair.sample.id: pair for pair in pairs}
    copied = list(by_id)[:_COPIED_QUERIES]
    for key in visit.each("query", "Open a query", list(by_id), visible, width=320, copied=copied):
        pair = by_id[key]
        ids = sorted({*pair.one[:DEPTH], *pair.two[:DEPTH], *pair.relevance})
        documents = {row.id: row for row in visit.board.rows(FoundDocument, split, pl.col("id").is_in(ids))}
        shown = rankings(pair, both, documents)
        visit.show(shown if visit.live else el("details", el("summary", visible(key)), shown))


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{}] if retrieval_metrics(split.task) and board.has_scores(split) else []


PAGE = Page("Retrieval", "retrieval", _compose, RETRIEVAL_LEDE, _copies)
