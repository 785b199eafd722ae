"""Counts and intervals: pure functions on arrays, no files, no knowledge of tasks or models."""

from hellofresh.stats.counts import METRICS, Counts, count, metric_values
from hellofresh.stats.intervals import FEW_CLUSTERS, Interval, bootstrap_intervals

__all__ = ["FEW_CLUSTERS", "METRICS", "Counts", "Interval", "bootstrap_intervals", "count", "metric_values"]
