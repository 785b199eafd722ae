"""Agreement of raters, judges of judges, tests by ranks, rankings: identities, known biases, others' code."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from pytrec_eval import RelevanceEvaluator
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from hellofresh.stats.agreement import Distance, Weighting, krippendorff_alpha, weighted_kappa
from hellofresh.stats.judging import (
    powered_mean,
    rank_correlation,
)
from hellofresh.stats.multiway import clustered_mean, holm, mann_whitney, wilcoxon
from hellofresh.stats.retrieval import METRICS, measures, trec_order

krippendorff = pytest.importorskip("krippendorff")

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 5)), min_size=2, max_size=40)
VALUES = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=30).map(np.array)
EXACT = {"rel": 1e-10, "abs": 1e-10}


def columns(rows) -> list[np.ndarray]:
    return list(np.array(rows).T)


@settings(max_examples=40)
@given(PAIRS, st.sampled_from(list(Weighting)))
def test_kappa_is_that_of_statsmodels(rows, weighting: Weighting) -> None:
    first, second, _ = columns(rows)
    table = np.zeros((5, 5))
    np.add.at(table, (first, second), 1)
    found = float(weighted_kappa(table, weighting))
    # Where both gave one and the same answer throughout, it has no value there.
    if len({*first, *second}) > 1:
        wt = {"none": None, "linear": "linear", "quadratic": "quadratic"}[weighting]
        assert found == pytest.approx(cohens_kappa(table, wt=wt, return_results=False), **EXACT)
    else:
        assert found == 0


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 4)), min_size=4, max_size=60),
    st.sampled_from(list(Distance)),
)
def test_alpha_is_that_of_the_package_krippendorff(rows, distance: Distance) -> None:
    table = np.full((4, 7), np.nan)
    for unit, rater, answer in rows:
        table[rater, unit] = answer
    rater, unit = np.nonzero(~np.isnan(table))
    answers = table[rater, unit].astype(np.int64)
    found = krippendorff_alpha(unit, answers, distance=distance)
    several = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    pairable = several[~np.isnan(several)]
    if np.unique(pairable).size < 2:
        assert np.isnan(found.value)
        return
    expected = krippendorff.alpha(table, level_of_measurement=str(distance), value_domain=np.arange(5))
    assert found.value == pytest.approx(expected, **EXACT)
    assert found.units == several.shape[1]


@settings(max_examples=40)
@given(VALUES, VALUES, st.booleans())
def test_mann_whitney_is_that_of_scipy(first: np.ndarray, second: np.ndarray, continuity: bool) -> None:
    found = mann_whitney(first, second, continuity=continuity)
    if len({*first, *second}) == 1:
        assert (found.p_value, found.effect) == (1, 0.5)
        return
    expected = stats.mannwhitneyu(first, second, method="asymptotic", use_continuity=continuity)
    assert (found.statistic, found.n) == (expected.statistic, first.size + second.size)
    assert found.effect == pytest.approx(expected.statistic / (first.size * second.size))
    assert found.p_value == pytest.approx(expected.pvalue, **EXACT)
    untied = mann_whitney(first, second, ties=False, continuity=False)
    assert untied.p_value == pytest.approx(stats.ranksums(first, second).pvalue, **EXACT)


def test_a_p_value_far_out_keeps_its_digits() -> None:
    first, second = np.arange(400.0) % 7 + 4, np.arange(400.0) % 7
    expected = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    assert expected < 1e-50
    assert mann_whitney(first, second).p_value == pytest.approx(expected, rel=1e-10)


@settings(max_examples=40)
@given(st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=30).map(np.array))
def test_wilcoxon_is_that_of_scipy(differences: np.ndarray) -> None:
    found = wilcoxon(differences)
    assert found.p_value == pytest.approx(wilcoxon(-differences).p_value)
    if not differences.any():
        assert found.p_value == 1
        return
    kept = differences[differences != 0]
    ranks = stats.rankdata(np.abs(kept))
    assert (found.effect, found.n) == (pytest.approx(ranks[kept > 0].sum() / ranks.sum()), kept.size)
    expected = stats.wilcoxon(differences, method="asymptotic", correction=False)
    assert found.p_value == pytest.approx(expected.pvalue, **EXACT)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array))
def test_holm_is_that_of_statsmodels(p_values: np.ndarray) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], **EXACT)


def test_two_ways_of_clustering_are_those_of_statsmodels() -> None:
    random = np.random.default_rng(3)
    posts, raters = np.repeat(np.arange(40), 3), random.integers(0, 6, 120)
    values = random.normal(size=40)[posts] + random.normal(size=6)[raters] + random.normal(size=120)
    weights = random.choice([0.5, 1.0], 120)
    for groups, second in ((posts, None), (posts, raters)):
        found = clustered_mean(values, groups, second, weights=weights)
        fit = sm.WLS(values, np.ones(120), weights=weights)
        one = np.stack([posts, raters], axis=1) if second is not None else posts
        expected = fit.fit(cov_type="cluster", cov_kwds={"groups": one, "use_correction": True})
        assert found.value == pytest.approx(expected.params[0], **EXACT)
        assert found.standard_error == pytest.approx(expected.bse[0], **EXACT)


# --- Judges of judges: known biases are found at their size, and none where there is none; coverage of powered means.


POSTS = np.repeat(np.arange(80), 4)


def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """People's scores, and words that better responses have more of."""
    random = np.random.default_rng(seed)
    people = np.clip(np.round(random.normal(6, 2, POSTS.size)), 0, 10)
    words = np.exp(random.normal(4, 0.5, POSTS.size) + 0.1 * people)
    return people, words


def test_the_rank_correlation_is_that_of_scipy_and_its_limits_hold_it() -> None:
    people, words = world(2)
    value, low, high = rank_correlation(words, people, POSTS)
    assert value == pytest.approx(stats.spearmanr(words, people).statistic, abs=1e-10)
    assert low < value < high


def test_powered_means_hold_the_truth_and_are_narrower_with_a_good_judge() -> None:
    random = np.random.default_rng(12)
    held, narrower = 0, []
    for _ in range(300):
        truth = random.normal(5, 2, 200)
        judge = 0.5 * truth + 4 + random.normal(0, 0.5, 200)  # off by far, but in step
        found = powered_mean(truth[:40], judge[:40], judge[40:])
        tuning = np.cov(truth[:40], judge[:40])[0, 1] / ((1 + 40 / 160) * judge.var(ddof=1))
        of_people, of_judge = (truth - tuning * judge)[:40].var(ddof=1) / 40, judge[40:].var(ddof=1) / 160
        assert found.tuning == pytest.approx(min(tuning, 1.0)) and found.value == pytest.approx(
            truth[:40].mean() + found.tuning * (judge[40:].mean() - judge[:40].mean())
        )
        assert tuning > 1 or found.standard_error**2 == pytest.approx(of_people + tuning**2 * of_judge)
        held += found.low <= 5 <= found.high
        narrower.append(found.standard_error / found.classical_error)
    assert 0.91 <= held / 300 <= 0.985
    assert np.mean(narrower) < 0.75


# --- Measures of rankings: what trec_eval itself says.


CUTS = (1, 3, 5, 10, 20)


NAMES = {
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in CUTS[:4]},
    **{f"recall_{k}": f"recall@{k}" for k in CUTS},
    "recip_rank": "mrr",
    "map": "map",
}


def ours(qrels: dict[str, int], run: dict[str, float]) -> dict[str, float]:
    found = measures(list(run), list(run.values()), qrels)
    assert set(found) == {metric.name for metric in METRICS}
    return {name: found[own] for name, own in NAMES.items()}


def trec(qrels: dict[str, int], run: dict[str, float]) -> dict[str, float]:
    cuts = ",".join(map(str, CUTS))
    evaluator = RelevanceEvaluator({"q": qrels}, {f"ndcg_cut.{cuts}", f"recall.{cuts}", "recip_rank", "map"})
    return {name: value for name, value in evaluator.evaluate({"q": run})["q"].items() if name in NAMES}


documents = st.sampled_from([f"d{n}" for n in range(30)] + ["D1", "d", "é", "z-9", "10", "9"])


@settings(max_examples=150, deadline=None)
@given(
    qrels=st.dictionaries(documents, st.integers(-1, 3), min_size=1),
    run=st.dictionaries(documents, st.sampled_from([0.0, 0.5, 0.5 + 1e-9, 1.0, -2.0, 1 / 3]), min_size=1),
)
def test_every_measure_equals_trec_eval(qrels: dict[str, int], run: dict[str, float]) -> None:
    expected = trec(qrels, run)
    found = ours(qrels, run)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


def test_order_is_that_of_trec_eval_in_single_precision() -> None:
    assert trec_order(["a", "b", "c"], [1.0, 1.0 + 1e-12, 2.0]) == [2, 1, 0]
