"""Exchanges: claims with evidence and, for supervised tuning, a written response; read from JSON lines.

A line is `{"id": ..., "claim": ..., "evidence": [...], "response": ..., "group": ...}`. Evidence may be empty, a
response is not needed where the model writes its own, and exchanges of one group are held out together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field

from hellofresh.core.errors import DataError
from hellofresh.core.files import BadJsonError, as_model, sha256_text, strict_json
from hellofresh.core.strict import Strict

_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """A claim and what is said to it.

    Attributes:
        id: of the exchange.
        claim: what is responded to.
        evidence: texts that the response is to rest on, the best first.
        response: as somebody wrote it; empty where none is known.
        group: exchanges of one group are about the same.
    """

    id: str
    claim: str
    evidence: tuple[str, ...]
    response: str
    group: str


class _Line(Strict):
    id: str = Field(min_length=1, max_length=200)
    claim: str = Field(min_length=1, max_length=20_000)
    evidence: list[str] = Field(default_factory=list, max_length=100)
    response: str = Field(default="", max_length=20_000)
    group: str = Field(default="", max_length=200)


def read_exchanges(path: Path, *, responses: bool) -> list[Exchange]:
    """All exchanges of a file.

    Args:
        path: JSON lines.
        responses: whether each needs a response.

    Raises:
        DataError: if the file is missing or empty, or a line is malformed, has an id twice, or lacks a response.
    """
    found: dict[str, Exchange] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"cannot read ({error.strerror})", where=str(path), code="missing-file") from None
    for number, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        where = f"{path} line {number}"
        exchange = _parsed(content, where)
        if responses and not exchange.response.strip():
            raise DataError("no response", where=where, expected="one to learn from", code="no-response")
        if exchange.id in found:
            raise DataError(f"the id {exchange.id!r} stands twice", where=where, code="duplicate-id")
        found[exchange.id] = exchange
    if not found:
        raise DataError("no exchanges", where=str(path), expected="a JSON object a line", code="no-exchanges")
    return list(found.values())


def _parsed(content: bytes, where: str) -> Exchange:
    if len(content) > _MOST_BYTES:
        raise DataError(f"{len(content):,} bytes", where=where, expected=f"at most {_MOST_BYTES:,}", code="too-large")
    try:
        said = strict_json(content)
    except BadJsonError as error:
        raise DataError(str(error), where=where, code=error.code) from None
    line = as_model(_Line, said, where=where, code="bad-exchange")
    return Exchange(line.id, line.claim, tuple(line.evidence), line.response, line.group or sha256_text(line.claim))


def split_exchanges(exchanges: Sequence[Exchange], share: float, seed: int) -> tuple[list[Exchange], list[Exchange]]:
    """Exchanges to learn from, and exchanges of other groups that are held out.

    Raises:
        DataError: if there are fewer than two groups.
    """
    groups = sorted({one.group for one in exchanges}, key=lambda group: sha256_text(f"{seed}:{group}"))
    if len(groups) < 2:
        raise DataError(
            f"{len(groups)} claim", where="training data", expected="several: some are held out", code="too-few-claims"
        )
    kept_out = set(groups[: min(max(1, round(share * len(groups))), len(groups) - 1)])
    learnt = [one for one in exchanges if one.group not in kept_out]
    return learnt, [one for one in exchanges if one.group in kept_out]


def in_training_order(count: int, epochs: int, seed: int) -> list[int]:
    """Places of samples over all epochs, each epoch in an order of its own that follows from the seed alone."""
    orders = [np.random.default_rng([seed, epoch]).permutation(count) for epoch in range(epochs)]
    return [int(place) for order in orders for place in order]
