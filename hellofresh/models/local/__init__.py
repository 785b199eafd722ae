"""Language models in this process: the embedded one, and those in folders of weights."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.systems import ModelFacts
from hellofresh.models import Answer, ModelSpec, Request

LOCAL_FOLDER = "local-hf:"
"""Prefix of the folder of a model that transformers loads."""
SMOLLM2 = ModelFacts(maker="Hugging Face", weights="open", size_billions=0.135, released="2024-10")
"""Facts on the embedded model, by its card and its first day on the hub."""
L = TypeVar("L")


class LocalModel(ABC, Generic[L]):
    """A model in this process that answers one request at a time and loads its weights at the first one."""

    spec: ModelSpec

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: L | None = None

    async def ask(self, request: Request) -> Answer:
        """Answer one request without blocking the event loop.

        Raises:
            UsageError: if the request has a temperature, or the weights are not the expected ones.
            DataError, WorkspaceError: if the weights cannot be loaded, or the cache folder cannot be written.
            RunError: if the request is longer than the model's context.
        """
        return await asyncio.to_thread(self._ask, request)

    async def close(self) -> None:
        """Release the weights; a later request loads them again."""
        await asyncio.to_thread(self._drop)

    def _ask(self, request: Request) -> Answer:
        if request.temperature:
            raise UsageError(
                f"temperature {request.temperature}",
                where=self.spec.name,
                expected="0: it gives its likeliest answer only",
                code="unsupported-temperature",
            )
        with self._lock:  # a cancelled request still runs to its end in its thread
            if self._loaded is None:
                self._loaded = self.load()
            return self.answer(self._loaded, request)

    def _drop(self) -> None:
        with self._lock:
            self._loaded = None

    @abstractmethod
    def load(self) -> L:
        """Load the weights."""

    @abstractmethod
    def answer(self, loaded: L, request: Request) -> Answer:
        """Answer a request; takes seconds."""


def check_length(length: int, request: Request, most: int, where: str) -> None:
    """Check that a request of `length` tokens and its answer fit into a model's context.

    Raises:
        RunError: if they do not.
    """
    if length + request.max_tokens > most:
        raise RunError(
            f"a request of {length} tokens and an answer of up to {request.max_tokens}",
            where=where,
            expected=f"at most {most} tokens together",
            fix="Shorten what the prompt shows, or ask a model with a longer context.",
            code="context-length",
        )
