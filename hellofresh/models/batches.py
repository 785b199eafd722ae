"""Batches: many questions handed in at once, answered within a day, at a part of the price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hellofresh.models import Answer, CallError, ModelSpec, Request


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """A question of a batch, and the id by which its answer is found again (at most 64 characters)."""

    custom_id: str
    request: Request


class BatchState(StrEnum):
    """How a batch stands."""

    RUNNING = "running"
    ENDED = "ended"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How far a batch has come.

    Attributes:
        state: all but `running` are final; results are there for all final ones but `failed`.
        done: questions answered or failed, as far as the provider says.
        message: why it failed, empty if it did not.
    """

    state: BatchState
    done: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one question: an answer, or an error."""

    custom_id: str
    answer: Answer | None
    error: CallError | None = None


class Batches(Protocol):
    """A provider's way of taking batches for one model; whatever it does not say or take is a CallError.

    - `spec` is what is known of the model, the same as where it is asked singly; `most` questions make one batch.
    - `submit` hands in questions with different ids and returns the batch's id. Its error may also mean that it is not
      known whether the batch was taken: the label is kept with it, so that `find` finds its id, or None.
    - `status` is how a batch stands.
    - `results` is what has come of a batch in a final state; questions may be missing, or be there more than once.
    """

    @property
    def spec(self) -> ModelSpec: ...
    @property
    def most(self) -> int: ...
    async def submit(self, questions: Sequence[BatchQuestion], label: str) -> str: ...
    async def find(self, label: str) -> str | None: ...
    async def status(self, batch: str) -> BatchStatus: ...
    async def results(self, batch: str) -> Sequence[BatchResult]: ...
    async def close(self) -> None: ...


def sorted_out(results: Iterable[BatchResult], ids: Iterable[str], where: str) -> dict[str, BatchResult]:
    """One result for each id: what is missing, or there twice and not the same, is an error worth another attempt.

    Args:
        results: as they came; those with other ids are passed over.
        ids: all that were asked for.
        where: the model, for messages.
    """
    found: dict[str, BatchResult] = {}
    torn: set[str] = set()
    for result in results:
        first = found.setdefault(result.custom_id, result)
        if first.answer != result.answer:
            torn.add(result.custom_id)
    return {
        key: _unusable(key, where, "two results for one question")
        if key in torn
        else found.get(key) or _unusable(key, where, "no result for the question")
        for key in ids
    }


def _unusable(key: str, where: str, what: str) -> BatchResult:
    return BatchResult(key, None, CallError(f"the batch has {what}", where=where, code="bad-batch", retryable=True))
