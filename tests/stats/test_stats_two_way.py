"""Systems over quarters that not all took part in."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.api import OLS

from hellofresh.stats.two_way import two_way


def panel(seed: int, systems: int = 8, quarters: int = 6, noise: float = 0.02) -> tuple[np.ndarray, ...]:
    """Scores, systems, quarters, and the true effects; a third is missing, and the first quarter whole."""
    random = np.random.default_rng(seed)
    system, quarter = random.normal(0.6, 0.1, systems), random.normal(0, 0.1, quarters)
    quarter -= quarter.mean()
    there = random.random((systems, quarters)) < 2 / 3
    there[:, 0] = there[0] = True
    s, q = np.nonzero(there)
    return system[s] + quarter[q] + random.normal(0, noise, s.size), s, q, system, quarter


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
