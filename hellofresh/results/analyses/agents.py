"""Searches and sources of agents, from the transcripts of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import Publisher, Publishers, site_of
from hellofresh.results.analyses.base import (
    Analysis,
    AnalysisResult,
    Cell,
    Row,
    about,
    analysis,
    compare_said,
    limited,
    missing,
    table_of,
)
from hellofresh.results.split.panel import CONTROLS, Panel, System
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import mean
from hellofresh.tasks.transcripts import (
    Event,
    NotedEvent,
    ReadEvent,
    SearchedEvent,
    Transcript,
    read_transcripts,
)

LEANING = "leaning"
"""Name of the note with the leaning of a sample's text, from -3 (left) to 3 (right)."""
RESULT_CERTAINTY = "result-certainty"
"""Name of the note with a model's certainty of a search's result, from 0 to 1."""
OFFLINE = "mode=offline"
"""Setting of an agent's offline baseline."""
# The lowest and highest possible values.
_BIAS, _QUALITY, _SEARCHES, _WORDS = (-3.0, 3.0), (0.0, 1.0), (0.0, 50.0), (0.0, 300.0)
_MOST_DOMAINS = 20  # the tail is of domains that were read once
_SIDES = (("left", -3.0, -0.5), ("centre", -0.5, 0.5), ("right", 0.5, 3.5))
_WORD = re.compile(r"\w+")
_NO_SOURCE, _NO_SEARCH = "No system has used a source.", "No system has searched."


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """A system's behaviour on one sample.

    Attributes:
        queries: its search queries, in order.
        failed: number of failed searches.
        sources: addresses of pages that were used, in order, each once.
        leaning: a model's rating of the text's political leaning; None without a rating.
        certainties: the model's stated certainties of search results, each from 0 to 1.
    """

    queries: tuple[str, ...] = ()
    failed: int = 0
    sources: tuple[str, ...] = ()
    leaning: float | None = None
    certainties: tuple[float, ...] = ()


Traces = Mapping[str, Sequence[SampleTrace | None]]
"""By origin of the system, a trace for each sample of the panel; None where the system was not asked."""


def read_traces(workspace: Workspace, panel: Panel) -> Traces:
    """The traces of a panel's systems, from their first repetition and first prompt.

    Raises:
        RunError: if a file of a run is damaged.
    """
    found = {}
    for system in panel.systems:
        first = {item.id: item for item in read_transcripts(workspace.runs / system.origin) if item.repetition == 1}
        if first:
            prompt = system.prompts[0].prompt
            asked = zip(panel.samples, system.headline.asked, strict=True)
            found[system.origin] = [
                _trace(first[sample.id], prompt) if was and sample.id in first else (SampleTrace() if was else None)
                for sample, was in asked
            ]
    return found


def _trace(transcript: Transcript, prompt: str) -> SampleTrace:
    events = [event for event in transcript.events if event.prompt in ("", prompt)]
    searches = [event for event in events if isinstance(event, SearchedEvent)]
    used = (event.final_url or event.url for event in events if isinstance(event, ReadEvent) and not event.dropped)
    numbers = _noted_numbers(events, LEANING)
    return SampleTrace(
        queries=tuple(event.query for event in searches),
        failed=sum(bool(event.problem) for event in searches),
        sources=tuple(dict.fromkeys(used)),
        leaning=numbers[0] if numbers else None,
        certainties=tuple(_noted_numbers(events, RESULT_CERTAINTY)),
    )


def _noted_numbers(events: Sequence[Event], name: str) -> list[float]:
    values = (event.values.get("value") for event in events if isinstance(event, NotedEvent) and event.name == name)
    return [float(value) for value in values if isinstance(value, int | float)]


@dataclass(frozen=True, slots=True)
class AgentPanel:
    """A panel with the traces of its systems.

    Attributes:
        panel: the panel.
        traces: the systems' traces.
        publishers: ratings of sources; may be empty.
    """

    panel: Panel
    traces: Traces
    publishers: Publishers

    @property
    def searching(self) -> Iterator[tuple[System, Sequence[SampleTrace | None]]]:
        """The systems that can search, with their traces; not controls or offline baselines."""
        for system in self.panel.systems:
            cannot = system.regime in CONTROLS or OFFLINE in system.settings.split(", ")
            if system.origin in self.traces and not cannot:
                yield system, self.traces[system.origin]

    def offline(self, system: System) -> System | None:
        """The same model without search: the agent's offline baseline, else zero-shot."""
        same = [other for other in self.panel.systems if other.model == system.model]
        own = [other for other in same if OFFLINE in other.settings.split(", ")]
        return next(iter([*own, *(other for other in same if other.regime == "zero-shot")]), None)

    def right(self, system: System) -> NDArray[np.bool_]:
        """Shape (n,), where the system's answer is the label."""
        right: NDArray[np.bool_] = system.headline.answers == self.panel.labels
        return right

    def ratings(self, trace: SampleTrace | None) -> list[Publisher]:
        """The available ratings of the publishers that a trace used."""
        sources = trace.sources if trace else ()
        return [rating for url in sources if (rating := self.publishers.of(url)) is not None]


def _means(
    name: str, values: NDArray[np.float64], groups: NDArray[np.int64], limits: tuple[float, float]
) -> dict[str, Cell]:
    """The mean of the known values with its limits by groups, as cells of a row; None without known values.

    Args:
        name: of the columns.
        values: shape (n,), nan where not known.
        groups: shape (n,).
        limits: the lowest and the highest value that there can be.
    """
    known = np.isfinite(values)
    if not known.any():
        return limited(name, None, None)
    metric = mean("mean", limits)
    tables = cluster_tables(metric.statistics(np.ones(int(known.sum())), values[known]), groups[known])
    return limited(name, float(metric.value(tables.sum(axis=0))), metric_interval(tables, metric))


def _mean(values: Sequence[float | None]) -> float:
    """The mean of the known values; nan without any."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _floats(values: Iterable[float | None]) -> NDArray[np.float64]:
    """An array with nan for unknown values."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


_Traces = Sequence[SampleTrace | None]


def _by_system(
    name: str, title: str, question: str, why: str
) -> Callable[[Callable[[AgentPanel, System, _Traces], Iterable[Row]]], Analysis[AgentPanel]]:
    """Make an analysis from a function that returns the rows of a searching system; `why` explains missing rows."""

    def made(rows_of: Callable[[AgentPanel, System, _Traces], Iterable[Row]]) -> Analysis[AgentPanel]:
        def run(given: AgentPanel) -> AnalysisResult:
            found = ((system, rows_of(given, system, traces)) for system, traces in given.searching)
            rows = [{**about(system), **row} for system, its in found for row in its]
            return AnalysisResult(table_of(rows)) if rows else missing(why)

        return Analysis(name, title, question, "", run)

    return made


@_by_system("sources", "Sources", "Which sources do answers rest on, and how are their publishers rated?", _NO_SOURCE)
def sources(given: AgentPanel, _: System, traces: _Traces) -> Iterator[Row]:
    """Sources of findings: their domains and ratings."""
    cited = [trace.sources if trace is not None else () for trace in traces]
    urls = [url for of_sample in cited for url in of_sample]
    if urls:
        # sources of one sample are not independent
        groups = np.repeat(given.panel.groups, [len(of_sample) for of_sample in cited])
        rated = [given.publishers.of(url) for url in urls]
        domains = Counter(site_of(url) for url in urls)
        top, times = domains.most_common(1)[0]
        counted = {"sources": len(urls), "domains": len(domains), "top_domain": top, "top_share": times / len(urls)}
        share = {"rated_share": sum(item is not None for item in rated) / len(urls)}
        bias, quality = (_floats(getattr(item, name, None) for item in rated) for name in ("bias", "quality"))
        means = _means("bias", bias, groups, _BIAS) | _means("quality", quality, groups, _QUALITY)
        yield {**counted, **share, **means, **_sides(bias)}


def _sides(biases: NDArray[np.float64]) -> dict[str, Cell]:
    """The distribution of leaning: the share of the known values on each side; None without any."""
    known = biases[np.isfinite(biases)]
    return {
        f"share_{side}": float(((known >= low) & (known < high)).mean()) if known.size else None
        for side, low, high in _SIDES
    }


@_by_system("domains", "Domains", "Which domains are used most?", _NO_SOURCE)
def domains(given: AgentPanel, _: System, traces: _Traces) -> Iterator[Row]:
    """The domains that a system used most, and how they are rated."""
    urls = [url for trace in traces if trace is not None for url in trace.sources]
    counts = Counter(site_of(url) for url in urls)
    for rank, (domain, times) in enumerate(counts.most_common(_MOST_DOMAINS), start=1):
        rating = given.publishers.of(f"https://{domain}/")
        used = {"rank": rank, "domain": domain, "times": times, "share": times / len(urls)}
        yield {**used, **{name: getattr(rating, name, None) for name in ("bias", "factuality", "quality")}}


@_by_system(
    "leaning",
    "Leaning",
    "Do sources lean the same way as the text?",
    "No run has rated the leaning of its samples; add --set leaning=true.",
)
def leaning(given: AgentPanel, _: System, traces: _Traces) -> Iterator[Row]:
    """Whether sources share the political leaning of the text that they were found for."""
    leanings = _floats(None if trace is None else trace.leaning for trace in traces)
    biases = np.array([_mean([rating.bias for rating in given.ratings(trace)]) for trace in traces])
    for side, low, high in _SIDES:
        where = (leanings >= low) & (leanings < high)
        if where.any():
            counted = {"leaning": side, "n": int(where.sum()), "rated": int(np.isfinite(biases[where]).sum())}
            means = _means("source_bias", biases[where], given.panel.groups[where], _BIAS)
            yield {**counted, **means, **_sides(biases[where])}


@analysis("gain", "Helped or hurt", "Where did searching help, and where did it hurt?")
def gain(given: AgentPanel) -> AnalysisResult:
    """Where searching helped or hurt, with the ratings of the sources there."""
    pairs = [(system, traces, given.offline(system)) for system, traces in given.searching]
    known = [(system, traces, other) for system, traces, other in pairs if other is not None]
    rows: list[Row] = []
    for system, traces, other in known:
        both = system.headline.asked & other.headline.asked
        if not both.any():
            continue
        online, offline = given.right(system), given.right(other)
        found = compare_said(given.panel, system.headline, other.headline, together=len(known))
        same = {**about(system), "against": other.regime, **limited("difference", found.difference, found.interval)}
        of = [given.ratings(trace) for trace in traces]
        bias = np.array([_mean([item.bias for item in ratings]) for ratings in of])
        quality = np.array([_mean([item.quality for item in ratings]) for ratings in of])
        kinds = {"helped": online & ~offline, "hurt": ~online & offline}
        kinds |= {"right both ways": online & offline, "wrong both ways": ~online & ~offline}
        for name, kind in kinds.items():
            where = both & kind
            groups, share = given.panel.groups[where], float(where.sum() / both.sum())
            cells = {"p_adjusted": found.adjusted, "search": name, "n": int(where.sum()), "share": share}
            means = _means("source_bias", bias[where], groups, _BIAS)
            means |= _means("source_quality", quality[where], groups, _QUALITY)
            rows.append({**same, **cells, **means})
    if not rows:
        return missing("No agent has an offline baseline on the same samples; run one with --set mode=offline.")
    return AnalysisResult(table_of(rows))


@_by_system("searches", "Searches a sample", "How often does an agent search, right and wrong?", _NO_SEARCH)
def searches(given: AgentPanel, system: System, traces: _Traces) -> Iterator[Row]:
    """Number of searches for right and for wrong answers."""
    asked = np.array([trace is not None for trace in traces])
    made = np.array([0.0 if trace is None else float(len(trace.queries)) for trace in traces])
    failed = np.array([0 if trace is None else trace.failed for trace in traces])
    right = given.right(system)
    for name, where in (("all", asked), ("right", asked & right), ("wrong", asked & ~right)):
        if where.any():
            own = made[where]
            means = _means("searches", own, given.panel.groups[where], _SEARCHES)
            shape = {"none": float((own == 0).mean()), "median": float(np.median(own)), "most": float(own.max())}
            yield {"answers": name, "n": int(where.sum()), **means, **shape, "failed": int(failed[where].sum())}


@_by_system(
    "result-certainty",
    "Certainty of results",
    "Is a model surer of its search results when its answer is right?",
    "No run was asked how certain it is of its results; add --set result_certainty=true.",
)
def result_certainty(given: AgentPanel, system: System, traces: _Traces) -> Iterator[Row]:
    """The mean certainty of a sample's search results, for right and wrong answers.

    Expect no difference: models state nearly the same high certainty of whatever a search brings them, which is what
    the paper on web retrieval agents found as well (appendix A.7).
    """
    stated = _floats(_mean(trace.certainties) if trace is not None and trace.certainties else None for trace in traces)
    right = given.right(system)
    for name, where in (("right", right), ("wrong", ~right)):
        kept = where & np.isfinite(stated)
        if kept.any():
            yield {
                "answers": name,
                "n": int(kept.sum()),
                **_means("certainty", stated[kept], given.panel.groups[kept], (0.0, 1.0)),
            }


@_by_system("queries", "Queries", "How is a text divided into queries?", _NO_SEARCH)
def queries(given: AgentPanel, _: System, traces: _Traces) -> Iterator[Row]:
    """Queries of agents: number, length, and overlap with the text."""
    texts = (_words(given.panel.task.text(sample)) for sample in given.panel.samples)
    found = [_taken(trace, text) for trace, text in zip(traces, texts, strict=True) if trace and trace.queries]
    if found:
        groups = given.panel.groups[[bool(trace and trace.queries) for trace in traces]]
        made, *columns = np.array(found).T
        cells: dict[str, Cell] = {"n": len(found), "queries": int(made.sum())}
        kinds = {"words": _WORDS, "from_text": (0.0, 1.0), "text_covered": (0.0, 1.0), "alike": (0.0, 1.0)}
        for (name, limits), column in zip(kinds.items(), columns, strict=True):
            cells |= _means(name, column, groups, limits)
        yield cells


def _taken(trace: SampleTrace, text: frozenset[str]) -> tuple[float, ...]:
    """Number of queries; their mean words; share of their words that are the text's; share of the text's words that
    any of them has; mean overlap (Jaccard) of one with the next, nan with one alone.
    """
    made = [_words(query) for query in trace.queries]
    used = frozenset().union(*made)
    lengths = [len(_WORD.findall(query)) for query in trace.queries]
    shared, pairs = len(used & text), [len(a & b) / max(1, len(a | b)) for a, b in pairwise(made)]
    return float(len(made)), _mean(lengths), shared / max(1, len(used)), shared / max(1, len(text)), _mean(pairs)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


AGENT_ANALYSES: tuple[Analysis[AgentPanel], ...] = (
    sources,
    domains,
    leaning,
    gain,
    searches,
    result_certainty,
    queries,
)
