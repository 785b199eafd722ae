"""Evidence retrieval: systems by metric, the recall curve, and two systems query by query with their documents."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from hellofresh.results.board.schema import FoundDocument, SampleRow
from hellofresh.results.tables import AnswerRow
from hellofresh.tasks import TASKS, relevance_of
from leaderboard.components.charts import interval_bar, interval_scale
from leaderboard.components.labels import entry_label
from leaderboard.components.markup import Html, el, join, named, visible
from leaderboard.components.pieces import heading
from leaderboard.components.scale import plain_scale
from leaderboard.components.tables import Cell, Column, score, table
from leaderboard.data.board import Board, BoardEntry, ScoreCell, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "Who finds the evidence: systems by metric, how deep one has to read, and two systems query by query."
_FAMILIES = {"ndcg": "NDCG", "recall": "Recall", "m": "MRR and MAP"}
"""Metrics that stand side by side, by how their names begin."""
_DEPTH = 10
"""A query's evidence counts as found if a relevant document is among so many."""
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 600
_USUAL_CURVES, _MOST_CURVES = 3, 6
_MOST_QUERIES = 25
_COPIED_QUERIES = 5
_Both = tuple[BoardEntry, BoardEntry]


class Found(StrEnum):
    """Which of two systems found the evidence for a query."""

    ONE = "one"
    TWO = "two"
    BOTH = "both"
    NEITHER = "neither"


_TITLES = {Found.ONE: "only the first", Found.TWO: "only the second", Found.BOTH: "both", Found.NEITHER: "neither"}


@dataclass(frozen=True, slots=True)
class QueryPair:
    """A query, its relevant documents, and what two systems ranked.

    Attributes:
        sample: the query.
        relevance: of documents by id, as judged.
        one, two: the documents of each, the best first.
    """

    sample: SampleRow
    relevance: Mapping[str, int]
    one: Sequence[str]
    two: Sequence[str]

    @property
    def places(self) -> tuple[int | None, int | None]:
        """The rank of each one's first relevant document, None if it is not among the first `_DEPTH`."""
        first, second = (
            next((at for at, key in enumerate(ranked[:_DEPTH], start=1) if self.relevance.get(key, 0) > 0), None)
            for ranked in (self.one, self.two)
        )
        return first, second

    @property
    def found(self) -> Found:
        """Who has a relevant document among the first `_DEPTH`."""
        match self.places:
            case None, None:
                return Found.NEITHER
            case _, None:
                return Found.ONE
            case None, _:
                return Found.TWO
        return Found.BOTH

    @property
    def text(self) -> str:
        """What was asked."""
        return next(iter(self.sample.texts), "") or self.sample.title


def _metrics_of(task: str) -> Mapping[str, str]:
    """Titles of the task's metrics by name; empty for a task of another track."""
    known = TASKS.get(task)
    of_track = known.metrics if known is not None and known.track == "retrieval" else ()
    return {metric.name: metric.title or metric.name for metric in of_track}


def _compose(visit: Visit) -> None:
    visit.header("Retrieval", _LEDE)
    board = visit.board
    known = [split for split in board.splits if _copies(board, split)]
    if not known:
        said = "No system has looked for evidence yet. A corpus comes in with: "
        visit.show(el("p", said, el("code", "hellofresh corpus import")))
        return
    with visit.row():
        split = visit.split_among("queries", "Queries", known)
        families = visit.each("family", "Metrics", _FAMILIES, default="ndcg")
    results, metrics = board.headlines(split), _metrics_of(split.task)
    visit.show(*(_metric_table(results, family, metrics) for family in families))
    entries = board.entries(split)
    titles = {origin: entry_label(entry) for origin, entry in entries.items()}
    shown = visit.many(
        "curves",
        "Systems in the recall curve",
        titles,
        default=list(entries)[: _USUAL_CURVES if visit.live else _MOST_CURVES],
        most=_MOST_CURVES,
        about=" ".join(split),
    )
    visit.show(_recall_curve([one for one in results if one.entry.origin in shown], metrics, split.task))
    if len(entries) < 2:
        return
    visit.show(heading("Two systems"))
    with visit.row():
        one = visit.one("one", "First system", titles, width=400)
        two = visit.one("two", "Second system", titles, width=400, first=list(entries)[1])
    _compare(visit, split, (entries[one], entries[two]))


def _metric_table(results: Sequence[ScoreCell], family: str, titles: Mapping[str, str]) -> Html:
    """Systems with all metrics of a family, the best by the last of them first."""
    names = [name for name in titles if name.startswith(family)]
    ordered = sorted(results, key=lambda one: -(metric.value if (metric := one.metric(names[-1])) else -1.0))
    rows = (
        [(named(one.entry.name), named(one.entry.team, 60)), *(score(one.metric(name)) for name in names)]
        for one in ordered
    )
    columns = [("name", "System"), *(("number", titles[name]) for name in names)]
    said = "Means over queries, with 95% intervals; numbers equal trec_eval's."
    shown = table(f"Systems by {_FAMILIES[family]}", columns, rows, "hf-small")
    return join([heading(_FAMILIES[family], said), shown])


def _recall_curve(results: Sequence[ScoreCell], titles: Mapping[str, str], task: str) -> Html:
    """For each system, the share of the relevant documents that are among the first k, with intervals."""
    scale = plain_scale(task)
    columns: list[Column] = [("name", "k"), ("number", "Recall"), ("drawn", interval_scale(scale))]
    panels = []
    for result in results:
        found = {name: metric for name in titles if name.startswith("recall@") and (metric := result.metric(name))}
        rows = ([name.partition("@")[2], score(metric), interval_bar(metric, scale)] for name, metric in found.items())
        drawn = table(f"Recall of {visible(result.entry.name)}", columns, rows, "hf-curve")
        panels.append(el("figure", el("figcaption", named(result.entry.name, 60)), drawn))
    said = "The share of the relevant documents among the first k of a ranking; bands are 95% intervals."
    return join([heading("Recall curve", said), el("div", *panels, class_="hf-panels")])


def _compare(visit: Visit, split: SplitKey, both: _Both) -> None:
    """Two systems, query by query; those that both answered."""
    samples = sorted(visit.board.rows(SampleRow, split), key=lambda row: (row.period, row.id))
    one, two = (
        {row.id: row.documents or () for row in visit.board.rows(AnswerRow, split, origin=key.origin) if row.headline}
        for key in both
    )
    pairs = [
        QueryPair(sample, relevance_of(json.loads(sample.facts)), one[sample.id], two[sample.id])
        for sample in samples
        if sample.id in one and sample.id in two and sample.revealed
    ]
    if both[0] == both[1] or not pairs:
        visit.show(el("p", "Choose two different systems." if both[0] == both[1] else "They have no query in common."))
        return
    visit.show(_agreement(pairs, both))
    kinds = {str(kind): title for kind, title in _TITLES.items()}
    label, copied = f"Evidence among the first {_DEPTH} of", [str(Found.ONE), str(Found.TWO)]
    for kind in visit.each("found", label, kinds, copied=copied):
        mine = [pair for pair in pairs if pair.found is Found(kind)]
        if visit.live:
            visit.show(el("p", f"{len(mine):,} queries; the first {min(len(mine), _MOST_QUERIES)}."))
        else:
            who = named(both[Found(kind) is Found.TWO].name)
            visit.show(el("h3", "Only ", who, f" found the evidence: {len(mine):,} queries"))
        if mine:
            visit.show(_queries_table(mine[:_MOST_QUERIES], both))
            _open(visit, split, mine, both)


def _agreement(pairs: Sequence[QueryPair], both: _Both) -> Html:
    """For how many queries which of the two found the evidence."""
    counts = Counter(pair.found for pair in pairs)
    titles = {
        Found.BOTH: "Both",
        Found.ONE: f"Only {visible(both[0].name, 60)}",
        Found.TWO: f"Only {visible(both[1].name, 60)}",
        Found.NEITHER: "Neither",
    }
    rows = ([title, f"{counts[kind]:,}", f"{counts[kind] / len(pairs):.1%}"] for kind, title in titles.items())
    said = f"A query's evidence is found if a relevant document is among the first {_DEPTH}."
    columns = [("name", "Found by"), ("number", "Queries"), ("number", "Share")]
    return join([heading("Query by query", said), table("Evidence found", columns, rows, "hf-balance")])


def _queries_table(pairs: Sequence[QueryPair], both: _Both) -> Html:
    """Queries with the rank of the first relevant document in either ranking."""
    rows: list[list[Cell]] = []
    for pair in pairs:
        ranks = (f"not in {_DEPTH}" if place is None else f"rank {place}" for place in pair.places)
        rows.append([visible(pair.sample.id, 40), named(pair.text, 160), *ranks])
    columns = [("name", "Query"), ("text", "Text"), *(("number", visible(entry.name, 40)) for entry in both)]
    return table("Rank of the first relevant document", columns, rows, "hf-samples")


def _open(visit: Visit, split: SplitKey, pairs: Sequence[QueryPair], both: _Both) -> None:
    """Queries with the documents of both."""
    by_id = {pair.sample.id: pair for pair in pairs}
    titles = {key: visible(key) for key in by_id}
    for key in visit.each("query", "Open a query", titles, width=320, copied=list(by_id)[:_COPIED_QUERIES]):
        pair = by_id[key]
        ids = sorted({*pair.one[:_DEPTH], *pair.two[:_DEPTH], *pair.relevance})
        documents = {row.id: row for row in visit.board.rows(FoundDocument, split, pl.col("id").is_in(ids))}
        shown = rankings(pair, both, documents)
        visit.show(shown if visit.live else el("details", el("summary", titles[key]), shown))


def rankings(pair: QueryPair, both: _Both, documents: Mapping[str, FoundDocument]) -> Html:
    """The first documents of both rankings side by side, with the query's words marked."""
    words = {word for word in _WORD.findall(pair.text.casefold()) if len(word) > 2}
    columns = []
    for entry, ranked in zip(both, (pair.one, pair.two), strict=True):
        found = (_document(key, pair.relevance, documents.get(key), words) for key in ranked[:_DEPTH])
        columns.append(el("section", el("h3", named(entry.name)), el("ol", *found)))
    seen = {*pair.one[:_DEPTH], *pair.two[:_DEPTH]}
    missed = [key for key, value in pair.relevance.items() if value > 0 and key not in seen]
    further = (_document(key, {}, documents.get(key), words) for key in missed[:_DEPTH])
    left = el("section", el("h3", "Relevant, found by neither"), el("ul", *further))
    asked = el("p", el("strong", named(pair.text, 400)))
    return join([heading("The documents"), asked, el("div", *columns, class_="hf-two"), left if missed else None])


def _document(key: str, relevance: Mapping[str, int], document: FoundDocument | None, words: set[str]) -> Html:
    relevant = el("span", " \N{CHECK MARK} relevant", class_="hf-right") if relevance.get(key, 0) > 0 else None
    if document is None:
        return el("li", named(key, 60), relevant, el("small", " Its text may not be shown here."))
    title = el("strong", *_marked(document.title or key, words))
    return el("li", title, relevant, el("small", f" {visible(key, 60)}"), el("p", *_marked(document.text, words)))


def _marked(text: str, words: set[str]) -> Iterator[Html | str]:
    """The text in one line, with these words as marks."""
    line, at = visible(text, _MOST_CHARACTERS), 0
    for found in _WORD.finditer(line):
        if found.group().casefold() in words:
            yield line[at : found.start()]
            yield el("mark", found.group())
            at = found.end()
    yield line[at:]


def _copies(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [{}] if _metrics_of(split.task) and board.has_scores(split) else []


PAGE = Page("Retrieval", "retrieval", _compose, _LEDE, _copies)
