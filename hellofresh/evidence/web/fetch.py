"""Fetch pages politely, within limits, and only from public addresses."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import aiohttp

from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.net.public import BodyError, PageReply, PublicHttp, TooLargeError, UnsafeError, names_fail
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web._workers import Once, WorkerError, Workers
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.text import MainText

_BINARY = (
    b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"\x7fELF", b"MZ\x90", b"BZh",
    b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"OggS", b"ID3", b"wOFF", b"wOF2", b"\x00asm", b"SQLite format 3",
)  # fmt: skip
_NO_PROSE = frozenset({"text/css", "text/javascript", "text/ecmascript", "text/event-stream", "text/calendar"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits of fetching a page.

    Attributes:
        total_s: seconds for all of it, redirects and robots.txt among it; waiting for one's turn at a host is not.
        most_bytes: of a body, unpacked.
        redirects: most redirects.
        robots_bytes: of a robots.txt; what comes after is not read.
        pause_s: seconds between two requests to one host.
        longest_pause_s: most seconds that a host's own Crawl-delay is heeded.
    """

    total_s: float = 15.0
    most_bytes: int = 2_000_000
    redirects: int = 5
    robots_bytes: int = 500_000
    pause_s: float = 1.0
    longest_pause_s: float = 10.0


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The result of fetching a page.

    Attributes:
        final_url: where redirects ended.
        status: `ok` only with a body of text.
        detail: a reason for people.
        content_type: header as it came.
        body: unpacked.
        text: title and text where they are known without taking them out of the body.
    """

    final_url: str
    status: PageStatus
    detail: str = ""
    content_type: str = ""
    body: bytes = b""
    text: MainText | None = None

    @property
    def sha256(self) -> str:
        """Hash of the body, empty if absent."""
        return hashlib.sha256(self.body).hexdigest() if self.body else ""


class _Stop(Exception):  # noqa: N818 - how a fetch ends, not an error
    """Raised if a page is not read, with the reason."""

    def __init__(self, status: PageStatus, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class _Clock:
    """Counts the seconds that one page may still take."""

    def __init__(self, total_s: float) -> None:
        self._left_s = total_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count the time of a block; raises TimeoutError when nothing is left."""
        now = asyncio.get_running_loop().time
        start = now()
        try:
            async with asyncio.timeout(self._left_s):
                yield
        finally:
            self._left_s -= now() - start


class _Manners:
    """Turns at each host: one request at a time, with a pause before the next."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free_at: dict[str, float] = {}
        self.own_pause_s: dict[str, float] = {}  # of hosts that ask for another one

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a turn at a host."""
        now = asyncio.get_running_loop().time
        async with self._locks[host]:
            await asyncio.sleep(max(0.0, self._free_at.get(host, 0.0) - now()))
            try:
                yield
            finally:
                self._free_at[host] = now() + max(self.own_pause_s.get(host, 0.0), self._pause_s)


class PageFetcher:
    """Fetches pages over a transport.

    Args:
        transport: sends the requests and refuses what is not public; closed with this.
        excluded: what is not fetched, on any hop.
        limits: what a page may cost.
        judge: judges a reply that is not a redirect; a page of text or nothing if left out.
    """

    def __init__(
        self,
        transport: PublicHttp,
        excluded: ExcludedSources,
        limits: PageLimits | None = None,
        *,
        judge: Callable[[PageAddress, PageReply], FetchResult] | None = None,
    ) -> None:
        self._judge = judge or _judged
        self._transport = transport
        self._excluded = excluded
        self._limits = limits or PageLimits()
        self._manners = _Manners(self._limits.pause_s)
        self._robots: dict[str, bytes | None] = {}
        self._robots_once = Once(self._fetch_robots)
        self._robots_readers = Workers("robots", at_once=1)

    async def fetch(self, url: str) -> FetchResult:
        """Fetch a page; its fault, if any, is in the result.

        Raises:
            RunError: if a worker process hangs, or this machine has no network.
        """
        trail: list[PageAddress] = []
        clock = _Clock(self._limits.total_s)
        try:
            return await self._follow(PageAddress.parse(url), trail, clock)
        except _Stop as stop:
            status, detail = stop.status, stop.detail
        except TimeoutError:
            status, detail = PageStatus.TIMEOUT, f"took over {self._limits.total_s:g} s"
        except (AddressError, UnsafeError) as error:
            status, detail = PageStatus.UNSAFE, str(error)
        except TooLargeError as error:
            status, detail = PageStatus.TOO_LARGE, str(error)
        except BodyError as error:
            status, detail = PageStatus.NOT_TEXT, str(error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            status, detail = PageStatus.DEAD, _brief(error)
        return FetchResult(trail[-1].url if trail else url, status, detail)

    async def _follow(self, address: PageAddress, trail: list[PageAddress], clock: _Clock) -> FetchResult:
        for _ in range(self._limits.redirects + 1):
            if address in trail:
                raise _Stop(PageStatus.DEAD, "a redirect loop")
            trail.append(address)
            reply = await self._hop(address, clock)
            if reply.status not in (301, 302, 303, 307, 308):
                return self._judge(address, reply)
            location = reply.headers.get("location", "")
            if not location:
                raise _Stop(PageStatus.DEAD, "a redirect without a target")
            address = address.joined(location)
        raise _Stop(PageStatus.DEAD, f"over {self._limits.redirects} redirects")

    async def _hop(self, address: PageAddress, clock: _Clock) -> PageReply:
        reason = self._excluded.reason_of_address(address)
        if reason:
            raise _Stop(PageStatus.EXCLUDED, reason)
        self._transport.check(address)
        if address.origin not in self._robots:
            async with clock.running():
                await self._robots_once(replace(address, path="/robots.txt", query=""))
        await self._heed_robots(address)
        async with self._manners.turn(address.host), clock.running():
            return await self._get(address, most_bytes=self._limits.most_bytes)

    async def _get(self, address: PageAddress, *, most_bytes: int, cut: bool = False) -> PageReply:
        """Request a page; a name that cannot be looked up is the page's fault only where the network works."""
        try:
            return await self._transport.get(address, most_bytes=most_bytes, cut=cut)
        except aiohttp.ClientConnectorDNSError as error:
            if names_fail(error):
                await self._transport.check_network()
            raise

    async def _heed_robots(self, address: PageAddress) -> None:
        """Keep to a site's rules (RFC 9309): no access if they cannot be read."""
        rules = self._robots.get(address.origin)
        if rules is None:
            raise _Stop(PageStatus.ROBOTS, "robots.txt cannot be read")
        if not rules:
            return
        try:
            said = await self._robots_readers.ask(rules, address.url)
        except WorkerError as error:
            raise _Stop(PageStatus.ROBOTS, f"robots.txt cannot be read ({error})") from None
        if isinstance(delay_s := said["delay_s"], int | float):
            self._manners.own_pause_s[address.host] = min(delay_s, self._limits.longest_pause_s)
        if not said["allowed"]:
            raise _Stop(PageStatus.ROBOTS, "robots.txt forbids this page")

    async def _fetch_robots(self, file: PageAddress) -> None:
        self._robots[file.origin] = await self._robots_body(file)

    async def _robots_body(self, address: PageAddress) -> bytes | None:
        """The robots.txt: empty if the site has none, None if it cannot be fetched."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                for _ in range(self._limits.redirects + 1):
                    reply = await self._get(address, most_bytes=self._limits.robots_bytes, cut=True)
                    if reply.status not in (301, 302, 303, 307, 308):
                        break
                    address = address.joined(reply.headers.get("location", ""))
                    if self._excluded.reason_of_address(address):
                        return None
        except (AddressError, BodyError):
            return b""
        except UnsafeError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        if reply.status == 429 or reply.status >= 500:
            return None
        return reply.body.strip() if reply.status == 200 else b""

    async def close(self) -> None:
        await self._robots_once.close()
        await self._robots_readers.close()
        await self._transport.close()


def _judged(address: PageAddress, reply: PageReply) -> FetchResult:
    if reply.status != 200:
        return FetchResult(address.url, PageStatus.DEAD, f"HTTP {reply.status}")
    kind = reply.content_type.partition(";")[0].strip().lower()
    if kind and kind not in _HTML and (not kind.startswith("text/") or kind in _NO_PROSE):
        return FetchResult(address.url, PageStatus.NOT_TEXT, f"content type {kind[:60]}", reply.content_type)
    # UTF-16 has zero bytes and says so by its mark.
    has_zero = b"\0" in reply.body[:1024] and not reply.body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if has_zero or reply.body.startswith(_BINARY) or (not kind and reply.body.lstrip()[:1] != b"<"):
        return FetchResult(address.url, PageStatus.NOT_TEXT, "the content is not text", reply.content_type)
    if not reply.body.strip():
        return FetchResult(address.url, PageStatus.EMPTY, "an empty page", reply.content_type)
    return FetchResult(address.url, PageStatus.OK, "", reply.content_type, reply.body)


def _brief(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "names cannot be looked up" if names_fail(error) else "no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return f"the connection broke ({type(error).__name__})"
