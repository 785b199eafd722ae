"""Leaving out the lines about other notes before they are parsed: of 20 million ratings a quarter needs a few.

The tables that name a note in their first column begin each line with its id and a tab. Twenty bytes are looked at as
parts of three machine words, for all lines of a block at once. That takes a sixth of the time of reading the first
column with polars and filtering it, and a thirteenth of looking the ids up in a set (`benchmarks/replacements.py
sieve`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from collectors.notes.dump.lines import Places

__all__ = ["SHORTEST_LINE", "Sieve", "SiftedLines"]

SHORTEST_LINE = 20
"""Bytes that every line must have, its newline included."""

_TAKEN = 24  # bytes taken from the beginning of each line, of which the last four do not count
_SMALLEST = 10**18  # number of 19 digits, as every note's id has; one that does not begin with a 9 is below 2 ** 63
_MASKS = (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF)  # of three machine words, 19 digits and the tab
_ZEROS = (0x3030303030303030, 0x3030303030303030, 0x09303030)  # the last byte is the tab
_ABOVE = (0x7676767676767676, 0x7676767676767676, 0x7F767676)  # carries into the high bit what is above 9
_HIGH_BITS = 0x8080808080808080
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
_FEWEST_BITS, _MOST_BITS = 16, 24

_Array = np.ndarray[tuple[int], np.dtype[Any]]


class SiftedLines(NamedTuple):
    """Lines of a block and their places among its lines, counted from 0."""

    content: bytes
    places: Places


class Sieve:
    """Lets through the lines about some notes, a few others by chance, and every line with an unusual id.

    Args:
        ids: the notes.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        usual = [f"{number}\t    " for number in ids if _SMALLEST <= number < 10 * _SMALLEST]
        bits = min(max(len(usual).bit_length() + 7, _FEWEST_BITS), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._wanted = np.zeros(1 << bits, np.bool_)
        if usual:
            starts = np.arange(len(usual)) * _TAKEN
            self._wanted[self._buckets(_words_at("".join(usual).encode(), starts))] = True

    def passed(self, block: bytes | memoryview, ends: Places) -> SiftedLines | None:
        """The lines of the block that may be about the notes; None if they are too many to be worth taking out.

        Args:
            block: ASCII, whole lines of at least `SHORTEST_LINE` bytes.
            ends: places of all newlines.
        """
        starts = np.empty_like(ends)
        starts[0], starts[1:] = 0, ends[:-1] + 1
        words = _words_at(block, starts)
        chosen = np.flatnonzero(self._wanted[self._buckets(words)] | ~_usual(words))
        if len(chosen) * 4 > len(ends):
            return None
        lines = zip(starts[chosen].tolist(), (ends[chosen] + 1).tolist(), strict=True)
        return SiftedLines(b"".join([block[start:end] for start, end in lines]), chosen)

    def _buckets(self, words: list[_Array]) -> _Array:
        """Places in the table: equal words have equal places."""
        mixed = sum(word * np.uint64(factor) for word, factor in zip(words, _FACTORS, strict=True))
        return np.asarray(mixed >> self._shift).view(np.int64)


def _words_at(block: bytes | memoryview, starts: _Array) -> list[_Array]:
    if len(block) < starts[-1] + _TAKEN:
        block = bytes(block).ljust(int(starts[-1]) + _TAKEN)
    every = np.ndarray((len(block) - _TAKEN + 1,), f"V{_TAKEN}", block, strides=(1,))
    words = every[starts].view("<u8").reshape(-1, len(_MASKS))
    return [words[:, place] & np.uint64(mask) for place, mask in enumerate(_MASKS)]


def _usual(words: list[_Array]) -> _Array:
    """True where the words are 19 digits, the first neither 0 nor 9, and a tab."""
    bad = np.zeros(len(words[0]), np.uint64)
    for word, zeros, above in zip(words, _ZEROS, _ABOVE, strict=True):
        values = word ^ np.uint64(zeros)
        bad |= (values + np.uint64(above)) | values
    first = (words[0] & np.uint64(0xFF)) - np.uint64(ord("1"))  # wraps around for what is below
    return np.asarray(((bad & np.uint64(_HIGH_BITS)) == 0) & (first < 8))
