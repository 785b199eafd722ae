"""The posts of the released study that are at hand, with captions: each transcript is the one written here by hand."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hellofresh.core.texts import clean
from hellofresh.judging.muse import MusePost
from hellofresh.judging.study import RatingPhase
from hellofresh.runs.regimes.correction import OPENINGS
from hellofresh.runs.regimes.registry import REGIMES
from hellofresh.tasks.transcripts import AskedEvent, NotedEvent, QuotedEvent, ReadEvent, SearchedEvent
from tests.regimes.correction import conftest as desk

QUOTE = "Nothing of the kind has been found by anybody."
URLS = ("https://weekly.example/1", "https://atlas.example/2")


def _time(text: str) -> datetime | None:
    return datetime.strptime(text.strip(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) if text else None


@pytest.fixture(scope="module")
def posts(shared_data: Path) -> list:
    """Which caption is of which post is not known: posts with pictures get the captions in turn."""
    folder = shared_data / "muse"
    rows = [json.loads(line) for line in gzip.decompress((folder / "tweets.jsonl.gz").read_bytes()).splitlines()]
    captions = iter(json.loads(gzip.decompress((folder / "image_caption.json.gz").read_bytes())).values())
    found = []
    for row in rows:
        date = MusePost(row["tweet_id"], row["modality"], row["domain"], "", (), RatingPhase.MAIN).date
        told = [next(captions)] if row["modality"] == "multimodal" else []
        notes = {"note_high": _time(row["note_1_time"]), "note_average": _time(row["note_2_time"])}
        found.append(desk.post(row["text"], *told, id=f"mp-{row['tweet_id']}", date=date, **notes))
    return found


def written_by_hand(sample, bound: str) -> list:
    """What happens with a post: one query, two pages, the first of the higher priority, one link of the two given."""
    until = {"post": sample.date, "note": sample.note_high, "note-average": sample.note_average}[bound]
    if bound != "post":
        until = datetime.fromtimestamp(until.timestamp() - 30 * 60, UTC)
    following = datetime.fromtimestamp(until.timestamp() + 24 * 3600, UTC)
    pictures = len(sample.media)
    settings = REGIMES["correction"].settings.model_dump() | {"before": bound}
    common = {
        "title": "A title",
        "status": "ok",
        "sha256": "0" * 64,
        "words": 9,
        "published": "2018-01-01",
        "relevance": 0.9,
    }
    events = [NotedEvent(name="settings", values={**settings, "until": f"{until:%Y-%m-%dT%H:%M:%SZ}", "rated": 6})]
    if pictures:
        events.append(NotedEvent(name="described", values={"pictures": 1, "described": 1}))
    noted = {"most": 5 if pictures else 3, "words": 20, "queries": ["who said it"], "problem": ""}
    events += [
        AskedEvent(step="queries", role="querier"),
        NotedEvent(name="queries", values=noted),
        SearchedEvent(query="who said it", words=3, results=2, before=f"{following:%Y-%m-%d}"),
        ReadEvent(place=1, rank=1, url=URLS[0], final_url=URLS[0], priority="low", **common),
        ReadEvent(place=2, rank=2, url=URLS[1], final_url=URLS[1], priority="high", **common),
        NotedEvent(name="links", values={"used": 2}),
    ]
    for number, (url, priority) in enumerate(zip(reversed(URLS), ("high", "low"), strict=True), start=1):
        events.append(AskedEvent(step=f"evidence-{number}", role="extractor"))
        events.append(QuotedEvent(url=url, priority=priority, refuting=(QUOTE,), missing=1))
    said = {"words": 8, "links": [URLS[1]], "hallucinated": ["https://elsewhere.example"], "opens": True}
    return [
        *events,
        AskedEvent(prompt="manual", step="respond"),
        NotedEvent(prompt="manual", name="response", values=said),
    ]


@pytest.mark.integration
@pytest.mark.parametrize("bound", ["post", "note", "note-average"])
def test_every_transcript_of_the_shared_posts_is_the_hand_written_one(posts, bound: str) -> None:
    assert len(posts) == 148 and sum(bool(post.media) for post in posts) == 55
    pages = {url: desk.page(url, QUOTE, "2018-01-01") for url in URLS}
    answers = {
        "queries": "who said it",
        "evidence-": f"REFUTES: {QUOTE}\nCONTEXT: This was never written on that page.",
        "respond": f"{OPENINGS[0]}: it is made up.\n{URLS[1]}\nhttps://elsewhere.example",
    }
    for sample in posts:
        if bound != "post" and getattr(sample, {"note": "note_high"}.get(bound, "note_average")) is None:
            continue
        world = desk.World(pages, URLS, answers)
        outcome = desk.solved(world, sample, f"before={bound}")
        assert list(outcome.events) == written_by_hand(sample, bound)
        told = [request.messages[0].text for *_, request in world.asked]
        assert all(clean(sample.text) in text for text in told)
        assert all(" ".join(media.description.split()) in text for media in sample.media for text in told)
