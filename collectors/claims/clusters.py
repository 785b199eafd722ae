"""Clusters of claims that say almost the same.

Two claims are near-equal where the Jaccard similarity of their sets of words (lower case, without punctuation) is at
least 0.8. Pairs are proposed by MinHash signatures of 64 values in 16 bands of 4, which misses a pair at 0.8 with
probability (1 - 0.8^4)^16 < 0.0003, and then measured; clusters are what such pairs connect. The order of the claims
does not matter. Claims are short, so words are compared and not words in a row, as for longer texts.
Source: Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

JACCARD = 0.8
_WORDS = re.compile(r"\w+")
_BANDS, _ROWS = 16, 4
_MOST_IN_BUCKET = 40


def _constants(start: int) -> NDArray[np.uint64]:
    values = [zlib.crc32(b"low%d" % k) | zlib.crc32(b"high%d" % k) << 32 for k in range(start, start + _BANDS * _ROWS)]
    return np.array(values, dtype=np.uint64)


_FACTORS, _OFFSETS = _constants(0) | np.uint64(1), _constants(1000)


def _words(claim: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFKC", claim).casefold())


def same_claim_key(claim: str) -> str:
    """Equal for claims that differ in case, punctuation and spaces only."""
    return " ".join(_words(claim)) or claim


def claim_clusters(claims: Sequence[str]) -> list[int]:
    """The cluster of each claim: the position of its first member in the order of texts."""
    order = sorted(range(len(claims)), key=lambda position: claims[position])
    words = _WordSets.of(claims[position] for position in order)
    parents = list(range(len(order)))

    def root(member: int) -> int:
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    for one, two in _proposed(words):
        low, high = sorted((root(one), root(two)))
        if low != high and words.jaccard(one, two) >= JACCARD:
            parents[high] = low
    clusters = [0] * len(claims)
    for place, position in enumerate(order):
        clusters[position] = order[root(place)]
    return clusters


@dataclass(frozen=True, slots=True)
class _WordSets:
    """The words of each text, without repetitions: numbers of words, one text after the other.

    Attributes:
        words: sorted within a text.
        starts: where each text begins, and where the last one ends.
        hashes: of each word, by its number.
    """

    words: NDArray[np.int32]
    starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> _WordSets:
        numbers: dict[str, int] = {}
        flat, starts = array("i"), array("q", [0])
        for text in texts:
            flat.extend(sorted({numbers.setdefault(word, len(numbers)) for word in _words(text)}))
            starts.append(len(flat))
        hashes = np.fromiter((zlib.crc32(word.encode()) for word in numbers), np.uint64, len(numbers))
        return cls(np.frombuffer(flat, np.int32) if flat else np.empty(0, np.int32), np.array(starts), hashes)

    def jaccard(self, one: int, two: int) -> float:
        """What two texts share."""
        first, second = (self.words[self.starts[place] : self.starts[place + 1]] for place in (one, two))
        shared = np.intersect1d(first, second, assume_unique=True).size
        return float(shared / (first.size + second.size - shared))


def _proposed(sets: _WordSets) -> set[tuple[int, int]]:
    """Pairs that share a band."""
    filled = np.flatnonzero(np.diff(sets.starts))
    if filled.size < 2:
        return set()
    pairs: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        rows = range(band * _ROWS, (band + 1) * _ROWS)
        signature = np.stack([_smallest(sets, filled, row) for row in rows], axis=1)
        for bucket in _buckets(signature):
            members = filled[bucket].tolist()
            pairs.update(combinations(members[:_MOST_IN_BUCKET], 2))
            pairs.update((members[0], later) for later in members[_MOST_IN_BUCKET:])
    return pairs


def _smallest(sets: _WordSets, filled: NDArray[np.int64], row: int) -> NDArray[np.uint32]:
    moved = ((sets.hashes * _FACTORS[row] + _OFFSETS[row]) >> np.uint64(32)).astype(np.uint32)
    found: NDArray[np.uint32] = np.minimum.reduceat(moved[sets.words], sets.starts[filled])
    return found


def _buckets(signature: NDArray[np.uint32]) -> Iterator[NDArray[np.int64]]:
    """Positions with equal rows, of which there are at least two."""
    order = np.lexsort(signature.T[::-1])
    ordered = signature[order]
    same = np.all(ordered[1:] == ordered[:-1], axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2):
        yield np.sort(order[first : last + 1])
