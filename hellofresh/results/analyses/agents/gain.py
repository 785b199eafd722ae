"""Where searching helped and where it hurt, and what the sources were like there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.publishers import Publisher
from hellofresh.results.analyses._base import AnalysisResult, Cell, missing, table_of
from hellofresh.results.analyses._measures import about
from hellofresh.results.analyses._pairs import compare_said
from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel, mean_cells
from hellofresh.results.traces import SampleTrace

__all__ = ["GAIN"]


def _run(given: AgentPanel) -> AnalysisResult:
    pairs = [(system, traces, given.offline(system)) for system, traces in given.searching]
    known = [(system, traces, other) for system, traces, other in pairs if other is not None]
    rows = []
    for system, traces, other in known:
        both = system.headline.asked & other.headline.asked
        if not both.any():
            continue
        online, offline = given.right(system), given.right(other)
        found = compare_said(given.panel, system.headline, other.headline, together=len(known))
        same: dict[str, Cell] = {
            **about(system), "against": other.regime, "difference": found.difference,
            "difference_low": found.interval.low, "difference_high": found.interval.high, "p_adjusted": found.adjusted,
        }  # fmt: skip
        for name, where in (
            ("helped", both & online & ~offline), ("hurt", both & ~online & offline),
            ("right both ways", both & online & offline), ("wrong both ways", both & ~online & ~offline),
        ):  # fmt: skip
            cells: dict[str, Cell] = {"search": name, "n": int(where.sum()), "share": float(where.sum() / both.sum())}
            rows.append({**same, **cells, **_like(given, traces, where)})
    if not rows:
        return missing("No agent has an offline baseline on the same samples; run one with --set mode=offline.")
    return AnalysisResult(table_of(rows))


def _like(given: AgentPanel, traces: Sequence[SampleTrace | None], where: NDArray[np.bool_]) -> dict[str, float | None]:
    """Mean bias and mean quality of the sources of some samples."""
    of = [_ratings(given, trace) for trace in traces]
    bias = np.array([_mean([item.bias for item in ratings]) for ratings in of])
    quality = np.array([_mean([item.quality for item in ratings]) for ratings in of])
    groups = given.panel.groups[where]
    return {
        **mean_cells("source_bias", bias[where], groups, (-3.0, 3.0)),
        **mean_cells("source_quality", quality[where], groups, (0.0, 1.0)),
    }


def _ratings(given: AgentPanel, trace: SampleTrace | None) -> list[Publisher]:
    return [rating for url in (trace.sources if trace else ()) if (rating := given.publishers.of(url)) is not None]


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


GAIN = AgentAnalysis("gain", "Helped or hurt", "Where did searching help, and where did it hurt?", _run)
