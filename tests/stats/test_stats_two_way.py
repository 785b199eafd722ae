"""Systems over quarters that not all took part in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.api import OLS

from hellofresh.stats.two_way import connected_parts, two_way


def panel(seed: int, systems: int = 8, quarters: int = 6, noise: float = 0.02) -> tuple[np.ndarray, ...]:
    """Scores, systems, quarters, and the true effects; a third is missing, and the first quarter whole."""
    random = np.random.default_rng(seed)
    system, quarter = random.normal(0.6, 0.1, systems), random.normal(0, 0.1, quarters)
    quarter -= quarter.mean()
    there = random.random((systems, quarters)) < 2 / 3
    there[:, 0] = there[0] = True
    s, q = np.nonzero(there)
    return system[s] + quarter[q] + random.normal(0, noise, s.size), s, q, system, quarter


def test_a_late_system_is_ranked_by_what_it_would_have_had_in_the_hard_quarters() -> None:
    # Quarter 1 is easier by 0.2; the late system is worse, though its plain mean is better.
    scores = np.array([0.5, 0.7, 0.6, 0.8, 0.65])
    found = two_way(scores, np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    assert found.system == pytest.approx([0.6, 0.7, 0.55])


@pytest.mark.parametrize("seed", range(5))
def test_estimates_and_clustered_errors_are_those_of_statsmodels(seed: int) -> None:
    scores, systems, quarters, *_ = panel(seed)
    found = two_way(scores, systems, quarters)
    s, q = systems.max() + 1, quarters.max() + 1
    quarter_columns = np.eye(q)[quarters]
    design = np.concatenate([np.eye(s)[systems], quarter_columns[:, :-1] - quarter_columns[:, -1:]], axis=1)
    theirs = OLS(scores, design).fit(cov_type="cluster", cov_kwds={"groups": quarters}, use_t=True)
    assert found.system == pytest.approx(theirs.params[:s], abs=1e-9)
    assert found.system_error == pytest.approx(theirs.bse[:s], abs=1e-9)


def test_an_interaction_is_found_and_sampling_alone_is_not_taken_for_one() -> None:
    found = []
    for seed in range(150):
        scores, systems, quarters, *_ = panel(seed, 10, 8)
        found.append(two_way(scores, systems, quarters, variances=np.full(scores.shape, 0.02**2)).excess_p_value)
    assert stats.kstest(found, "uniform").pvalue > 1e-3
    scores, systems, quarters, system, quarter = panel(1, 10, 8)
    steeper = scores + 15 * (system - system.mean())[systems] * quarter[quarters]
    assert two_way(steeper, systems, quarters, variances=np.full(scores.shape, 0.02**2)).excess_p_value < 1e-6


def test_the_excess_is_the_weighted_sum_of_squares_left() -> None:
    scores, systems, quarters, *_ = panel(4)
    variances = np.random.default_rng(1).uniform(1e-4, 1e-3, scores.size)
    found = two_way(scores, systems, quarters, variances=variances).excess_p_value
    root = 1 / np.sqrt(variances)
    design = np.concatenate([np.eye(systems.max() + 1)[systems], np.eye(quarters.max() + 1)[quarters][:, 1:]], axis=1)
    left = OLS(scores * root, design * root[:, None]).fit()
    assert found == pytest.approx(stats.chi2.sf(left.ssr, left.df_resid), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=12, unique=True))
def test_parts_are_those_that_chains_of_shared_quarters_link(pairs: list[tuple[int, int]]) -> None:
    systems, quarters = (np.unique(part, return_inverse=True)[1] for part in zip(*pairs, strict=True))
    parts = connected_parts(systems, quarters)
    assert all(len(set(parts[systems[quarters == q]].tolist())) == 1 for q in set(quarters.tolist()))
    if parts.max() > 0:
        with pytest.raises(ValueError, match="hang together"):
            two_way(np.zeros(systems.size), systems, quarters)
    else:
        assert two_way(np.full(systems.size, 0.3), systems, quarters).system == pytest.approx(0.3)
    # Each part could not be split: taking all its systems by walking must reach every one.
    for part in range(parts.max() + 1):
        members = set(np.flatnonzero(parts == part).tolist())
        reached = {min(members)}
        for _ in members:
            shared = {q for s, q in zip(systems.tolist(), quarters.tolist(), strict=True) if s in reached}
            reached |= {s for s, q in zip(systems.tolist(), quarters.tolist(), strict=True) if q in shared}
        assert reached == members


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, 100.0), (-1.0, 1.0)])
def test_limits_lie_as_far_on_either_side_on_the_logit(limits: tuple[float, float]) -> None:
    """By the delta method: t times the clustered error, or 1.96 times that of sampling, if this is larger."""
    least, span = limits[0], limits[1] - limits[0]
    values = least + span * np.array([0.6, 0.7, 0.65, 0.5, 0.55, 0.58, 0.71, 0.69, 0.74])
    systems, quarters = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    fit = two_way(values, systems, quarters, variances=np.full(9, (0.05 * span) ** 2))
    for system in range(3):
        low, high = ((end - least) / span for end in fit.limits_within(system, limits))
        score = (float(fit.system[system]) - least) / span
        error = max(
            stats.t.ppf(0.975, 2) * fit.system_error[system], stats.norm.ppf(0.975) * fit.sampling_error[system]
        )
        half = error / span / (score * (1 - score))
        odds = [float(np.log(part / (1 - part))) for part in (low, score, high)]
        assert odds[1] - odds[0] == pytest.approx(half, rel=1e-9)
        assert odds[2] - odds[1] == pytest.approx(half, rel=1e-9)
