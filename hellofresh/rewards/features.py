"""What a head reads of a pair of texts: their frozen vectors, and their words in a fixed number of columns.

    [u, v, |u - v|, u * v, words]   u: vector of the text beside the response; v: of the response
    [v, words]                      where nothing is read beside it

Words and pairs of words are hashed with a sign into columns and divided by their length (Weinberger et al., Feature
Hashing for Large Scale Multitask Learning, ICML 2009). A word of the response is another one than a word that only the
other text has.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORD_COLUMNS", "pair_features", "width"]

FloatArray = NDArray[np.float64]
WORD_COLUMNS = 2048
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|[?!.]")
_PARTS = 4


def width(dimensions: int, *, paired: bool) -> int:
    """Columns of a pair's features, or of a response's alone."""
    return dimensions * (_PARTS if paired else 1) + WORD_COLUMNS


def pair_features(beside: tuple[str, FloatArray] | None, response: tuple[str, FloatArray]) -> FloatArray:
    """The features of a pair, or of a response alone; each text comes with its vector."""
    v = response[1]
    if beside is None:
        return np.concatenate([v, _hashed(_response_words("", response[0]))])
    u = beside[1]
    return np.concatenate([u, v, np.abs(u - v), u * v, _hashed(_response_words(beside[0], response[0]))])


def _response_words(beside: str, response: str) -> Iterator[str]:
    words = _WORD.findall(response.lower())
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(words))
    known = set(words)
    yield from (f"not said: {word}" for word in _WORD.findall(beside.lower()) if word not in known)


def _hashed(words: Iterator[str]) -> FloatArray:
    found = np.zeros(WORD_COLUMNS)
    for word in words:
        code = zlib.crc32(word.encode())
        found[code % WORD_COLUMNS] += 1 if code >> 31 else -1
    found /= max(float(np.linalg.norm(found)), 1e-12)
    return found
