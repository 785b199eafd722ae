"""A hostile or broken site costs a bounded amount of time and memory, and what it is refused for is told."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from hellofresh.core.net.public import PublicHttp
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web._workers import Workers
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.fetch import FetchResult, PageFetcher
from tests.fakes import refused
from tests.web import conftest as net

MB = 1 << 20


def fetch_all(pages: dict[str, Any], paths: Sequence[str], **limits: Any) -> tuple[list[FetchResult], Any]:
    async def run() -> tuple[list[FetchResult], Any]:
        async with net.Site(pages).serving() as site:
            fetcher = net.fetcher(site, **limits)
            try:
                return await asyncio.gather(*(fetcher.fetch(site.base + path) for path in paths)), site
            finally:
                await fetcher.close()

    return asyncio.run(run())


def fetch(pages: dict[str, Any], path: str = "/", **limits: Any) -> tuple[FetchResult, Any]:
    (fetched,), site = fetch_all(pages, [path], **limits)
    return fetched, site


def test_a_page_comes_with_its_bytes_type_and_hash() -> None:
    fetched, site = fetch({"/a": net.reply(b"<p>hello</p>", kind="text/html; charset=koi8-r")}, "/a?b=1#c")
    assert fetched.status is PageStatus.OK
    assert (fetched.body, fetched.content_type) == (b"<p>hello</p>", "text/html; charset=koi8-r")
    assert fetched.final_url == f"{site.base}/a?b=1"
    assert len(fetched.sha256) == 64
    asked = site.requests[-1]
    assert asked.headers["accept-encoding"] == "gzip"
    assert asked.headers["user-agent"] == "hellofresh/test"
    assert not {"cookie", "referer", "authorization"} & set(asked.headers)


def test_without_a_network_no_page_counts_as_dead_and_one_without_a_host_does() -> None:
    async def get(errno: int) -> FetchResult:
        fetcher = PageFetcher(PublicHttp("test", resolver=net.FailingNames(errno)), ExcludedSources.load())
        try:
            return await fetcher.fetch("https://a.example/")
        finally:
            await fetcher.close()

    assert asyncio.run(get(socket.EAI_NONAME)).status is not PageStatus.OK
    refused("no-network", lambda: asyncio.run(get(socket.EAI_AGAIN)))


def test_cookies_are_not_kept() -> None:
    pages = {"/a": net.reply(status=302, Location="/b", Set_Cookie="k=v; Path=/"), "/b": net.reply(b"<p>b</p>")}
    fetched, site = fetch(pages, "/a")
    assert fetched.status is PageStatus.OK
    assert all("cookie" not in request.headers for request in site.requests)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fetched, _ = fetch({"/": net.reply(b"<p>b</p>")})
    assert fetched.status is PageStatus.OK


def test_gzip_is_unpacked_also_in_several_members() -> None:
    packed = gzip.compress(b"<p>one ") + gzip.compress(b"two</p>")
    fetched, _ = fetch({"/": net.reply(packed, Content_Encoding="gzip")})
    assert fetched.body == b"<p>one two</p>"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(gzip.compress(b"hello" * 99)[:-9], "gzip"), (b"no gzip at all", "gzip"), (zlib.compress(b"x"), "deflate"),
     (b"\x0b\x02\x80hello\x03", "br"), (b"\x28\xb5\x2f\xfd", "zstd"), (gzip.compress(gzip.compress(b"x")),
     "gzip, gzip")],
)  # fmt: skip
def test_what_was_not_asked_for_or_is_broken_is_not_unpacked(body: bytes, encoding: str) -> None:
    fetched, _ = fetch({"/": net.reply(body, Content_Encoding=encoding)})
    assert fetched.status is PageStatus.NOT_TEXT
    assert fetched.body == b""


def _bomb() -> bytes:
    """512 MB of zeros as gzip, about half a megabyte: one block that stands by itself, over and over."""
    engine = zlib.compressobj(9, wbits=31)
    first = engine.compress(bytes(MB)) + engine.flush(zlib.Z_FULL_FLUSH)
    again = engine.compress(bytes(MB)) + engine.flush(zlib.Z_FULL_FLUSH)
    return first + again * 511


def test_a_bomb_of_512_mb_stays_within_memory() -> None:
    bomb = _bomb()
    assert len(bomb) < MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fetched, _ = fetch({"/": net.reply(bomb, Content_Encoding="gzip")})
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert fetched.status is PageStatus.TOO_LARGE
    assert grown_mb < 32


def test_an_endless_page_is_cut_off() -> None:
    start = net.reply(b"", Transfer_Encoding="identity").replace(b"Transfer-Encoding: identity\r\n", b"")
    fetched, _ = fetch({"/": net.dripping(start, b"<p>words</p>" * 10_000)})
    assert fetched.status is PageStatus.TOO_LARGE


def test_a_page_at_the_limit_is_read_and_one_byte_more_is_not() -> None:
    for size, status in ((1000, PageStatus.OK), (1001, PageStatus.TOO_LARGE)):
        for headers in ({}, {"Content_Encoding": "gzip"}):
            body = b"<p>" + b"a" * (size - 3)
            sent = gzip.compress(body) if headers else body
            fetched, _ = fetch({"/": net.reply(sent, **headers)}, most_bytes=1000)
            assert fetched.status is status


def test_one_byte_a_second_ends_in_time() -> None:
    body = net.dripping(net.reply(b"", Content_Length="100000"), pause_s=0.1)
    head = net.dripping(piece=b"H", pause_s=0.1)
    for answer in (body, head):
        start = time.monotonic()
        fetched, _ = fetch({"/": answer}, total_s=0.5)
        assert fetched.status in {PageStatus.TIMEOUT, PageStatus.DEAD}
        assert time.monotonic() - start < 30
    assert fetch({"/": body}, total_s=0.5)[0].status is PageStatus.TIMEOUT


def test_the_time_counts_over_all_redirects() -> None:
    def slow(number: int) -> Callable[..., Awaitable[None]]:
        async def answer(_: Any, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.3)
            writer.write(net.reply(status=302, Location=f"/{number + 1}"))

        return answer

    fetched, site = fetch({f"/{n}": slow(n) for n in range(6)}, "/0", total_s=0.7)
    assert fetched.status is PageStatus.TIMEOUT
    assert site.asked("/4") == 0


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"body": b"hello", "Content_Length": "9999"}, PageStatus.DEAD),
        ({"body": b"hello", "Content_Length": "999999999"}, PageStatus.TOO_LARGE),
        ({"body": b"hello", "Content_Length": "-5"}, PageStatus.DEAD),
        ({"body": b"hello", "Content_Length": "five"}, PageStatus.DEAD),
        ({"body": b"%PDF-1.7 text", "kind": "text/html"}, PageStatus.NOT_TEXT),
        ({"body": b"\x89PNG\r\n", "kind": "text/plain"}, PageStatus.NOT_TEXT),
        ({"body": b"MZ\x90\x00\x03", "kind": "text/html"}, PageStatus.NOT_TEXT),
        ({"body": b"some\x00thing", "kind": "text/html"}, PageStatus.NOT_TEXT),
        ({"body": b"<p>x</p>", "kind": "application/pdf"}, PageStatus.NOT_TEXT),
        ({"body": b"<p>x</p>", "kind": "image/svg+xml"}, PageStatus.NOT_TEXT),
        ({"body": b"p { }", "kind": "text/css"}, PageStatus.NOT_TEXT),
        ({"body": b"words", "kind": None}, PageStatus.NOT_TEXT),
        ({"body": b"<p>x</p>", "kind": None}, PageStatus.OK),
        ({"body": b"words", "kind": "TEXT/Plain"}, PageStatus.OK),
        ({"body": b"<p>x</p>", "kind": "application/xhtml+xml"}, PageStatus.OK),
        ({"body": b" \n", "kind": "text/html"}, PageStatus.EMPTY),
        ({"body": b"gone", "status": 410}, PageStatus.DEAD),
        ({"body": b"teapot", "status": 204}, PageStatus.DEAD),
        ({"status": 302}, PageStatus.DEAD),
    ],
)
def test_what_a_page_claims_to_be_is_checked(answer: dict[str, Any], status: PageStatus) -> None:
    fetched, _ = fetch({"/": net.reply(**answer)})
    assert fetched.status is status
    assert (fetched.body != b"") == (status is PageStatus.OK)
    assert fetched.detail or status is PageStatus.OK


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\0" * 5000,
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 9999 + b"\r\n",
    ],
)
def test_what_is_no_http_is_a_dead_page(garbage: bytes) -> None:
    assert fetch({"/": garbage})[0].status is PageStatus.DEAD


def test_five_redirects_are_followed_and_six_are_not() -> None:
    pages = {f"/{n}": net.reply(status=301, Location=str(n + 1)) for n in range(1, 7)} | {
        "/7": net.reply(b"<p>end</p>")
    }
    fetched, site = fetch(pages, "/2")
    assert (fetched.status, fetched.final_url) == (PageStatus.OK, f"{site.base}/7")
    fetched, site = fetch(pages, "/1")
    assert fetched.status is PageStatus.DEAD and "redirects" in fetched.detail
    assert site.asked("/7") == 0


def test_a_circle_of_redirects_is_found() -> None:
    pages = {"/a": net.reply(status=302, Location="/b"), "/b": net.reply(status=302, Location="/a#x")}
    fetched, site = fetch(pages, "/a")
    assert "loop" in fetched.detail
    assert (site.asked("/a"), site.asked("/b")) == (1, 1)


@pytest.mark.parametrize(
    "target", ["https://en.wikipedia.org/wiki/X", "https://T.CO./x", "//x.com/a", "/go?u=https%3A%2F%2Fx.com%2Fa"]
)
def test_a_redirect_to_an_excluded_source_is_not_followed(target: str) -> None:
    fetched, site = fetch({"/": net.reply(status=302, Location=target), "/go": net.reply(b"<p>x</p>")})
    assert fetched.status is PageStatus.EXCLUDED
    assert site.asked("/go") == 0


def test_robots_are_heeded_and_asked_for_once_a_site() -> None:
    rules = b"User-agent: hellofresh\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"
    pages = {"/robots.txt": net.reply(rules, kind="text/plain"), "/a": net.reply(b"<p>a</p>")}
    fetched, site = fetch_all(pages, ["/a", "/private/b", "/a?2", "/private"])
    ok, robots = PageStatus.OK, PageStatus.ROBOTS
    assert [page.status for page in fetched] == [ok, robots, ok, robots]
    assert (site.asked("/robots.txt"), site.asked("/private")) == (1, 0)


@pytest.mark.parametrize(
    ("robots", "status"),
    [({"status": 404}, PageStatus.OK), ({"status": 403}, PageStatus.OK), ({"status": 503}, PageStatus.ROBOTS),
     ({"status": 429}, PageStatus.ROBOTS), ({"body": b"\xff\xfe\x00" * 99}, PageStatus.OK),
     ({"status": 302, "Location": "http://10.0.0.1/"}, PageStatus.UNSAFE), ({"body": b"x",
     "Content_Length": "9"}, PageStatus.ROBOTS)],
)  # fmt: skip
def test_where_robots_cannot_be_read_the_site_is_left_alone(robots: dict[str, Any], status: PageStatus) -> None:
    fetched, _ = fetch({"/robots.txt": net.reply(**robots), "/": net.reply(b"<p>a</p>")})
    assert fetched.status is status


def test_of_a_robots_file_over_500_kb_the_beginning_counts() -> None:
    long = b"User-agent: *\nDisallow: /a\n" + b"# words\n" * 80_000 + b"Disallow: /b\n"
    for sent, headers in ((long, {}), (gzip.compress(long), {"Content_Encoding": "gzip"})):
        pages = {"/robots.txt": net.reply(sent, kind="text/plain", **headers)}
        pages |= {path: net.reply(b"<p>x</p>") for path in ("/a", "/b")}
        assert fetch(pages, "/a")[0].status is PageStatus.ROBOTS
        assert fetch(pages, "/b")[0].status is PageStatus.OK


def test_rules_with_many_wildcards_take_no_time() -> None:
    rules = b"User-agent: *\n" + b"".join(b"Disallow: /" + b"*a" * 200 + b"%d$\n" % n for n in range(200))
    pages = {"/robots.txt": net.reply(rules, kind="text/plain"), "/" + "a" * 3000: net.reply(b"<p>x</p>")}
    start = time.process_time()
    assert fetch(pages, "/" + "a" * 3000)[0].status is PageStatus.OK
    assert time.process_time() - start < 5


LONG_RULES = b"User-agent: *\n" + b"".join(b"Disallow: /a*%d*b$\n" % n for n in range(25_000))


def test_a_long_robots_file_is_not_read_on_the_event_loop() -> None:
    from protego import Protego

    start = time.process_time()
    Protego.parse(LONG_RULES.decode()).can_fetch("https://a.example/x", "hellofresh")
    cost_s = time.process_time() - start
    pages = {"/robots.txt": net.reply(LONG_RULES, kind="text/plain"), "/x": net.reply(b"<p>x</p>")}
    start = time.process_time()
    assert fetch(pages, "/x")[0].status is PageStatus.OK
    assert time.process_time() - start < cost_s


async def test_a_site_whose_robots_file_takes_too_long_to_read_is_left_alone() -> None:
    pages = {"/robots.txt": net.reply(LONG_RULES, kind="text/plain"), "/x": net.reply(b"<p>x</p>")}
    async with net.Site(pages).serving() as site:
        fetcher = net.fetcher(site)
        fetcher._robots_readers = Workers("robots", cpu_s=0.02, at_once=1)
        fetched = await fetcher.fetch(f"{site.base}/x")
        await fetcher.close()
        assert (fetched.status, site.asked("/x")) == (PageStatus.ROBOTS, 0)
        assert "over 0.02 s of CPU time" in fetched.detail


def test_a_site_is_asked_by_one_at_a_time_with_a_pause() -> None:
    at_once = most = 0
    times: list[float] = []

    async def answer(_: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal at_once, most
        times.append(time.monotonic())
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1
        writer.write(net.reply(b"<p>x</p>"))

    paths = [f"/{n}" for n in range(4)]
    found, _ = fetch_all(dict.fromkeys(paths, answer), paths, pause_s=0.1)
    assert {page.status for page in found} == {PageStatus.OK}
    assert most == 1
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(times))


def test_waiting_for_ones_turn_does_not_count_as_the_pages_time() -> None:
    paths = [f"/{n}" for n in range(4)]
    found, _ = fetch_all(dict.fromkeys(paths, net.reply(b"<p>x</p>")), paths, pause_s=2.0, total_s=5)
    assert {page.status for page in found} == {PageStatus.OK}


async def test_an_address_where_nobody_answers_is_dead() -> None:
    async with net.Site({}).serving() as site:
        pass
    fetcher = net.fetcher(site)
    fetched = await fetcher.fetch(f"{site.base}/")
    await fetcher.close()
    assert fetched.status in {PageStatus.ROBOTS, PageStatus.DEAD}
