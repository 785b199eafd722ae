"""Scores of parts of a panel, with intervals, as cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.figures.charts import Mark
from hellofresh.results.panel import Panel, PromptOutputs, System
from hellofresh.stats import FEW_CLUSTERS, Interval, metric_interval
from hellofresh.stats.metrics import Metric

__all__ = [
    "NO_POSITIVE_CLASS",
    "Measure",
    "about",
    "best_first",
    "few_note",
    "has_positive_class",
    "mark_of",
    "measure",
    "names_of",
]


NO_POSITIVE_CLASS = "The task has no positive class, whose precision and recall could be shown."


def has_positive_class(panel: Panel) -> bool:
    """Whether the task has precision and recall of one class."""
    return {"precision", "recall"} <= {metric.name for metric in panel.task.metrics}


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric on some samples, with its interval."""

    metric: Metric
    value: float
    interval: Interval

    @property
    def cells(self) -> dict[str, str | float | int]:
        """For a row of a table."""
        made = self.interval
        return {
            "n": made.n, "clusters": made.clusters, "effective_clusters": made.effective_clusters,
            "metric": self.metric.name, "value": self.value, "low": made.low, "high": made.high,
            "interval": str(made.method),
        }  # fmt: skip


def measure(
    panel: Panel, said: PromptOutputs, where: NDArray[np.bool_] | None = None, metric: Metric | None = None
) -> Measure | None:
    """A metric on those of the samples that were asked about; None where there is none.

    There is no headline of samples of one class alone either: it would say nothing but which class that is.

    Args:
        panel: the panel.
        said: a system's answers with one prompt.
        where: shape (n,), which samples; all if left out.
        metric: which metric; the task's headline if left out.
    """
    chosen = said.asked if where is None else said.asked & where
    if not chosen.any() or (metric in {None, panel.task.headline} and panel.is_one_class(chosen)):
        return None
    metric, table = metric or panel.task.headline, panel.table(said, chosen, metric)
    interval = metric_interval(table, metric, n=int(chosen.sum()))
    return Measure(metric, float(metric.value(table.sum(axis=0))), interval)


def about(system: System, said: PromptOutputs | None = None) -> dict[str, str | bool]:
    """The columns that say whose row it is."""
    prompt = (said or system.headline).prompt
    return {
        "system": system.label, "team": system.team, "regime": system.regime, "kind": system.kind,
        "smoke_test": system.smoke_test, "prompt": prompt,
    }  # fmt: skip


def best_first(panel: Panel, systems: Sequence[System]) -> list[System]:
    """The systems as figures show them: the best first."""
    scored = [(measure(panel, system.headline), system) for system in systems]
    sign = panel.task.headline.sign
    values = {id(system): sign * found.value if found else -float("inf") for found, system in scored}
    order = sorted(scored, key=lambda pair: (-values[id(pair[1])], pair[1].label, pair[1].regime))
    return [system for _, system in order]


def names_of(systems: Sequence[System]) -> tuple[str, ...]:
    """Their names, each once."""
    return tuple(dict.fromkeys(system.name for system in systems))


def mark_of(found: Measure, who: str, series: str = "", *, row: str = "", panel: str = "", more: str = "") -> Mark:
    """A measure as a figure shows it; its row is the system's own if not said."""
    made = found.interval
    return Mark(who, series, found.value, made.low, made.high, made.n, row=row or who, panel=panel, more=more)


def few_note(intervals: Sequence[Interval]) -> list[str]:
    """A warning where intervals rest on too few groups."""
    few = [made for made in intervals if made.few]
    if not few:
        return []
    least = min(made.effective_clusters for made in few)
    return [
        f"{len(few)} of {len(intervals)} intervals rest on fewer than {FEW_CLUSTERS} effective clusters of samples "
        f"(the smallest on {least:.1f}): read them with care."
    ]
