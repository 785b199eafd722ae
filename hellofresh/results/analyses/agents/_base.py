"""What an analysis of agents is: a question about what systems did on the way, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.evidence.publishers import Publishers
from hellofresh.results.analyses._base import AnalysisResult
from hellofresh.results.panel import Panel, System
from hellofresh.results.traces import SampleTrace, Traces
from hellofresh.stats import Interval, cluster_tables, metric_interval
from hellofresh.stats.metrics import mean

__all__ = ["OFFLINE", "AgentAnalysis", "AgentPanel", "mean_cells", "mean_of"]

OFFLINE = "mode=offline"
"""What the settings of an agent's offline baseline say."""


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


@dataclass(frozen=True, slots=True)
class AgentAnalysis:
    """One question about agents.

    Attributes:
        name: as on the command line.
        title: a few words.
        question: one sentence with a question mark.
        run: answers it.
    """

    name: str
    title: str
    question: str
    run: Callable[[AgentPanel], AnalysisResult]


def mean_of(
    values: NDArray[np.float64], groups: NDArray[np.int64], limits: tuple[float, float]
) -> tuple[float | None, Interval | None]:
    """The mean of what is known of numbers, with its interval by groups; None where nothing is known.

    Args:
        values: shape (n,), nan where not known.
        groups: shape (n,).
        limits: the lowest and the highest value that there can be.
    """
    known = np.isfinite(values)
    if not known.any():
        return None, None
    metric = mean("mean", limits)
    tables = cluster_tables(metric.statistics(np.ones(int(known.sum())), values[known]), groups[known])
    return float(metric.value(tables.sum(axis=0))), metric_interval(tables, metric)


def mean_cells(
    name: str, values: NDArray[np.float64], groups: NDArray[np.int64], limits: tuple[float, float]
) -> dict[str, float | None]:
    """A mean with its limits, as cells of a row."""
    value, made = mean_of(values, groups, limits)
    low, high = (None, None) if made is None else (made.low, made.high)
    return {name: value, f"{name}_low": low, f"{name}_high": high}
