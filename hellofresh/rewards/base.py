"""What a reward model is, what it judges and learns from, its card, and the equation that puts rewards together.

That is equation 2 of "Evidence-Driven Retrieval Augmented Response Generation" (RARG, section 3.3) on arrays, in which
f is the relevance that the retriever's encoder gives:

    R(x, y) = refutation + factuality + politeness + alpha * (f(x, y) + max over evidence e of f(e, y))

The card, `reward.json`, says what a model was trained for, on what, and what it reaches on held-out data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_json, write_json
from hellofresh.core.strict import Strict

FloatArray = NDArray[np.float64]
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

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """The reward of each, shape (n,); the higher, the better. A criterion's is a probability, 0 to 1."""


_CARD = "reward.json"


class RewardData(Strict):
    """One file that was learnt from.

    Attributes:
        name, sha256: of the file.
        importer: how it was read.
        rows, positives: how many responses were used, and how many of them meet the criterion.
        note: what its labels stand for, where they are no judgements of responses.
    """

    name: str
    sha256: str
    importer: str
    rows: int
    positives: int
    note: str = ""


class RewardMeasure(Strict):
    """One metric on held-out responses with its 95% interval, and against always choosing the usual class.

    Attributes:
        metric: its name.
        value, low, high: with its interval.
        usual: what always choosing the usual class reaches.
        difference, difference_low, difference_high: by how much the model is better, paired.
    """

    metric: str
    value: float
    low: float
    high: float
    usual: float
    difference: float
    difference_low: float
    difference_high: float


LEAST = 0.9
"""Share of claims in which a reward places the refutation above all probes; below it the reward is weak."""


@dataclass(frozen=True, slots=True)
class Probed:
    """How a reward did.

    Attributes:
        claims: that it was probed with.
        shares: of the claims in which the refutation is above a probe, by probe, and above all (`all`).
    """

    claims: int
    shares: Mapping[str, float]

    @property
    def is_weak(self) -> bool:
        """Whether the refutation is first too seldom."""
        return self.shares["all"] < LEAST


class RewardCard(Strict):
    """See above.

    Attributes:
        format: of this file.
        criterion: what it scores.
        form: a head on frozen vectors, or a whole encoder.
        beside: what it reads beside the response.
        encoder: parameters of the encoder whose vectors a head reads, or name of the model that was trained whole.
        training: the recipe.
        data: the files.
        versions: of what the outcome depends on.
        rows: responses by part: train, selection and test.
        epoch: the one that was kept.
        measures: on the test part.
        probes: how often refutations of the test part are placed above replies that refute nothing; for refutation.
        sha256: of the weights.
    """

    format: int = 1
    criterion: str
    form: Literal["head", "encoder"]
    beside: Beside
    encoder: Mapping[str, str | int | float | bool]
    training: Mapping[str, str | int | float | bool]
    data: tuple[RewardData, ...]
    versions: Mapping[str, str]
    rows: Mapping[str, int]
    epoch: int
    measures: tuple[RewardMeasure, ...]
    probes: Probed | None = None
    sha256: str

    def measure(self, metric: str) -> RewardMeasure:
        """The measure of that name.

        Raises:
            KeyError: if there is none.
        """
        return {measure.metric: measure for measure in self.measures}[metric]


def write_card(folder: Path, card: RewardCard) -> None:
    """Write a card."""
    write_json(folder / _CARD, card.model_dump(mode="json"))


def read_card(folder: Path) -> RewardCard:
    """Read a card.

    Raises:
        DataError: if there is none in the folder, or it is damaged.
    """
    path = folder / _CARD
    if not path.is_file():
        what, fix = "no reward model in this folder", "Train one with: hellofresh train reward"
        raise DataError(what, where=str(folder), expected=f"a file {_CARD}", fix=fix, code="missing-file")
    try:
        return RewardCard.model_validate_json(canonical_json(read_json(path)))
    except ValidationError as error:
        what = f"not the card of a reward model ({error.error_count()} faults)"
        raise DataError(what, where=str(path), fix="Train again.", code="bad-card") from None


def summed_reward(
    criteria: Sequence[FloatArray], claim_relevance: FloatArray, evidence_relevance: FloatArray, *, alpha: float
) -> FloatArray:
    """Equation 2 for n responses.

    Args:
        criteria: scores of each criterion, each of shape (n,).
        claim_relevance: f(x, y), shape (n,).
        evidence_relevance: f(e, y) of the evidence that fits best, shape (n,); 0 where there is no evidence.
        alpha: what relevance is worth.
    """
    summed: FloatArray = np.sum(criteria, axis=0, initial=0.0) + alpha * (claim_relevance + evidence_relevance)
    return summed
