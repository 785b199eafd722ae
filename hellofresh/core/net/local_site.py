"""A page on this machine that can cost money or change data: access needs its address with the token.

Any web page can have a browser send requests to a port of this machine. So every request must name this site as its
host; one that changes something must come from this site's own pages (`Origin`) with the token in a header, which no
other site can add.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from hellofresh.core.errors import HelloFreshError, UsageError

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]
"""A function that answers a request, given its token."""
_MOST_TOKEN = 200  # our tokens are far shorter; what is longer is not compared whole
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def same_token(one: str, other: str) -> bool:
    """Compare tokens in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def one_file_page(package: str, **parts: str) -> str:
    """A self-contained page: `page.html` of a package with its `page.css` and `page.js` inlined.

    Its policy forbids other scripts, and requests to hosts other than the one that served it.

    Args:
        package: the package with these files.
        parts: further contents of the page as HTML, by the `{NAME}` that they replace.
    """
    html, style, script = (
        (resources.files(package) / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    policy = (
        f"default-src 'none'; script-src {_hash_source(script)}; style-src {_hash_source(style)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )
    known = {"policy": policy, "style": style, "script": script, **parts}
    before, *rest = html.split("{")  # names inside inserted parts are not replaced
    return before + "".join(known[name] + after for name, _, after in (piece.partition("}") for piece in rest))


def _hash_source(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


async def listen(
    application: web.Application, address: str, port: int, socket: Path | None = None, **options: Any
) -> web.AppRunner:
    """Serve an application at a port and, if named, at a socket, until its runner is cleaned up.

    Raises:
        UsageError: if one of them cannot be opened.
    """
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port).start()
        if socket is not None:
            await web.UnixSite(runner, socket).start()
    except (OSError, OverflowError) as error:
        await runner.cleanup()
        reason = error.strerror if isinstance(error, OSError) else "not a port"
        what = f"port {port}{f' or {socket}' if socket else ''} cannot be opened ({reason})"
        raise UsageError(what, fix="Choose another: --port N", code="bad-port") from None
    return runner


@dataclass(slots=True)
class LocalSite:
    """A site of one page and the requests that the page sends.

    Attributes:
        opens: whether a token gives access to the site.
        page: answers `GET /?token=...`.
        posts: handlers of `POST` requests, by path.
        address: host to listen on.
        port: 0 for any free one.
        origins: further origins of the site, such as that of a proxy.
        most_bytes: of a request's body.
        every_path: whether `page` answers `GET` requests for all paths, not only for the first one.
    """

    opens: Callable[[str], bool]
    page: Handler
    posts: dict[str, Handler]
    address: str = "127.0.0.1"
    port: int = 0
    origins: Sequence[str] = ()
    most_bytes: int = 2**20
    every_path: bool = False
    _runner: web.AppRunner | None = field(default=None, repr=False)

    @property
    def origin(self) -> str:
        """The site's main origin."""
        return self._allowed()[0]

    def _allowed(self) -> list[str]:
        names = [f"[{self.address}]" if ":" in self.address else self.address]
        with suppress(ValueError):
            if self.address == "localhost" or ipaddress.ip_address(self.address).is_loopback:
                names += ["127.0.0.1", "localhost"]
        return [*self.origins, *dict.fromkeys(f"http://{name}:{self.port}" for name in names)]

    async def start(self) -> None:
        """Listen.

        Raises:
            UsageError: if the port cannot be opened, or an origin is invalid.
        """
        for origin in self.origins:
            parts = urlsplit(origin)
            if (
                parts.scheme not in ("http", "https")
                or not parts.hostname
                or origin != f"{parts.scheme}://{parts.netloc}"
            ):
                raise UsageError(
                    f"not an origin: {origin!r}", expected="such as https://rate.example.org", code="bad-origin"
                )
        application = web.Application(client_max_size=self.most_bytes, middlewares=[self._guarded])
        application.router.add_get("/{path:.*}" if self.every_path else "/", _with_token(self.page))
        for path, handler in self.posts.items():
            application.router.add_post(path, _with_token(handler))
        self._runner = await listen(
            application, self.address, self.port, handler_cancellation=True, auto_decompress=False
        )
        self.port = int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def run(self, started: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM.

        Args:
            started: called once the site listens.
        """

        async def serve() -> None:
            stop = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                with suppress(NotImplementedError):  # Windows, where Ctrl-C cancels this task
                    asyncio.get_running_loop().add_signal_handler(number, stop.set)
            await self.start()
            try:
                started()
                await stop.wait()
            finally:
                await self.close()

        asyncio.run(serve())  # noqa: TID251  # its signals need the main thread

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            self._check(request)
            response = await handler(request)
        except HelloFreshError as error:
            response = web.json_response({"error": str(error)}, status=409 if error.code == "closed" else 400)
        except web.HTTPRedirection:
            raise
        except web.HTTPException as error:
            response = web.json_response({"error": error.reason}, status=error.status)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    def _check(self, request: web.Request) -> None:
        allowed = self._allowed()
        host = request.headers.get("Host", "").lower()
        if host not in {urlsplit(origin).netloc for origin in allowed}:
            raise web.HTTPForbidden(reason="this site has another host name")
        own = [origin for origin in allowed if urlsplit(origin).netloc == host]
        if request.method != "GET" and request.headers.get("Origin", "") not in own:
            raise web.HTTPForbidden(reason="only the pages of this site may send this")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise web.HTTPUnsupportedMediaType(reason="send the body uncompressed")
        if not self.opens(_token(request)):
            raise web.HTTPUnauthorized(reason="open the full address that you were given, including its token")


def _token(request: web.Request) -> str:
    """The token of a request: from the address for a page, from a header for a page's requests."""
    if request.method == "GET":
        return request.query.get("token", "")[:_MOST_TOKEN]
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()[:_MOST_TOKEN]


def _with_token(handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(request, _token(request))

    return answer
