"""The card of a reward model, `reward.json`: what it was trained for, on what, and what it reaches on held-out data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json, read_json, write_json
from hellofresh.rewards.base import Beside

__all__ = ["RewardCard", "RewardData", "RewardMeasure", "read_card", "write_card"]

_CARD = "reward.json"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RewardData(_Strict):
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


class RewardMeasure(_Strict):
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


class RewardCard(_Strict):
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
        raise DataError(
            "no reward model in this folder", where=str(folder), expected=f"a file {_CARD}",
            fix="Train one with: hellofresh train reward", code="missing-file",
        )  # fmt: skip
    try:
        return RewardCard.model_validate_json(canonical_json(read_json(path)))
    except ValidationError as error:
        what = f"not the card of a reward model ({error.error_count()} faults)"
        raise DataError(what, where=str(path), fix="Train again.", code="bad-card") from None
