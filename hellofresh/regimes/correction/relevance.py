"""How near a page is to a post: the cosine of their texts' vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from hellofresh.retrieval.encoders import Encoder, open_encoder

__all__ = ["Relevance", "TextRelevance", "opened_encoder"]


class Relevance(Protocol):
    """Says how near texts are to one."""

    async def of(self, post: str, pages: Sequence[str]) -> Sequence[float]:
        """A number for each page."""


@dataclass(frozen=True, slots=True)
class TextRelevance:
    """By an encoder of texts, in a thread of its own."""

    encoder: Encoder

    async def of(self, post: str, pages: Sequence[str]) -> Sequence[float]:
        """Cosines, to four decimals, so that the order does not hang on the last bit of a float."""
        return await asyncio.to_thread(self._cosines, post, pages) if pages else ()

    def _cosines(self, post: str, pages: Sequence[str]) -> list[float]:
        query = self.encoder.queries([post])[0]
        return [round(float(np.dot(query, vector)), 4) for vector in self.encoder.passages(pages)]


@cache
def opened_encoder(name: str) -> Encoder:
    """The encoder of that name, opened once.

    Raises:
        UsageError: if what it needs is not installed.
    """
    return open_encoder(name)
