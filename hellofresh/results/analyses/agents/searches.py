"""How much is searched for, where the answer is right and where it is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about
from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel, mean_cells

__all__ = ["SEARCHES"]

_MOST_SEARCHES = 50.0


def _run(given: AgentPanel) -> AnalysisResult:
    rows = []
    for system, traces in given.searching:
        asked = np.array([trace is not None for trace in traces])
        made = np.array([0.0 if trace is None else float(len(trace.queries)) for trace in traces])
        failed = np.array([0 if trace is None else trace.failed for trace in traces])
        right = given.right(system)
        for name, where in (("all", asked), ("right", asked & right), ("wrong", asked & ~right)):
            if where.any():
                cells = mean_cells("searches", made[where], given.panel.groups[where], (0.0, _MOST_SEARCHES))
                rows.append({**about(system), "answers": name, "n": int(where.sum()), **cells,
                             **_shape(made[where]), "failed": int(failed[where].sum())})  # fmt: skip
    return AnalysisResult(table_of(rows)) if rows else missing("No system has searched.")


def _shape(made: NDArray[np.float64]) -> dict[str, float]:
    return {"none": float((made == 0).mean()), "median": float(np.median(made)), "most": float(made.max())}


SEARCHES = AgentAnalysis("searches", "Searches a sample", "How often does an agent search, right and wrong?", _run)
