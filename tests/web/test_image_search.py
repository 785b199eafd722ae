"""Reverse image search: asked as documented, in pages, and whatever a service does wrong ends no run."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.errors import ConfigError, RunError
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.settings import WebSettings
from hellofresh.evidence.web import ImageSearch
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.pictures import PictureError, PictureFetcher
from hellofresh.evidence.web.search import ProviderAnswer
from hellofresh.evidence.web.search.services import MOST_LINKS, PagedImageSearch, open_image_provider
from tests.web import conftest as net
from tests.web.conftest import stored

KEY = "key-of-mine"
PICTURE = "https://pics.example/a b.jpg?x=1&y"
QUICK = RetryPolicy(attempts=2, timeout_s=20, deadline_s=60, first_s=0.01)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_API_KEY", KEY)


def settings(name: str, base_url: str | None = None) -> WebSettings:
    return WebSettings.model_validate({"images": name, name: {} if base_url is None else {"base_url": base_url}})


def opened(name: str, base_url: str) -> PagedImageSearch:
    provider = open_image_provider(settings(name, base_url), retries=QUICK)
    assert provider is not None
    return provider


def serp(*links: str, **more: Any) -> dict[str, Any]:
    rows = [{"position": n, "title": f"T {link}", "link": link, "snippet": "s"} for n, link in enumerate(links, 1)]
    return {"search_metadata": {"id": "x"}, "image_results": rows, **more}


def pages(first: int, count: int = 10) -> list[str]:
    return [f"https://a.example/{number}" for number in range(first, first + count)]


def search(name: str, answers: Any, count: int = MOST_LINKS, query: str = PICTURE) -> tuple[ProviderAnswer, Any]:
    async def run() -> tuple[ProviderAnswer, Any]:
        async with net.Site({"/s": answers}).serving() as site:
            provider = opened(name, f"{site.base}/s")
            try:
                return await provider.search(query, count, None), site
            finally:
                await provider.close()

    return asyncio.run(run())


def as_json(value: Any, **more: Any) -> Any:
    return net.reply(json.dumps(value).encode(), kind="application/json", **more)


def urls(searched: ProviderAnswer) -> list[str]:
    return [result.url for result in searched.found.results]


def test_pages_are_asked_for_until_there_are_enough_links() -> None:
    answers = [as_json(serp(*pages(10 * page))) for page in range(7)]
    searched, site = search("serpapi", answers)
    assert urls(searched) == pages(0, 50)
    assert [result.rank for result in searched.found.results] == list(range(1, 51))
    targets = [request.target for request in site.requests]
    asked = "/s?engine=google_reverse_image&image_url=https://pics.example/a+b.jpg?x%3D1%26y"
    assert targets == [
        f"{asked}{start}&api_key={KEY}" for start in ("", "&start=10", "&start=20", "&start=30", "&start=40")
    ]
    assert len(json.loads(searched.raw)) == 5 and KEY not in searched.raw.decode()


def test_a_query_goes_with_the_picture() -> None:
    both = "https://pics.example/a.jpg\nold bridge"
    _, site = search("serpapi", [as_json(serp())], query=both)
    assert "image_url=https://pics.example/a.jpg&q=old+bridge&" in site.requests[0].target


@pytest.mark.parametrize("last", [[], pages(0), ["ftp://a.example/x", "javascript:alert(1)", ""]])
def test_a_page_that_brings_nothing_new_is_the_last_one(last: list[str]) -> None:
    answers = [as_json(serp(*pages(0))), as_json(serp(*last)), as_json(serp(*pages(90)))]
    searched, site = search("serpapi", answers)
    assert urls(searched) == pages(0) and len(site.requests) == 2 and searched.found.problem == ""


def test_what_was_found_before_a_failure_counts() -> None:
    searched, site = search("serpapi", [as_json(serp(*pages(0))), net.reply(b"", status=500)])
    assert urls(searched) == pages(0) and searched.found.problem == ""
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>busy</html>", "not the provider's format"),
        (b'{"image_results": "none"}', "not the provider's format"),
        (b'{"image_results": [{"link": 5}]}', "not the provider's format"),
        (b'{"error": "no results for this picture"}', ""),
        (b'{"image_results": [{}]}', ""),
    ],
)
def test_a_strange_answer_is_a_problem_and_no_error(body: bytes, problem: str) -> None:
    searched, _ = search("serpapi", net.reply(body, kind="application/json"))
    assert searched.found.results == () and searched.found.problem.startswith(problem)
    assert bool(searched.found.problem) == bool(problem)


def test_a_key_is_needed_and_goes_over_encrypted_connections_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_image_provider(WebSettings()) is None
    with pytest.raises(ConfigError, match="unencrypted"):
        open_image_provider(settings("serpapi", "http://search.example/x"))
    assert KEY not in str(opened("serpapi", "https://search.example/x").parameters)
    monkeypatch.delenv("SERPAPI_API_KEY")
    with pytest.raises(ConfigError, match="needs a key"):
        open_image_provider(settings("serpapi"))
    assert open_image_provider(settings("serpapi"), replay=True) is not None


async def test_a_picture_is_searched_for_once_and_replayed_without_a_network(tmp_path: Path) -> None:
    async with net.Site({"/s": [as_json(serp(*pages(0, 3))), as_json(serp())]}).serving() as site:
        images = opened("serpapi", f"{site.base}/s")
        first = stored(tmp_path, images, net.fetcher(site), images=images)
        found = await first.search_image(PICTURE)
        assert await first.search_image(PICTURE) == found
        await first.close()
        assert len(site.requests) == 2 and isinstance(first, ImageSearch) and first.searches_images
        again = stored(tmp_path, images, None, images=images)
        assert await again.search_image(PICTURE) == found
        with pytest.raises(RunError, match="not stored"):
            await again.search_image("https://pics.example/other.jpg")
        await again.close()


async def test_pictures_of_a_page_are_fetched_safely_kept_and_replayed(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    shown = BytesIO()
    pillow.new("RGB", (300, 200), "teal").save(shown, "PNG")
    page = """<html><head><meta property="og:image" content="/own.png"></head><body><p>A bridge.</p>
        <img src="icon.png" width="16"><img src="data:image/png;base64,AA"><img src="/own.png"><img src="/broken.png">
        <img src="http://192.168.0.1/inside.png"><img src="/gone.png"><img src="/fifth.png"></body></html>"""
    answers = {"/p": net.reply(page.encode()), "/own.png": net.reply(shown.getvalue()), "/broken.png": net.reply(b"?")}

    site = net.Site(answers)
    async with site.serving():
        url = f"{site.base}/p"
        fetcher = PictureFetcher(lambda: net.pictures(site))
        first = stored(tmp_path, opened("serpapi", site.base), net.fetcher(site), pictures=fetcher)
        assert await first.pictures(url) == ()
        await first.read(url)
        (content,) = await first.pictures(url)
        assert pillow.open(BytesIO(content)).size == (300, 200) and content != shown.getvalue()
        asked = len(site.requests)
        assert await first.pictures(url) == [content] and len(site.requests) == asked
        await first.close()
        assert {site.asked(path) for path in ("/own.png", "/broken.png", "/gone.png")} == {1}
        assert not site.asked("/icon.png") and not site.asked("/fifth.png")
        again = stored(tmp_path, opened("serpapi", site.base), None)
        assert await again.pictures(url) == [content]
        await again.close()


async def test_a_picture_that_lies_at_an_excluded_source_is_not_fetched(tmp_path: Path) -> None:
    asked: list[str] = []

    class Fetcher(PictureFetcher):
        async def fetch(self, address: str) -> Any:
            asked.append(address)
            raise PictureError("no such picture")

    page = b"""<html><body><p>A bridge.</p><img src="https://www.snopes.com/a.png"><img src="/b.png"></body></html>"""
    site = net.Site({"/p": net.reply(page)})
    async with site.serving():
        checkers = ExcludedSources.load(groups=["fact-checkers"])
        fetcher = Fetcher(lambda: net.pictures(site))
        web = stored(tmp_path, opened("serpapi", site.base), net.fetcher(site), excluded=checkers, pictures=fetcher)
        await web.read(f"{site.base}/p")
        assert await web.pictures(f"{site.base}/p") == []
        await web.close()
        assert asked == [f"{site.base}/b.png"]
