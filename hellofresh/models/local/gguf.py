"""Scales and minima of four-bit weights, read from a GGUF file.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only what the embedded model's file needs: version 3,
little-endian. A block of type Q4_1 holds 32 weights in 20 bytes: scale d and minimum m (float16), then 32 four-bit
numbers q; a weight is d * q + m.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Blocks", "read_q4_1"]

_ALIGNMENT = 32
_Q4_1 = 3
_BLOCK_BYTES, _BLOCK_WEIGHTS = 20, 32
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a matrix.

    Attributes:
        name: the matrix's name, such as `blk.0.attn_q.weight`.
        scales: d, float16, (rows, blocks a row).
        minima: m, float16, the same shape.
    """

    name: str
    scales: NDArray[np.float16]
    minima: NDArray[np.float16]


class _Reader:
    def __init__(self, content: mmap.mmap) -> None:
        self._content, self.position = content, 0

    def take(self, form: str) -> Any:
        found = struct.unpack_from(f"<{form}", self._content, self.position)
        self.position += struct.calcsize(f"<{form}")
        return found[0] if len(found) == 1 else found

    def text(self) -> str:
        length = self.take("Q")
        self.position += length
        return self._content[self.position - length : self.position].decode()

    def skip_value(self, kind: int) -> None:
        if kind == _STRING:
            self.text()
        elif kind == _ARRAY:
            element, count = self.take("IQ")
            for _ in range(count):
                self.skip_value(element)
        else:
            self.take(_SCALARS[kind])


def read_q4_1(path: Path) -> Iterator[Blocks]:
    """Every matrix of type Q4_1, in the order of the file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        reader = _Reader(content)
        _, _, tensors, values = reader.take("IIQQ")
        for _ in range(values):
            reader.text()
            reader.skip_value(reader.take("I"))
        entries = [_entry(reader) for _ in range(tensors)]
        start = -(-reader.position // _ALIGNMENT) * _ALIGNMENT
        for name, shape, kind, offset in entries:
            if kind == _Q4_1:
                size = prod(shape) // _BLOCK_WEIGHTS * _BLOCK_BYTES
                raw = np.frombuffer(content[start + offset : start + offset + size], dtype=np.uint8)
                heads = raw.reshape(shape[1], -1, _BLOCK_BYTES)[..., :4].copy().view(np.float16)
                yield Blocks(name, heads[..., 0], heads[..., 1])


def _entry(reader: _Reader) -> tuple[str, tuple[int, ...], int, int]:
    """A tensor's name, shape (columns first), type and offset."""
    name = reader.text()
    shape = tuple(reader.take("Q") for _ in range(reader.take("I")))
    kind, offset = reader.take("IQ")
    return name, shape, kind, offset
