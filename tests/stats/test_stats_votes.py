"""The vote on arrays is the vote on verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.outputs import Verdict, majority
from hellofresh.stats import BLOCKED, majority_vote

CODES = {Verdict.YES: 1, Verdict.NO: 0, Verdict.NONE: -1, Verdict.BLOCKED: BLOCKED}
VOTES = st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.sampled_from(list(Verdict)), min_size=n, max_size=n),
                                                     min_size=1, max_size=8))  # fmt: skip


def codes(votes: list[list[Verdict]]) -> np.ndarray:
    return np.array([[CODES[verdict] for verdict in row] for row in votes], dtype=np.int8)


@given(VOTES)
def test_the_vote_agrees_with_that_of_verdicts(votes: list[list[Verdict]]) -> None:
    expected = [CODES[majority(column)] for column in zip(*votes, strict=True)]
    assert majority_vote(codes(votes)).tolist() == expected


@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_voters_does_not_matter_and_silence_adds_nothing_to_votes(votes, random) -> None:
    found = majority_vote(codes(votes))
    silent = np.full((1, len(votes[0])), -1, dtype=np.int8)
    with_silence = majority_vote(np.concatenate([codes(votes), silent]))
    assert (with_silence == np.where(found == BLOCKED, -1, found)).all()
    random.shuffle(votes)
    assert (majority_vote(codes(votes)) == found).all()


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.zeros(3), np.full((1, 1), 2), np.full((1, 1), -3)])
def test_what_is_no_vote_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="predictions"):
        majority_vote(bad.astype(np.int8))
