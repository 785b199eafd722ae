"""The page on who found the evidence: systems by metric, recall curves, and the first two query by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hellofresh.results.board.schema import SAMPLES
from hellofresh.results.tables import JUDGEMENTS
from leaderboard.components.labels import task_title
from leaderboard.components.markup import Html, el, join, named
from leaderboard.components.pieces import page_header
from leaderboard.components.retrieval import (
    DEPTH,
    FAMILIES,
    RETRIEVAL_LEDE,
    Found,
    agreement,
    metric_table,
    queries_table,
    query_pairs,
    rankings,
    recall_curve,
    retrieval_metrics,
)
from leaderboard.components.scale import plain_scale
from leaderboard.data.tables import ScoreCell, SplitKey
from leaderboard.export.frame import Site, StaticPage, chooser, split_title

__all__ = ["retrieval_pages"]

_CURVES, _QUERIES, _OPENED = 6, 25, 5


def retrieval_pages(site: Site, split: SplitKey) -> Iterator[StaticPage]:
    """The page Retrieval of a split; none of other tracks, or where nobody has been scored."""
    results = site.board.headlines(split)
    if not retrieval_metrics(split.task) or not results:
        return
    path = site.layout.retrieval(split)
    alike = [one for one in site.layout.splits if retrieval_metrics(one.task) and site.board.has_scores(one)]
    choices = chooser(path, site, split, [(one, site.layout.retrieval(one)) for one in alike])
    title = f"Retrieval: {task_title(split.task)}, {split_title(site.board, split)} · HelloFresh"
    body = [page_header("Retrieval", RETRIEVAL_LEDE), choices, *_shown(site, split, results)]
    yield StaticPage(path, title, RETRIEVAL_LEDE, "Retrieval", split, join(body))


def _shown(site: Site, split: SplitKey, results: Sequence[ScoreCell]) -> Iterator[Html]:
    metrics = retrieval_metrics(split.task)
    yield from (metric_table(results, family, metrics) for family in FAMILIES)
    yield recall_curve(results[:_CURVES], metrics, plain_scale(split.task))
    if len(results) < 2:
        return
    both = (results[0].entry, results[1].entry)
    samples = SAMPLES.rows(site.records.samples(split))
    said = [JUDGEMENTS.rows(site.records.answers(split, origins=[entry.origin])) for entry in both]
    pairs = query_pairs(samples, *said)
    if not pairs:
        return
    yield agreement(pairs, both)
    for kind, entry in zip((Found.ONE, Found.TWO), both, strict=True):
        mine = [pair for pair in pairs if pair.found is kind]
        yield el("h3", "Only ", named(entry.name), f" found the evidence: {len(mine):,} queries")
        if mine:
            yield queries_table(mine[:_QUERIES], both)
        for pair in mine[:_OPENED]:
            ids = {*pair.one[:DEPTH], *pair.two[:DEPTH], *pair.relevance}
            shown = rankings(pair, both, site.records.documents(split, sorted(ids)))
            yield el("details", el("summary", named(pair.sample.id)), shown)
