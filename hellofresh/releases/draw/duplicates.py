"""Texts that say almost the same as other texts.

Two texts are near-duplicates where the Jaccard similarity of their sets of shingles (three words in a row, or, of short
texts, single words, in lower case) is at least 0.8. Pairs are proposed by MinHash signatures of 64 values in 16 bands
of 4, which misses a pair at 0.8 with probability (1 - 0.8^4)^16 < 0.0003, and then measured.

A text that must not be kept leaves a sketch: the two lowest bits of each of 256 MinHash values. Nobody can read words
out of it, only find out whether a text at hand is near it. The estimated similarity has a standard error of 0.03.
Source: Broder, On the resemblance and containment of documents (1997); Leskovec, Rajaraman and Ullman, Mining of
Massive Datasets, section 3.4; Li and König, b-Bit Minwise Hashing (2010).
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

JACCARD = 0.8
METHOD = "Jaccard similarity of at least 0.8 of the sets of three words in a row, pairs proposed by MinHash"
_WORDS = re.compile(r"\w+")
_BANDS, _ROWS = 16, 4
_SKETCH = 256
_SKETCH_JACCARD = 0.7
"""At this estimate a similarity of 0.8 is missed with probability 0.0005, and one of 0.5 found with 0.000001."""


def _constants(start: int) -> NDArray[np.uint64]:
    values = [zlib.crc32(b"low%d" % k) | zlib.crc32(b"high%d" % k) << 32 for k in range(start, start + _SKETCH)]
    return np.array(values, dtype=np.uint64)


# Multiply-shift hashing (Dietzfelbinger et al. 1997) needs odd factors; fixed ones give everybody the same pairs.
_FACTORS, _OFFSETS = _constants(0) | np.uint64(1), _constants(1000)


class NearDuplicate(NamedTuple):
    """The most similar earlier sample and how similar it is, from 0.8 to 1."""

    earlier: str
    jaccard: float


def near_duplicates(
    texts: Mapping[str, str], earlier: Mapping[str, str] | Iterable[tuple[str, str]], words: int = 3
) -> dict[str, NearDuplicate]:
    """Which texts are near-duplicates of an earlier one; texts without a word are none.

    Args:
        texts: by id.
        earlier: texts to compare with, by id or each with its id; most are not kept, so that there may be many.
        words: in a shingle; 1 for short texts.

    Returns:
        By id, in the order of `texts`.
    """
    own = {key: shingles for key, text in texts.items() if (shingles := shingle_hashes(text, words)).size}
    bands = {key: tuple(signature_bands(shingles)) for key, shingles in own.items()}
    wanted = {band for found in bands.values() for band in found}
    places: dict[tuple[int, bytes], list[str]] = defaultdict(list)
    known = {}
    for key, text in earlier.items() if isinstance(earlier, Mapping) else earlier:
        shingles = shingle_hashes(text, words)
        for band in wanted.intersection(signature_bands(shingles)):
            places[band].append(key)
            known[key] = shingles
    found = {}
    for key, shingles in own.items():
        proposed = {other for band in bands[key] for other in places.get(band, ())}
        measured = [NearDuplicate(other, shared_part(shingles, known[other])) for other in sorted(proposed)]
        near = [item for item in measured if item.jaccard >= JACCARD]
        if near:
            found[key] = max(near, key=lambda item: item.jaccard)
    return found


def shingle_hashes(text: str, length: int) -> NDArray[np.uint64]:
    """The set of hashes of all shingles; a text of fewer words is one shingle."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    count = max(1, len(words) - length + 1) if words else 0
    hashes = {zlib.crc32(" ".join(words[k : k + length]).encode()) for k in range(count)}
    return np.array(sorted(hashes), dtype=np.uint64)


def _signature(shingles: NDArray[np.uint64], size: int) -> NDArray[np.uint32]:
    hashes = (shingles[:, None] * _FACTORS[:size] + _OFFSETS[:size]) >> np.uint64(32)
    smallest: NDArray[np.uint32] = hashes.min(axis=0).astype(np.uint32)
    return smallest


def signature_bands(shingles: NDArray[np.uint64]) -> Iterator[tuple[int, bytes]]:
    """What two texts must have one of in common to be compared."""
    if shingles.size:
        for number, band in enumerate(_signature(shingles, _BANDS * _ROWS).reshape(_BANDS, _ROWS)):
            yield number, band.tobytes()


def sketch(text: str, words: int) -> str:
    """What a text leaves by which near-equal ones are found later, in hexadecimal; empty for one without a word."""
    shingles = shingle_hashes(text, words)
    if not shingles.size:
        return ""
    bits = _signature(shingles, _SKETCH)[:, None] >> np.array([0, 1], np.uint32) & np.uint32(1)
    return np.packbits(bits.astype(np.uint8)).tobytes().hex()


def near_sketches(texts: Mapping[str, str], sketches: Iterable[str], words: int) -> set[str]:
    """Which texts, by id, are near-equal to one that left a sketch made with as many words."""
    kept = np.array([np.frombuffer(bytes.fromhex(item), np.uint8) for item in sketches if item], dtype=np.uint8)
    own = {key: made for key, text in texts.items() if kept.size and (made := sketch(text, words))}
    found = set()
    for key, made in own.items():
        different = np.unpackbits(kept ^ np.frombuffer(bytes.fromhex(made), np.uint8), axis=1)
        equal = 1 - different.reshape(len(kept), _SKETCH, 2).any(axis=2).mean(axis=1)
        # Two bits are equal by chance in a quarter of the values.
        if ((equal - 0.25) / 0.75).max() >= _SKETCH_JACCARD:
            found.add(key)
    return found


def shared_part(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> float:
    """Jaccard similarity of two sets of hashes, 0 to 1."""
    shared = np.intersect1d(one, two, assume_unique=True).size
    return float(shared / (one.size + two.size - shared))
