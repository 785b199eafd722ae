"""Equations 2 and 3, against plain loops over single responses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.rewards.base import RewardCase, summed_reward
from hellofresh.rewards.heads import ResponseRelevance
from hellofresh.rewards.models import CombinedReward
from tests.retrieval.test_dense import LetterEncoder

SHARES = st.floats(0, 1, allow_subnormal=False)
COSINES = st.floats(-1, 1, allow_subnormal=False)


@given(st.lists(st.tuples(SHARES, SHARES, SHARES, COSINES, COSINES), min_size=1, max_size=5), st.floats(0, 3))
def test_equation_2_is_three_scores_and_the_weighted_relevance(rows: list[tuple[float, ...]], alpha: float) -> None:
    expected = [r + f + p + alpha * (claim + evidence) for r, f, p, claim, evidence in rows]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    found = summed_reward(columns[:3], columns[3], columns[4], alpha=alpha)
    assert found.tolist() == pytest.approx(expected)


class Constant:
    """A reward model that knows one number."""

    def __init__(self, name: str, value: float) -> None:
        self.name, self.value = name, value

    def score(self, cases: list[RewardCase]) -> np.ndarray:
        return np.full(len(cases), self.value)


CASES = [
    RewardCase("cats fly", ("no cat flies", "dogs bark"), "cats do not fly"),
    RewardCase("dogs bark", (), "they do"),
]


def test_relevance_is_that_of_the_claim_and_of_the_evidence_that_fits_best() -> None:
    encoder = LetterEncoder()

    def fit(first: str, second: str) -> float:
        u, v = (encoder.passages([text])[0].astype(float) for text in (first, second))
        return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    claims, evidence = ResponseRelevance(encoder).score(CASES)
    assert claims == pytest.approx([fit(case.claim, case.response) for case in CASES])
    assert evidence == pytest.approx([max(fit(text, CASES[0].response) for text in CASES[0].evidence), 0.0])


def test_the_combined_reward_is_equation_2_of_its_parts() -> None:
    models = [Constant("refutation", 0.25), Constant("factuality", 0.5), Constant("politeness", 1.0)]
    reward = CombinedReward(models, ResponseRelevance(LetterEncoder()), alpha=0.5)
    parts = reward.parts(CASES)
    assert reward.score(CASES) == pytest.approx(1.75 + 0.5 * (parts.claim_relevance + parts.evidence_relevance))
    assert CombinedReward(models).score(CASES) == pytest.approx([1.75, 1.75])
    assert CombinedReward([], ResponseRelevance(LetterEncoder())).score([]).shape == (0,)
