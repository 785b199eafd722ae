"""Worker processes that parse untrusted content: a hostile page can crash only its own worker.

What one request may cost is counted in the worker's own CPU time, so that a page gives the same on a busy machine as
on a quiet one. Wall time ends only a worker that hangs without computing, and then the run, not the page.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, Literal, TypeVar

from hellofresh.core.children import plain_environment, python_command
from hellofresh.core.errors import RunError
from hellofresh.core.files import as_model
from hellofresh.evidence.web.text import MainText

Job = Literal["trafilatura", "beautifulsoup", "addresses", "robots", "picture"]

_LONGEST_REPLY = 64 << 20  # bytes; a broken worker must not fill the memory of this process
_HUNG_S = 600.0  # workers limit their own processor time: one that computes nothing for this long is stuck
_OVER_TIME = -getattr(signal, "SIGPROF", 27)  # the status of a process that its timer of processor time has ended


class WorkerError(Exception):
    """Raised for a request without a reply, with the reason."""


class Workers:
    """A pool of processes for one job, started on demand.

    Args:
        job: what they do, see `hellofresh.evidence.web._worker`.
        cpu_s: CPU seconds that one request may take.
        at_once: most processes.
    """

    def __init__(self, job: Job, *, cpu_s: float = 10.0, at_once: int = 2) -> None:
        self._job, self._cpu_s = job, cpu_s
        self._turn = asyncio.Semaphore(at_once)
        self.idle: list[asyncio.subprocess.Process] = []

    async def ask(self, body: bytes, about: str) -> dict[str, object]:
        """Have a worker read `body`; `about` says more of it (a content type, a URL, or nothing).

        Raises:
            WorkerError: if it takes too much time or memory, or breaks the worker.
            RunError: if the worker hangs.
        """
        async with self._turn:
            worker = await self._worker()
            try:
                async with asyncio.timeout(_HUNG_S):
                    assert worker.stdin is not None and worker.stdout is not None
                    worker.stdin.write(json.dumps({"length": len(body), "about": about}).encode() + b"\n" + body)
                    await worker.stdin.drain()
                    # A worker that ended leaves an empty line, which is not JSON.
                    reply: dict[str, object] = json.loads(await worker.stdout.readline())
            except TimeoutError:
                raise RunError(
                    f"a worker process ({self._job}) hangs without computing",
                    fix="Earlier results are kept: run the same command again to resume.",
                    code="worker-hangs",
                ) from None
            except (OSError, ValueError):
                await _stop(worker)
                is_over = worker.returncode == _OVER_TIME
                raise WorkerError(f"over {self._cpu_s:g} s of CPU time" if is_over else "the reader broke") from None
            else:
                self.idle.append(worker)
                return reply
            finally:
                if worker not in self.idle:
                    await _stop(worker)

    async def _worker(self) -> asyncio.subprocess.Process:
        while self.idle:
            worker = self.idle.pop()
            if worker.returncode is None:
                return worker
        return await asyncio.create_subprocess_exec(
            *python_command("hellofresh.evidence.web._worker", self._job, str(self._cpu_s)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=plain_environment(),
            limit=_LONGEST_REPLY,
            # An interrupt at the terminal is for the run; a worker that it killed would look like a page without text.
            start_new_session=True,
        )

    async def close(self) -> None:
        while self.idle:
            await _stop(self.idle.pop())


async def _stop(worker: asyncio.subprocess.Process) -> None:
    """Kill the worker, unless it has closed its output: then it is ending, and its exit status says why."""
    if worker.stdout is not None and not worker.stdout.at_eof():
        with suppress(ProcessLookupError):
            worker.kill()
    if worker.stdin is not None:
        worker.stdin.close()
        with suppress(OSError):
            await worker.stdin.wait_closed()
    await worker.wait()


class Extraction(Workers):
    """Extracts main texts outside the event loop, a few pages at once."""

    async def main_text(self, body: bytes, content_type: str) -> MainText:
        """Title and main text.

        Raises:
            WorkerError: if it takes too much time or memory, or breaks the worker.
            RunError: if the worker hangs.
        """
        return as_model(MainText, await self.ask(body, content_type), where="the extractor")


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """Work in progress by key: a second request waits for the first. Cancelling a request does not stop the work."""

    def __init__(self, work: Callable[[K], Awaitable[V]]) -> None:
        self._work = work
        self._running: dict[K, asyncio.Task[V]] = {}

    async def __call__(self, key: K) -> V:
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
        for task in list(self._running.values()):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
