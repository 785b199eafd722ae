"""Counts, intervals, comparisons and rankings: pure functions on arrays, no files, no knowledge of tasks or models.

A map for readers. A metric (`hellofresh.stats.metrics`) is a function of sums over samples. Its `statistics` make a row
of numbers of each sample; `tables` are their sums by cluster, shape (g, k), where `groups` has a number for each
sample, equal for samples that belong together (one post, one article), or is None.

    clusters      cluster_tables(metric.statistics(labels, predictions), groups): what everything below rests on;
                  cluster_weights: how clusters are drawn
    intervals     metric_interval(tables, metric) -> Interval; repetition_interval(values): a metric over repetitions
    paired        compare(tables, other tables, metric) -> Comparison: difference, interval, p-value;
                  compare_parts(tables of the part, of the rest, metric): one system on two parts of the samples;
                  minimum_detectable_difference(standard_error, effective_clusters)
    ranking       all_differences(tables of all systems, metric) -> Differences: every pair, adjusted for its family;
                  rank_systems(differences) -> Ranking: ranks, rank intervals, tie groups;
                  samples_to_overtake(statistics, others, metric), halves_agree(tables, metric): what a lead hangs on
    draws         draw_jointly(tables of all systems, metrics) -> Draws; first_place(draws, metric);
                  bootstrap_limits(tables of all systems, metrics);
                  kendall_tau_b, spearman; compare_periods(draws, draws, metric) -> Agreement; order_held(scores);
                  wording_share(draws of a system's prompts, metric) -> WordingShare;
                  joint_region(draws, system, x, y) -> Ellipse: two metrics of a system together
    two_way       two_way(scores, systems, quarters, variances=) -> TwoWay: systems that met different quarters
    bridging      fit_bridging(ratings, notes, raters) -> Bridging: notes that those who disagree find helpful
    calibration   calibrate(labels, confidences, groups) -> Calibration: ECE, Brier, reliability curve, AUC
    agreement     answer_agreement(first, second, groups): raw agreement and Cohen's kappa; share_interval(hits, groups)

Textbook quantiles, tails and ranks are scipy's, imported on use.
An `Interval` says how it was made and on how many samples and clusters it rests. Nothing is random without a seed.
Wrong shapes and values raise ValueError: they are mistakes of the caller, not of data.
"""

from hellofresh.stats.agreement import AnswerAgreement, answer_agreement, share_interval
from hellofresh.stats.calibration import (
    BinnedError,
    Calibration,
    CalibrationGap,
    area_under_curve,
    calibrate,
    compare_calibrations,
)
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.draws import (
    Draws,
    Ellipse,
    WordingShare,
    bootstrap_limits,
    compare_periods,
    draw_jointly,
    first_place,
    joint_region,
    order_held,
    wording_share,
)
from hellofresh.stats.intervals import (
    FEW_CLUSTERS,
    Interval,
    RepetitionInterval,
    clusters_worth,
    few_clusters,
    metric_interval,
    repetition_interval,
)
from hellofresh.stats.paired import Comparison, compare, compare_parts, difference_interval
from hellofresh.stats.ranking import Differences, all_differences, halves_agree, rank_systems, samples_to_overtake
from hellofresh.stats.two_way import TwoWay, connected_parts, two_way

__all__ = [
    "FEW_CLUSTERS",
    "AnswerAgreement",
    "BinnedError",
    "Calibration",
    "CalibrationGap",
    "Comparison",
    "Differences",
    "Draws",
    "Ellipse",
    "Interval",
    "RepetitionInterval",
    "TwoWay",
    "WordingShare",
    "all_differences",
    "answer_agreement",
    "area_under_curve",
    "bootstrap_limits",
    "calibrate",
    "cluster_tables",
    "clusters_worth",
    "compare",
    "compare_calibrations",
    "compare_parts",
    "compare_periods",
    "connected_parts",
    "difference_interval",
    "draw_jointly",
    "few_clusters",
    "first_place",
    "halves_agree",
    "joint_region",
    "metric_interval",
    "order_held",
    "rank_systems",
    "repetition_interval",
    "samples_to_overtake",
    "share_interval",
    "two_way",
    "wording_share",
]
