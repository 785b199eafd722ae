"""Whether sources lean the way that the text does which they are found for."""

from __future__ import annotations

import numpy as np

from hellofresh.results.analyses._base import AnalysisResult, missing, table_of
from hellofresh.results.analyses._measures import about
from hellofresh.results.analyses.agents._base import AgentAnalysis, AgentPanel, mean_cells

__all__ = ["LEANINGS"]

_SIDES = (("left", -3.0, -0.5), ("centre", -0.5, 0.5), ("right", 0.5, 3.5))


def _run(given: AgentPanel) -> AnalysisResult:
    rows = []
    for system, traces in given.searching:
        leaning = np.array([np.nan if t is None or t.leaning is None else t.leaning for t in traces])
        biases = np.array([_bias(given, () if trace is None else trace.sources) for trace in traces])
        for side, low, high in _SIDES:
            where = (leaning >= low) & (leaning < high)
            if where.any():
                cells = mean_cells("source_bias", biases[where], given.panel.groups[where], (-3.0, 3.0))
                rated = int(np.isfinite(biases[where]).sum())
                rows.append({**about(system), "leaning": side, "n": int(where.sum()), "rated": rated, **cells})
    if not rows:
        return missing("No run has rated the leaning of its samples; add --set leaning=true.")
    return AnalysisResult(table_of(rows))


def _bias(given: AgentPanel, sources: tuple[str, ...]) -> float:
    """The mean bias of the rated sources, nan without any."""
    rated = [rating.bias for url in sources if (rating := given.publishers.of(url)) and rating.bias is not None]
    return float(np.mean(rated)) if rated else float("nan")


LEANINGS = AgentAnalysis("leaning", "Leaning", "Do sources lean the way that the text does?", _run)
