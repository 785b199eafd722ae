"""How relevant a page is to a post: the product of their vectors, the post without addresses and emojis."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.retrieval.base import Parameters
from hellofresh.retrieval.encoders import MINILM, Encoder, MiniLm, open_encoder

__all__ = ["PAGE_TOKENS", "TextRelevance", "open_relevance", "plain_post"]

PAGE_TOKENS = 256
"""Of a page that MiniLM reads: as many as it was built for; what comes after them does not count."""
_ADDRESS = re.compile(r"(?:https?://|www\.|(?:t\.co|pic\.(?:twitter|x)\.com)/)\S+", re.IGNORECASE)
_JOINERS = frozenset("\u200d\u20e3\ufe0e\ufe0f")
_MOST_CHARACTERS = 20_000


def plain_post(text: str) -> str:
    """A post without addresses and emojis, on one line."""
    kept = "".join(" " if _is_pictorial(character) else character for character in _ADDRESS.sub(" ", text))
    return " ".join(kept.split())


def _is_pictorial(character: str) -> bool:
    return (
        unicodedata.category(character) == "So"
        or character in _JOINERS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # flags of regions
    )


@dataclass(frozen=True, slots=True)
class TextRelevance:
    """Scores pages against a post by an encoder; with MiniLM the cosine, from -1 to 1."""

    encoder: Encoder

    @property
    def parameters(self) -> Parameters:
        """Those of the encoder."""
        return self.encoder.parameters

    def scores(self, post: str, pages: Sequence[str]) -> list[float]:
        """One score a page; 0 where the post has no text of its own, or the page none."""
        return self.products([(post, page) for page in pages])

    def products(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each pair of a post and a page; what occurs twice is encoded once."""
        posts = {post: plain for post, _ in pairs if (plain := plain_post(post))}
        pages = list(dict.fromkeys(page for _, page in pairs if page.strip()))
        of_posts = dict(zip(posts, self.encoder.queries(list(posts.values())), strict=True))
        of_pages = dict(zip(pages, self.encoder.passages([page[:_MOST_CHARACTERS] for page in pages]), strict=True))
        return [
            round(float(of_pages[page] @ of_posts[post]), 6) if post in of_posts and page in of_pages else 0.0
            for post, page in pairs
        ]


def open_relevance(name: str = MINILM) -> TextRelevance:
    """By MiniLM, or by any model of sentence-transformers.

    Raises:
        UsageError: if what it needs is not installed.
    """
    return TextRelevance(MiniLm(PAGE_TOKENS) if name == MINILM else open_encoder(name))
