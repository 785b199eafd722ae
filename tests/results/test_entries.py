"""The vote of several prompts."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from hellofresh.results.entries import plurality
from hellofresh.tasks.outputs import Choice, Status

NONE, BLOCKED = Status.NONE, Status.BLOCKED


@given(st.lists(st.sampled_from([0, 1, 2, 3, NONE, BLOCKED]), max_size=9))
@example([])
@example([2, 2, 1, 1, 0])
def test_a_class_wins_with_more_votes_than_any_other_and_in_no_other_case(answers: list[int | Status]) -> None:
    silent = {status: Choice(prompt="p", status=status) for status in (NONE, BLOCKED)}
    found = plurality([silent.get(answer) or Choice(prompt="p", label=answer) for answer in answers])
    assert (found.label is None) == (found.status is not Status.ANSWERED)
    votes = Counter(answer for answer in answers if answer not in silent)
    most = [label for label, number in votes.items() if number == max(votes.values())]
    expected = most[0] if len(most) == 1 else BLOCKED if set(answers) == {BLOCKED} else NONE
    assert (found.status if found.label is None else found.label) == expected
