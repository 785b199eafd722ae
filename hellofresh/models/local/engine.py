"""A language model's network and its tokens, on OpenVINO's CPU device.

Every number depends only on the chunks of tokens read so far, their order and boundaries: reading always
starts from an explicitly restored state (or an empty one), never from the engine's own cache, at one precision
and with one number of threads. Other boundaries, another number of threads, another processor type or
another version of the engine change the last digits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_tokenizers  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from hellofresh.models.local.converted import DETOKENIZER, NETWORK, TOKENIZER

# The engine unloads a library of operations while objects made by it are still alive at exit, and then crashes;
# a handle that is never closed keeps it loaded.
_KEEP_LOADED = ctypes.CDLL(str(openvino_tokenizers._ext_path))

_BLOCK = 512  # tokens at once: memory of the attention grows with their square


class Tokenizer:
    """Converts texts to tokens and back; text that looks like a control token becomes ordinary tokens."""

    def __init__(self, folder: Path) -> None:
        core = openvino.Core()
        self._encode = core.compile_model(folder / TOKENIZER, "CPU")
        self._decode = core.compile_model(folder / DETOKENIZER, "CPU")

    def encode(self, text: str) -> tuple[int, ...]:
        """The tokens of a text; a half of a surrogate pair becomes a question mark."""
        if not text:
            return ()
        clean = text.encode(errors="replace").decode()
        return tuple(int(token) for token in self._encode([clean])["input_ids"][0])

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return str(self._decode([np.array([tokens], dtype=np.int64)])[0][0]) if tokens else ""


@dataclass(frozen=True, slots=True)
class EngineState:
    """A copy of the network's state after reading.

    Attributes:
        length: tokens read.
        tensors: keys and values of every layer, in the network's order.
    """

    length: int
    tensors: tuple[Any, ...]


class Network:
    """The network with one working memory; not thread-safe.

    Args:
        folder: of the converted network.
        threads: fixed, since it determines the order of sums.
        precision: of all arithmetic and of the kept keys and values.
    """

    def __init__(self, folder: Path, *, threads: int, precision: str) -> None:
        settings: dict[str, Any] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # a thread pinned to a busy core would make the other wait
            "INFERENCE_PRECISION_HINT": precision,
            "KV_CACHE_PRECISION": precision,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        }
        compiled = openvino.Core().compile_model(folder / NETWORK, "CPU", settings)
        self._request = compiled.create_infer_request()
        self._variables = self._request.query_state()
        self._length = 0

    def restore(self, state: EngineState | None) -> None:
        """Restore a state, or the empty one."""
        if state is None:
            self._length = 0
            self._request.reset_state()
            return
        self._length = state.length
        for variable, tensor in zip(self._variables, state.tensors, strict=True):
            variable.state = tensor

    def read(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read at least one token; returns the score of every token in the vocabulary as the next one.

        A long text is read in blocks, so that memory does not grow with the square of its length.
        """
        for start in range(0, len(tokens), _BLOCK):
            block = tokens[start : start + _BLOCK]
            end = self._length + len(block)
            self._request.infer(
                {
                    "input_ids": np.array([block], dtype=np.int64),
                    "attention_mask": np.ones((1, end), dtype=np.int64),
                    "position_ids": np.arange(self._length, end, dtype=np.int64)[None],
                    "beam_idx": np.zeros(1, dtype=np.int32),
                }
            )
            self._length = end
        scores: NDArray[np.float32] = self._request.get_output_tensor(0).data[0, -1].copy()
        return scores

    def state(self) -> EngineState:
        """A copy of the network's current state."""
        tensors = tuple(openvino.Tensor(variable.state.data.copy()) for variable in self._variables)
        return EngineState(self._length, tensors)
