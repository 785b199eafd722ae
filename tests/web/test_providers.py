"""Each provider is asked as it documents, its answers are read strictly; only refusals of all searches are errors."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from hellofresh.config import Settings
from hellofresh.core.errors import ConfigError, RunError
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.evidence.settings import WebSettings
from hellofresh.evidence.web import Found, SearchResult
from hellofresh.evidence.web.search import Hit, ProviderAnswer, ranked
from hellofresh.evidence.web.search.services import Ddgs, open_provider
from tests.fakes import fails_with, refused
from tests.web import conftest as net

KEY = "key-of-mine"
QUICK = RetryPolicy(attempts=3, timeout_s=20, deadline_s=60, first_s=0.01)
IMPATIENT = RetryPolicy(attempts=3, timeout_s=0.5, deadline_s=3.0, first_s=0.01)
RESULT = SearchResult("https://a.example/1", "One", "First words", "2023-04-03", 1)
ANSWERS: dict[str, dict[str, Any]] = {
    "brave": {"type": "search", "web": {"type": "search", "results": [
        {"title": "One", "url": "https://a.example/1", "description": "First words",
        "page_age": "2023-04-03T10:00:00", "age": "x"},
        {"title": "Two", "url": "https://a.example/2", "is_source_local": False}]}},
    "serper": {"searchParameters": {"q": "x"}, "organic": [
        {"title": "One", "link": "https://a.example/1", "snippet": "First words", "date": "Apr 3, 2023", "position": 1},
        {"title": "Two", "link": "https://a.example/2", "date": "2 days ago", "position": 2}], "credits": 1},
    "tavily": {"query": "x", "answer": None, "results": [
        {"title": "One", "url": "https://a.example/1", "content": "First words",
        "score": 0.9, "published_date": "Mon, 03 Apr 2023 10:00:00 GMT"},
        {"title": "Two", "url": "https://a.example/2", "score": 0.8}]},
    "searxng": {"query": "x", "results": [
        {"title": "One", "url": "https://a.example/1", "content": "First words",
        "publishedDate": "2023-04-03T00:00:00"},
        {"title": "Two", "url": "https://a.example/2", "content": None, "publishedDate": None, "engines": ["a"]}]},
}  # fmt: skip
EMPTY: dict[str, Any] = {"brave": {}, "serper": {}, "tavily": {"results": []}, "searxng": {"results": []}}
DATED = {"brave", "serper", "tavily"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BRAVE_API_KEY", "SERPER_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.setenv(name, KEY)


def settings(name: str, base_url: str | None, **more: Any) -> WebSettings:
    table: dict[str, Any] = {**({} if base_url is None else {"base_url": base_url}), **more}
    return WebSettings.model_validate({"provider": name, name: table})


def search(
    name: str, answer: Any, *, query: str = "a b & c", count: int = 10,
    before: date | None = None,
    retries: RetryPolicy = QUICK,
) -> tuple[ProviderAnswer, Any]:  # fmt: skip
    async def run() -> tuple[ProviderAnswer, Any]:
        async with net.Site({"/s": answer}).serving() as site:
            provider = open_provider(settings(name, f"{site.base}/s"), retries=retries)
            try:
                return await provider.search(query, count, before), site
            finally:
                await provider.close()

    return asyncio.run(run())


def as_json(value: Any, **more: Any) -> bytes:
    return net.reply(json.dumps(value).encode(), kind="application/json", **more)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_the_providers_format_is_read(name: str) -> None:
    searched, site = search(name, as_json(ANSWERS[name]))
    assert searched.found == Found((RESULT, SearchResult("https://a.example/2", "Two", "", None, 2)))
    assert json.loads(searched.raw) == ANSWERS[name]
    assert len(site.requests) == 1


def test_a_provider_that_cannot_be_reached_is_no_search_without_results() -> None:
    async def run() -> None:
        provider = open_provider(settings("searxng", "http://127.0.0.1:9/s"), retries=QUICK)
        try:
            await provider.search("a", 10, None)
        finally:
            await provider.close()

    refused("no-network", lambda: asyncio.run(run()))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_request_is_as_documented(name: str) -> None:
    _, site = search(name, as_json(ANSWERS[name]), count=7, before=date(2023, 4, 3))
    request = site.requests[0]
    asked = json.loads(request.body) if request.body else None
    expected = {
        "brave": ("GET", "/s?q=a+b+%26+c&count=7&text_decorations=false&freshness=1970-01-01to2023-04-02", None),
        "serper": ("POST", "/s", {"q": "a b & c before:2023-04-03", "num": 7}),
        "tavily": (
            "POST",
            "/s",
            {"query": "a b & c", "max_results": 7, "search_depth": "basic", "end_date": "2023-04-02"},
        ),
        "searxng": ("GET", "/s?q=a+b+%26+c&format=json", None),
    }
    assert (request.method, request.target, asked) == expected[name]
    headers = {
        "brave": ("x-subscription-token", KEY),
        "serper": ("x-api-key", KEY),
        "tavily": ("authorization", f"Bearer {KEY}"),
    }
    if name in headers:
        field, value = headers[name]
        assert request.headers[field] == value


@pytest.mark.parametrize("name", ANSWERS)
def test_parameters_tell_all_but_the_key(name: str) -> None:
    chosen = settings(name, None if name != "searxng" else "https://s.example/search")
    provider = open_provider(chosen)
    assert provider.parameters["provider"] == provider.name == name
    assert provider.parameters["dated"] is (name in DATED)
    assert KEY not in str(provider.parameters)
    assert provider.parameters == open_provider(chosen, replay=True).parameters


@pytest.mark.parametrize("name", ANSWERS)
def test_pages_known_to_be_later_are_dropped_whatever_the_filter_let_through(name: str) -> None:
    searched, _ = search(name, as_json(ANSWERS[name]), before=date(2023, 4, 3))
    assert [(result.title, result.rank) for result in searched.found.results] == [("Two", 1)]
    searched, _ = search(name, as_json(ANSWERS[name]), before=date(2023, 4, 4))
    assert len(searched.found.results) == 2


@pytest.mark.parametrize("name", ANSWERS)
def test_nothing_found_is_no_problem(name: str) -> None:
    assert search(name, as_json(EMPTY[name]))[0].found == Found(())


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>sorry</html>", b"{", b"[]", b"null",
    b'"x"', b'{"web":{"results":[{"url":5}]},"organic":[{"link":5}],"results":[{"url":5}],"items":[{"link":5}]}',
     b'{"web":{"results":"x"},"organic":"x","results":"x","items":"x"}', b'{"a":' * 100_000, b"\xff\xfe{}",
     b'{"a":NaN'],
)  # fmt: skip
def test_what_is_not_the_providers_format_is_a_problem_and_is_kept(name: str, body: bytes) -> None:
    searched, site = search(name, net.reply(body, kind="application/json"))
    assert searched.found.results == () and "format" in searched.found.problem
    assert searched.raw == body
    assert len(site.requests) == 1


def outcomes(answers: list[Any]) -> list[str]:
    """What comes of searching with one provider time after time: its problem, or the code of its error."""

    number = len(answers)

    async def run() -> list[str]:
        async with net.Site({"/s": answers}).serving() as site:
            provider = open_provider(settings("brave", f"{site.base}/s"), retries=QUICK)
            found = []
            for _ in range(number):
                try:
                    found.append((await provider.search("a", 10, None)).found.problem)
                except RunError as error:
                    found.append(error.code)
            await provider.close()
            assert len(site.requests) == number
            return found

    return asyncio.run(run())


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422, 301])
def test_what_refuses_all_searches_ends_the_run_and_what_refuses_one_is_its_own_problem(status: int) -> None:
    good, refused = as_json(ANSWERS["brave"]), net.reply(b"{}", status=status, Location="/elsewhere")
    assert outcomes([refused, refused]) == ["search-refused"] * 2  # before any answer
    shut_out = status in (401, 402, 403)  # the key, or its credit
    assert outcomes([good, refused, good]) == ["", "search-refused" if shut_out else f"HTTP {status}", ""]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_asked_about_again_and_not_for_ever(status: int) -> None:
    failing, good = net.reply(b"{}", status=status), as_json(ANSWERS["brave"])
    searched, site = search("brave", [failing, failing, good])
    assert len(searched.found.results) == 2
    searched, site = search("brave", failing)
    assert searched.found == Found((), f"HTTP {status}")
    assert len(site.requests) == QUICK.attempts


def test_a_wait_that_the_provider_states_is_kept() -> None:
    answers = [net.reply(b"", status=429, Retry_After="1"), as_json(ANSWERS["brave"])]
    start = time.monotonic()
    searched, _ = search("brave", answers)
    assert searched.found.problem == ""
    assert 0.5 < time.monotonic() - start < 30


def test_a_wait_beyond_the_deadline_ends_the_search_at_once() -> None:
    start = time.monotonic()
    searched, site = search("brave", net.reply(b"", status=429, Retry_After="3600"))
    assert searched.found.problem == "HTTP 429"
    assert len(site.requests) == 1 and time.monotonic() - start < 60


def misbehaving() -> dict[str, Callable[..., Awaitable[None]] | bytes]:
    async def stall(_: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(100)

    async def reset(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    cut = net.reply(b'{"web":', Content_Length="99")
    trickle = net.dripping(net.reply(b"", Content_Length="1000"), b"{", 0.05)
    endless = net.dripping(net.reply(b"", Content_Length=str(10**12)), b" " * 100_000)
    named = {"stall": stall, "reset": reset, "trickle": trickle, "endless": endless}
    return {**named, "cut": cut, "no http": b"hello\r\n\r\n"}


@pytest.mark.parametrize("how", ["stall", "trickle", "reset", "endless", "cut", "no http"])
def test_a_misbehaving_provider_is_a_problem_in_bounded_time(how: str) -> None:
    start = time.monotonic()
    searched, _ = search("brave", misbehaving()[how], retries=IMPATIENT)
    assert searched.found.results == () and searched.found.problem
    assert KEY not in searched.found.problem
    assert time.monotonic() - start < 30


def test_no_problem_ever_tells_the_key() -> None:
    with pytest.raises(RunError) as caught:
        search("brave", net.reply(KEY.encode(), status=403))
    assert KEY not in str(caught.value)
    assert KEY not in search("brave", net.reply(b"{"))[0].found.problem


@pytest.mark.parametrize("name", ["brave", "serper", "tavily"])
def test_without_a_key_or_over_open_connections_nothing_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with fails_with("insecure-url"):
        open_provider(settings(name, "http://search.example/s"))
    for value in ("", "  ", "a\nb", "k\u00e9y"):
        monkeypatch.setenv("MY_KEY", value)
        with fails_with("missing-key", "MY_KEY"):
            open_provider(settings(name, None, key_variable="MY_KEY"))


def test_what_a_provider_needs_is_said() -> None:
    with pytest.raises(ConfigError, match="base_url"):
        open_provider(settings("searxng", None))
    for closed, instead in (({"provider": "google"}, "use serper"), ({"images": "bing"}, "use serpapi")):
        with pytest.raises(ValidationError, match=instead):
            WebSettings.model_validate(closed)
    assert Settings().web.provider == "offline"


def test_results_that_are_no_pages_are_left_out_and_ranks_have_no_gaps() -> None:
    hits = [
        Hit(url="javascript:x", title="a"),
        Hit(url="https://b.example/", title="b"),
        Hit(url="", title="c"),
        Hit(url="HTTP://d.example/", title="d"),
        Hit(url="https://e.example/", title="e"),
    ]
    found = ranked(hits, 2, None)
    assert [(result.title, result.rank) for result in found.results] == [("b", 1), ("d", 2)]


@pytest.mark.parametrize(
    ("written", "day"),
    [("2023-04-03", "2023-04-03"), ("2023-04-03T23:59:59-10:00", "2023-04-04"), ("Apr 3, 2023", "2023-04-03"),
    ("3 April 2023", "2023-04-03"),
     ("Sept. 30, 2023", "2023-09-30"), ("Mon, 03 Apr 2023 10:00:00 GMT", "2023-04-03"), ("2 days ago", None),
     ("2023-02-30", None),
     ("yesterday", None), ("", None), (None, None), ("\u0662\u0660\u0662\u0663", None), ("1 1 1", None)],
)  # fmt: skip
def test_days_are_read_whatever_the_locale_and_never_guessed(written: str | None, day: str | None) -> None:
    found = ranked([Hit(url="https://a.example/", date=written)], 1, None)
    assert found.results[0].date == day


def test_ddgs_is_read_and_its_failures_are_problems() -> None:
    pytest.importorskip("ddgs")
    rows = [
        {"title": "One", "href": "https://a.example/1", "body": "First"},
        {"title": "Two", "href": "https://a.example/2", "body": "Second"},
    ]

    def broken(_: str, __: int) -> Any:
        raise RuntimeError("shut out")

    async def run(engine: Any) -> Found:
        return (await Ddgs(engine).search("x", 1, None)).found

    assert asyncio.run(run(lambda *_: rows)) == Found((SearchResult("https://a.example/1", "One", "First", None, 1),))
    assert "RuntimeError" in asyncio.run(run(broken)).problem
    assert "format" in asyncio.run(run(lambda *_: [{"title": 5}])).problem
    assert Ddgs(broken).parameters["dated"] is False
