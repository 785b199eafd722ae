"""Evidence retrieval: systems by metric, the recall curve, and the documents of a query."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from hellofresh.results.board.sample_rows import SampleRow, ShownDocument
from hellofresh.tasks import TASKS, relevance_of
from leaderboard.components.charts import curves
from leaderboard.components.labels import Links
from leaderboard.components.markup import Html, el, heading, inner_link, join, named, visible
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.tables import Column, score, scrolled, table
from leaderboard.data.board import ScoreCell, SplitKey
from leaderboard.views.compare import behind_first
from leaderboard.views.leaderboard import show_front
from leaderboard.views.visit import Page, Visit, where

_LEDE = "Who finds the evidence: systems by metric, and how deep one has to read."
DEPTH = 10
"""A query's evidence counts as found if a relevant document is among this many."""
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 600
_MOST_CURVES = 6


def _metrics_of(task: str) -> Mapping[str, str]:
    """Titles of the task's metrics by name; empty for a task of another track."""
    known = TASKS.get(task)
    of_track = known.metrics if known is not None and known.track == "retrieval" else ()
    return {metric.name: metric.title or metric.name for metric in of_track}


def _compose(visit: Visit) -> None:
    lines = show_front(visit, _LEDE)
    board, split = visit.board, visit.chosen
    results, metrics = board.headlines(split), _metrics_of(split.task)
    ahead = behind_first(lines, board, split, scale_of(board, split), visit.links)
    visit.show(ahead, _recall_curve(results, metrics), _metric_table(results, metrics, split, visit.links))
    way = inner_link(visit.links.to("samples", split), "Samples")
    said = (
        "What each system ranked, with the documents, is on the page ", way, ". Evidence counts as found if a relevant "
        f"document is among the first {DEPTH}; choose two systems there to see what only one of them found.",
    )  # fmt: skip
    visit.show(heading("Query by query", *said))


def _metric_table(results: Sequence[ScoreCell], titles: Mapping[str, str], split: SplitKey, links: Links) -> Html:
    """Systems with all metrics, each family sorted by depth."""
    names = sorted(titles, key=lambda name: (name.partition("@")[0], _depth(name)))
    rows = (
        [
            (
                inner_link(links.to("system", split, system=one.entry.origin), named(one.entry.name)),
                named(one.entry.team, 60),
            ),
            *(score(one.metric(name)) for name in names),
        ]
        for one in results
    )
    columns: list[Column] = [("name", "System"), *(("number", titles[name]) for name in names)]
    said = f"Means over {max((one.n for one in results), default=0):,} queries, with 95% intervals, as by trec_eval."
    both = [(one.metric("map"), one.metric("mrr")) for one in results]
    if all(one and other and one.value == other.value for one, other in both):
        said += " MAP equals MRR here: no query has two relevant documents that a system ranks apart."
    shown = scrolled(table("Systems by all metrics", columns, rows, "hf-wide hf-findings"))
    return join([heading("All metrics", said), shown])


def _depth(name: str) -> int:
    """The k of a metric such as `recall@10`; 0 if it has none."""
    after = name.partition("@")[2]
    return int(after) if after.isdigit() else 0


def _recall_curve(results: Sequence[ScoreCell], titles: Mapping[str, str]) -> Html | None:
    """The share of relevant documents among the first k, a line for each system, with intervals."""
    names = sorted((name for name in titles if name.startswith("recall@")), key=_depth)
    ticks = [((at + 0.5) / len(names), f"k = {_depth(name)}") for at, name in enumerate(names)]
    if not names:
        return None
    found = [[(at, one) for (at, _), name in zip(ticks, names, strict=True) if (one := result.metric(name))]
             for result in results]  # fmt: skip
    lines = [(result.entry.name, [(at, one.value) for at, one in own])
             for result, own in zip(results, found, strict=True)]  # fmt: skip
    bands = [[(at, one.low, one.high) for at, one in own] for own in found]
    drawn = curves(lines, ticks, Scale("Recall"), most=_MOST_CURVES, bands=bands)
    said = "The share of the relevant documents among the first k of a ranking; bars are 95% intervals."
    return join([heading("Recall", said), drawn])


def has_found(sample: SampleRow, ranked: Sequence[str]) -> bool:
    """Whether a relevant document is among the first ones of a system's ranking."""
    relevance = relevance_of(json.loads(sample.facts))
    return any(relevance.get(key, 0) > 0 for key in ranked[:DEPTH])


def documents_of(sample: SampleRow, ids: Sequence[str], found: Sequence[ShownDocument]) -> Html:
    """The documents relevant to a query, or ranked first by a system, with the query's words marked."""
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
    """The text in one line, with these words marked."""
    line, at = visible(text, _MOST_CHARACTERS), 0
    for found in _WORD.finditer(line):
        if found.group().casefold() in words:
            yield line[at : found.start()]
            yield el("mark", found.group())
            at = found.end()
    yield line[at:]


_THERE = where(lambda board, split: _metrics_of(split.task) and board.has_scores(split))
PAGE = Page("Retrieval", "retrieval", _compose, _LEDE, _THERE)
