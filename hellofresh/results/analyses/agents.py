"""What agents did: searches and sources, from the transcripts of runs; and the variants of a sweep side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.publishers import Publisher, Publishers, site_of
from hellofresh.results.analyses.base import (
    Analysis,
    AnalysisResult,
    Cell,
    Row,
    about,
    analysis,
    compare_said,
    few_note,
    limited,
    measure,
    missing,
    table_of,
)
from hellofresh.results.panel import Panel, System
from hellofresh.results.traces import SampleTrace, Traces
from hellofresh.stats import cluster_tables, metric_interval
from hellofresh.stats.metrics import mean
from hellofresh.tasks.outputs import Response

OFFLINE = "mode=offline"
"""What the settings of an agent's offline baseline say."""
_BIAS, _QUALITY, _SEARCHES, _WORDS = (-3.0, 3.0), (0.0, 1.0), (0.0, 50.0), (0.0, 300.0)
"""The lowest and the highest value that there can be."""
_MOST_DOMAINS = 20
_SIDES = (("left", -3.0, -0.5), ("centre", -0.5, 0.5), ("right", 0.5, 3.5))
_COUNTS = {"words": 2000.0, "links": 100.0, "hallucinated_links": 100.0, "refuting_pages": 100.0}
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?:^|, )(\w+)=(-?\d+(?:\.\d+)?)(?=,|$)")
_NO_SOURCE, _NO_SEARCH = "No system has used a source.", "No system has searched."


@dataclass(frozen=True, slots=True)
class AgentPanel:
    """A panel with what its systems did.

    Attributes:
        panel: the panel.
        traces: what they did.
        publishers: ratings of the sources; without any, nothing is rated.
    """

    panel: Panel
    traces: Traces
    publishers: Publishers

    @property
    def searching(self) -> Iterator[tuple[System, Sequence[SampleTrace | None]]]:
        """The systems that searched or could have."""
        for system in self.panel.systems:
            if system.origin in self.traces and OFFLINE not in system.settings.split(", "):
                yield system, self.traces[system.origin]

    def offline(self, system: System) -> System | None:
        """The same model without a search: the agent's own offline baseline, else zero-shot."""
        same = [other for other in self.panel.systems if other.model == system.model]
        own = [other for other in same if OFFLINE in other.settings.split(", ")]
        return next(iter([*own, *(other for other in same if other.regime == "zero-shot")]), None)

    def right(self, system: System) -> NDArray[np.bool_]:
        """Shape (n,), where the system's answer is the label."""
        right: NDArray[np.bool_] = system.headline.answers == self.panel.labels
        return right

    def ratings(self, trace: SampleTrace | None) -> list[Publisher]:
        """The ratings of the publishers that a trace rests on, as far as they are rated."""
        sources = trace.sources if trace else ()
        return [rating for url in sources if (rating := self.publishers.of(url)) is not None]


def _means(
    name: str, values: NDArray[np.float64], groups: NDArray[np.int64], limits: tuple[float, float]
) -> dict[str, Cell]:
    """The mean of what is known of numbers with its limits by groups, as cells of a row; None where nothing is known.

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
    """Of what is known; nan where nothing is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _result(rows: Sequence[Row], why: str) -> AnalysisResult:
    return AnalysisResult(table_of(rows)) if rows else missing(why)


@analysis("sources", "Sources", "What do findings rest on, and how are these publishers rated?")
def sources(given: AgentPanel) -> AnalysisResult:
    """Where findings come from: domains, how many of them are rated, and how."""
    rows: list[Row] = []
    for system, traces in given.searching:
        cited = [trace.sources if trace is not None else () for trace in traces]
        urls = [url for of_sample in cited for url in of_sample]
        if not urls:
            continue
        groups = np.repeat(given.panel.groups, [len(of_sample) for of_sample in cited])
        rated = [given.publishers.of(url) for url in urls]
        domains = Counter(site_of(url) for url in urls)
        top, times = domains.most_common(1)[0]
        biases = np.array([np.nan if item is None else _or_nan(item.bias) for item in rated])
        quality = np.array([np.nan if item is None else _or_nan(item.quality) for item in rated])
        counted = {"sources": len(urls), "domains": len(domains), "top_domain": top, "top_share": times / len(urls)}
        share = {"rated_share": sum(item is not None for item in rated) / len(urls)}
        means = _means("bias", biases, groups, _BIAS) | _means("quality", quality, groups, _QUALITY)
        rows.append({**about(system), **counted, **share, **means})
    return _result(rows, _NO_SOURCE)


@analysis("domains", "Domains", "Which domains are used most?")
def domains(given: AgentPanel) -> AnalysisResult:
    """The domains that a system used most, and how they are rated."""
    rows: list[Row] = []
    for system, traces in given.searching:
        urls = [url for trace in traces if trace is not None for url in trace.sources]
        counts = Counter(site_of(url) for url in urls)
        for rank, (domain, times) in enumerate(counts.most_common(_MOST_DOMAINS), start=1):
            rating = given.publishers.of(f"https://{domain}/")
            used = {"rank": rank, "domain": domain, "times": times, "share": times / len(urls)}
            rated = {name: getattr(rating, name, None) for name in ("bias", "factuality", "quality")}
            rows.append({**about(system), **used, **rated})
    return _result(rows, _NO_SOURCE)


@analysis("leaning", "Leaning", "Do sources lean the way that the text does?")
def leaning(given: AgentPanel) -> AnalysisResult:
    """Whether sources lean the way that the text does which they are found for."""
    rows: list[Row] = []
    for system, traces in given.searching:
        leanings = np.array([np.nan if trace is None else _or_nan(trace.leaning) for trace in traces])
        biases = np.array([_mean([rating.bias for rating in given.ratings(trace)]) for trace in traces])
        for side, low, high in _SIDES:
            where = (leanings >= low) & (leanings < high)
            if where.any():
                counted = {"leaning": side, "n": int(where.sum()), "rated": int(np.isfinite(biases[where]).sum())}
                means = _means("source_bias", biases[where], given.panel.groups[where], _BIAS)
                rows.append({**about(system), **counted, **means})
    return _result(rows, "No run has rated the leaning of its samples; add --set leaning=true.")


@analysis("gain", "Helped or hurt", "Where did searching help, and where did it hurt?")
def gain(given: AgentPanel) -> AnalysisResult:
    """Where searching helped and where it hurt, and what the sources were like there."""
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
    return _result(rows, "No agent has an offline baseline on the same samples; run one with --set mode=offline.")


@analysis("searches", "Searches a sample", "How often does an agent search, right and wrong?")
def searches(given: AgentPanel) -> AnalysisResult:
    """How much is searched for, where the answer is right and where it is wrong."""
    rows: list[Row] = []
    for system, traces in given.searching:
        asked = np.array([trace is not None for trace in traces])
        made = np.array([0.0 if trace is None else float(len(trace.queries)) for trace in traces])
        failed = np.array([0 if trace is None else trace.failed for trace in traces])
        right = given.right(system)
        for name, where in (("all", asked), ("right", asked & right), ("wrong", asked & ~right)):
            if where.any():
                own = made[where]
                means = _means("searches", own, given.panel.groups[where], _SEARCHES)
                shape = {"none": float((own == 0).mean()), "median": float(np.median(own)), "most": float(own.max())}
                counted = {"answers": name, "n": int(where.sum())}
                rows.append({**about(system), **counted, **means, **shape, "failed": int(failed[where].sum())})
    return _result(rows, _NO_SEARCH)


@analysis("queries", "Queries", "How is a text taken apart into queries?")
def queries(given: AgentPanel) -> AnalysisResult:
    """How agents take a text apart: their queries, how long they are, and what they share with the text."""
    rows: list[Row] = []
    texts = [_words(given.panel.task.text(sample)) for sample in given.panel.samples]
    for system, traces in given.searching:
        searched = [bool(trace and trace.queries) for trace in traces]
        if not any(searched):
            continue
        groups = given.panel.groups[searched]
        found = [_taken(trace, text) for trace, text in zip(traces, texts, strict=True) if trace and trace.queries]
        made, *columns = np.array(found).T
        cells: dict[str, Cell] = {"n": len(found), "queries": int(made.sum())}
        kinds = {"words": _WORDS, "from_text": (0.0, 1.0), "text_covered": (0.0, 1.0), "alike": (0.0, 1.0)}
        for (name, limits), column in zip(kinds.items(), columns, strict=True):
            cells |= _means(name, column, groups, limits)
        rows.append({**about(system), **cells})
    return _result(rows, _NO_SEARCH)


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


AGENT_ANALYSES: tuple[Analysis[AgentPanel], ...] = (sources, domains, leaning, gain, searches, queries)


def compare_variants(given: AgentPanel, names: Mapping[str, str]) -> AnalysisResult:
    """One row a variant, the first in the order of names.

    Args:
        given: a panel with the variants' systems, each on its own.
        names: what each variant is called, by origin.
    """
    by_origin = {system.origin: system for system in given.panel.systems}
    systems = [by_origin[origin] for origin in names if origin in by_origin]
    rows: list[Row] = []
    intervals = []
    for system in systems:
        is_scored = all(_is_scored(given, one) for one in (system, systems[0]))
        found = measure(given.panel, system.headline) if is_scored else None
        if found is None and is_scored:
            continue
        row: dict[str, Cell] = {"variant": names[system.origin], "n": int(system.headline.asked.sum())}
        if found is not None:
            intervals.append(found.interval)
            row |= {"metric": found.metric.name, **limited("value", found.value, found.interval)}
            row |= _against(given, systems[0], system, len(systems) - 1)
        rows.append(row | _behaviour(given, system))
    if not rows:
        return missing("No variant has a score: too few samples, or all of one class.")
    if not intervals:
        return AnalysisResult(table_of(rows), notes=["Nobody has rated these responses, so they have no scores yet."])
    return AnalysisResult(table_of(rows), notes=[*few_note(intervals), *_monotone(rows)])


def _is_scored(given: AgentPanel, system: System) -> bool:
    """Whether a system has what its metric is computed from: responses are scored once they were rated."""
    return given.panel.task.output is not Response or given.panel.task.headline.name in system.headline.numbers


def _against(given: AgentPanel, first: System, system: System, together: int) -> dict[str, Cell]:
    both = first.headline.asked & system.headline.asked
    if system is first or not both.any():
        return {**limited("difference", None, None), "p_value": None, "p_adjusted": None}
    found = compare_said(given.panel, system.headline, first.headline, together=together)
    limits = limited("difference", found.difference, found.interval)
    return {**limits, "p_value": found.p_value, "p_adjusted": found.adjusted}


def _behaviour(given: AgentPanel, system: System) -> dict[str, Cell]:
    asked = system.headline.asked
    traces = [trace for trace in given.traces.get(system.origin, ()) if trace is not None]
    made = np.array([float(len(trace.queries)) for trace in traces] or [float("nan")])
    groups = given.panel.groups[asked] if traces else np.zeros(1, dtype=np.int64)
    return {
        "silent": float((system.headline.answers[asked] < 0).mean()),
        **_means("searches", made, groups, _SEARCHES),
        "failed_searches": sum(trace.failed for trace in traces),
        "sources": sum(len(trace.sources) for trace in traces),
        **_written(given, traces, groups),
        "cost_usd": system.cost_usd,
    }


def _written(given: AgentPanel, traces: Sequence[SampleTrace], groups: NDArray[np.int64]) -> dict[str, Cell]:
    """Of responses: mean words, links, links that were not given, and pages that refute."""
    cells: dict[str, Cell] = {}
    for name, most in _COUNTS.items() if given.panel.task.output is Response and traces else ():
        values = np.array([trace.counts.get(name, float("nan")) for trace in traces])
        cells |= _means(name, values, groups, (0.0, most))
    return cells


def _monotone(rows: Sequence[Row]) -> list[str]:
    """For variants that differ in one number alone, whether the metric only rises or only falls with it."""
    found = [_NUMBER.fullmatch(str(row["variant"])) for row in rows]
    names = {match[1] for match in found if match is not None}
    if len(rows) < 3 or None in found or len(names) != 1:
        return []
    pairs = sorted((float(match[2]), float(str(row["value"]))) for match, row in zip(found, rows, strict=True) if match)
    steps = np.diff([value for _, value in pairs])
    said = "rises" if (steps >= 0).all() else "falls" if (steps <= 0).all() else "neither only rises nor only falls"
    return [f"{rows[0]['metric']} {said} with {names.pop()}."]
