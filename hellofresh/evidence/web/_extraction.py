"""Main texts by worker processes, which are stopped where a page takes too much CPU time."""

from __future__ import annotations

from hellofresh.core.files import as_model
from hellofresh.evidence.web._workers import WorkerError, Workers
from hellofresh.evidence.web.text import Extractor, MainText

__all__ = ["Extraction", "ExtractionError"]


class ExtractionError(Exception):
    """No text could be taken out; says why."""


class Extraction:
    """Takes out main texts off the event loop, a few pages at once.

    Args:
        extractor: how.
        cpu_s: CPU seconds that one page may take.
        at_once: most pages at once.
    """

    def __init__(self, extractor: Extractor, *, cpu_s: float = 10.0, at_once: int = 2) -> None:
        self.workers = Workers(extractor, cpu_s=cpu_s, at_once=at_once)

    async def main_text(self, body: bytes, content_type: str) -> MainText:
        """Title and main text.

        Raises:
            ExtractionError: if it takes too much time or memory, or breaks the worker.
        """
        try:
            found = await self.workers.ask(body, content_type)
        except WorkerError as error:
            raise ExtractionError(f"no text could be extracted ({error})") from None
        return as_model(MainText, found, where="the extractor")

    async def close(self) -> None:
        """Stop the workers."""
        await self.workers.close()
