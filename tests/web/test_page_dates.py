"""A page is as young as the latest date that it names, wherever and in whichever language it names it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

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
VISIBLE = [
    "Updated March 9, 2025",
    "Last updated: Sunday 9 March 2025 at 10:00",
    "Updated 10:15 AM EST, Sun March 9, 2025",
    "Last modified on <b>2025-03-09</b>",
    "This page was last edited on 9 March 2025.",
    "March 9, 2025 (updated)",
    "Correction, Mar. 9, 2025: a name was wrong.",
    "Aktualisiert am 9. März 2025",
    "Stand: 09.03.2025, 10:00 Uhr",
    "Stand: 9.3.25",
    "Mis à jour le 9 mars 2025 à 10h00",
    "Publié le 09/03/2025",
    "Actualizado el 9 de marzo de 2025",
    "Atualizado em 9 de março de 2025",
    "Atualizado há um dia: 09/03/2025 às 10h00",
    "Aggiornato il 9 marzo 2025",
    "Bijgewerkt op 9 maart 2025",
    "Aktualizacja: 9 marca 2025",
    "Обновлено 9 марта 2025",
    "Оновлено: 9 березня 2025",
    "Güncelleme: 9 Mart 2025",
    "آخر تحديث: 9 مارس 2025",
    "تحديث ٩ مارس ٢٠٢٥",
    "अपडेट: 9 मार्च 2025",
    "Diperbarui 9 Maret 2025",
    "Cập nhật: 9 tháng 3 năm 2025",
    "更新日:2025年3月9日",
    "2025年3月9日 10:00 更新",
    "发布时间:2025-03-09 10:00",
    "수정 2025년 3월 9일",
    "입력 2025.03.09. 10:00",
    "Uppdaterad 9 mars 2025",
    "Opdateret 9. marts 2025",
    "Päivitetty 9.3.2025",
    "Aktualizováno 9. března 2025",
    "Τελευταία ενημέρωση: 9 Μαρτίου 2025",
    "Frissítve: 2025. március 9.",
    "עודכן: 9 במרץ 2025",
]


@pytest.mark.parametrize(
    ("head", "beside"),
    [*((form, "") for form in HEADS), *(("", form) for form in (*MARKED, *(f"<p>{text}</p>" for text in VISIBLE)))],
)
def test_an_early_date_hides_none_that_is_later(head: str, beside: str) -> None:
    # Where day and month may be either way round, the later reading counts.
    expected = "2025-09-03" if "09/03" in beside else LATE
    assert {found[:10] for found in dates(EARLY + head, beside)} == {expected}, (head, beside)


def test_dates_of_comments_and_other_stories_are_not_the_pages() -> None:
    page = f"<html><head>{EARLY}</head><body><article>{BODY}</article>{{}}<p>So much for the bridge.</p></body></html>"
    for around in ('<div class="comments">{}</div>', '<ul id="related-stories"><li>{}</li></ul>', "<aside>{}</aside>"):
        beside = around.format(f'Updated March 9, 2025 <time datetime="{LATE}">words of others</time>')
        found = main_text(page.format(beside).encode(), "text/html", "trafilatura")
        assert found.date == "2019-01-01T08:00:00Z" and "words of others" not in found.text


@pytest.mark.parametrize(
    "absurd", ["2999-01-01", "0", "0001-01-01", "1970-01-01", "99999999999", "March 40, 2025", "13/13/2020"]
)
def test_a_date_in_the_future_or_before_the_web_is_not_taken(absurd: str) -> None:
    assert dates(EARLY + f'<meta name="last-modified" content="{absurd}">') == {"2019-01-01T08:00:00Z"}


@given(st.dates(min_value=date(1990, 1, 1), max_value=date(2026, 1, 1)))
def test_no_reading_of_a_day_makes_it_older(day: date) -> None:
    forms = ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d", "%d.%m.%Y"]
    assert all(read_date(day.strftime(form)) >= day.isoformat() for form in forms)
    assert text_date(f"The council met. Updated {day:%B} {day.day}, {day.year}. It rained.") == day.isoformat()


def test_tomorrow_is_taken_since_it_has_begun_somewhere_and_the_day_after_is_not() -> None:
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert read_date(tomorrow.isoformat()) == tomorrow.isoformat()
    assert read_date((tomorrow + timedelta(days=2)).isoformat()) == ""
    assert url_date(f"https://a.example/{tomorrow + timedelta(days=2):%Y/%m/%d}/") == ""


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/2023/04/01/story", "2023-04-01"),
        ("https://a.example/2023/apr/01/story", "2023-04-01"),
        ("https://a.example/2023/April/1/story", "2023-04-01"),
        ("https://a.example/news-2023-4-1.html", "2023-04-01"),
        ("https://a.example/2023/13/01/", ""),
        ("https://a.example/2023/xyz/01/", ""),
        ("https://a.example/2023/02/31/", ""),
        ("https://a.example/id/20230401", ""),
        ("https://a.example/1999/04", ""),
    ],
)
def test_an_address_may_name_a_day(url: str, expected: str) -> None:
    assert url_date(url) == expected


def test_a_day_ends_with_its_last_moment_and_a_moment_is_more_exact() -> None:
    assert end_of("2023-04-01") == datetime(2023, 4, 2, tzinfo=UTC)
    assert end_of("2023-04-01T10:00:00+02:00") == datetime(2023, 4, 1, 8, tzinfo=UTC)
    for text in ("", "2023", "2023-04-31", "2023-04-01T10:00:00", "9999-12-31", "soon"):
        assert end_of(text) is None
    assert youngest(["2023-04-01", "2023-04-01T10:00:00Z", "2022-01-01", ""]) == "2023-04-01T10:00:00Z"
    assert youngest(["2023-04-02", "2023-04-01T10:00:00Z"]) == "2023-04-02"
    assert youngest([]) == ""
