"""Evidence that was looked for: systems by metric, recall by depth, two systems by query, documents with marks."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hellofresh.results.board.schema import FoundDocument, SampleRow
from hellofresh.results.tables import AnswerRow
from hellofresh.tasks import TASKS, relevance_of
from leaderboard.components.charts import interval_bar, interval_scale
from leaderboard.components.markup import DASH, Html, el, join, named, visible
from leaderboard.components.pieces import heading
from leaderboard.components.scale import Scale
from leaderboard.components.tables import Cell, Column, score, table
from leaderboard.data.board import BoardEntry, ScoreCell

RETRIEVAL_LEDE = "Who finds the evidence: systems by metric, how deep one has to read, and two systems query by query."
FAMILIES = {"ndcg": "NDCG", "recall": "Recall", "m": "MRR and MAP"}
"""Metrics that stand side by side, by how their names begin."""
DEPTH = 10
"""A query's evidence counts as found if a relevant document is among so many."""
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 600


def retrieval_metrics(task: str) -> Mapping[str, str]:
    """Titles of the task's metrics by name; empty for a task of another track."""
    known = TASKS.get(task)
    of_track = known.metrics if known is not None and known.track == "retrieval" else ()
    return {metric.name: metric.title or metric.name for metric in of_track}


def metric_table(results: Sequence[ScoreCell], family: str, titles: Mapping[str, str]) -> Html:
    """Systems with all metrics of a family, the best by the last of them first."""
    names = [name for name in titles if name.startswith(family)]
    last = names[-1]
    ordered = sorted(results, key=lambda one: -(metric.value if (metric := one.metric(last)) else -1.0))
    rows = (
        [(named(one.entry.name), named(one.entry.team, 60)), *(score(one.metric(name)) for name in names)]
        for one in ordered
    )
    columns = [("name", "System"), *(("number", titles[name]) for name in names)]
    said = "Means over queries, with 95% intervals; numbers equal trec_eval's."
    shown = table(f"Systems by {FAMILIES[family]}", columns, rows, "hf-small")
    return join([heading(FAMILIES[family], said), shown])


def recall_curve(results: Sequence[ScoreCell], titles: Mapping[str, str], scale: Scale) -> Html:
    """For each system, the share of the relevant documents that are among the first k, with intervals."""
    names = [name for name in titles if name.startswith("recall@")]
    panels = (_curve(result, names, scale) for result in results)
    said = "The share of the relevant documents among the first k of a ranking; bands are 95% intervals."
    return join([heading("Recall curve", said), el("div", *panels, class_="hf-panels")])


def _curve(result: ScoreCell, names: Sequence[str], scale: Scale) -> Html:
    found = {name: metric for name in names if (metric := result.metric(name)) is not None}
    rows = ([name.partition("@")[2], score(metric), interval_bar(metric, scale)] for name, metric in found.items())
    columns: list[Column] = [("name", "k"), ("number", "Recall"), ("drawn", interval_scale(scale))]
    drawn = table(f"Recall of {visible(result.entry.name)}", columns, rows, "hf-curve")
    return el("figure", el("figcaption", named(result.entry.name, 60)), drawn)


class Found(StrEnum):
    """Which of two systems found the evidence for a query."""

    ONE = "one"
    TWO = "two"
    BOTH = "both"
    NEITHER = "neither"


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
    def found(self) -> Found:
        """Who has a relevant document among the first `DEPTH`."""
        first, second = (_place(ranked, self.relevance) is not None for ranked in (self.one, self.two))
        return {(True, True): Found.BOTH, (True, False): Found.ONE, (False, True): Found.TWO}.get(
            (first, second), Found.NEITHER
        )


def _place(ranked: Sequence[str], relevance: Mapping[str, int]) -> int | None:
    """The rank of the first relevant document, None if it is not among the first `DEPTH`."""
    places = (place for place, document in enumerate(ranked[:DEPTH], start=1) if relevance.get(document, 0) > 0)
    return next(places, None)


def query_pairs(samples: Sequence[SampleRow], one: Sequence[AnswerRow], two: Sequence[AnswerRow]) -> list[QueryPair]:
    """Both systems' rankings for each query that both answered."""
    first, second = ({row.id: row.documents or () for row in rows if row.headline} for rows in (one, two))
    return [
        QueryPair(sample, relevance_of(json.loads(sample.facts)), first[sample.id], second[sample.id])
        for sample in samples
        if sample.id in first and sample.id in second and sample.revealed
    ]


def agreement(pairs: Sequence[QueryPair], both: tuple[BoardEntry, BoardEntry]) -> Html:
    """For how many queries which of the two found the evidence."""
    counts = Counter(pair.found for pair in pairs)
    titles = {
        Found.BOTH: "Both",
        Found.ONE: f"Only {visible(both[0].name, 60)}",
        Found.TWO: f"Only {visible(both[1].name, 60)}",
        Found.NEITHER: "Neither",
    }
    rows = (
        [title, f"{counts[kind]:,}", f"{counts[kind] / len(pairs):.1%}" if pairs else DASH]
        for kind, title in titles.items()
    )
    said = f"A query's evidence is found if a relevant document is among the first {DEPTH}."
    columns = [("name", "Found by"), ("number", "Queries"), ("number", "Share")]
    return join([heading("Query by query", said), table("Evidence found", columns, rows, "hf-balance")])


def queries_table(pairs: Sequence[QueryPair], both: tuple[BoardEntry, BoardEntry]) -> Html:
    """Queries with the rank of the first relevant document in either ranking."""
    rows: list[list[Cell]] = []
    for pair in pairs:
        ranks = (_rank(_place(ranked, pair.relevance)) for ranked in (pair.one, pair.two))
        rows.append([visible(pair.sample.id, 40), named(_text(pair.sample), 160), *ranks])
    columns = [("name", "Query"), ("text", "Text"), *(("number", visible(entry.name, 40)) for entry in both)]
    return table("Rank of the first relevant document", columns, rows, "hf-samples")


def _rank(place: int | None) -> str:
    return f"not in {DEPTH}" if place is None else f"rank {place}"


def _text(sample: SampleRow) -> str:
    return next(iter(sample.texts), "") or sample.title


def rankings(pair: QueryPair, both: tuple[BoardEntry, BoardEntry], documents: Mapping[str, FoundDocument]) -> Html:
    """The first documents of both rankings side by side, with the query's words marked."""
    query = _text(pair.sample)
    words = {word for word in _WORD.findall(query.casefold()) if len(word) > 2}
    columns = []
    for entry, ranked in zip(both, (pair.one, pair.two), strict=True):
        found = (_document(key, pair.relevance, documents.get(key), words) for key in ranked[:DEPTH])
        columns.append(el("section", el("h3", named(entry.name)), el("ol", *found)))
    seen = {*pair.one[:DEPTH], *pair.two[:DEPTH]}
    missed = [key for key, value in pair.relevance.items() if value > 0 and key not in seen]
    further = (_document(key, {}, documents.get(key), words) for key in missed[:DEPTH])
    left = el("section", el("h3", "Relevant, found by neither"), el("ul", *further))
    asked = el("p", el("strong", named(query, 400)))
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
