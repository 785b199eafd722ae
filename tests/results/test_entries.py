"""The vote of several prompts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.results.entries import plurality
from hellofresh.tasks.outputs import Choice, Status

NONE, BLOCKED = Status.NONE, Status.BLOCKED
Answer = int | Status
"""A class, or what stands for silence."""


def vote(answers: list[Answer]) -> Answer:
    found = plurality([choice(answer) for answer in answers])
    assert (found.label is None) == (found.status is not Status.ANSWERED)
    return found.status if found.label is None else found.label


def choice(answer: Answer) -> Choice:
    if isinstance(answer, Status):
        return Choice(prompt="p", status=answer)
    return Choice(prompt="p", label=answer)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([1], 1),
        ([1, 1, 0], 1),
        ([0, 0, 1], 0),
        ([1, 0], NONE),
        ([1, NONE, NONE, NONE, NONE], 1),
        ([0, BLOCKED, BLOCKED], 0),
        ([1, 0, BLOCKED], NONE),
        ([2, 2, 1, 1, 0], NONE),
        ([2, 2, 1, 0], 2),
        ([2, 1, 0], NONE),
        ([BLOCKED, BLOCKED], BLOCKED),
        ([BLOCKED, NONE], NONE),
        ([NONE], NONE),
        ([], NONE),
    ],
)
def test_votes(answers: list[Answer], expected: Answer) -> None:
    assert vote(answers) == expected


ANSWERS = st.lists(st.sampled_from([0, 1, 2, 3, NONE, BLOCKED]), max_size=9)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_neither_order_nor_the_numbers_of_classes_matter(answers: list[Answer], random) -> None:
    shuffled, numbers = list(answers), [0, 1, 2, 3]
    random.shuffle(shuffled)
    random.shuffle(numbers)
    renamed = dict(enumerate(numbers))
    assert vote(shuffled) == vote(answers)
    assert vote([renamed.get(answer, answer) for answer in answers]) == renamed.get(vote(answers), vote(answers))
    assert vote([*answers, 1]) in {vote(answers), 1, NONE}


@given(ANSWERS)
def test_a_class_wins_with_more_votes_than_any_other_and_in_no_other_case(answers: list[Answer]) -> None:
    votes = Counter(answer for answer in answers if not isinstance(answer, Status))
    most = [label for label, number in votes.items() if number == max(votes.values())]
    assert vote(answers) == (most[0] if len(most) == 1 else BLOCKED if set(answers) == {BLOCKED} else NONE)
