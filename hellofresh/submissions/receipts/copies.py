"""Predictions that look copied from another entry. A flag is a question to the maintainers, not a verdict.

Two entries on a task are flagged where

- all labels are the same (`same-labels`);
- Cohen's kappa of their labels is 0.95 or more on at least 100 samples (`nearly-same-labels`);
- nine in ten confidences are equal to the digit, with at least ten values among them (`same-confidences`);
- of the samples on which either errs, at least 20, both err alike on nine in ten (`same-errors`; needs the truth).

A text or a ranking is compared like a label: it is the same or not. Entries whose labels agree by chance on nine in ten
samples, such as those that always say yes, are not compared by labels. Between entries of one team only the first sign
counts, since variants of a system err alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from hellofresh.tasks import MOST_CLASSES

__all__ = ["Copy", "GivenAnswers", "find_copies"]

_FEWEST = 20
_FEWEST_NEARLY = 100
_KAPPA = 0.95
_CHANCE = 0.9
_SHARE = 0.9
_FEWEST_VALUES = 10
_VALUES = range(-1, MOST_CLASSES)
"""No answer, and labels: what may agree by chance."""

_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GivenAnswers:
    """What an entry said on one task.

    Attributes:
        origin: team and system.
        team: whose it is.
        received: when it came in, None where that is not known.
        answers: by sample id, a label or a text; None is no answer.
        confidences: confidence by sample id, where one was given.
    """

    origin: str
    team: str
    received: datetime | None
    answers: Mapping[str, int | str | None] = field(repr=False)
    confidences: Mapping[str, float] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Copy:
    """Two entries that agree more than chance allows.

    Attributes:
        later: origin of the entry that came in later.
        earlier: origin of the one before it.
        sign: by what it shows.
        what: the finding, a phrase that begins with a verb.
    """

    later: str
    earlier: str
    sign: str
    what: str


def find_copies(
    entries: Sequence[GivenAnswers], ids: Sequence[str], truth: Mapping[str, int] | None = None
) -> list[Copy]:
    """All pairs of entries that look copied, one sign a pair, the strongest first.

    Args:
        entries: what each said on the task; all samples of it.
        ids: the task's samples.
        truth: label by sample id, where it is known and may be used.
    """
    if len(entries) < 2 or len(ids) < _FEWEST:
        return []
    ordered = sorted(entries, key=lambda entry: (entry.received or datetime.max.replace(tzinfo=UTC), entry.origin))
    tests = _Tests(ordered, ids, truth)
    found = []
    for later in range(1, len(ordered)):
        for earlier in np.flatnonzero(tests.any_sign[later, :later]):
            sign, what = tests.strongest(later, int(earlier))
            found.append(Copy(ordered[later].origin, ordered[int(earlier)].origin, sign, what))
    return found


class _Tests:
    """The four signs for every pair; matrices are entries by entries."""

    def __init__(self, entries: Sequence[GivenAnswers], ids: Sequence[str], truth: Mapping[str, int] | None) -> None:
        said = np.array([[_code(entry.answers.get(key)) for key in ids] for entry in entries], dtype=np.int64)
        self.size = len(ids)
        self.texts = any(isinstance(answer, str) for entry in entries for answer in entry.answers.values())
        self.agree: _Floats = np.stack([(said == row).sum(axis=1, dtype=np.float32) for row in said])
        share = [(said == value).mean(axis=1, dtype=np.float32) for value in _VALUES]
        chance: _Floats = np.sum([np.outer(part, part) for part in share], axis=0)
        teams = np.array([entry.team for entry in entries])
        others = teams[:, None] != teams[None, :]
        meant = chance <= _CHANCE
        self.kappa = np.where(meant, (self.agree / self.size - chance) / np.maximum(1 - chance, 1e-6), 0)
        self.same = (self.agree >= self.size) & meant
        self.nearly = (self.kappa >= _KAPPA) & others & (self.size >= _FEWEST_NEARLY)
        self.confidences = _equal_confidences(entries, ids) & others
        self.errors = _same_errors(said, ids, truth) & meant & others if truth else np.zeros_like(self.same)
        self.any_sign = self.same | self.nearly | self.confidences | self.errors

    def strongest(self, one: int, other: int) -> tuple[str, str]:
        """The strongest sign of a pair, and the finding."""
        what = "answer" if self.texts else "label"
        if self.same[one, other]:
            return "same-labels", f"has the same {what} on all {self.size} samples as"
        if self.confidences[one, other]:
            return "same-confidences", "has the same confidences, nine in ten to the digit, as"
        if self.nearly[one, other]:
            equal = int(self.agree[one, other])
            return "nearly-same-labels", f"has the same {what} on {equal} of {self.size} samples as"
        return "same-errors", "errs on the same samples, nine in ten of them, as"


def _code(answer: int | str | None) -> int:
    """A number for an answer; texts have one beyond all labels."""
    if isinstance(answer, str):
        return MOST_CLASSES + int.from_bytes(hashlib.sha256(answer.encode()).digest()[:6])
    return -1 if answer is None else answer


def _both(marks: NDArray[np.bool_]) -> _Floats:
    """In how many columns both rows have a mark."""
    numbers = marks.astype(np.float32)
    found: _Floats = numbers @ numbers.T
    return found


def _equal_confidences(entries: Sequence[GivenAnswers], ids: Sequence[str]) -> NDArray[np.bool_]:
    given = np.array([[entry.confidences.get(key, np.nan) for key in ids] for entry in entries])
    rich = np.array([len(np.unique(row[~np.isnan(row)])) >= _FEWEST_VALUES for row in given])
    found = np.zeros((len(entries), len(entries)), dtype=bool)
    for number in np.flatnonzero(rich):
        found[number] = rich & ((given == given[number]).mean(axis=1) >= _SHARE)
    return found


def _same_errors(said: NDArray[np.int64], ids: Sequence[str], truth: Mapping[str, int]) -> NDArray[np.bool_]:
    wrong = said != np.array([truth.get(key, -2) for key in ids], dtype=np.int64)
    # Where an answer is wrong and another is the same, both are wrong.
    alike: _Floats = np.stack([(wrong & (said == row)).sum(axis=1, dtype=np.float32) for row in said])
    number = wrong.sum(axis=1, dtype=np.float32)
    either = number[:, None] + number[None, :] - _both(wrong)
    found: NDArray[np.bool_] = (either >= _FEWEST) & (alike >= _SHARE * either)
    return found
