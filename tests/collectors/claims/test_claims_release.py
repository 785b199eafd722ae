"""The sample's claims go the way of every living task: collected, balanced over three classes, escrowed, verified."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors import sample
from collectors.claims import ClaimsSettings
from collectors.jobs import claims_job, configured_jobs
from hellofresh.cli import main
from hellofresh.config import Settings
from hellofresh.core.files import read_json, read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.sources import SourceRequest, collection_jobs
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task

CLAIMS = get_task("claims")
Q2 = Quarter(2026, 2)


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    path = tmp_path / "feed.json"
    sample.write_claims_feed(path)
    return path


def test_the_sample_has_80_claims_in_the_form_of_a_feed(feed: Path) -> None:
    elements = read_json(feed)["dataFeedElement"]
    assert len(elements) == 80 and any(isinstance(element["item"], list) for element in elements)


def test_a_quarter_is_balanced_over_three_classes_and_verified(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    workspace = Workspace(tmp_path / "w")
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
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
    assert main(["release", "verify"]) == 0
    from hellofresh.core.calendar import CalendarRule

    assert reveal(workspace, Q2, CLAIMS, CalendarRule().of(Q2).reveals)
    assert main(["release", "verify", "--json"]) == 0
    assert '"passed": false' not in capsys.readouterr().out
    assert read_json(folder / "manifest.json")["counts"]["2026-04"] == {"negatives": 4, "positives": 4, "others": [4]}


def test_the_command_collects_and_says_what_is_missing(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "w"))
    monkeypatch.delenv("GOOGLE_FACT_CHECK_KEY", raising=False)
    assert main(["collect", "claims", "--quarter", "2026Q3", "--feed", str(feed), "--pending", "--json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["funnel"]["rows_in"] == 80 and "Three stars of five" in out.err
    assert len(list(read_jsonl(tmp_path / "w" / "candidates" / "claims" / "2026Q3.pending.jsonl"))) == 2
    assert main(["collect", "claims", "--quarter", "2026Q3"]) == 2
    assert main(["collect", "claims", "--quarter", "2026Q3", "--api", "plainfacts.example"]) == 2
    assert "GOOGLE_FACT_CHECK_KEY" in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text('{"dataFeedElement": [')
    assert main(["collect", "claims", "--quarter", "2026Q3", "--feed", str(broken), "--force"]) == 1
    assert "bad-json" in capsys.readouterr().err


def test_the_api_gives_reviews_in_the_form_of_a_feed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_server: Callable[[list[bytes]], str]
) -> None:
    from collectors.claims.collect import collect
    from collectors.claims.feed import fetch_reviews
    from hellofresh.core.errors import SourceError

    review = {
        "publisher": {"name": "Checks", "site": "checks.example"},
        "url": "https://checks.example/1",
        "reviewDate": "2026-05-03T00:00:00Z",
        "textualRating": "False",
        "languageCode": "en",
    }
    first = {"claims": [{"text": "Nine bridges were closed.", "claimReview": [review]}], "nextPageToken": "two"}
    second = {
        "claims": [
            {"text": "Bread has no salt.", "claimant": "a forum", "claimReview": [review | {"textualRating": "True"}]}
        ]
    }
    monkeypatch.setenv("GOOGLE_FACT_CHECK_KEY", "secret")
    url = api_server([json.dumps(first).encode(), json.dumps(second).encode()])
    path = fetch_reviews("checks.example", Q2, tmp_path, progress=lambda _: None, base_url=url)
    found = collect(Q2, [path], ClaimsSettings())
    assert sorted(item.sample.statement for item in found.candidates) == [
        "Bread has no salt.",
        "Nine bridges were closed.",
    ]
    assert "secret" not in path.read_text()
    assert fetch_reviews("checks.example", Q2, tmp_path, progress=lambda _: None, base_url=url) == path
    with pytest.raises(SourceError, match="not the API's format"):
        fetch_reviews("other.example", Q2, tmp_path, progress=lambda _: None, base_url=api_server([b'{"claims": 7}']))


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
