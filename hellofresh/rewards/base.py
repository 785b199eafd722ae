"""What a reward model is, and what it judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["CRITERIA", "RewardCase", "RewardModel"]

CRITERIA = ("refutation", "factuality", "politeness")
"""What a reward model can be trained for: criteria of the rubric evidence-5."""


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


class RewardModel(Protocol):
    """Something that scores responses; equation 2 as a whole is one as well."""

    @property
    def name(self) -> str:
        """Of its criterion, such as `politeness`."""

    def score(self, cases: Sequence[RewardCase]) -> NDArray[np.float64]:
        """The reward of each, shape (n,); the higher, the better. A criterion's is a probability, 0 to 1."""
