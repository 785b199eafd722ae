"""Scores of parts of a panel, with intervals, as cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.panel import Panel, Said, System
from hellofresh.stats import FEW_CLUSTERS, Interval, count, metric_intervals

__all__ = ["MOST_SHOWN", "Measure", "about", "few_note", "leading", "measure"]

MOST_SHOWN = 12
"""Systems in one figure; a table has all."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric on some samples, with its interval."""

    metric: str
    value: float
    interval: Interval

    @property
    def cells(self) -> dict[str, str | float | int]:
        """For a row of a table."""
        made = self.interval
        return {
            "n": made.n, "clusters": made.clusters, "effective_clusters": made.effective_clusters,
            "metric": self.metric, "value": self.value, "low": made.low, "high": made.high,
            "interval": str(made.method),
        }  # fmt: skip


def measure(panel: Panel, said: Said, where: NDArray[np.bool_] | None = None, metric: str = "f1") -> Measure | None:
    """A metric on those of the samples that were asked about; None where there is none.

    There is no F1 of samples of one class alone either: it would say nothing but which class that is.

    Args:
        panel: the panel.
        said: a system's answers with one prompt.
        where: shape (n,), which samples; all if left out.
        metric: a name in `hellofresh.stats.ALL_METRICS`.
    """
    chosen = said.asked if where is None else said.asked & where
    if not chosen.any() or (metric == "f1" and np.unique(panel.labels[chosen]).size < 2):
        return None
    labels, predictions = panel.labels[chosen], said.predictions(chosen)
    value = count(labels, predictions).all_metrics[metric]
    interval = metric_intervals(labels, predictions, panel.groups[chosen], metrics=(metric,))[metric]
    return Measure(metric, value, interval)


def about(system: System, said: Said | None = None) -> dict[str, str | bool]:
    """The columns that say whose row it is."""
    prompt = (said or system.headline).prompt
    return {
        "system": system.label, "team": system.team, "regime": system.regime, "kind": system.kind,
        "smoke_test": system.smoke_test, "prompt": prompt,
    }  # fmt: skip


def leading(panel: Panel, systems: Sequence[System], most: int = MOST_SHOWN) -> tuple[list[System], list[str]]:
    """The systems that a figure shows, best F1 first, and a note about the others."""
    scored = [(measure(panel, system.headline), system) for system in systems]
    order = sorted(scored, key=lambda pair: (-(pair[0].value if pair[0] else -1.0), pair[1].label, pair[1].regime))
    shown = [system for _, system in order[:most]]
    rest = [system.name for _, system in order[most:]]
    if not rest:
        return shown, []
    named = ", ".join(rest[:20]) + (", ..." if len(rest) > 20 else "")
    return shown, [f"The figure shows the {most} with the best F1; the table also has {named}."]


def few_note(intervals: Sequence[Interval]) -> list[str]:
    """A warning where intervals rest on too few groups."""
    few = [made for made in intervals if made.few]
    if not few:
        return []
    least = min(made.effective_clusters for made in few)
    return [
        f"{len(few)} of {len(intervals)} intervals rest on fewer than {FEW_CLUSTERS} effective groups of samples "
        f"(the smallest on {least:.1f}): read them with care."
    ]
