"""Evidence retrieval: systems by metric, the recall curve, and two systems query by query with their documents."""

from __future__ import annotations

import streamlit as st

from hellofresh.results.board.schema import SAMPLES
from hellofresh.results.tables import JUDGEMENTS
from leaderboard.components.labels import entry_label, quarter_title, task_title
from leaderboard.components.markup import el, visible
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
from leaderboard.data.records import Records
from leaderboard.data.tables import BoardEntry, SplitKey
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import choose_many, choose_one, open_board, open_records

__all__ = ["PAGE"]

_MOST_CURVES = 6
_MOST_QUERIES = 25
_TITLES = {Found.ONE: "only the first", Found.TWO: "only the second", Found.BOTH: "both", Found.NEITHER: "neither"}


def _render() -> None:
    header("Retrieval", RETRIEVAL_LEDE)
    board, records = open_board(), open_records()
    known = {f"{split.task} {split.edition}": split for split in board.splits
             if retrieval_metrics(split.task) and board.has_scores(split)}  # fmt: skip
    if not known:
        said = "No system has looked for evidence yet. A corpus comes in with: "
        show(el("p", said, el("code", "hellofresh corpus import")))
        return
    titles = {key: f"{task_title(split.task)}, {quarter_title(board, split)}" for key, split in known.items()}
    with st.container(horizontal=True):
        split = known[choose_one("queries", "Queries", list(known), titles.__getitem__, width=480)]
        family = choose_one("family", "Metrics", list(FAMILIES), FAMILIES.__getitem__, default="ndcg")
    results, metrics = board.headlines(split), retrieval_metrics(split.task)
    show(metric_table(results, family, metrics))
    entries = {result.entry.origin: result.entry for result in results}
    first = [result.entry.origin for result in results][:3]
    shown = choose_many("curves", "Systems in the recall curve", list(entries), lambda key: entry_label(entries[key]),
                        default=first, most=_MOST_CURVES, about=" ".join(split))  # fmt: skip
    show(recall_curve([one for one in results if one.entry.origin in shown], metrics, plain_scale(split.task)))
    if len(entries) > 1:
        _compare(records, split, entries)


def _compare(records: Records, split: SplitKey, entries: dict[str, BoardEntry]) -> None:
    """Two systems, query by query."""
    show(heading("Two systems"))
    origins = list(entries)
    with st.container(horizontal=True):
        one = choose_one("one", "First system", origins, lambda key: entry_label(entries[key]), width=400)
        two = choose_one("two", "Second system", origins, lambda key: entry_label(entries[key]), width=400,
                         first=origins[1])  # fmt: skip
    both = (entries[one], entries[two])
    samples = SAMPLES.rows(records.samples(split))
    said = [JUDGEMENTS.rows(records.answers(split, origins=[origin])) for origin in (one, two)]
    pairs = query_pairs(samples, *said)
    if one == two or not pairs:
        show(el("p", "Choose two different systems." if one == two else "They have no query in common."))
        return
    show(agreement(pairs, both))
    kinds = {str(kind): title for kind, title in _TITLES.items()}
    wanted = Found(choose_one("found", f"Evidence among the first {DEPTH} of", list(kinds), kinds.__getitem__))
    mine = [pair for pair in pairs if pair.found is wanted]
    show(el("p", f"{len(mine):,} queries; the first {min(len(mine), _MOST_QUERIES)}."))
    if mine:
        show(queries_table(mine[:_MOST_QUERIES], both))
        _open(records, split, mine, both)


def _open(records: Records, split: SplitKey, pairs: list[QueryPair], both: tuple[BoardEntry, BoardEntry]) -> None:
    """One query with the documents of both."""
    by_id = {pair.sample.id: pair for pair in pairs}
    pair = by_id[choose_one("query", "Open a query", list(by_id), visible, width=320)]
    ids = {*pair.one[:DEPTH], *pair.two[:DEPTH], *pair.relevance}
    show(rankings(pair, both, records.documents(split, sorted(ids))))


PAGE = SitePage("Retrieval", "retrieval", _render, RETRIEVAL_LEDE)
