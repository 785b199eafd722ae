"""Every review of a feed is kept or counted, whatever the feed's order, and verdicts that differ make no label."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collectors.claims import ClaimsSettings, collect
from hellofresh.core.files import sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates import Collection
from hellofresh.tasks.samples import Candidate
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
    about = {"author": {"name": "Ann Example"}, "datePublished": "2026-04-30"}
    item = review("Nine bridges were closed.", "Pants on Fire!", "politifact.com", itemReviewed=about, inLanguage="en")
    other = review("Ten bridges were opened.", "True", inLanguage="en")  # a language needs two classes
    [found] = [one for one in run(tmp_path, [item, other]).candidates if one.label.label == 0]
    sample, facts = found.sample, found.label.facts
    assert sample.statement == "Nine bridges were closed."
    assert (sample.speaker, sample.language, sample.period) == ("Ann Example", "en", "2026-05")
    assert sample.date == datetime(2026, 4, 30, tzinfo=UTC) and "politifact" not in repr(sample)
    assert (facts["original_label"], facts["publisher"]) == ("Pants on Fire!", "politifact.com")


def test_an_undated_claim_is_dated_before_its_review(tmp_path: Path) -> None:
    assert only(run(tmp_path, [review("Nine bridges were closed.")])).sample.date == datetime(2026, 5, 2, tzinfo=UTC)


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


def test_near_equal_claims_are_one_group(tmp_path: Path) -> None:
    long = "Nine bridges on the old river road were closed last night by the city council"
    items = [review(long), review(long.replace("city", "town"), site="b.example"), review("Bread has no salt at all.")]
    groups = [item.sample.group for item in run(tmp_path, items).candidates]
    assert len(groups) == 3 and len(set(groups)) == 2


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
    assert "3 x 'Not quite  so' of checks.example" in found.warnings[0]


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


DIRT: list[Any] = [
    None,
    [],
    7,
    "text",
    {},
    review("Too short", "False"),
    review("Some claim without a day.", day="soon"),
    review("Some claim of another quarter.", day="2026-07-01"),
    review("Some claim without an address.", url=None),
    review("", "False"),
    review("Some claim that is a joke.", "Satire"),
    review("Some claim in another language.", "False", inLanguage="fr"),
]


def test_nothing_is_lost_in_dirt(tmp_path: Path) -> None:
    good = [review(f"What stays, number {k}.", ("True", "False")[k % 2], inLanguage="en") for k in range(5)]
    found = run(tmp_path, [*DIRT, *good], languages=("en",))
    assert found.funnel.rows_in == len(DIRT) + 5 and len(found.candidates) == 5
    assert found.funnel.dropped == len(DIRT)


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
