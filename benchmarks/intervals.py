"""Speed of intervals, rankings and differences, in seconds of this machine.

    python benchmarks/intervals.py [--resamples 10000] [--rivals] [--json]

240 cells (5 systems, 2 regimes, 6 prompts, 4 periods) of 3,000 samples each, four metrics: the intervals of all cells,
compared with scipy.stats.bootstrap, vectorised, for F1 on one cell, times 240 (`--rivals`); and in each period one
joint draw of about 1,300 groups for its 60 systems with percentile intervals of all metrics, rank intervals and 1,770
paired differences.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.draws import draw_jointly, first_place
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import two_class_metrics
from hellofresh.stats.ranking import all_differences, rank_systems

METRICS = two_class_metrics()
PERIODS, SYSTEMS, SAMPLES, GROUPS = 4, 60, 3000, 1500


Periods = list[tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64]]]


def cells(random: np.random.Generator) -> Periods:
    """Labels, predictions of all systems, and groups of each period."""
    found = []
    for _ in range(PERIODS):
        labels = random.integers(0, 2, SAMPLES).astype(np.int8)
        right = random.random((SYSTEMS, SAMPLES)) < np.linspace(0.55, 0.8, SYSTEMS)[:, None]
        groups = random.integers(0, GROUPS, SAMPLES)
        found.append((labels, np.where(right, labels, 1 - labels).astype(np.int8), groups))
    return found


def timed(work: Callable[[], object]) -> float:
    """Seconds of the work."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def every(periods: Periods) -> None:
    """The intervals of each cell separately."""
    for labels, systems, groups in periods:
        for said in systems:
            tables = _tables(labels, said, groups)
            for metric in METRICS:
                metric_interval(tables, metric)


def _tables(labels: NDArray[np.int8], said: NDArray[np.int8], groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    return cluster_tables(METRICS[0].statistics(labels, said), groups)


def jointly(periods: Periods, resamples: int) -> None:
    """One draw a period for all of its systems, and all results of it."""
    for labels, systems, groups in periods:
        tables = np.stack([_tables(labels, said, groups) for said in systems])
        draws = draw_jointly(tables, METRICS, resamples=resamples)
        for metric in METRICS:
            for row in draws.of(metric):
                draws.interval(row)
        first_place(draws, METRICS[0])
        rank_systems(all_differences(tables, METRICS[0]))


def measure(periods: Periods, resamples: int, *, rivals: bool) -> dict[str, float]:
    """Seconds of each part, by name."""
    times = {
        "groups: intervals, 240 cells": timed(lambda: every(periods)),
        "groups: joint bootstrap, 60 systems' ranks, 1,770 differences, 4 periods": timed(
            lambda: jointly(periods, resamples)
        ),
        "the same, one period": timed(lambda: jointly(periods[:1], resamples)),
    }
    if rivals:
        one = timed(lambda: scipy_bootstrap(periods[0][0], periods[0][1][0], resamples))
        times["independent: scipy.stats.bootstrap, F1, one cell times 240 (rival)"] = 240 * one
    return times


def main() -> None:
    """Time all parts and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = measure(cells(np.random.default_rng(1)), options.resamples, rivals=options.rivals)
    if options.json:
        print(json.dumps(times, indent=1))
    else:
        for name, seconds in times.items():
            print(f"{seconds:9.2f} s  {name}")


def scipy_bootstrap(labels: NDArray[np.int8], said: NDArray[np.int8], resamples: int) -> None:
    """F1's percentile interval by scipy."""
    from scipy.stats import bootstrap

    def f1(truth: NDArray[np.int8], prediction: NDArray[np.int8], axis: int = -1) -> NDArray[np.float64]:
        hits = np.logical_and(truth, prediction).sum(axis=axis)
        return 2 * hits / (truth.sum(axis=axis, dtype=np.int64) + prediction.sum(axis=axis, dtype=np.int64))

    bootstrap(
        (labels, said), f1, paired=True, vectorized=True, n_resamples=resamples, method="percentile", batch=500,
        rng=np.random.default_rng(1),
    )  # fmt: skip


if __name__ == "__main__":
    main()
