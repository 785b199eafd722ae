"""Counts, intervals, comparisons and rankings: pure functions on arrays, no files, no knowledge of tasks or models.

A map for readers. A metric (`hellofresh.stats.metrics`) is a function of sums over samples. Its `statistics` make a row
of numbers of each sample; `tables` are their sums by cluster, shape (g, k), where `groups` has a number for each
sample, equal for samples that belong together (one post, one article), or is None.

    clusters      cluster_tables(metric.statistics(labels, predictions), groups): what everything below rests on
    intervals     metric_interval(tables, metric, method=) -> Interval; Method
    resampling    how clusters are drawn
    paired        compare(tables, other tables, metric) -> Comparison: difference, interval, p-value;
                  minimum_detectable_difference(standard_error, effective_clusters)
    ranking       all_differences(tables of all systems, metric) -> Differences: every pair, adjusted for its family;
                  rank_systems(differences) -> Ranking: ranks, rank intervals, tie groups;
                  draw_jointly(tables of all systems, metrics) -> Draws; first_place(draws, metric)
    periods       kendall_tau_b, spearman; compare_periods(draws, draws, metric) -> Agreement; order_held(scores)
    two_way       two_way(scores, systems, quarters, variances=) -> TwoWay: systems that met different quarters
    calibration   calibrate(labels, confidences, groups) -> Calibration: ECE, Brier, reliability curve, AUC
    wording       wording_share(draws of a system's prompts, metric) -> WordingShare
    agreement     answer_agreement(first, second, groups): raw agreement and Cohen's kappa; share_interval(hits, groups)
    confusion     confusion(labels, predictions, classes): samples by label and prediction
    parts         compare_parts(tables of the part, of the rest, metric): one system on two parts of the samples
    repetitions   repetition_interval(values): the mean of a metric over repetitions of a run, with t over repetitions
    regions       joint_region(draws, system, x, y) -> Ellipse: two metrics of a system together

An `Interval` says how it was made and on how many samples and clusters it rests. Nothing is random without a seed.
Wrong shapes and values raise ValueError: they are mistakes of the caller, not of data.
"""

from hellofresh.stats.agreement import AnswerAgreement, answer_agreement, share_interval
from hellofresh.stats.calibration import (
    Bin,
    Calibration,
    CalibrationGap,
    area_under_curve,
    calibrate,
    compare_calibrations,
)
from hellofresh.stats.clusters import cluster_tables, effective_clusters
from hellofresh.stats.confusion import confusion
from hellofresh.stats.intervals import DEFAULT_METHOD, FEW_CLUSTERS, Interval, Method, few_clusters, metric_interval
from hellofresh.stats.paired import Comparison, compare, difference_interval, minimum_detectable_difference
from hellofresh.stats.parts import PartsComparison, compare_parts
from hellofresh.stats.periods import Agreement, OrderHeld, compare_periods, kendall_tau_b, order_held, spearman
from hellofresh.stats.ranking import (
    Differences,
    Draws,
    RankIntervals,
    all_differences,
    draw_jointly,
    first_place,
    rank_systems,
    ranks,
    tie_groups,
)
from hellofresh.stats.regions import Ellipse, joint_region
from hellofresh.stats.repetitions import RepetitionInterval, repetition_interval
from hellofresh.stats.two_way import Additivity, TwoWay, connected_parts, two_way
from hellofresh.stats.wording import WordingShare, wording_share

__all__ = [
    "DEFAULT_METHOD",
    "FEW_CLUSTERS",
    "Additivity",
    "Agreement",
    "AnswerAgreement",
    "Bin",
    "Calibration",
    "CalibrationGap",
    "Comparison",
    "Differences",
    "Draws",
    "Ellipse",
    "Interval",
    "Method",
    "OrderHeld",
    "PartsComparison",
    "RankIntervals",
    "RepetitionInterval",
    "TwoWay",
    "WordingShare",
    "all_differences",
    "answer_agreement",
    "area_under_curve",
    "calibrate",
    "cluster_tables",
    "compare",
    "compare_calibrations",
    "compare_parts",
    "compare_periods",
    "confusion",
    "connected_parts",
    "difference_interval",
    "draw_jointly",
    "effective_clusters",
    "few_clusters",
    "first_place",
    "joint_region",
    "kendall_tau_b",
    "metric_interval",
    "minimum_detectable_difference",
    "order_held",
    "rank_systems",
    "ranks",
    "repetition_interval",
    "share_interval",
    "spearman",
    "tie_groups",
    "two_way",
    "wording_share",
]
