"""A rolling feed over a played quarter: nothing that it ever had is lost, and what became of it is a fact."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli import main
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import read_candidates
from hellofresh.releases.life.load import load_release
from hellofresh.tasks import get_task
from hellofresh_parts.claims.feed import daily_copies
from hellofresh_parts.claims.versions import gone_between
from tests.loopback import Reply

Q2 = Quarter(2026, 2)
START, SETTLED = date(2026, 4, 1), date(2026, 7, 17)
WINDOW, GAPS = 9, {date(2026, 6, 4)}
CLAIMS = get_task("claims")
THINGS = "bridges lakes mills wells barns gates farms ponds roads towers".split()  # noqa: SIM905 - words in quotes are harder to read
OPEN = "https://creativecommons.org/licenses/by/4.0/"


def published(day: date) -> list[dict[str, Any]]:
    """What was reviewed until a day, a review every second day; the seventh is corrected, the fifteenth retracted."""
    found = []
    for number in range((day - START).days // 2 + 1):
        words = ("False", "True", "Half true")[number % 3]
        if number == 7 and day >= date(2026, 4, 18):
            words = "False"
        if number == 15 and day >= date(2026, 5, 4):
            continue
        thing = f"{THINGS[number % 10]} and {number * 37} {THINGS[number // 10]}"
        licence = {"sdLicense": OPEN} if number % 2 else {}
        when = (START + timedelta(days=2 * number)).isoformat()
        # One is dated anew as it is corrected, after the quarter's end.
        if number == 44 and day >= date(2026, 7, 4):
            words, when = "False", "2026-07-04"
        found.append(
            {"claimReviewed": f"The county {number} has {number + 3} {thing}.", "url": f"https://a.example/{number}"}
            | {"datePublished": when, "reviewRating": {"alternateName": words}, "inLanguage": "en"}
            | licence
        )
    return sorted(found, key=lambda item: str(item["datePublished"]))[-WINDOW:]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: Any) -> Workspace:
    """Every eighth day of a quarter and the days around what happens, with a broken answer and an empty one."""

    def behave(*_: object) -> Reply:
        day = date.fromisoformat(today[:10])
        faults = {date(2026, 5, 20): b"<html>maintenance", date(2026, 5, 24): b"[]"}
        return Reply(faults.get(day, json.dumps(published(day)).encode()))

    chat.behave, address = behave, f"{chat.base_url}/feed.json"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hellofresh.toml").write_text(f'[sources.claims]\nfeed = ["{address}"]\n')
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    days = [START + timedelta(days=8 * n) for n in range(14)]
    days += [date(2026, 4, 19), date(2026, 5, 3), date(2026, 5, 5), date(2026, 7, 3), date(2026, 7, 5)]
    days += [date(2026, 5, 20), date(2026, 5, 24), SETTLED, SETTLED + timedelta(days=1)]
    for day in sorted(set(days) - GAPS):
        today = f"{day}T04:00:00Z"
        monkeypatch.setenv("HELLOFRESH_NOW", today)
        assert main(["quarter", "run"]) == (1 if day == date(2026, 5, 20) else 0)
    return Workspace(tmp_path / "data")


def test_a_rolling_feed_is_collected_whole_with_what_became_of_each_review(played: Workspace) -> None:
    found = read_candidates(played.candidates("claims", Q2), CLAIMS)
    facts = {str(item.label.facts["review_url"]).rsplit("/", 1)[1]: item.label.facts for item in found}
    assert facts.keys() == {str(number) for number in range(46)}  # the last fetch has one of April to June, dated anew
    labels = {str(item.label.facts["review_url"]).rsplit("/", 1)[1]: item.label.label for item in found}
    corrected = {name: str(fact["corrections"]) for name, fact in facts.items() if fact["corrections"]}
    assert corrected == {"7": "2026-04-19: 'True' became 'False'", "44": "2026-07-05: 'Half true' became 'False'"}
    assert (labels["7"], labels["44"]) == (0, 0)
    assert {name: fact["retracted"] for name, fact in facts.items() if fact["retracted"]} == {"15": "2026-05-05"}
    assert (facts["12"]["first_seen"], facts["12"]["last_seen"]) == ("2026-04-25", "2026-05-11")
    assert {fact["reviewed_at"][:7] for fact in facts.values()} == {"2026-04", "2026-05", "2026-06"}
    days = sorted(path.parent.name for path in played.raw("claims", "daily").glob("*/feed-*.json"))
    assert len(days) == 20 and days[0] == "2026-04-01" and "2026-05-20" not in days
    # Texts are published where the review has an open licence, and hashes elsewhere.
    rows = list(read_jsonl(played.release(Q2, "claims") / "samples.jsonl"))
    assert {row["license"] for row in rows} == {"CC-BY-4.0", "not stated"}
    for row in rows:
        is_open = row["license"] == "CC-BY-4.0"
        assert ("statement" in row, "statement_sha256" in row) == (is_open, not is_open)
    assert not load_release(played, Q2, CLAIMS).without_texts
    (played.private(Q2, "claims") / "samples.jsonl").unlink()  # as others have the release
    assert load_release(played, Q2, CLAIMS).without_texts == {
        row["id"] for row in rows if row["license"] == "not stated"
    }


@pytest.mark.parametrize(
    ("known", "today", "ask", "found"),
    [
        ("", "03-31", True, ""), ("", "04-01", False, "04-01"), ("03-31", "04-01", False, "04-01"),
        ("04-01", "04-02", False, "04-01"), ("04-01", "04-02", True, "04-01 04-02"),
        ("04-01", "07-16", False, "04-01"), ("04-01", "07-17", False, "04-01 07-17"),
        ("04-01 07-16", "07-20", False, "04-01 07-16 07-20"), ("04-01 07-17", "07-18", True, "04-01 07-17"),
        ("03-31 04-01 07-17 07-19", "09-01", True, "04-01 07-17"), ("07-18", "07-19", True, "07-18"),
    ],
)  # fmt: skip
def test_copies_are_fetched_until_a_quarter_is_settled_and_the_first_since_then_alone_counts(
    known: str, today: str, ask: bool, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", f"2026-{today}T12:00:00Z")

    def fetch(folder: Path) -> Path:
        folder.mkdir()
        (folder / "f.json").write_text("[]")
        return folder / "f.json"

    for day in known.split():
        fetch(tmp_path / f"2026-{day}")
    copies = daily_copies(tmp_path, "f.json", (START, SETTLED), fetch, ask=ask)
    assert copies == {tmp_path / f"2026-{day}" / "f.json": f"2026-{day}" for day in found.split()}


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("abcdef", "defgh", ""),
        ("abcdef", "abdef", "c"),
        ("abcdef", "bcdef", ""),
        ("abcdef", "cdfg", ""),  # half of the older ones are gone, too
        ("abcdef", "bcdfg", "e"),
        ("abcdef", "ghijkl", ""),
        ("abcdef", "aghijk", "b"),
        ("abcdef", "", ""),
        ("", "abc", ""),
    ],
)
def test_a_review_is_gone_only_where_most_older_ones_are_there(before: str, after: str, gone: str) -> None:
    copies = [{name: datetime(2026, 4, ord(name) - 96, tzinfo=UTC) for name in names} for names in (before, after)]
    assert "".join(map(str, gone_between(*copies))) == gone
