"""Main texts by worker processes, which are stopped where a page takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from hellofresh.web.text import Extractor, MainText

__all__ = ["Extraction", "ExtractionError"]

_LONGEST_ANSWER = 64 << 20
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


class ExtractionError(Exception):
    """No text could be taken out; says why."""


class Extraction:
    """Takes out main texts off the event loop, a few pages at once."""

    def __init__(self, extractor: Extractor, *, limit_s: float = 10.0, at_once: int = 2) -> None:
        self._extractor = extractor
        self._limit_s = limit_s
        self._turn = asyncio.Semaphore(at_once)
        self._idle: list[asyncio.subprocess.Process] = []

    async def main_text(self, body: bytes, content_type: str) -> MainText:
        """Title and main text.

        Raises:
            ExtractionError: if it takes too long, too much memory, or breaks the worker.
        """
        async with self._turn:
            worker = await self._worker()
            try:
                async with asyncio.timeout(self._limit_s):
                    found = await self._ask(worker, body, content_type)
            except TimeoutError:
                raise ExtractionError(f"no text could be taken out in {self._limit_s:g} s") from None
            except (OSError, ValueError, EOFError) as error:
                raise ExtractionError("no text could be taken out") from error
            else:
                self._idle.append(worker)
                return found
            finally:
                if worker not in self._idle:
                    await _stop(worker)

    async def _worker(self) -> asyncio.subprocess.Process:
        while self._idle:
            worker = self._idle.pop()
            if worker.returncode is None:
                return worker
        return await _start()

    async def _ask(self, worker: asyncio.subprocess.Process, body: bytes, content_type: str) -> MainText:
        assert worker.stdin is not None and worker.stdout is not None
        asked = {"length": len(body), "content_type": content_type, "extractor": self._extractor}
        worker.stdin.write(json.dumps(asked).encode() + b"\n" + body)
        await worker.stdin.drain()
        line = await worker.stdout.readline()
        if not line:
            raise EOFError
        found = json.loads(line)
        return MainText(found["title"], found["text"])

    async def close(self) -> None:
        """Stop the workers."""
        while self._idle:
            await _stop(self._idle.pop())


async def _start() -> asyncio.subprocess.Process:
    # The worker must run this very code, wherever the current folder is.
    paths = [str(_PACKAGE_PARENT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hellofresh.web._worker",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, limit=_LONGEST_ANSWER,
        # An interrupt at the terminal is for the run; a worker that it killed would look like a page without a text.
        start_new_session=True,
    )  # fmt: skip


async def _stop(worker: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        worker.kill()
    if worker.stdin is not None:
        worker.stdin.close()
        with suppress(OSError):
            await worker.stdin.wait_closed()
    await worker.wait()
