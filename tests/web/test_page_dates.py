"""A page is as young as the latest date that it names, wherever it names it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hellofresh.evidence.web import end_of
from hellofresh.evidence.web._dates import url_date, youngest
from hellofresh.evidence.web.text import main_text

BODY = "<p>" + "The council met and spoke at length about the bridge. " * 20 + "</p>"
PUBLISHED = '<meta property="article:published_time" content="{}">'


def dated(head: str = "", beside: str = "") -> str:
    page = f"<html><head><title>T</title>{head}</head><body><article><h1>T</h1>{beside}{BODY}</article></body></html>"
    found = {main_text(page.encode(), "text/html", extractor).date for extractor in ("trafilatura", "beautifulsoup")}
    (date,) = found
    return date


@pytest.mark.parametrize(
    ("head", "beside", "date"),
    [
        ("", "", ""),
        (PUBLISHED.format("2023-04-01"), "", "2023-04-01"),
        (PUBLISHED.format("2023-04-01T10:00:00+02:00"), "", "2023-04-01T08:00:00Z"),
        (PUBLISHED.format("2023-04-01T10:00:00"), "", "2023-04-01"),
        (PUBLISHED.format("no date"), "", ""),
        ('<script type="application/ld+json">{"datePublished": "2023-04-01"}</script>', "", "2023-04-01"),
        ("", '<time datetime="2023-04-01T10:00:00Z">April 1, 2023</time>', "2023-04-01"),
        ("", '<p class="date">Published on 1 April 2023</p>', "2023-04-01"),
        # Pages that lie: an early date in one place, a later one in another.
        (PUBLISHED.format("2019-01-01") + '<meta name="last-modified" content="2023-04-01">', "", "2023-04-01"),
        (
            PUBLISHED.format("2019-01-01T00:00:00Z")
            + '<script type="application/ld+json">{"dateModified": "2023-04-01T01:00:00Z"}</script>',
            "",
            "2023-04-01T01:00:00Z",
        ),
        (
            PUBLISHED.format("2019-01-01"),
            '<time itemprop="dateModified" datetime="2023-04-01">today</time>',
            "2023-04-01",
        ),
        # Times of other things, such as comments and further stories, are none of the page's.
        (PUBLISHED.format("2019-01-01"), '<time datetime="2023-04-01">a comment</time>', "2019-01-01"),
    ],
)
def test_the_latest_date_of_publication_or_change_counts(head: str, beside: str, date: str) -> None:
    assert dated(head, beside) == date


@pytest.mark.parametrize(
    ("url", "date"),
    [
        ("https://a.example/2023/04/01/story", "2023-04-01"),
        ("https://a.example/news-2023-4-1.html", "2023-04-01"),
        ("https://a.example/2023/13/01/", ""),
        ("https://a.example/2023/02/31/", ""),
        ("https://a.example/id/20230401", ""),
        ("https://a.example/1999/04", ""),
    ],
)
def test_an_address_may_name_a_day(url: str, date: str) -> None:
    assert url_date(url) == date


def test_a_day_ends_with_its_last_moment_and_a_moment_is_more_exact() -> None:
    assert end_of("2023-04-01") == datetime(2023, 4, 2, tzinfo=UTC)
    assert end_of("2023-04-01T10:00:00+02:00") == datetime(2023, 4, 1, 8, tzinfo=UTC)
    for text in ("", "2023", "2023-04-31", "2023-04-01T10:00:00", "9999-12-31", "soon"):
        assert end_of(text) is None
    assert youngest(["2023-04-01", "2023-04-01T10:00:00Z", "2022-01-01", ""]) == "2023-04-01T10:00:00Z"
    assert youngest(["2023-04-02", "2023-04-01T10:00:00Z"]) == "2023-04-02"
    assert youngest([]) == ""
