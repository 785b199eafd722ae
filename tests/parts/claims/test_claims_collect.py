"""Every review of a feed is kept or counted, whatever the feed's order, and verdicts that differ make no label."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates import Collection
from hellofresh.tasks import Statement
from hellofresh.tasks.samples import Candidate
from hellofresh_parts.claims.collect import collect
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.reviews import ClaimReview, read_review
from hellofresh_parts.claims.versions import Versions
from hellofresh_parts.claims.wording import Worded, _forms
from tests.doors import Door, Passed
from tests.fakes import dropped

Q2 = Quarter(2026, 2)


def review(
    claim: str, words: str = "False", site: str = "checks.example", day: str = "2026-05-03", **more: Any
) -> dict[str, Any]:
    path = sha256_text(claim)[:8]
    return {
        "@type": "ClaimReview",
        "claimReviewed": claim,
        "url": f"https://{site}/{path}",
        "datePublished": day,
        "reviewRating": {"alternateName": words},
    } | more


def run(folder: Path, items: list[Any], quarter: Quarter = Q2, **settings: Any) -> Collection:
    path = folder / "feed.json"
    path.write_text(json.dumps({"dataFeedElement": [{"item": item} for item in items]}))
    return collect(quarter, [path], ClaimsSettings(**settings), pending=True)


def only(found: Collection) -> Candidate:
    (candidate,) = found.candidates
    return candidate


def test_a_claim_is_asked_without_its_review(tmp_path: Path) -> None:
    about = {"author": {"name": "Ann Example"}, "datePublished": "2026-04-30T23:59:58.5Z"}
    item = review("Nine bridges were closed.", "Pants on Fire!", "politifact.com", itemReviewed=about, inLanguage="en")
    other = review("Ten bridges were opened.", "True", inLanguage="en")  # a language needs two classes
    [found] = [one for one in run(tmp_path, [item, other]).candidates if one.label.label == 0]
    key = "nine bridges were closed"
    assert found.sample == Statement(
        id=f"cl-{sha256_text(key)[:16]}",
        task="claims",
        edition="2026Q2",
        period="2026-05",
        date=datetime(2026, 4, 30, tzinfo=UTC),
        group=f"claim {sha256_text(key)[:16]}",
        license="not stated",
        statement="Nine bridges were closed.",
        language="en",
        speaker="Ann Example",
        context="",
    )
    assert found.label.facts == {
        "original_label": "Pants on Fire!",
        "publisher": "politifact.com",
        "reviewed_at": "2026-05-03T00:00:00Z",
        "review_url": item["url"],
        "reviews": 1,
        **dict.fromkeys(("first_seen", "last_seen", "corrections", "retracted")),
    }
    assert found.extras == {"first_shown_at": "2026-05-03T00:00:00Z"}


def test_publishers_that_disagree_are_dropped_and_counted(tmp_path: Path) -> None:
    long = "Nine bridges on the old river road were closed last night by the city council"
    items = [
        review(long, "False", "a.example"),
        review(long.replace("city", "town"), "True", "b.example"),
        review("A lighthouse was sold for one coin.", "Misleading", "a.example"),
        review("A lighthouse was sold for one coin!", "Misleading", "b.example", "2026-05-09"),
        review("Bread has no salt at all.", "True", "a.example"),
        review("Bread has no salt at all.", "False", "a.example", url="https://a.example/other"),
    ]
    found = run(tmp_path, items)
    kept = only(found)
    assert kept.label.label == 1 and kept.label.facts["reviews"] == 2
    assert kept.extras["first_shown_at"] == "2026-05-03T00:00:00Z"
    assert dropped(found) == {"disagreement": 4, "repeated-claim": 1}


def test_the_newest_version_of_a_review_counts(tmp_path: Path) -> None:
    items = [
        review("Nine bridges were closed.", words, day=f"2026-05-0{day}")
        for day, words in ((3, "False"), (5, "True"), (4, "Mixture"))
    ]
    found = run(tmp_path, items)
    assert only(found).label.label == 2 and dropped(found) == {"repeated-review": 2}


def test_unknown_verdicts_are_counted_and_listed(tmp_path: Path) -> None:
    items = [review(f"Claim number {k} of many.", "Not quite\u0007 so") for k in range(3)]
    items.append(review("Claim with stars.", ""))
    items[-1]["reviewRating"] = {"ratingValue": 2, "bestRating": 5}
    found = run(tmp_path, [*items, review("A claim without any rating.", reviewRating=None)])
    assert dropped(found) == {"unknown-verdict": 3, "unknown-scale": 1, "no-verdict": 1}
    assert found.warnings == [
        "3 reviews have 1 verdicts that are not in the table: 3 x 'Not quite  so' of checks.example."
    ]
    assert found.funnel.context["unknown verdicts"] == 1


def test_the_most_frequent_unknown_verdicts_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["hellofresh_parts.claims.collect"], "_MOST_LISTED", 2)
    words = ["b odd", "a odd", "c odd", "c odd", "o" * 61]
    items = [review(f"Claim number {n} of many.", word) for n, word in enumerate(words)]
    start = "5 reviews have 4 verdicts that are not in the table: 2 x 'c odd' of checks.example; 1 x 'a odd' of"
    assert run(tmp_path, items).warnings == [f"{start} checks.example; and 2 more."]
    (only_one,) = run(tmp_path, items[-1:]).warnings
    assert f"1 x '{'o' * 60}' of checks.example." in only_one


def test_claims_under_review_are_asked_before_anybody_has_decided(tmp_path: Path) -> None:
    items = [
        review("Nine bridges were closed.", "Checking"),
        review("Nine bridges were closed.", "Checking", "b.example"),
        review("Bread has no salt.", "Checking"),
        review("Bread has no salt.", "True", "b.example"),
    ]
    before = run(tmp_path, items)
    assert before.pending is not None
    (waiting,) = before.pending
    assert waiting.statement == "Nine bridges were closed." and len(before.candidates) == 1
    after = run(tmp_path, [*items, review("Nine bridges were closed.", "False", "c.example", "2026-06-20")])
    assert waiting.id in {item.sample.id for item in after.candidates} and not after.pending


def test_reviews_without_an_address_are_told_apart_by_site_and_claim(tmp_path: Path) -> None:
    def bare(claim: str, site: str, words: str = "False") -> dict[str, Any]:
        return review(claim, words, url=None, author={"url": f"https://{site}"})

    items = [bare("Nine bridges closed.", "a.example"), bare("Nine bridges closed!", "a.example", "Fake")]
    found = run(tmp_path, [*items, bare("Nine bridges closed.", "b.example"), bare("Bread has no salt.", "a.example")])
    facts = {item.sample.statement: item.label.facts for item in found.candidates}
    assert {said: fact["reviews"] for said, fact in facts.items()} == {
        "Nine bridges closed.": 2, "Bread has no salt.": 1
    }  # fmt: skip
    assert {fact["review_url"] for fact in facts.values()} == {None}
    assert dropped(found) == {"repeated-review": 1, "repeated-claim": 1}


def over_days(folder: Path, copies: dict[str, list[Any]]) -> tuple[Collection, list[str]]:
    """The collection of a feed's copies by day, or of a single one for the empty day; and what it said meanwhile."""
    days = {}
    for day, items in copies.items():
        path = folder / (day or "alone") / "feed.json"
        path.parent.mkdir()
        path.write_text(json.dumps(items))
        days[path] = day
    said: list[str] = []
    known = {path: day for path, day in days.items() if day}
    return collect(Q2, [*days][::-1], ClaimsSettings(), days=known, progress=said.append), said


def test_over_the_days_of_a_feed_corrections_retractions_and_new_dates_are_followed(tmp_path: Path) -> None:
    def one(number: int, words: str, day: str) -> dict[str, Any]:
        return review(
            f"County {number} has {number * 37} mills.", words, "a.example", day, url=f"https://a.example/{number}"
        )

    days = ["2026-04-01", "2026-04-02", "2026-04-03", "2026-06-30"]
    first = [one(number, "False", day) for number, day in enumerate(days)]
    second = [first[0], one(2, "True", days[2]), one(3, "Fake", "2026-07-01")]  # the second is retracted
    third = [*second, one(7, "True", "2026-07-01"), one(8, "True", "2026-03-31"), None]
    found, said = over_days(tmp_path, {"2026-06-30": first, "2026-07-02": second, "2026-07-03": third})
    assert said == [f"reading {day}/feed.json" for day in ("2026-06-30", "2026-07-02", "2026-07-03")]
    names = ("reviewed_at", "first_seen", "last_seen", "corrections", "retracted")
    rows = {str(item.label.facts["review_url"])[-1]: item for item in found.candidates}
    assert {key: tuple(item.label.facts[name] for name in names) for key, item in rows.items()} == {
        "0": ("2026-04-01T00:00:00Z", "2026-06-30", "2026-07-03", None, None),
        "1": ("2026-04-02T00:00:00Z", "2026-06-30", "2026-06-30", None, "2026-07-02"),
        "2": ("2026-04-03T00:00:00Z", "2026-06-30", "2026-07-03", "2026-07-02: 'False' became 'True'", None),
        "3": ("2026-06-30T00:00:00Z", "2026-06-30", "2026-07-03", "2026-07-02: 'False' became 'Fake'", None),
    }
    assert {key: item.label.label for key, item in rows.items()} == {"0": 0, "1": 0, "2": 2, "3": 0}
    assert dropped(found) == {"repeated-review": 2, "other-quarter": 2, "no-review": 1} and found.funnel.rows_in == 9
    alone, said = over_days(tmp_path, {"": third})
    assert said == ["reading feed.json"]
    assert dropped(alone)["other-quarter"] == 3  # of a single copy, no date after the quarter counts


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("", []), ("Hm?", ["^ hm", "^ hm ?", "? $", "hm ? $", "hm ?"]),
        ("One TWO.", ["^ one", "^ one two", "two $", "one two $", "two ."]),
        ("a, b c d e", ["^ a", "^ a ,", "^ a , b", "^ a , b c", "e $", "d e $", "c d e $", "b c d e $", "a ,", ", b"]),
    ],
)  # fmt: skip
def test_the_wording_of_a_claim_is_its_beginnings_endings_and_words_beside_marks(text: str, forms: list[str]) -> None:
    found = list(_forms(Worded("key", "a.example", "en", text, None)))
    assert found == [each for form in forms for each in (form, f"a.example {form}")]


def test_a_history_keeps_the_first_day_the_last_and_each_change_of_the_verdict() -> None:
    def read(words: str, value: float | None = None, day: int = 3) -> ClaimReview:
        rating = {"alternateName": words, "ratingValue": value}
        return read_review(review("Nine bridges closed.", day=f"2026-06-{day:02}", reviewRating=rating))

    found = Versions(read("x" * 61, 1), "d1", "d1")
    found.add(read("", 1), "d2", Q2)
    found.add(read("", 1, day=4), "d3", Q2)
    assert found.review.reviewed.day == 4
    expected = {
        "first_seen": "d1",
        "last_seen": "d3",
        "corrections": f"d2: '{'x' * 60}' became '1.0'",
        "retracted": None,
    }
    assert found.facts() == expected
    found.retracted = "d3"
    assert found.facts() == expected
    found.retracted = "d4"
    assert found.facts() == expected | {"retracted": "d4"}
    assert set(Versions(read("a"), "", "").facts().values()) == {None}


def test_the_order_of_the_feed_changes_nothing(tmp_path: Path) -> None:
    words = ["False", "True", "Misleading", "Checking", "Odd"]
    chance = random.Random(7)
    items = []
    for _ in range(200):
        claim = f"The town of {chance.randrange(12)} has {chance.randrange(4)} bridges"
        day = f"2026-05-{1 + chance.randrange(28):02d}"
        items.append(review(claim, chance.choice(words), f"{chance.choice('abc')}.example", day))
    one = run(tmp_path, items)
    chance.shuffle(items)
    two = run(tmp_path, items)
    assert replace(one, sources=two.sources) == two


def test_no_review_is_lost_in_silence(tmp_path: Path) -> None:
    def with_(**values: Any) -> Any:
        return lambda item: item | values

    def opened(items: Any) -> Passed:
        (tmp_path / "feed.json").write_text(json.dumps(items))
        found = collect(Q2, [tmp_path / "feed.json"], ClaimsSettings(languages=("en",)))
        on = {one.label.facts["review_url"]: one.label.label for one in found.candidates}
        return Passed(found.funnel.ledger(), on)

    items = [
        {"claimReviewed": f"The {word} was sold in 19{n}.", "url": f"https://a.example/{n}", "inLanguage": "en",
         "datePublished": "2026-05-03", "reviewRating": {"alternateName": ("False", "True", "Mixed")[n % 3]}}
        for n, word in enumerate(["mill", "river", "council", "bridge", "tower", "harbour", "market"] * 3, start=10)
    ]  # fmt: skip
    harms = {
        "null": lambda _: None, "number": lambda _: 7, "no claim": with_(claimReviewed=""),
        "no day": with_(datePublished="soon"), "verdict": with_(reviewRating={"alternateName": "Blorple"}),
        "none": with_(reviewRating={}), "site": with_(url="x"), "short": with_(claimReviewed="No."),
        "other quarter": with_(datePublished="2025-05-03"), "joke": with_(reviewRating={"alternateName": "Satire"}),
        "other language": with_(inLanguage="fr"),
    }  # fmt: skip
    assert Door(opened, items, lambda item: item["url"], harms).answers() == {
        "deleted": {"came in"}, "doubled": {"repeated-review"}, "null": {"no-review"}, "number": {"not-an-object"},
        "no claim": {"no-claim"}, "no day": {"no-review-date"}, "verdict": {"unknown-verdict"}, "none": {"no-verdict"},
        "site": {"no-publisher"}, "other quarter": {"other-quarter"}, "short": {"short-claim"}, "joke": {"no-truth"},
        "other language": {"other-language"},
    }  # fmt: skip
