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

from collectors.claims.collect import claim_clusters, same_claim_key
from collectors.claims.feed import feed_items
from collectors.claims.reviews import (
    ReviewRating,
    UnusableReviewError,
    as_moment,
    as_number,
    as_site,
    as_text,
    as_url,
    read_review,
)
from collectors.claims.verdicts import Reading, VerdictTable
from hellofresh.core.errors import ConfigError, HelloFreshError

ITEM: dict[str, Any] = {
    "claimReviewed": "Nine bridges were closed in one night.",
    "url": "https://www.checks.example/a",
    "datePublished": "2026-05-03",
    "reviewRating": {"alternateName": "False"},
}


def feed(path: Path, elements: Sequence[Any]) -> Path:
    path.write_text(json.dumps({"@type": "DataFeed", "dataFeedElement": elements, "dateModified": "x"}))
    return path


def test_items_may_be_objects_lists_null_or_missing(tmp_path: Path) -> None:
    path = feed(tmp_path / "a.json", [{"item": [1, 2]}, {"item": None}, {}, {"item": []}, {"item": {"a": 3}}, "x"])
    assert list(feed_items(path)) == [1, 2, None, None, None, {"a": 3}, None]


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
    monkeypatch.setattr("collectors.claims.feed._PIECE", 7)
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
    "a number of 5,000 digits": (b'{"dataFeedElement": [' + b"9" * 5000 + b"]}", "huge-number"),
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
    "Tom & Ann": ["Tom &amp;amp; Ann"],
    "2 < 3 and 4 > 3": ["2 < 3 and 4 > 3"],
}


@pytest.mark.parametrize(("text", "value"), [(text, value) for text, values in TEXTS.items() for value in values])
def test_texts_are_found_in_any_form(value: object, text: str) -> None:
    assert as_text(value) == text


DAYS: dict[str, list[object]] = {
    "2026-05-03": [
        "2026-05-03", "2026-05-03T10:00:00.123456789Z", "May 3, 2026", "3 May 2026", "20260503", "2026/05/03",
        "Sun, 03 May 2026 10:00:00 +0000", 1777766400, 1777766400000, ["", "2026-05-03"], {"@value": "2026-05-03"},
    ],
    "2026-05-04": ["2026-05-03T23:30:00-05:00"],
    "2026-05-13": ["13/05/2026", "05/13/2026"],
    "2026-04-04": ["04/04/2026"],
    "": [
        "03/04/2026", "soon", "", None, "0001-01-01", "2026-13-45", 1e300, True, "31/02/2026", "9999-12-31",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("day", "value"), [(day, value) for day, values in DAYS.items() for value in values])
def test_dates_are_read_in_many_forms_and_never_guessed(value: object, day: str) -> None:
    found = as_moment(value)
    assert (f"{found:%Y-%m-%d}" if found else "") == day
    assert found is None or found.tzinfo is UTC


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_no_field_breaks_a_reader(value: object) -> None:
    as_text(value), as_moment(value), as_number(value), as_url(value), as_site(value)
    with pytest.raises(UnusableReviewError):
        read_review({"claimReviewed": value, "datePublished": value, "url": "", "reviewRating": value})


@pytest.mark.parametrize(
    ("address", "page", "site"),
    [
        ("https://www.Checks.example/a?utm_source=x&id=3#top", "https://www.Checks.example/a?id=3", "checks.example"),
        ("javascript:alert(1)", "", ""),
        ("/relative", "", ""),
        ("https://a b.example", "", ""),
        ("https://[broken", "https://[broken", ""),
    ],
)
def test_addresses_are_cleaned_or_refused(address: str, page: str, site: str) -> None:
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
    review = read_review(dirty)
    assert (review.claim, review.claimant, review.language) == ('Nine "old" bridges were closed.', "Ann Example", "en")
    assert review.claimed == datetime(2026, 4, 30, tzinfo=UTC)
    assert review.rating == ReviewRating("", 1.0, 5.0, 1.0)


def test_a_claim_is_not_dated_after_its_review() -> None:
    assert read_review(ITEM | {"itemReviewed": {"datePublished": "2026-06-01"}}).claimed is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"claimReviewed": None}, "no-claim"),
        ({"claimReviewed": "Too short"}, "short-claim"),
        ({"claimReviewed": "a b c " * 400}, "long-claim"),
        ({"url": None}, "no-publisher"),
        ({"datePublished": "soon"}, "no-review-date"),
    ],
)
def test_what_makes_a_review_useless_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableReviewError) as fault:
        read_review(ITEM | change)
    assert fault.value.reason == reason


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
    with pytest.raises(ConfigError, check=lambda error: error.code == "bad-verdicts"):
        VerdictTable.load(path)


CLAIMS = [
    "Nine bridges on the old river road were closed last night by the city council",
    "Nine bridges on the old river road were closed last night by the town council",
    "NINE bridges, on the old river road, were closed last night by the city council!",
    "A lighthouse was sold for one coin",
    "9",
    "",
]


def test_near_equal_claims_are_one_cluster_in_any_order() -> None:
    one, two, three, *others = claim_clusters(CLAIMS)
    assert one == two == three and len({one, *others}) == 4
    backwards = claim_clusters(CLAIMS[::-1])
    assert {CLAIMS[one]} == {CLAIMS[::-1][backwards[-1]]}
    assert same_claim_key(CLAIMS[0]) == same_claim_key(CLAIMS[2])
    assert claim_clusters([]) == []


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
