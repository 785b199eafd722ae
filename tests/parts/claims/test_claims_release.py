"""The sample's claims go the way of every living task: collected, balanced over three classes, escrowed, verified."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from collectors import sample
from collectors.jobs import configured_jobs
from hellofresh.config import Settings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.files import read_json, read_jsonl, sha256_text
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.sources import SourceRequest, collection_jobs
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task
from hellofresh_parts.claims.collect import collect
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.feed import fetch_reviews
from hellofresh_parts.claims.jobs import claims_job
from tests.conftest import Cli
from tests.loopback import Reply

CLAIMS = get_task("claims")
Q2 = Quarter(2026, 2)


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    path = tmp_path / "feed.json"
    sample.write_claims_feed(path)
    return path


def test_a_quarter_is_balanced_over_three_classes_and_verified(feed: Path, place: Path, cli: Cli) -> None:
    workspace = Workspace(place / "data")
    assert any(isinstance(element["item"], list) for element in read_json(feed)["dataFeedElement"])
    # Every third review has no licence of its own.
    first, *others = feed.read_text().split('"sdLicense"')
    feed.write_text(first + "".join(f'"{"other" if n % 3 else "sdLicense"}"{rest}' for n, rest in enumerate(others)))
    found = collect_quarter(workspace, claims_job(Q2, [feed], ClaimsSettings()), progress=lambda _: None)
    assert found.funnel.rows_in == 80
    built = build_release(workspace, Q2, CLAIMS, seed="s", cap=3)
    assert built.samples == 27
    folder = workspace.release(Q2, "claims")
    public = (folder / "samples.jsonl").read_text()
    assert 27 > public.count('"statement_sha256"') == 27 - public.count('"statement"') > 0
    assert "plainfacts" not in public and "verdict" not in public and '"label"' not in public
    labels = Counter(row["label"] for row in read_jsonl(workspace.private(Q2, "claims") / "labels.jsonl"))
    assert labels == {0: 9, 1: 9, 2: 9}
    assert read_json(folder / "manifest.json")["selection"]["classes"] == 3
    cli("release", "verify")
    assert reveal(workspace, Q2, CLAIMS, CalendarRule().of(Q2).reveals)
    assert '"passed": false' not in cli("release", "verify", "--json")
    assert read_json(folder / "manifest.json")["counts"]["2026-04"] == {"negatives": 4, "positives": 4, "others": [4]}


def test_the_command_collects_and_says_what_is_missing(
    feed: Path, place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.delenv("GOOGLE_FACT_CHECK_KEY", raising=False)
    collect = ("collect", "claims", "--quarter", "2026Q3")
    assert cli.json(*collect, "--feed", feed, "--pending")["funnel"]["rows_in"] == 80
    assert "Three stars of five" in cli.err
    assert len(list(read_jsonl(place / "data" / "candidates" / "claims" / "2026Q3.pending.jsonl"))) == 2
    cli(*collect, code=2)
    assert "GOOGLE_FACT_CHECK_KEY" in cli(*collect, "--api", "plainfacts.example", code=2)
    Path("broken.json").write_text('{"dataFeedElement": [')
    assert "bad-json" in cli(*collect, "--feed", "broken.json", "--force", code=1)


def test_the_api_gives_reviews_in_the_form_of_a_feed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: Any
) -> None:
    review = {"publisher": {"name": "Checks", "site": "checks.example"}, "url": "https://checks.example/1",
              "reviewDate": "2026-05-03T00:00:00Z", "textualRating": "False", "languageCode": "en"}  # fmt: skip
    true = {"text": "Bread has no salt.", "claimant": "a forum", "claimReview": [review | {"textualRating": "True"}]}
    first = {"claims": [{"text": "Nine bridges were closed.", "claimReview": [review]}], "nextPageToken": "two"}
    waiting = [first, {"claims": [true]}, {"claims": 7}]

    def behave(*_: object) -> Reply:
        known = chat.headers[-1].get("x-goog-api-key") == "secret" and "secret" not in chat.paths[-1]
        return Reply(json.dumps(waiting.pop(0)).encode()) if known else Reply(b"{}", 403)

    chat.behave = behave
    monkeypatch.setenv("GOOGLE_FACT_CHECK_KEY", "secret")
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-04-03T12:00:00Z")

    said: list[str] = []
    policy = RetryPolicy(attempts=2, first_s=0)

    def fetched(site: str) -> Path:
        address = f"{chat.base_url}/claims"
        return fetch_reviews(site, Q2, tmp_path, progress=said.append, base_url=address, policy=policy)

    path = fetched("checks.example")
    assert said == ["checks.example: page 1, 1 reviews", "checks.example: page 2, 2 reviews"]
    assert path.name == f"api-{sha256_text('checks.example')[:12]}.jsonl"
    assert all("pageSize=100" in asked and "checks.example" in asked for asked in chat.paths)
    assert ["pageToken=two" in asked for asked in chat.paths] == [False, True]
    found = collect(Q2, [path], ClaimsSettings())
    said = sorted(item.sample.statement for item in found.candidates)
    assert said == ["Bread has no salt.", "Nine bridges were closed."]
    assert "secret" not in path.read_text() and all("maxAgeDays=3&" in asked for asked in chat.paths)
    assert fetched("checks.example") == path
    with pytest.raises(SourceError, match="not the API's format"):
        fetched("other.example")
    # A failure that may pass is asked for again; others, and what never ends, are named.
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-03-01T00:00:00Z")
    answers = [Reply(b"", 503), Reply(json.dumps({"claims": [true]}).encode())]
    chat.behave = lambda *_: answers.pop(0)
    assert len(list(read_jsonl(fetched("later.example")))) == 1 and "maxAgeDays=1&" in chat.paths[-1]
    for reply, why in ((Reply(b"", 503), "HTTP 503"), (Reply(b"", 404), "HTTP 404")):
        chat.behave = lambda *_, reply=reply: reply
        with pytest.raises(SourceError, match=why):
            fetched("third.example")
    for page in ({"claims": [true], "nextPageToken": "two"}, {"claims": [], "nextPageToken": "two"}):
        asked = len(chat.paths)
        chat.behave = lambda *_, page=page: Reply(json.dumps(page).encode())
        with pytest.raises(SourceError, match="the same page again"):
            fetched("endless.example")
        assert len(chat.paths) == asked + 2
    monkeypatch.setattr("hellofresh_parts.claims.feed._MOST_PAGES", 1)
    chat.behave = lambda *_: Reply(json.dumps(first).encode())
    with pytest.raises(SourceError, match="more than 1 pages"):
        fetched("third.example")
    monkeypatch.setenv("GOOGLE_FACT_CHECK_KEY", " ")
    with pytest.raises(UsageError, match="needs a key"):
        fetched("third.example")
    assert fetched("later.example").name == f"api-{sha256_text('later.example')[:12]}.jsonl"
    monkeypatch.setenv("GOOGLE_FACT_CHECK_KEY", "secret")
    with pytest.raises(UsageError, match="needs a key"):
        fetch_reviews("third.example", Q2, tmp_path, progress=said.append, base_url="http://far.example")


def test_configured_claims_are_collected_without_being_named(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text(f'[sources.claims]\nfeed = ["{feed}"]\nlanguages = ["en"]\n')
    settings, workspace = Settings.load(tmp_path / "own.toml"), Workspace(tmp_path / "w")
    assert settings.sources.tasks == ["claims"] and settings.sources.any
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-07-01T00:00:00Z")
    assert configured_jobs(workspace, settings, Q2, afresh=True) == []  # not all of the quarter is decided
    (early,) = configured_jobs(workspace, settings, Q2, afresh=False)
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-08-01T00:00:00Z")
    (job,) = configured_jobs(workspace, settings, Q2, afresh=True)
    assert (job.task.name, job.files, job.parameters) == ("claims", early.files, early.parameters)
    assert len(job.collect(lambda _: None).candidates) > 20
    request = SourceRequest((Q2,))
    assert [item.task.name for item in collection_jobs(workspace, settings, request)] == ["claims"]
