"""Evidence retrieval: systems by metric, the recall curve, and the documents of a query."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hellofresh.results.board.schema import SampleRow, ShownDocument
from hellofresh.tasks import TASKS, relevance_of
from leaderboard.components.charts import interval_bar, interval_scale
from leaderboard.components.markup import Html, el, heading, inner_link, join, named, visible
from leaderboard.components.scale import plain_scale
from leaderboard.components.tables import Column, score, table
from leaderboard.data.board import Board, ScoreCell, SplitKey
from leaderboard.views.visit import Choices, Page, Visit

_LEDE = "Who finds the evidence: systems by metric, and how deep one has to read."
_FAMILIES = {"ndcg": "NDCG", "recall": "Recall", "m": "MRR and MAP"}
"""Metrics that stand side by side, by how their names begin."""
DEPTH = 10
"""A query's evidence counts as found if a relevant document is among so many."""
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 600
_MOST_CURVES = 6


def _metrics_of(task: str) -> Mapping[str, str]:
    """Titles of the task's metrics by name; empty for a task of another track."""
    known = TASKS.get(task)
    of_track = known.metrics if known is not None and known.track == "retrieval" else ()
    return {metric.name: metric.title or metric.name for metric in of_track}


def _compose(visit: Visit) -> None:
    visit.header("Retrieval", _LEDE)
    board, split = visit.board, visit.split()
    results, metrics = board.headlines(split), _metrics_of(split.task)
    visit.show(*(_metric_table(results, family, metrics) for family in _FAMILIES))
    visit.show(_recall_curve(results[:_MOST_CURVES], metrics, split.task))
    way = inner_link(visit.links.to("samples", split), "Samples")
    said = (
        "What each system ranked, with the documents, is on the page ", way, ". Evidence counts as found if a relevant "
        f"document is among the first {DEPTH}; choose two systems there to see what only one of them found.",
    )  # fmt: skip
    visit.show(heading("Query by query", *said))


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


def has_found(sample: SampleRow, ranked: Sequence[str]) -> bool:
    """Whether a relevant document is among the first that a system ranked for a query."""
    relevance = relevance_of(json.loads(sample.facts))
    return any(relevance.get(key, 0) > 0 for key in ranked[:DEPTH])


def documents_of(sample: SampleRow, ids: Sequence[str], found: Sequence[ShownDocument]) -> Html:
    """The documents that are relevant to a query, or that a system ranked first, with the query's words marked."""
    known, relevance = {row.id: row for row in found}, relevance_of(json.loads(sample.facts))
    asked = next(iter(sample.texts), "") or sample.title
    listed = (_document(key, relevance, known.get(key), _words(asked)) for key in ids)
    return el("details", el("summary", "The documents"), el("ul", *listed))


def _words(asked: str) -> set[str]:
    return {word for word in _WORD.findall(asked.casefold()) if len(word) > 2}


def _document(key: str, relevance: Mapping[str, int], document: ShownDocument | None, words: set[str]) -> Html:
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
