"""The vote of several prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.outputs import Verdict, majority

YES, NO, NONE, BLOCKED = Verdict.YES, Verdict.NO, Verdict.NONE, Verdict.BLOCKED


@pytest.mark.parametrize(
    ("verdicts", "vote"),
    [
        ([YES], YES),
        ([YES, YES, NO], YES),
        ([NO, NO, YES], NO),
        ([YES, NO], NONE),
        ([YES, NONE, NONE, NONE, NONE], YES),
        ([NO, BLOCKED, BLOCKED], NO),
        ([YES, NO, BLOCKED], NONE),
        ([BLOCKED, BLOCKED], BLOCKED),
        ([BLOCKED, NONE], NONE),
        ([NONE], NONE),
        ([], NONE),
    ],
)
def test_votes(verdicts: list[Verdict], vote: Verdict) -> None:
    assert majority(verdicts) is vote


@given(st.lists(st.sampled_from(list(Verdict)), max_size=7), st.randoms(use_true_random=False))
def test_the_order_of_votes_does_not_matter_and_swapping_sides_swaps_the_vote(votes: list[Verdict], random) -> None:
    swap = {YES: NO, NO: YES, NONE: NONE, BLOCKED: BLOCKED}
    shuffled = list(votes)
    random.shuffle(shuffled)
    assert majority(shuffled) is majority(votes)
    assert majority(swap[vote] for vote in votes) is swap[majority(votes)]
    assert majority([*votes, YES]) in {majority(votes), YES, NONE}
