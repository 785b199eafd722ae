"""Ceiling of a score: that of an oracle that knows all voters, but not which of them happened to vote.

For each sample, ratings give the share of voter samples whose decision would be helpful, and its uncertainty
(`hellofresh.stats.bridging.chance_if_decided`). The oracle states this share as its probability and chooses the
likelier class. Shares are drawn from beta distributions; each draw gives the oracle's score against the actual labels,
and the interval is that of the draws. The ceiling thus reflects only the random choice of voters, not wrong labels or
missing information in texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.board.schema import TABLES, AddedTable
from hellofresh.results.split.panel import Panel
from hellofresh.results.split.tables import CeilingRow
from hellofresh.stats.arrays import Floats
from hellofresh.stats.metrics import relative_brier_index
from hellofresh.tasks import Task

_DRAWS = 1_000


def reached(
    task: Task, labels: NDArray[np.int8], chance: Floats, error: Floats
) -> Mapping[str, tuple[float, float, float]]:
    """By metric, what the oracle reaches, with the limits of its 95% interval.

    Args:
        task: of two classes.
        labels, chance, error: shape (n,), the class of each sample, the expected share of voters' samples for the
            second class, and its standard deviation.
    """
    # A beta distribution needs parameters above 0, also where all voters agree.
    room = np.maximum(chance * (1 - chance), 1e-9)
    weight = np.clip(room / np.maximum(error**2, 1e-9) - 1, 1e-2, None)
    one, two = (np.maximum(part * weight, 1e-9) for part in (chance, 1 - chance))
    drawn = np.random.default_rng(0).beta(one, two, (_DRAWS, labels.size))
    chosen, found = (drawn >= 0.5).astype(np.float64), {}
    of_choices = [metric for metric in task.metrics if not metric.of_forecasts]
    for metric in (metric for metric in of_choices if metric == of_choices[0] or metric.name == "accuracy"):
        first, second = (metric.statistics(labels, np.full_like(labels, said)) for said in (0, 1))
        found[metric.name] = metric.value((1 - chosen) @ first + chosen @ second)
    metric = relative_brier_index(2)
    sums = [metric.statistics(labels, np.column_stack([1 - each, each])).sum(axis=0) for each in drawn]
    found[metric.name] = metric.value(np.array(sums))
    limits = {name: np.quantile(values, (0.025, 0.975)).tolist() for name, values in found.items()}
    return {name: (float(values.mean()), limits[name][0], limits[name][1]) for name, values in found.items()}


def ceilings(panel: Panel | None) -> Iterator[CeilingRow]:
    """The ceiling of a split with labels; nothing where ratings say too little of its samples."""
    if panel is None:
        return
    chance, error = panel.known("chance"), panel.known("chance_error")
    where = np.isfinite(chance) & np.isfinite(error)
    if panel.task.classes and not panel.is_one_class(where):
        found = reached(panel.task, panel.labels[where], chance[where], error[where])
        counts = int(where.sum()), len(panel.labels)
        yield from (CeilingRow(name, *values, *counts) for name, values in found.items())


CEILINGS = AddedTable(TABLES["ceilings"], lambda split: ceilings(split.panel), of_labels=ceilings)
