"""A language model's network and its tokens, on OpenVINO's CPU device.

Every number is a function of the chunks of tokens read so far, in their order and as they were cut: reading always
starts from a state put back by hand (or from none), never from what the engine happens to have kept, at one precision
and with one number of threads. Cutting the same tokens elsewhere, another number of threads, another processor type or
another version of the engine changes last digits.
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

_BLOCK = 512


class Tokenizer:
    """Texts to tokens and back. A text is only ever text: what looks like a control token becomes ordinary tokens."""

    def __init__(self, folder: Path) -> None:
        core = openvino.Core()
        self._encode = core.compile_model(folder / TOKENIZER, "CPU")
        self._decode = core.compile_model(folder / DETOKENIZER, "CPU")

    def encode(self, text: str) -> tuple[int, ...]:
        """The tokens of a text by itself; a half of a surrogate pair becomes a question mark."""
        if not text:
            return ()
        clean = text.encode(errors="replace").decode()
        return tuple(int(token) for token in self._encode([clean])["input_ids"][0])

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return str(self._decode([np.array([tokens], dtype=np.int64)])[0][0]) if tokens else ""


@dataclass(frozen=True, slots=True)
class EngineState:
    """What the network knows after reading: a copy that nothing overwrites.

    Attributes:
        length: tokens read.
        tensors: keys and values of every layer, in the network's order.
    """

    length: int
    tensors: tuple[Any, ...]


class Network:
    """The network with one working memory; not for two threads at once.

    Args:
        folder: of the converted network.
        threads: fixed, since it decides in which order numbers are added.
        precision: of all arithmetic and of the kept keys and values.
    """

    def __init__(self, folder: Path, *, threads: int, precision: str) -> None:
        settings: dict[str, Any] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # a thread bound to a core that others use makes the other thread wait
            "INFERENCE_PRECISION_HINT": precision,
            "KV_CACHE_PRECISION": precision,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        }
        compiled = openvino.Core().compile_model(folder / NETWORK, "CPU", settings)
        self._request = compiled.create_infer_request()
        self._variables = self._request.query_state()
        self._length = 0

    def restore(self, state: EngineState | None) -> None:
        """Go back to a state, or to where nothing was read."""
        if state is None:
            self._length = 0
            self._request.reset_state()
            return
        self._length = state.length
        for variable, tensor in zip(self._variables, state.tensors, strict=True):
            variable.state = tensor

    def read(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read at least one token; returns the score of every token of the vocabulary to come next.

        A long text is read a block at a time, so that memory does not grow with the square of its length.
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
        """A copy of where the network is now."""
        tensors = tuple(openvino.Tensor(variable.state.data.copy()) for variable in self._variables)
        return EngineState(self._length, tensors)
