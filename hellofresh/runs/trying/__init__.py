"""The page Try: it takes a post, shows each step as it happens, and then the response with its evidence.

Each post is one `hellofresh respond` in its own process; input becomes arguments, never a shell command.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import secrets
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from aiohttp import web

from hellofresh.core.children import python_command
from hellofresh.core.errors import UsageError
from hellofresh.core.files import BadJsonError, as_model, sha256_text, strict_json
from hellofresh.core.net.local_site import LocalSite, one_file_page, same_token
from hellofresh.core.strict import Strict

MOST_CHARACTERS = 20_000
_MOST_PICTURES, _MOST_BYTES = 4, 30 * 2**20  # as many as a post has
_MOST_LINE = 2**24  # a line of JSON has the whole response with its evidence
_STEP = "step: "
_KILL_AFTER_S = 5.0  # a program that ignores SIGTERM must not outlive the page
_LAST_WORDS = 5  # an error stands at the end, after warnings of libraries


class TriedPost(Strict):
    """The user's input: a post, its date (empty for now), a model (empty for the default), pictures in Base64."""

    text: str
    date: str = ""
    model: str = ""
    pictures: list[str] = []  # noqa: RUF012 - pydantic copies it


@dataclass(slots=True)
class TryPage:
    """The page and its command; choices on the page precede the options of every command.

    `model` is the page's default model.
    """

    options: Sequence[str]
    port: int
    program: Sequence[str] = tuple(python_command("hellofresh", "respond"))
    model: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _asked: set[str] = field(default_factory=set)

    def site(self) -> LocalSite:
        """The site, reachable from this machine only."""
        return LocalSite(
            lambda token: same_token(token, self.token),
            self._page,
            {"/ask": self._ask},
            port=self.port,
            most_bytes=_MOST_BYTES,
        )

    async def _page(self, _: web.Request, __: str) -> web.StreamResponse:
        return web.Response(text=one_file_page(__package__, model=escape(self.model)), content_type="text/html")

    async def _ask(self, request: web.Request, _: str) -> web.StreamResponse:
        body = await request.read()
        try:
            post = as_model(TriedPost, strict_json(body), where="the post", error=UsageError)
        except BadJsonError as error:
            raise UsageError(f"not JSON: {error}", code="bad-json") from None
        same = sha256_text(body.decode("utf-8", "replace"))
        if same in self._asked:
            raise UsageError("This post is being answered already. Wait for it, or stop it there.", code="closed")
        self._asked.add(same)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            with tempfile.TemporaryDirectory() as folder:
                arguments = self.arguments(post, Path(folder))
                await response.prepare(request)
                async for event in _events([*self.program, *arguments]):
                    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        finally:
            self._asked.discard(same)
        return response

    def arguments(self, post: TriedPost, folder: Path) -> list[str]:
        """The command's arguments; pictures are written to `folder`.

        Raises:
            UsageError: if a picture is not Base64.
        """
        found = [*self.options, "--json", f"--text={post.text[:MOST_CHARACTERS]}"]
        found += [f"--date={post.date}"] if post.date else []
        found += [f"--model={post.model}"] if post.model else []
        for number, content in enumerate(post.pictures[:_MOST_PICTURES], start=1):
            path = folder / f"picture-{number}"
            try:
                path.write_bytes(base64.b64decode(content, validate=True))
            except (binascii.Error, ValueError):
                raise UsageError(f"picture {number} is not Base64", code="bad-picture") from None
            found.append(f"--image={path}")
        # Arguments cannot contain null characters or unpaired surrogates.
        return [argument.replace("\0", "").encode("utf-8", "replace").decode() for argument in found]


async def _events(command: Sequence[str]) -> AsyncIterator[dict[str, object]]:
    """Each step of the command, then its result or error; closing the iterator ends the command."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, limit=_MOST_LINE
    )
    assert process.stdout is not None and process.stderr is not None
    printed = asyncio.create_task(process.stdout.read())
    others: list[str] = []
    try:
        async for raw in process.stderr:
            line = raw.decode("utf-8", "replace").strip()
            if line.startswith(_STEP):
                yield {"step": line.removeprefix(_STEP)}
            elif line:
                others.append(line)
        try:
            result = json.loads(await printed)
        except ValueError:
            result = None
        code = await process.wait()
        if code == 0 and isinstance(result, dict):
            yield {"result": result}
        else:
            yield {"fault": "\n".join(others[-_LAST_WORDS:]) or f"The command ended with status {code}."}
    finally:
        await _end(process)
        printed.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command of a visitor who has left; its answers so far are kept."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_KILL_AFTER_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
