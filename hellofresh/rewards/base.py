"""The types of reward models, their cases, data and card, and the equation that combines rewards.

It is equation 2 of "Evidence-Driven Retrieval Augmented Response Generation" (RARG, section 3.3) on arrays, in which
f is the relevance by the retriever's encoder:

    R(x, y) = refutation + factuality + politeness + alpha * (f(x, y) + max over evidence e of f(e, y))

The card, `reward.json`, states a model's criterion, its training data, and its results on held-out data.
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
"""The criteria of the rubric evidence-5 for which a reward model can be trained."""
_CARD = "reward.json"
LEAST = 0.9
"""Least share of claims with the refutation above all probes; a reward below it is weak."""


class Beside(StrEnum):
    """The text that a reward model reads beside the response."""

    CLAIM = "claim"
    EVIDENCE = "evidence"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class RewardCase:
    """A response with its claim and evidence.

    Attributes:
        claim: the claim that it responds to.
        evidence: the texts it should be based on, the best first; may be empty.
        response: the response.
    """

    claim: str
    evidence: tuple[str, ...]
    response: str

    def beside(self, what: Beside) -> tuple[str, ...]:
        """The texts to read beside the response one at a time; a single empty text if there are none."""
        texts = {Beside.CLAIM: (self.claim,), Beside.EVIDENCE: self.evidence, Beside.NOTHING: ("",)}
        return texts[what]


@dataclass(frozen=True, slots=True)
class LabelledResponse:
    """A response with a label for a criterion.

    Attributes:
        case: the response.
        label: 1 if it meets the criterion, else 0.
        group: responses of one group are dependent, such as those to one claim.
    """

    case: RewardCase
    label: int
    group: str


class RewardModel(Protocol):
    """Scores responses; equation 2 as a whole is one, too."""

    @property
    def name(self) -> str:
        """Name of its criterion, such as `politeness`."""

    def score(self, cases: Sequence[RewardCase]) -> FloatArray:
        """The reward of each case, shape (n,), higher is better; a criterion's reward is a probability, 0 to 1."""


class RewardData(Strict):
    """A file of training data.

    Attributes:
        name, sha256: of the file.
        importer: name of its reader.
        rows, positives: number of responses used, and of those that meet the criterion.
        note: meaning of its labels, if they are not judgements of responses.
    """

    name: str
    sha256: str
    importer: str
    rows: int
    positives: int
    note: str = ""


class RewardMeasure(Strict):
    """One metric on held-out responses with its 95% interval, and compared with always choosing the majority class.

    Attributes:
        metric: its name.
        value, low, high: with its interval.
        usual: the value for always choosing the majority class.
        difference, difference_low, difference_high: the model's paired advantage over it.
    """

    metric: str
    value: float
    low: float
    high: float
    usual: float
    difference: float
    difference_low: float
    difference_high: float


@dataclass(frozen=True, slots=True)
class Probed:
    """A reward's results on probes.

    Attributes:
        claims: number of claims.
        shares: share of claims with the refutation above a probe, by probe, and above all of them (`all`).
    """

    claims: int
    shares: Mapping[str, float]

    @property
    def is_weak(self) -> bool:
        """Whether the refutation is first too rarely."""
        return self.shares["all"] < LEAST


class RewardCard(Strict):
    """The card of a reward model.

    Attributes:
        format: of this file.
        criterion: the criterion that it scores.
        form: whether it is a head on frozen vectors or a whole encoder.
        beside: the text that it reads beside the response.
        encoder: parameters of a head's encoder, or name of the model trained as a whole.
        training: the recipe.
        data: the training files.
        versions: of the packages that affect the result.
        rows: responses by part: train, selection and test.
        epoch: the selected epoch.
        measures: metrics on the test part.
        probes: for refutation, how often refutations of the test part score above replies that refute nothing.
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
            KeyError: if there is no such measure.
        """
        return {measure.metric: measure for measure in self.measures}[metric]


def write_card(folder: Path, card: RewardCard) -> None:
    """Write a card."""
    write_json(folder / _CARD, card.model_dump(mode="json"))


def read_card(folder: Path) -> RewardCard:
    """Read a card.

    Raises:
        DataError: if the card is missing or damaged.
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
        evidence_relevance: f(e, y) of the best evidence, shape (n,); 0 without evidence.
        alpha: weight of relevance.
    """
    summed: FloatArray = np.sum(criteria, axis=0, initial=0.0) + alpha * (claim_relevance + evidence_relevance)
    return summed
