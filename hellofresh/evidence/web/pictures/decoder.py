"""Decoding pictures in worker processes: a hostile one can cost a worker its life, and nobody else's."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from importlib.util import find_spec

from pydantic import PositiveInt, ValidationError

from hellofresh.core.errors import UsageError
from hellofresh.core.strict import Strict
from hellofresh.evidence.web._workers import WorkerError, Workers
from hellofresh.tasks.images import Image


class PictureError(Exception):
    """A picture that is not looked at; says why."""


class _Reply(Strict):
    """What a worker says of a picture: its size and content in base 64, or what is wrong with it."""

    problem: str = ""
    width: PositiveInt = 1
    height: PositiveInt = 1
    content: str = ""


class PictureDecoder:
    """Decodes pictures off the event loop, a few at once.

    Args:
        cpu_s: CPU seconds that one picture may take.
        at_once: most pictures at once.

    Raises:
        UsageError: if Pillow is not installed.
    """

    def __init__(self, *, cpu_s: float = 10.0, at_once: int = 2) -> None:
        if find_spec("PIL") is None:
            raise UsageError("pictures need Pillow", fix="Install hellofresh[web].", code="missing-extra")
        self._workers = Workers("picture", cpu_s=cpu_s, at_once=at_once)

    async def decode(self, content: bytes, address: str = "") -> Image:
        """A picture as a model may be shown it: written again as JPEG, without metadata, at most 1,568 pixels a side.

        Raises:
            PictureError: if it is not a JPEG, PNG, WebP or GIF, is over a limit or broken.
            RunError: if a worker hangs.
        """
        try:
            reply = _Reply.model_validate(await self._workers.ask(content, ""))
            written = base64.b64decode(reply.content, validate=True)
        except WorkerError as error:
            raise PictureError(str(error)) from None
        except (ValidationError, binascii.Error):
            raise PictureError("the decoder broke") from None
        if reply.problem or not written:
            raise PictureError(reply.problem or "the decoder broke")
        return Image("image/jpeg", hashlib.sha256(written).hexdigest(), reply.width, reply.height, written, address)

    async def close(self) -> None:
        """Stop the workers."""
        await self._workers.close()


def decode_now(content: bytes) -> Image:
    """Decode one picture, such as a file of the user's, where no event loop runs.

    Raises:
        PictureError, RunError, UsageError: as `PictureDecoder`.
    """

    async def once() -> Image:
        decoder = PictureDecoder(at_once=1)
        try:
            return await decoder.decode(content)
        finally:
            await decoder.close()

    return asyncio.run(once())
