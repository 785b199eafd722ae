"""Agreement of raters, tests by ranks and means with two kinds of clusters: identities, and other people's code."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from hellofresh.stats.agreement import Distance, Weighting, krippendorff_alpha, weighted_kappa
from hellofresh.stats.multiway import clustered_mean, holm, mann_whitney, wilcoxon

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
