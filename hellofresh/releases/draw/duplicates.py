"""Detection of near-duplicate texts.

Two texts are near-duplicates if the Jaccard similarity of their sets of shingles (three words in a row, or single
words for short texts, in lower case) is at least 0.8. Candidate pairs come from MinHash signatures of 64 values in 16
bands of 4, which miss a pair at 0.8 with probability (1 - 0.8^4)^16 < 0.0003; then their exact similarity is computed.

Of a text that must not be kept, a sketch is stored: the two lowest bits of each of 256 MinHash values. It does not
reveal words, but shows whether a given text is near. The estimated similarity has a standard error of 0.03.
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

JACCARD = 0.8  # copies with a changed name or number stay above, texts on one subject below
METHOD = "Jaccard similarity of at least 0.8 of the sets of three words in a row, pairs proposed by MinHash"
_WORDS = re.compile(r"\w+")
_BANDS, _ROWS = 16, 4  # propose 99.9% of pairs of similarity 0.8, and 64% of those of 0.5
_SKETCH = 256  # bits, of which the error is measured below
# With this threshold a similarity of 0.8 is missed with probability 0.0005, and one of 0.5 accepted with 0.000001.
_SKETCH_JACCARD = 0.7


def _constants(start: int) -> NDArray[np.uint64]:
    values = [zlib.crc32(b"low%d" % k) | zlib.crc32(b"high%d" % k) << 32 for k in range(start, start + _SKETCH)]
    return np.array(values, dtype=np.uint64)


# Multiply-shift hashing (Dietzfelbinger et al. 1997) needs odd factors; they are fixed for reproducible pairs.
_FACTORS, _OFFSETS = _constants(0) | np.uint64(1), _constants(1000)


class NearDuplicate(NamedTuple):
    """The most similar earlier sample and its similarity, from 0.8 to 1."""

    earlier: str
    jaccard: float


def near_duplicates(
    texts: Mapping[str, str], earlier: Mapping[str, str] | Iterable[tuple[str, str]], words: int = 3
) -> dict[str, NearDuplicate]:
    """Find the texts that are near-duplicates of an earlier one; texts without words are not compared.

    Args:
        texts: by id.
        earlier: texts to compare with, by id or as pairs of id and text; they are streamed, so there may be many.
        words: words in a shingle; 1 for short texts.

    Returns:
        The near-duplicate of each such text by its id, in the order of `texts`.
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
    """The set of hashes of all shingles; a text with fewer words than `length` is one shingle."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    count = max(1, len(words) - length + 1) if words else 0
    hashes = {zlib.crc32(" ".join(words[k : k + length]).encode()) for k in range(count)}
    return np.array(sorted(hashes), dtype=np.uint64)


def _signature(shingles: NDArray[np.uint64], size: int) -> NDArray[np.uint32]:
    hashes = (shingles[:, None] * _FACTORS[:size] + _OFFSETS[:size]) >> np.uint64(32)
    smallest: NDArray[np.uint32] = hashes.min(axis=0).astype(np.uint32)
    return smallest


def signature_bands(shingles: NDArray[np.uint64]) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each band of the signature; texts are compared if they share one."""
    if shingles.size:
        for number, band in enumerate(_signature(shingles, _BANDS * _ROWS).reshape(_BANDS, _ROWS)):
            yield number, band.tobytes()


def sketch(text: str, words: int) -> str:
    """The sketch of a text, in hexadecimal; empty for a text without words."""
    shingles = shingle_hashes(text, words)
    if not shingles.size:
        return ""
    bits = _signature(shingles, _SKETCH)[:, None] >> np.array([0, 1], np.uint32) & np.uint32(1)
    return np.packbits(bits.astype(np.uint8)).tobytes().hex()


def near_sketches(texts: Mapping[str, str], sketches: Iterable[str], words: int) -> set[str]:
    """Ids of the texts that are near a sketch that was made with the same `words`."""
    kept = np.array([np.frombuffer(bytes.fromhex(item), np.uint8) for item in sketches if item], dtype=np.uint8)
    own = {key: made for key, text in texts.items() if kept.size and (made := sketch(text, words))}
    found = set()
    for key, made in own.items():
        different = np.unpackbits(kept ^ np.frombuffer(bytes.fromhex(made), np.uint8), axis=1)
        equal = 1 - different.reshape(len(kept), _SKETCH, 2).any(axis=2).mean(axis=1)
        # By chance, two bits are equal in a quarter of the values.
        if ((equal - 0.25) / 0.75).max() >= _SKETCH_JACCARD:
            found.add(key)
    return found


def shared_part(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> float:
    """Jaccard similarity of two sets of hashes, 0 to 1."""
    shared = np.intersect1d(one, two, assume_unique=True).size
    return float(shared / (one.size + two.size - shared))
