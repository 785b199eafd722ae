"""Answers are worked out once for each object and question."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.data.keeping import kept


@dataclass
class Adder:
    """Adds to a number of its own, and counts how often."""

    own: int
    worked: int = 0
    known: dict[Hashable, Any] = field(default_factory=dict)

    @kept
    def plus(self, number: int, *, twice: bool = False) -> list[int]:
        self.worked += 1
        return [self.own + number * (2 if twice else 1)]

    @kept
    def minus(self, number: int) -> list[int]:
        self.worked += 1
        return [self.own - number]


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), max_size=30))
def test_every_question_is_answered_rightly_and_once(asked: list[tuple[int, bool]]) -> None:
    one, other = Adder(10), Adder(20)
    for number, twice in asked:
        for adder in (one, other):
            assert adder.plus(number, twice=twice) == [adder.own + number * (1 + twice)]
            assert adder.minus(number) == [adder.own - number]
    assert one.worked == other.worked == len(set(asked)) + len({number for number, _ in asked})


def test_the_same_answer_is_given_to_everybody() -> None:
    adder = Adder(1)
    assert adder.plus(2) is adder.plus(2)
