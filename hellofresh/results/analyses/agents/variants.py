"""The variants of a sweep side by side: the first against each of the others, on the samples that both judged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import AnalysisResult, Cell, Row, missing, table_of
from hellofresh.results.analyses._measures import few_note, measure
from hellofresh.results.analyses._pairs import compare_said
from hellofresh.results.analyses.agents._base import AgentPanel, mean_cells
from hellofresh.results.panel import System
from hellofresh.results.traces import SampleTrace
from hellofresh.stats import Comparison
from hellofresh.tasks.outputs import Response

__all__ = ["compare_variants"]

_MOST_SEARCHES = 50.0
_COUNTS = {"words": 2000.0, "links": 100.0, "hallucinated_links": 100.0, "refuting_pages": 100.0}
_NUMBER = re.compile(r"(?:^|, )(\w+)=(-?\d+(?:\.\d+)?)(?=,|$)")


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
            row |= {"metric": found.metric.name, "value": found.value, "low": found.interval.low,
                    "high": found.interval.high, **_against(given, systems[0], system, len(systems) - 1)}  # fmt: skip
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
        empty = ("difference", "difference_low", "difference_high", "p_value", "p_adjusted")
        return dict.fromkeys(empty)
    found: Comparison = compare_said(given.panel, system.headline, first.headline, together=together)
    return {
        "difference": found.difference, "difference_low": found.interval.low, "difference_high": found.interval.high,
        "p_value": found.p_value, "p_adjusted": found.adjusted,
    }  # fmt: skip


def _behaviour(given: AgentPanel, system: System) -> dict[str, Cell]:
    asked = system.headline.asked
    traces = [trace for trace in given.traces.get(system.origin, ()) if trace is not None]
    made = np.array([float(len(trace.queries)) for trace in traces] or [float("nan")])
    groups = given.panel.groups[asked] if traces else np.zeros(1, dtype=np.int64)
    return {
        "silent": float((system.headline.answers[asked] < 0).mean()),
        **mean_cells("searches", made, groups, (0.0, _MOST_SEARCHES)),
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
        cells |= mean_cells(name, values, groups, (0.0, most))
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
