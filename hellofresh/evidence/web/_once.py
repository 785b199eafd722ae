"""Doing a thing once, however many ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Once"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """Work in progress by key: who asks for what is being done waits for it. An asker who leaves does not stop it."""

    def __init__(self, work: Callable[[K], Awaitable[V]]) -> None:
        self._work = work
        self._running: dict[K, asyncio.Task[V]] = {}

    async def __call__(self, key: K) -> V:
        """What the work gives."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.ensure_future(self._done(key))
            self._running[key] = task
        return await asyncio.shield(task)

    async def _done(self, key: K) -> V:
        try:
            return await self._work(key)
        finally:
            del self._running[key]

    async def close(self) -> None:
        """Stop what is in progress."""
        for task in list(self._running.values()):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
