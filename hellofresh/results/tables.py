"""Rows of the files beside the scores: what every system said, receipts, and who waits for the deadline."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.parquet import Table

__all__ = ["JUDGEMENTS", "RECEIPTS", "WAITING", "AnswerRow", "ReceiptRow", "WaitingRow"]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What a system said of a sample with one prompt.

    Attributes:
        id: of the sample.
        origin: the system's, as in the scores.
        prompt: which.
        headline: whether this prompt stands for the system.
        verdict: one of yes, no, none and blocked.
        confidence: the stated probability of label 1, None where none was stated.
    """

    id: str
    origin: str
    prompt: str
    headline: bool
    verdict: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """The receipt of a submission.

    Attributes:
        origin: the entry's.
        sha256: hash of its canonical content.
        received: when, UTC to the second (ISO 8601).
        code: the version that wrote the receipt.
        tasks: what it takes part in, joined by commas.
        earlier: how many receipts it replaces.
    """

    origin: str
    sha256: str
    received: str
    code: str
    tasks: str
    earlier: int


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """Who handed predictions in that may not be used yet; what they predict is not in it."""

    origin: str
    system: str
    team: str
    regime: str
    knowledge_cutoff: str
    received: str


JUDGEMENTS = Table(AnswerRow, {"task": str})
RECEIPTS = Table(ReceiptRow, {"task": str})
WAITING = Table(WaitingRow, {"task": str})
