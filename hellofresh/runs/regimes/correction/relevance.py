"""How near a page is to a post: the cosine of their texts' vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from hellofresh.evidence.retrieval.encoders import Encoder, open_encoder

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
        return self.of_pairs([(post, page) for page in pages])

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of each pair of a post and a page; what occurs twice is encoded once."""
        posts, pages = (list(dict.fromkeys(texts)) for texts in zip(*pairs, strict=True))
        of_posts = dict(zip(posts, self.encoder.queries(posts), strict=True))
        of_pages = dict(zip(pages, self.encoder.passages(pages), strict=True))
        return [round(float(np.dot(of_posts[post], of_pages[page])), 4) for post, page in pairs]


@cache
def opened_encoder(name: str) -> Encoder:
    """The encoder of that name, opened once.

    Raises:
        UsageError: if what it needs is not installed.
    """
    return open_encoder(name)
