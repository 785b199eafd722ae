"""Statistics of two classes from labels and predictions, by names of metrics: what most tests of statistics need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hellofresh.stats import clusters, draws, intervals, paired
from hellofresh.stats.metrics import (
    ClassCounts,
    Metric,
    accuracy,
    balanced_accuracy,
    class_f1,
    class_precision,
    class_recall,
    macro_f1,
)

METRICS = ("precision", "recall", "f1", "accuracy")
M: Mapping[str, Metric] = {
    "precision": class_precision(2), "recall": class_recall(2), "f1": class_f1(2), "accuracy": accuracy(2),
    "balanced_accuracy": balanced_accuracy(2), "macro_f1": macro_f1(2),
    "negative_precision": class_precision(2, 0, "negative_precision"),
    "negative_recall": class_recall(2, 0, "negative_recall"), "negative_f1": class_f1(2, 0, "negative_f1"),
}  # fmt: skip
ALL_METRICS = tuple(M)
_COUNTS = ClassCounts(2)


def statistics(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Shape (n, 6)."""
    return _COUNTS(labels, predictions)


def count(labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """All metrics of a system."""
    cells = statistics(labels, predictions).sum(axis=0)
    return {name: float(metric.value(cells)) for name, metric in M.items()}


def cluster_tables(labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Shape (g, 6)."""
    return clusters.cluster_tables(statistics(labels, predictions), groups)


def tables_of(labels: np.ndarray, systems: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Of several systems."""
    return np.stack([cluster_tables(labels, said, groups) for said in systems])


def metric_intervals(
    labels: np.ndarray, predictions: np.ndarray, groups: np.ndarray | None = None, *,
    metrics: Sequence[str] = METRICS, **options: object,
) -> dict[str, intervals.Interval]:  # fmt: skip
    """Intervals by name."""
    tables = cluster_tables(labels, predictions, groups)
    return {name: intervals.metric_interval(tables, M[name], **options) for name in metrics}


def compare(
    labels: np.ndarray, first: np.ndarray, second: np.ndarray, groups: np.ndarray | None = None, *,
    metric: str = "f1", **options: object,
) -> paired.Comparison:  # fmt: skip
    """Two systems."""
    return paired.compare(*tables_of(labels, [first, second], groups), M[metric], **options)


def draw_jointly(
    labels: np.ndarray, systems: np.ndarray, groups: np.ndarray | None = None, *,
    metrics: Sequence[str] = METRICS, **options: int,
) -> draws.Draws:  # fmt: skip
    """Joint draws."""
    return draws.draw_jointly(tables_of(labels, systems, groups), [M[name] for name in metrics], **options)
