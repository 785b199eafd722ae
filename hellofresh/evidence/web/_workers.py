"""Processes that read what strangers wrote: a hostile page can cost one its life, and nobody else's.

What one request may cost is counted in the worker's own CPU time, so that a page gives the same on a busy machine as
on a quiet one. Wall time ends only a worker that hangs without computing, and then the run, not the page.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

from hellofresh.core.errors import RunError

__all__ = ["Job", "WorkerError", "Workers"]

Job = Literal["trafilatura", "beautifulsoup", "robots", "picture"]

_LONGEST_REPLY = 64 << 20
_HUNG_S = 600.0
_PACKAGE_PARENT = Path(__file__).resolve().parents[3]
_OVER_TIME = -getattr(signal, "SIGPROF", 27)


class WorkerError(Exception):
    """A request that brought no reply; says why."""


class Workers:
    """A few processes that all do one job, started when they are needed.

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
                    reply = await _exchange(worker, body, about)
            except TimeoutError:
                raise _hung(self._job) from None
            except (OSError, ValueError, EOFError):
                raise WorkerError(await self._reason(worker)) from None
            else:
                self.idle.append(worker)
                return reply
            finally:
                if worker not in self.idle:
                    await _stop(worker)

    async def _reason(self, worker: asyncio.subprocess.Process) -> str:
        await _stop(worker)
        return f"over {self._cpu_s:g} s of CPU time" if worker.returncode == _OVER_TIME else "the reader broke"

    async def _worker(self) -> asyncio.subprocess.Process:
        while self.idle:
            worker = self.idle.pop()
            if worker.returncode is None:
                return worker
        return await _start(self._job, self._cpu_s)

    async def close(self) -> None:
        """Stop the workers."""
        while self.idle:
            await _stop(self.idle.pop())


async def _exchange(worker: asyncio.subprocess.Process, body: bytes, about: str) -> dict[str, object]:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps({"length": len(body), "about": about}).encode() + b"\n" + body)
    await worker.stdin.drain()
    line = await worker.stdout.readline()
    if not line:
        raise EOFError
    reply: dict[str, object] = json.loads(line)
    return reply


async def _start(job: Job, cpu_s: float) -> asyncio.subprocess.Process:
    # The worker must run this very code, wherever the current folder is.
    paths = [str(_PACKAGE_PARENT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hellofresh.evidence.web._worker", job, str(cpu_s),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, limit=_LONGEST_REPLY,
        # An interrupt at the terminal is for the run; a worker that it killed would look like a page without a text.
        start_new_session=True,
    )  # fmt: skip


async def _stop(worker: asyncio.subprocess.Process) -> None:
    """End the worker; one that has closed its output is dying, and says by its end why."""
    if worker.stdout is not None and not worker.stdout.at_eof():
        with suppress(ProcessLookupError):
            worker.kill()
    if worker.stdin is not None:
        worker.stdin.close()
        with suppress(OSError):
            await worker.stdin.wait_closed()
    await worker.wait()


def _hung(job: Job) -> RunError:
    return RunError(
        f"a worker process ({job}) hangs without computing",
        fix="Earlier results are kept: run the same command again to resume.",
        code="worker-hangs",
    )
