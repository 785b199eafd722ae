"""A feed full of dirt is read to its end, and one that is broken is refused by name."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import HelloFreshError
from hellofresh.tasks._statements import UNSTATED
from hellofresh_parts.claims.collect import claim_clusters
from hellofresh_parts.claims.feed import feed_items
from hellofresh_parts.claims.reviews import (
    ClaimReview,
    ReviewRating,
    UnusableReviewError,
    as_moment,
    as_number,
    as_site,
    as_text,
    as_url,
    read_review,
)
from hellofresh_parts.claims.verdicts import Reading, VerdictTable
from tests.fakes import fails_with

ITEM: dict[str, Any] = {
    "claimReviewed": "Nine bridges were closed in one night.",
    "url": "https://www.checks.example/a",
    "datePublished": "2026-05-03",
    "reviewRating": {"alternateName": "False"},
}


def feed(path: Path, elements: Sequence[Any]) -> Path:
    path.write_text(json.dumps({"@type": "DataFeed", "dataFeedElement": elements, "dateModified": "x"}))
    return path


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[]", []), ('{"dataFeedElement": []}', []), ("[[1], {}]", [[1], {}]),
        ('{"dataFeedElement": [{"item": 1}], "dataFeedElement": [{"item": 2}]}', [1]),
        ('{"a": {"b": [1, 2]}, "dataFeedElement": [{"item": 1}, 7], "c": 1}', [1, None]),
        ('[{"item": 1}, {"item": 2, "claimReviewed": "x"}]', [1, {"item": 2, "claimReviewed": "x"}]),
        ('{"itemReviewed": {}}', [{"itemReviewed": {}}]), ('{"claimReviewed": 1}', [{"claimReviewed": 1}]),
        ('{"a": 1}\n{"a": 2} 3', [{"a": 1}, {"a": 2}, 3]), (f"[{'9' * 400}]", [int("9" * 400)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("piece", [1, 2, 1 << 20])
def test_every_form_is_read_whatever_the_size_of_a_piece(
    text: str, items: list[object], piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hellofresh_parts.claims.feed._PIECE", piece)
    (tmp_path / "a.json").write_text(text)
    assert list(feed_items(tmp_path / "a.json")) == items


@pytest.mark.parametrize("form", ["feed", "list", "lines", "one", "elements", "packed"])
def test_all_forms_give_the_same_reviews(form: str, tmp_path: Path) -> None:
    items = [ITEM] if form == "one" else [ITEM, ITEM | {"claimReviewed": "Ünïcödé \U0001f600 everywhere now"}]
    path = tmp_path / "a.json"
    match form:
        case "feed":
            feed(path, [{"item": item} for item in items])
        case "list":
            path.write_text(json.dumps(items))
        case "elements":
            path.write_text(json.dumps([{"item": item} for item in items]))
        case "packed":
            path.write_bytes(gzip.compress(json.dumps(items).encode()))
        case _:
            path.write_text("\n".join(json.dumps(item, ensure_ascii=False) for item in items), encoding="utf-8")
    assert list(feed_items(path)) == items


def test_the_window_does_not_cut_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hellofresh_parts.claims.feed._PIECE", 7)
    items = [{"n": 123456789, "t": 'ab\\"}{[' * k} for k in range(40)]
    assert list(feed_items(feed(tmp_path / "a.json", [{"item": item} for item in items]))) == items
    (tmp_path / "b.json").write_text("\ufeff[1234567890123, 1.5e3, null, true]  ", encoding="utf-8")
    assert list(feed_items(tmp_path / "b.json")) == [1234567890123, 1500.0, None, True]


GOOD = json.dumps({"dataFeedElement": [{"item": ITEM}]}).encode()
BROKEN = {
    "empty file": (b"", "empty-file"),
    "only spaces": (b" \n ", "empty-file"),
    "cut in the middle": (GOOD[:-40], "bad-json"),
    "torn gzip": (gzip.compress(GOOD * 50)[:60], "bad-gzip"),
    "not UTF-8": (b'{"dataFeedElement": ["\xff\xfe"]}', "not-utf8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "not-utf8"),
    "an object without a feed": (b'{"error": "quota"}', "not-a-feed"),
    "a feed that is not a list": (b'{"dataFeedElement": {"item": {}}}', "not-a-feed"),
    "a text": (b'"feed"', "bad-json"),
    "nested 100,000 deep": (b'{"dataFeedElement": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "too-deep"),
    "NaN": (b'{"dataFeedElement": [{"item": {"a": NaN}}]}', "not-finite"),
    "a number of 401 digits": (b"[" + b"9" * 401 + b"]", "huge-number"),
    "no colon": (b'{"a" 1}', "bad-json"),
    "no comma between fields": (b'{"a": 1 "b": 2}', "bad-json"),
    "no comma": (b'{"dataFeedElement": [{} {}]}', "bad-json"),
    "text after the end": (GOOD + b"]", "bad-json"),
    "an element without an end": (b'{"dataFeedElement": ["' + b"a" * (18 << 20), "too-long"),
    "a web page": (b"<html>Sign in</html>", "bad-json"),
}


@pytest.mark.parametrize(("content", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_feed_is_an_error_with_a_name(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "feed.json"
    path.write_bytes(content)
    with pytest.raises(HelloFreshError) as error:
        list(feed_items(path))
    assert error.value.code == code and "feed.json" in error.value.where


def test_a_missing_feed_is_named(tmp_path: Path) -> None:
    with pytest.raises(HelloFreshError, match="cannot be read"):
        list(feed_items(tmp_path / "none.json"))


TEXTS = {
    "": [None, True, {}, [[]]],
    "a": [["", "a"], {"name": "a"}, [{"@value": "a"}]],
    "a b": ["  a\n b ", "<p>a <b>b</b></p>"],
    "a?b": ["a\ud800b"],
    "7": [7],
    "b": [{"name": "", "headline": "b"}],
    "a c": ["a<br/>c"],
    "a<": ["a<"],
    "Tom & Ann": ["Tom &amp;amp; Ann"],
    "2 < 3 and 4 > 3": ["2 < 3 and 4 > 3"],
}


@pytest.mark.parametrize(("text", "value"), [(text, value) for text, values in TEXTS.items() for value in values])
def test_texts_are_found_in_any_form(value: object, text: str) -> None:
    assert as_text(value) == text


MOMENTS: dict[str, list[object]] = {
    "2026-05-03T00:00:00": [
        "2026-05-03", "May 3, 2026", "3 May 2026", "20260503", "2026/05/03", "Sun May 03 2026", "03.05.2026",
        1777766400, 1777766400000, ["", "2026-05-03"], {"@value": "2026-05-03"}, " May 3, 2026 ",
    ],
    "2026-05-03T10:00:00": [
        "2026-05-03T10:00:00.123456789Z", "2026-05-03T10:00:00.9", "Sun, 03 May 2026 10:00:00 +0000",
        "2026-05-03 12:00:00 +0200", 1777802400.0,
    ],
    "2026-05-04T04:30:00": ["2026-05-03T23:30:00-05:00"],
    "2026-05-13T00:00:00": ["13/05/2026", "05/13/2026", "13-5-2026 10:00"],
    "2026-12-13T00:00:00": ["12/13/2026"], "2026-05-31T00:00:00": ["31/05/2026"],
    "2026-04-04T00:00:00": ["04/04/2026"],
    "1990-01-01T00:00:00": ["1990-01-01", 631152000], "2099-12-31T00:00:00": ["2099-12-31"],
    "": [
        "03/04/2026", "soon", "", " ", None, "0001-01-01", "2026-13-45", 1e300, True, "31/02/2026", "9999-12-31",
        "13/13/2026", "05/32/2026", "1989-12-31", "2100-01-01", [], {"value": "2026-05-03"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("moment", "value"), [(moment, value) for moment, all_ in MOMENTS.items() for value in all_])
def test_times_are_read_in_many_forms_and_never_guessed(value: object, moment: str) -> None:
    found = as_moment(value)
    assert (f"{found:%Y-%m-%dT%H:%M:%S}" if found else "") == moment
    assert found is None or (found.tzinfo is UTC and not found.microsecond)


NUMBERS = [(7, 7.0), ("1.5", 1.5), ([None, "2"], 2.0), (-999999999, -999999999.0), (10**9, None), (True, None)]
NUMBERS += [("two", None), ("nan", None), ("inf", None), (None, None), ({"value": 1}, None), (10**400, None)]


@pytest.mark.parametrize(("value", "number"), NUMBERS)
def test_numbers_are_finite_and_not_huge(value: object, number: float | None) -> None:
    assert as_number(value) == number


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_no_field_breaks_a_reader(value: object) -> None:
    as_text(value), as_moment(value), as_number(value), as_url(value), as_site(value)
    with pytest.raises(UnusableReviewError):
        read_review({"claimReviewed": value, "datePublished": value, "url": "", "reviewRating": value})


PAGE = "https://a.example/"


@pytest.mark.parametrize(
    ("address", "page", "site"),
    [
        ("https://www.Checks.example/a?utm_source=x&id=3#top", "https://www.Checks.example/a?id=3", "checks.example"),
        (f"{PAGE}?utm_a=1&fbclid=2&&UTM_b=3#x", PAGE, "a.example"),
        (f"{PAGE}?a=1&&b=2?c", f"{PAGE}?a=1&b=2?c", "a.example"),
        (f"{PAGE}?x=1&amp;y=2", f"{PAGE}?x=1&y=2", "a.example"),
        ({"name": "x", "@id": PAGE}, PAGE, "a.example"),
        ({"url": [f"{PAGE}b"], "@id": PAGE}, f"{PAGE}b", "a.example"),
        (PAGE + "a" * (2000 - len(PAGE)), PAGE + "a" * (2000 - len(PAGE)), "a.example"),
        (PAGE + "a" * (2001 - len(PAGE)), "", ""),
        ("HTTP://a.example", "HTTP://a.example", "a.example"),
        ("javascript:alert(1)", "", ""),
        ("/relative", "", ""),
        (7, "", ""),
        ("https://a b.example", "", ""),
        ("https://[broken", "https://[broken", ""),
    ],
)  # fmt: skip
def test_addresses_are_cleaned_or_refused(address: object, page: str, site: str) -> None:
    assert (as_url(address), as_site(address)) == (page, site)


def test_a_review_is_read_from_any_form_of_its_fields() -> None:
    dirty = {
        "claimReviewed": ["Nine &quot;old&quot; bridges were closed."],
        "author": [{"name": "Checks", "url": "https://checks.example"}],
        "url": ["https://checks.example/a"],
        "datePublished": ["2026-05-03T10:00:00Z"],
        "inLanguage": {"name": "English", "alternateName": "en-US"},
        "itemReviewed": [
            {
                "author": [{"name": "https://social.example/u"}, {"name": "Ann Example"}],
                "appearance": [{"@id": "https://x.example", "datePublished": "2026-04-30"}],
                "datePublished": 7,
            }
        ],
        "reviewRating": [{"alternateName": "", "ratingValue": "1", "bestRating": 5, "worstRating": "1"}],
    }
    assert read_review(dirty) == ClaimReview(
        claim='Nine "old" bridges were closed.',
        claimant="Ann Example",
        claimed=datetime(2026, 4, 30, tzinfo=UTC),
        language="en",
        site="checks.example",
        reviewed=datetime(2026, 5, 3, 10, tzinfo=UTC),
        url="https://checks.example/a",
        rating=ReviewRating("", 1.0, 5.0, 1.0),
        licence=UNSTATED,
    )


DAY = datetime(2026, 5, 3, tzinfo=UTC)
CHANGES: list[tuple[dict[str, Any], dict[str, object]]] = [
    ({}, {"claimant": "", "claimed": None, "language": "", "site": "checks.example", "rating": ReviewRating("False")}),
    ({"url": "", "author": {"url": "https://b.example/x"}}, {"site": "b.example", "url": ""}),
    ({"author": "https://b.example/x"}, {"site": "checks.example"}),
    ({"itemReviewed": {"datePublished": "2026-06-01"}}, {"claimed": None}),
    ({"itemReviewed": {"datePublished": "2026-05-03"}}, {"claimed": DAY}),
    ({"itemReviewed": {"firstAppearance": {"datePublished": "2026-05-03"}, "appearance": [{"datePublished": 9}]}},
     {"claimed": DAY}),
    ({"itemReviewed": {"datePublished": "2026-05-03", "appearance": {"datePublished": "2026-05-01"}}},
     {"claimed": DAY}),
    ({"itemReviewed": "a text"}, {"claimed": None, "claimant": ""}),
    ({"itemReviewed": {"author": ["Ann", "Ben"]}}, {"claimant": "Ann"}),
    ({"itemReviewed": {"author": "x" * 201}}, {"claimant": "x" * 200}),
    ({"itemReviewed": {"author": ["", "http://a.example", "https://b.example"]}}, {"claimant": ""}),
    ({"inLanguage": "EN_gb"}, {"language": "en"}), ({"inLanguage": "english"}, {"language": ""}),
    ({"inLanguage": {"name": " de "}}, {"language": "de"}), ({"inLanguage": [7]}, {"language": ""}),
    ({"inLanguage": {"name": "German", "alternateName": "de"}}, {"language": "de"}),
    ({"claimReviewed": "x" * 1000}, {"claim": "x" * 1000}), ({"claimReviewed": "a b c"}, {"claim": "a b c"}),
    ({"claimReviewed": "abcde abcdef"}, {"claim": "abcde abcdef"}),
    ({"reviewRating": "Fake"}, {"rating": ReviewRating("Fake")}),
    ({"reviewRating": None}, {"rating": ReviewRating("")}),
    ({"reviewRating": {"name": "Fake"}}, {"rating": ReviewRating("Fake")}),
    ({"reviewRating": {"ratingValue": "Fake"}}, {"rating": ReviewRating("Fake")}),
    ({"reviewRating": {"ratingValue": 3, "bestRating": "5"}}, {"rating": ReviewRating("", 3.0, 5.0, None)}),
    ({"reviewRating": {"alternateName": "Fake", "name": "x", "ratingValue": "odd"}}, {"rating": ReviewRating("Fake")}),
    ({"sdLicense": "https://creativecommons.org/licenses/by-sa/4.0/"}, {"licence": "CC-BY-SA-4.0"}),
    ({"sdLicense": "http://www.creativecommons.org/publicdomain/zero/1.0/legalcode"}, {"licence": "CC0-1.0"}),
    ({"sdLicense": "CC BY NC v3.0."}, {"licence": "CC-BY-NC-3.0"}), ({"sdLicense": "CC-0-1.0"}, {"licence": "CC0-1.0"}),
    ({"sdLicense": "l" * 201}, {"licence": "l" * 200}), ({"sdLicense": "https://a.example/l#x"},
                                                         {"licence": "https://a.example/l"}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "fields"), CHANGES)
def test_each_field_of_a_review_is_read_and_cut_where_it_is_too_long(
    change: dict[str, Any], fields: dict[str, object]
) -> None:
    review = read_review(ITEM | change)
    assert {name: getattr(review, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"claimReviewed": None}, "no-claim"),
        ({"claimReviewed": "Too short"}, "short-claim"),
        ({"claimReviewed": "abcde abcde"}, "short-claim"),
        ({"claimReviewed": "x" * 1001}, "long-claim"),
        ({"url": None}, "no-publisher"),
        ({"url": "https://[a", "author": {"url": "x"}}, "no-publisher"),
        ({"datePublished": "soon"}, "no-review-date"),
    ],
)
def test_what_makes_a_review_useless_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableReviewError) as fault:
        read_review(ITEM | change)
    assert fault.value.reason == str(fault.value) == reason


SCALE = '[common]\n[publishers."a.example"]\nscale = { worst = 1, best = 4, false = [1, 2], mixed = [3], true = [4] }\n'


def test_numbers_count_only_on_a_known_scale(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.toml"
    path.write_text(SCALE)
    table = VerdictTable.load(path)
    assert table.read("a.example", ReviewRating("", 2.0, 4.0, 1.0)) is Reading.FALSE
    assert table.read("a.example", ReviewRating("odd words", 4.0)) is Reading.TRUE
    assert table.read("a.example", ReviewRating("", 2.0, 5.0, 1.0)) is Reading.UNSCALED
    assert table.read("a.example", ReviewRating("", 2.5)) is Reading.UNSCALED
    assert table.read("b.example", ReviewRating("", 2.0, 4.0, 1.0)) is Reading.UNSCALED


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        '[common]\nfalse = ["no"]\ntrue = ["No."]',
        SCALE.replace("[4] }", "[4, 9] }"),
        "[common]\nfalse = 1",
        "[",
    ],
)
def test_a_damaged_table_of_verdicts_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.toml"
    path.write_text(text)
    with fails_with("bad-verdicts", "the table of verdicts is damaged") as caught:
        VerdictTable.load(path)
    assert caught.value.where == str(path)


FAULTS = [
    ('[1, 2} ', "no ',' where one is needed", 5), ('{"a": 1}', "an object without dataFeedElement", 8),
    ("[1] 2", "more text after the end of the feed", 4), ("[1, x]", "not JSON (Expecting value)", 4),
    ('{"dataFeedElement": 1}', "dataFeedElement is not a list", 22), ("  7", "neither an object nor a list", 2),
    ('["' + "a" * 19, "an element of more than 19 characters, or no end of one", 1),
    ('["' + "a" * 18, "not JSON (Unterminated string starting at)", 1), (f"[{'9' * 401}]", "a number of 401 digits", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what", "after"), FAULTS)
def test_a_fault_says_what_it_is_and_where(
    text: str, what: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hellofresh_parts.claims.feed._MOST_ELEMENT", 19)
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(HelloFreshError) as error:
        list(feed_items(tmp_path / "a.json"))
    assert (error.value.what, error.value.where) == (what, f"a.json after {after} characters")


def test_clusters_are_those_that_comparing_all_pairs_finds() -> None:
    words = [f"w{k}" for k in range(30)]
    claims = [" ".join([*words[k % 7 : k % 7 + 10], f"x{k % 3}"]) for k in range(60)]
    sets = [set(claim.split()) for claim in claims]
    groups = {k: {k} for k in range(60)}
    for a in range(60):
        for b in range(a):
            if len(sets[a] & sets[b]) >= 0.8 * len(sets[a] | sets[b]) and groups[a] is not groups[b]:
                groups[a] |= groups[b]
                for member in groups[b]:
                    groups[member] = groups[a]
    found = claim_clusters(claims)
    assert all((found[a] == found[b]) == (groups[a] is groups[b]) for a in range(60) for b in range(a))


@pytest.mark.parametrize(("other", "together"), [("a b c d e f g h j", True), ("a b c d e f g j k", False)])
def test_claims_are_near_equal_from_a_share_of_exactly_four_fifths_on(other: str, together: bool) -> None:
    """Of nine words each, eight are shared of ten; or seven of eleven."""
    one, two = claim_clusters(["a b c d e f g h i", other])
    assert (one == two) is together
