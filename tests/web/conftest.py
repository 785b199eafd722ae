"""A web server on this machine that does what a test says, and a transport that counts the sockets it opens."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver

from hellofresh.core.net.public import PublicHttp
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.fetch import PageFetcher, PageLimits
from hellofresh.evidence.web.pictures import picture_fetcher
from hellofresh.evidence.web.store import StoredWeb, WebStore

PUBLIC = "93.184.215.14"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Answer = bytes | Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def reply(
    body: bytes = b"", *, status: int = 200, kind: str | None = "text/html; charset=utf-8", **headers: str
) -> bytes:
    """The bytes of a response; `_` in names of headers stands for `-`."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    if "Content-Length" not in given and "Transfer-Encoding" not in given:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def dripping(start: bytes = b"", piece: bytes = b"a", pause_s: float = 0.0) -> Answer:
    """Sends a start, and then a piece over and over until the reader hangs up."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


@dataclass
class Site:
    """A server that answers by path (without the query); other paths are 404.

    Attributes:
        pages: answers by path; a list is given one after the other, its last one for good.
        requests: all that came.
    """

    pages: dict[str, Answer | list[Answer]]
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    _handling: set[asyncio.Future[None]] = field(default_factory=set)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> tuple[str, int]:
        return ("127.0.0.1", self.port)

    def asked(self, path: str) -> int:
        return sum(request.target.partition("?")[0] == path for request in self.requests)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Site]:
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in list(self._handling):
                task.cancel()
            await asyncio.gather(*self._handling, return_exceptions=True)
            await server.wait_closed()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answered(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Request(method, target, headers, body)
            self.requests.append(request)
            answer = self.pages.get(target.partition("?")[0], reply(b"no such page", status=404))
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(request, writer)


class Names(AbstractResolver):
    """Resolves names as told, each answer once and the last one for good; other names do not exist."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {name: [list(each) for each in told] for name, told in answers.items()}

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[Any]:
        told = self._answers.get(host)
        if told is None:
            raise OSError("no such name")
        addresses = told.pop(0) if len(told) > 1 else told[0]
        return [
            {
                "hostname": host, "host": address, "port": port, "proto": 0, "flags": 0,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
            }
            for address in addresses
        ]  # fmt: skip

    async def close(self) -> None:
        """Nothing is held."""


class FailingNames(AbstractResolver):
    """Fails as without a network (`EAI_AGAIN`), or knows of no host (`EAI_NONAME`)."""

    def __init__(self, errno: int) -> None:
        self._errno = errno

    async def resolve(self, host: str, *_: object, **__: object) -> list[Any]:
        raise socket.gaierror(self._errno, host)

    async def close(self) -> None:
        """Nothing is held."""


class Sockets:
    """Makes sockets, and remembers where to; all of them end at one server, wherever they were meant to go."""

    def __init__(self, port: int) -> None:
        self.opened: list[str] = []
        self._port = port

    def __call__(self, info: tuple[Any, ...]) -> socket.socket:
        self.opened.append(info[4][0])
        port = self._port

        class Detour(socket.socket):
            def connect(self, _: object) -> None:
                super().connect(("127.0.0.1", port))

        return Detour(socket.AF_INET, socket.SOCK_STREAM)


def fetcher(site: Site, **limits: Any) -> PageFetcher:
    """A fetcher that may reach the site and nothing else inside, and pauses for nobody."""
    transport = PublicHttp("hellofresh/test", allowed=frozenset({site.endpoint}))
    return PageFetcher(transport, ExcludedSources.load(), PageLimits(**{"pause_s": 0.0, **limits}))


def pictures(site: Site, **limits: Any) -> PageFetcher:
    """A fetcher of pictures that may reach the site and nothing else inside."""
    transport = PublicHttp("hellofresh/test", allowed=frozenset({site.endpoint}))
    return picture_fetcher(transport, PageLimits(**{"pause_s": 0.0, **limits}))


def outside(site: Site, names: Mapping[str, Sequence[Sequence[str]]]) -> tuple[PageFetcher, Sockets]:
    """A fetcher that takes the site for the public internet, with every rule in force, and the sockets it opens."""
    sockets = Sockets(site.port)
    transport = PublicHttp("hellofresh/test", resolver=Names(names), make_socket=sockets)
    return PageFetcher(transport, ExcludedSources.load(), PageLimits(pause_s=0.0)), sockets


def stored(folder: Path, provider: Any, reader: Any, **more: Any) -> StoredWeb:
    common = {"excluded": ExcludedSources.load(), "extractor": "trafilatura", "count": 3}
    return StoredWeb(WebStore(folder), provider, reader, **(common | more))


PAGES = {
    "rivers/delta.md": ("https://delta.example/silt", "How a delta grows", "2023-03-01",
                        "A river carries silt to the sea.\n\nWhere it slows, the silt sinks and a delta grows."),
    "rivers/flood.md": ("https://flood.example/2023", "The spring flood", "2023-05-10",
                        "In May the river left its bed. The flood covered meadows and two roads."),
    "towns/bridge.md": ("https://bridge.example/a?b=1", "A bridge over the river", "2022-11-20",
                        "The town built a bridge of stone.\nIt was paid for by a toll."),
    "towns/market.md": ("https://market.example/", "Market day", "2023-01-05",
    "Cheese and cloth are sold on Tuesdays."),
    "towns/mill.md": ("https://mill.example/", "Market day", "2023-01-05", "Cheese and cloth are sold on Tuesdays."),
}  # fmt: skip


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for name, (url, title, day, text) in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'+++\nurl = "{url}"\ntitle = "{title}"\ndate = {day}\n+++\n\n{text}\n', encoding="utf-8")
    return folder
