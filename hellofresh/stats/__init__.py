"""Counts, intervals, comparisons and rankings: pure functions on arrays, independent of files, tasks and models.

Overview. A metric (`hellofresh.stats.metrics`) is a function of sums over samples. Its `statistics` make a row
of numbers for each sample; `tables` are their sums by cluster, shape (g, k), where `groups` has a number for each
sample, equal for samples that belong together (one post, one article), or is None.

    clusters      cluster_tables(metric.statistics(labels, predictions), groups): the input of all methods below;
                  cluster_weights: draws of clusters
    intervals     metric_interval(tables, metric) -> Interval; repetition_interval(values): a metric over repetitions
    paired        compare(tables, other tables, metric) -> Comparison: difference, interval, p-value;
                  compare_parts(tables of the part, of the rest, metric): one system on two parts of the samples
    ranking       all_differences(tables of all systems, metric) -> Differences: every pair, adjusted for its family;
                  rank_systems(differences) -> Ranking: ranks, rank intervals, tie groups;
                  samples_to_overtake(statistics, others, metric), halves_agree(tables, metric): robustness of a lead
    draws         draw_jointly(tables of all systems, metrics) -> Draws; first_place(draws, metric);
                  bootstrap_limits(tables of all systems, metrics);
                  kendall_tau_b, spearman; compare_periods(draws, draws, metric) -> Agreement; order_held(scores);
                  wording_share(draws of a system's prompts, metric) -> WordingShare;
                  joint_region(draws, system, x, y) -> Ellipse: two metrics of a system together
    two_way       two_way(scores, systems, quarters, variances=) -> TwoWay: systems that met different quarters
    bridging      fit_bridging(ratings, notes, raters) -> Bridging: notes helpful to raters who usually disagree
    calibration   calibrate(labels, confidences, groups) -> Calibration: ECE, Brier, reliability curve, AUC
    agreement     answer_agreement(first, second, groups): raw agreement and Cohen's kappa; share_interval(hits, groups)

Textbook quantiles, tails and ranks are scipy's, imported on use.
An `Interval` states its method and its numbers of samples and clusters. All randomness has an explicit seed.
Wrong shapes and values raise ValueError, since they are mistakes of the caller, not of the data.
"""
