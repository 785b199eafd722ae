"""What a reward model is, what it judges, and what it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["CRITERIA", "Beside", "LabelledResponse", "RewardCase", "RewardModel"]

CRITERIA = ("refutation", "factuality", "politeness")
"""What a reward model can be trained for: criteria of the rubric evidence-5."""


class Beside(StrEnum):
    """What a reward model reads beside the response."""

    CLAIM = "claim"
    EVIDENCE = "evidence"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class RewardCase:
    """A response and what it is judged by.

    Attributes:
        claim: what it responds to.
        evidence: the texts that it was to rest on, the best first; may be empty.
        response: the response.
    """

    claim: str
    evidence: tuple[str, ...]
    response: str

    def beside(self, what: Beside) -> tuple[str, ...]:
        """The texts that are read beside the response, each in turn; an empty one where nothing is."""
        texts = {Beside.CLAIM: (self.claim,), Beside.EVIDENCE: self.evidence, Beside.NOTHING: ("",)}
        return texts[what]


@dataclass(frozen=True, slots=True)
class LabelledResponse:
    """A response of which it is known whether it meets a criterion.

    Attributes:
        case: the response.
        label: 1 if it does, else 0.
        group: responses of one group are not independent, such as those to one claim.
    """

    case: RewardCase
    label: int
    group: str


class RewardModel(Protocol):
    """Something that scores responses; equation 2 as a whole is one as well."""

    @property
    def name(self) -> str:
        """Of its criterion, such as `politeness`."""

    def score(self, cases: Sequence[RewardCase]) -> NDArray[np.float64]:
        """The reward of each, shape (n,); the higher, the better. A criterion's is a probability, 0 to 1."""
