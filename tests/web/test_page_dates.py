"""A page is as young as the latest date that it names, wherever and in whichever language it names it."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.evidence.web.dates import end_of, read_date, text_date, url_date, youngest
from hellofresh.evidence.web.text import main_text

BODY = "<p>" + "The council met and spoke at length about the bridge. " * 20 + "</p>"
EARLY = '<meta property="article:published_time" content="2019-01-01T08:00:00Z">'
JSON = '<script type="application/ld+json">{{"@type": "NewsArticle", "datePublished": "2019-01-01", {}}}</script>'
LATE = "2025-03-09"


def dates(head: str = "", beside: str = "") -> set[str]:
    page = f"<html><head><title>T</title>{head}</head><body><article><h1>T</h1>{beside}{BODY}</article></body></html>"
    return {main_text(page.encode(), "text/html", extractor).date for extractor in ("trafilatura", "beautifulsoup")}


@pytest.mark.parametrize(
    ("head", "beside", "expected"),
    [
        ("", "", ""),
        ('<meta name="date" content="2023-04-01">', "", "2023-04-01"),
        ('<meta name="date" content="2023-04-01T10:00:00+02:00">', "", "2023-04-01T08:00:00Z"),
        ('<meta name="date" content="2023-04-01T10:00:00">', "", "2023-04-01"),
        ('<meta name="date" content="no date">', "", ""),
        ('<meta name="date" content="2023-02">', "", "2023-02-28"),
        ('<meta name="date" content="03/04/2023">', "", "2023-04-03"),
        ("", '<p class="date">Published on 1 April 2023</p>', "2023-04-01"),
    ],
)
def test_a_date_is_read_as_it_is_written(head: str, beside: str, expected: str) -> None:
    assert dates(head, beside) == {expected}


HEADS = [
    f'<meta property="article:modified_time" content="{LATE}T10:00:00+01:00">',
    f'<meta name="last-modified" content="{LATE}">',
    '<meta http-equiv="last-modified" content="Sun, 09 Mar 2025 10:00:00 GMT">',
    '<meta name="DC.Date.Modified" content="20250309">',
    f'<meta itemprop="dateModified" content="{LATE}">',
    '<meta property="og:updated_time" content="1741514400">',
    '<meta property="og:updated_time" content="1741514400000">',
    '<meta name="revised" content="Sunday, March 9th, 2025, 5:15 pm">',
    '<meta name="article.updated" content="2025/03/09 10:00">',
    '<meta name="cXenseParse:recs:publishtime" content="2025-03-09T10:00:00.000Z">',
    '<meta name="lastmod" content="9 Mar 2025">',
    '<meta name="citation_publication_date" content="2025/03/09">',
    JSON.format(f'"dateModified": "{LATE}T01:00:00Z"'),
    JSON.format('"dateModified": "March 9, 2025"'),
    JSON.format('"dateModified": "9 mars 2025"'),
    JSON.format('"dateModified": "2025/03/09"'),
    JSON.format('"dateModified": "09.03.2025"'),
    JSON.format('"uploadDate": "2025-03-09"'),
    JSON.format('"dateCreated" :\n "2025-03-09"'),
    JSON.format('"dateModified": 1741514400'),
    '<script id="__NEXT_DATA__" type="application/json">{"props": {"updatedAt": "2025-03-09T10:00:00Z"}}</script>',
    '<script id="__NEXT_DATA__" type="application/json">{"a": {"lastModified": 1741514400000}}</script>',
    r'<script>self.__next_f.push([1, "{\"published_at\":\"2025-03-09T10:00:00Z\"}"])</script>',
    "<script>dataLayer = [{'publishDate': '2025-03-09'}]</script>",
]
MARKED = [
    f'<time datetime="{LATE}">today</time>',
    f'<time class="entry-date" datetime="{LATE}T10:00">today</time>',
    "<time>March 9, 2025</time>",
    f'<time itemprop="dateModified" datetime="{LATE}">today</time>',
    f'<span itemprop="dateModified" content="{LATE}">today</span>',
    '<div itemprop="dateModified">9 March 2025</div>',
    f'<abbr class="published" title="{LATE}T10:00:00Z">a day ago</abbr>',
    f'<abbr title="{LATE}">a day ago</abbr>',
    '<abbr data-utime="1741514400">a day ago</abbr>',
    '<span data-timestamp="1741514400">a day ago</span>',
    f'<relative-time datetime="{LATE}T10:00:00Z">a day ago</relative-time>',
    f'<ins datetime="{LATE}">words</ins>',
    '<p class="byline-date">By a writer, Mar. 9, 2025</p>',
    '<p id="lastModified">09/03/25</p>',
]
DATED = tomllib.loads(Path(__file__).with_name("dated.toml").read_text(encoding="utf-8"))
VISIBLE = [
    "Updated 10:15 AM EST, Sun March 9, 2025",
    "Last modified on <b>2025-03-09</b>",
    "<span>Seen</span><br>9 March 2025",
    "2025 m. kovo 9 d.",
    "Stand: 9. März 2025, 10:00 Uhr",
    "Updated March 8\u20139, 2025",
    "March 2025 (3), 9 March 2025",
]


@pytest.mark.parametrize(
    ("head", "beside"),
    [*((form, "") for form in HEADS), *(("", form) for form in (*MARKED, *(f"<p>{text}</p>" for text in VISIBLE)))],
)
def test_an_early_date_hides_none_that_is_later(head: str, beside: str) -> None:
    # Where day and month may be either way round, the later reading counts.
    expected = "2025-09-03" if "09/03" in beside else LATE
    assert {found[:10] for found in dates(EARLY + head, beside)} == {expected}, (head, beside)


def test_lines_in_twenty_languages_hide_no_date_and_what_prose_cites_is_not_taken() -> None:
    wrong: dict[str, list[str]] = {"too old": [], "too young": []}
    for kind, form in [(kind, form) for forms in DATED.values() for kind, lines in forms.items() for form in lines]:
        within = form if kind == "label" else f"The bridge is old. {form} It was built of wood."
        found = {day[:10] for beside in (form, within) for day in dates(EARLY, f"<p>{beside}</p>")}
        if kind == "cites":
            wrong["too young"] += [form] * (found != {"2019-01-01"})
        elif min(found) < LATE:
            wrong["too old"].append(form)
    cited = sum(len(forms["cites"]) for forms in DATED.values())
    assert wrong["too old"] == []
    assert len(wrong["too young"]) <= cited // 20, wrong["too young"]


def test_a_date_of_any_name_counts_in_linked_data_and_none_of_what_is_to_come() -> None:
    for name in ("lastReviewed", "coverageEndTime", "dateVerified"):
        assert dates(JSON.format(f'"{name}": "{LATE}"')) == {LATE}
    assert dates(JSON.format(f'"validThrough": "{LATE}"')) == {"2019-01-01"}


def test_dates_of_comments_and_other_stories_are_not_the_pages() -> None:
    page = f"<html><head>{EARLY}</head><body><article>{BODY}</article>{{}}<p>So much for the bridge.</p></body></html>"
    for around in ('<div class="comments">{}</div>', '<ul id="related-stories"><li>{}</li></ul>', "<aside>{}</aside>"):
        beside = around.format(f'Updated March 9, 2025 <time datetime="{LATE}">words of others</time>')
        found = main_text(page.format(beside).encode(), "text/html", "trafilatura")
        assert found.date == "2019-01-01T08:00:00Z" and "words of others" not in found.text


OTHERS = {
    "cards": "".join(f'<div><a href="/{n}"><h3>News {n}</h3></a><i>{n} March 2025</i></div>' for n in (7, 8, 9)),
    "times": "".join(
        f'<li><a href="/{n}">News of {n} boats</a><time datetime="2025-03-0{n}"></time></li>' for n in (7, 8, 9)
    ),
    "excerpts": "".join(
        f'<article><h2><a href="/{n}">News</a></h2><p>{n} March 2025 - A tale of boats that go by.</p></article>'
        for n in (7, 8, 9)
    ),
    "rows": "".join(f'<tr><td>0{n}.03.2025</td><td><a href="/{n}">News {n}</a></td></tr>' for n in (7, 8, 9)),
    "block": '<a href="/7"><h3>News</h3><p>9 March 2025</p></a>',
    "archive": '<li><a href="/2025/03/">March 2025</a> (3)</li><li><a href="/2025/02/">February 2025</a> (4)</li>',
}
OF_THE_PAGE = {
    "list of changes": "".join(f"<li>{n} March 2025: paragraph {n} reworded</li>" for n in (7, 8, 9)),
    "live": "".join(
        f'<div><time datetime="2025-03-0{n}"></time><p>The crane is at <a href="/t">pillar</a> {n} of ten.</p></div>'
        for n in (7, 8, 9)
    ),
    "permalink": f'<a href="/self"><time datetime="{LATE}">9 March</time></a>',
    "headline": f'<a href="/self"><h1>Bridge</h1><time datetime="{LATE}"></time></a>',
}


@pytest.mark.parametrize("kind", [*OTHERS, *OF_THE_PAGE])
def test_dated_links_to_other_pages_are_not_read_and_what_the_page_adds_is(kind: str) -> None:
    beside = OTHERS.get(kind) or OF_THE_PAGE[kind]
    page = f"<html><head>{EARLY}</head><body><article>{BODY}</article><div>{beside}</div></body></html>"
    found = main_text(page.encode(), "text/html", "trafilatura")
    assert found.date[:10] == ("2019-01-01" if kind in OTHERS else LATE)
    assert "News" not in found.text


def test_an_index_of_dated_links_keeps_its_text() -> None:
    page = f"<html><head></head><body><div>{OTHERS['excerpts']}</div></body></html>"
    found = main_text(page.encode(), "text/html", "trafilatura")
    assert "boats" in found.text and found.date == LATE


def test_prose_about_something_else_does_not_date_a_page_and_makes_a_dated_one_younger() -> None:
    event = "<p>The bank was led by a man from Rome until 1 November 2021, when a woman came to lead it.</p>"
    for head, is_dated in (("", False), (EARLY, True)):
        page = f"<html><head>{head}</head><body>{BODY}{event}</body></html>".encode()
        for extractor in ("trafilatura", "beautifulsoup"):
            found = main_text(page, "text/html", extractor)
            assert (found.date, found.is_dated) == ("2021-11-01", is_dated)


@pytest.mark.parametrize(
    "absurd", ["2999-01-01", "0", "0001-01-01", "1970-01-01", "99999999999", "March 40, 2025", "13/13/2020"]
)
def test_a_date_in_the_future_or_before_the_web_is_not_taken(absurd: str) -> None:
    assert dates(EARLY + f'<meta name="last-modified" content="{absurd}">') == {"2019-01-01T08:00:00Z"}


@given(st.dates(min_value=date(1990, 1, 1), max_value=date(2026, 1, 1)))
def test_no_reading_of_a_day_makes_it_older(day: date) -> None:
    forms = ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d", "%d.%m.%Y"]
    assert all(read_date(day.strftime(form)) >= day.isoformat() for form in forms)
    assert text_date([f"The council met. Updated {day:%B} {day.day}, {day.year}. It rained."]) == (
        day.isoformat(),
        True,
    )


def test_tomorrow_is_taken_since_it_has_begun_somewhere_and_the_day_after_is_not() -> None:
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert read_date(tomorrow.isoformat()) == tomorrow.isoformat()
    assert read_date((tomorrow + timedelta(days=2)).isoformat()) == ""
    assert url_date(f"https://a.example/{tomorrow + timedelta(days=2):%Y/%m/%d}/") == ""


PATHS = {
    "2023-04-01": (
        "2023/04/01/story 2023/apr/01/story 2023/April/1/story news-2023-4-1.html id/20230401 01-04-2023/ "
        "story-1-avril-2023"
    ),
    "": "2023/13/01/ 2023/xyz/01/ 2023/02/31/ id/920230401 id/20231301 1999/04",
}


@pytest.mark.parametrize(("day", "path"), [(day, path) for day, paths in PATHS.items() for path in paths.split()])
def test_an_address_may_name_a_day(path: str, day: str) -> None:
    assert url_date(f"https://a.example/{path}") == day


def test_a_day_ends_with_its_last_moment_and_a_moment_is_more_exact() -> None:
    assert end_of("2023-04-01") == datetime(2023, 4, 2, tzinfo=UTC)
    assert end_of("2023-04-01T10:00:00+02:00") == datetime(2023, 4, 1, 8, tzinfo=UTC)
    for text in ("", "2023", "2023-04-31", "2023-04-01T10:00:00", "9999-12-31", "soon"):
        assert end_of(text) is None
    assert youngest(["2023-04-01", "2023-04-01T10:00:00Z", "2022-01-01", ""]) == "2023-04-01T10:00:00Z"
    assert youngest(["2023-04-02", "2023-04-01T10:00:00Z"]) == "2023-04-02"
    assert youngest([]) == ""


FRESH = tomllib.loads(Path(__file__).with_name("fresh.toml").read_text(encoding="utf-8"))
DAY = "2025-02-14"


def test_fresh_spellings_and_structures_are_not_read_as_older_nor_what_others_published_as_the_pages() -> None:
    """At most one too old of 210, and one of twenty too young: a later day of the year costs evidence."""
    places = [f"<p>{form}</p>" for forms in FRESH["forms"].values() for form in forms] + FRESH["structures"]["pages"]
    assert len(FRESH["forms"]) >= 20 and len(places) >= 210
    found = {one: min(day[:10] for day in dates(EARLY + one * one.startswith("<meta"), one)) for one in places}
    assert sum(day < DAY for day in found.values()) <= 1, [place for place, day in found.items() if day < DAY]
    young = [place for place, day in found.items() if day > DAY]
    for line in FRESH["others"]["lines"]:
        young += [line] * ({day[:10] for day in dates(EARLY, f"<p>{line}</p>")} != {"2019-01-01"})
    assert len(young) <= (len(places) + len(FRESH["others"]["lines"])) // 20, young
