"""Vectors of many texts, kept in blocks on disk: an encoding that is interrupted goes on, and no text is read twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.files import atomic_path, canonical_json, sha256_text
from hellofresh.evidence.retrieval.encoders import Encoder

_BLOCK = 128


def stored_vectors(
    encoder: Encoder, texts: Sequence[str], folder: Path, progress: Callable[[str], None] = lambda line: None
) -> dict[str, NDArray[np.float64]]:
    """The vector of each text, by text.

    Args:
        encoder: makes the vectors.
        texts: in any order, also twice.
        folder: holds blocks of vectors, each named by the hash of encoder and texts.
        progress: told after every block.
    """
    unique = sorted(set(texts))
    found: dict[str, NDArray[np.float64]] = {}
    for start in range(0, len(unique), _BLOCK):
        block = unique[start : start + _BLOCK]
        path = folder / f"{sha256_text(canonical_json([dict(encoder.parameters), block]))[:32]}.npy"
        if not path.is_file():
            vectors = encoder.passages(block)
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                np.save(file, vectors)
        found |= dict(zip(block, np.load(path, allow_pickle=False).astype(np.float64), strict=True))
        progress(f"vectors of {len(found):,} of {len(unique):,} texts")
    return found
