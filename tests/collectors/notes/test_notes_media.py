"""Notes on posts with pictures are a task of their own: the same rules, the same labels, and no picture leaves."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import with_pictures
from collectors.notes.posts.base import ServiceReply
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.services import SERVICES
from hellofresh.core.files import read_jsonl, sha256_text
from hellofresh.evidence.web.pictures import MediaPictures, PictureCache
from hellofresh.tasks import get_task
from hellofresh.tasks.images import Image, Media
from hellofresh.tasks.samples import Sample
from hellofresh.tasks.x_notes import IllustratedNote
from tests.collectors.notes.conftest import run
from tests.conftest import Cli
from tests.fakes import dropped

TASK = get_task("x-notes-media")
PHOTO = {"type": "photo", "media_url_https": "https://pbs.example/1.jpg", "ext_alt_text": "A tower &amp; a bird"}
FILM = {
    "type": "video", "media_url_https": "https://pbs.example/2.jpg", "url": "https://t.example/x",
    "video_info": {"variants": [{"url": "https://video.example/2.mp4"}]},
}  # fmt: skip
GIF = {"type": "animated_gif", "media_url_https": "https://pbs.example/3.jpg"}
MEDIA = (
    Media("photo", "https://pbs.example/1.jpg", description="A tower & a bird"),
    Media("video", "https://pbs.example/2.jpg"),
    Media("animation", "https://pbs.example/3.jpg"),
)


@pytest.fixture
def mixed(dump: Any) -> Any:
    """Four notes on plain posts, four on posts with pictures, and four that neither task keeps."""
    for number in range(1, 13):
        post = 1_600_000_000_000_000_000 + number
        dump.note(number, status="CURRENTLY_RATED_HELPFUL" if number % 2 else "CURRENTLY_RATED_NOT_HELPFUL", post=post)
        if number <= 4:
            dump.post(post)
        elif number <= 8:
            dump.post(post, mediaDetails=[PHOTO, FILM, GIF])
    dump.post(1_600_000_000_000_000_009, quoted_tweet={"mediaDetails": [PHOTO]})
    dump.post(1_600_000_000_000_000_010, mediaDetails=[PHOTO], quoted_tweet={"mediaDetails": [PHOTO]})
    dump.post(1_600_000_000_000_000_011, mediaDetails=[PHOTO], lang="fr")
    dump.post(1_600_000_000_000_000_012, entities={"media": [{"url": "https://t.example/x"}]})
    return dump


def notes(samples: list[Sample]) -> list[int]:
    return sorted(int(sample.id.partition("-")[2]) for sample in samples)


def test_every_note_is_of_one_task_or_none_and_both_count_all_of_them(mixed: Any) -> None:
    plain, illustrated = run(mixed, illustrated=False), run(mixed, illustrated=True)
    assert notes([item.sample for item in plain.candidates]) == [1, 2, 3, 4]
    assert notes([item.sample for item in illustrated.candidates]) == [5, 6, 7, 8]
    for found in (plain, illustrated):
        assert found.funnel.rows_in == 12
        assert sum(drop.count for drop in found.funnel.drops) + found.funnel.total_kept == 12
    assert dropped(illustrated) == {"not-english": 1, "no-media": 5, "unknown-media": 1, "quoted-media": 1}
    assert {"no-media", "unknown-media"}.isdisjoint(drop.reason for drop in plain.funnel.drops)


def test_labels_facts_and_texts_are_those_that_x_notes_would_have(mixed: Any) -> None:
    illustrated = run(mixed, illustrated=True)
    for post in mixed.posts:
        if len(post.get("mediaDetails", ())) == 3:
            del post["mediaDetails"]
    plain = {item.label.id: item for item in run(mixed, illustrated=False).candidates}
    for item in illustrated.candidates:
        other = plain[item.label.id.replace("xnm-", "xn-")]
        assert (item.label.label, item.label.facts, item.extras) == (other.label.label, other.label.facts, other.extras)
        assert isinstance(item.sample, IllustratedNote) and item.sample.media == MEDIA
        for name in ("period", "date", "group", "license", "post", "note", "edition"):
            assert getattr(item.sample, name) == getattr(other.sample, name)


def test_pending_notes_of_both_tasks_are_apart(mixed: Any) -> None:
    for row in mixed.rows["noteStatusHistory"]:
        row.update(currentStatus="NEEDS_MORE_RATINGS")
        row.pop("lockedStatus", None), row.pop("timestampMillisOfStatusLock", None)
    for illustrated, expected in ((False, [1, 2, 3, 4]), (True, [5, 6, 7, 8])):
        found = run(mixed, illustrated=illustrated, pending=True)
        assert found.pending is not None and notes(list(found.pending)) == expected


def test_a_model_that_does_not_see_reads_what_is_shown_and_the_prompts_are_those_of_x_notes(mixed: Any) -> None:
    from hellofresh.runs.prompts import load_prompt_set

    sample = run(mixed, illustrated=True).candidates[0].sample
    post = TASK.slots(sample)["post"]
    assert post.splitlines()[-3:-1] == ["[photo: A tower & a bird]", "[video: without a description]"]
    assert load_prompt_set("x-notes-media", "zero-shot").prompts == load_prompt_set("x-notes", "zero-shot").prompts


def test_the_api_names_the_pictures_of_a_post_and_its_stored_answer_does_too() -> None:
    media = [
        {"media_key": "16_3", "type": "animated_gif", "preview_image_url": "https://pbs.example/3.jpg"},
        {"media_key": "3_1", "type": "photo", "url": "https://pbs.example/1.jpg", "alt_text": "A tower & a bird"},
        {"media_key": "7_2", "type": "video", "preview_image_url": "https://pbs.example/2.jpg"},
        {"media_key": "3_9", "type": "photo", "url": "https://pbs.example/of-another-post.jpg"},
    ]
    attached = {"media_keys": ["3_1", "7_2", "16_3"]}
    row = {"id": "20", "text": "T", "created_at": "2022-12-06T05:31:41Z", "attachments": attached}
    reply = ServiceReply(200, json.dumps({"data": [row], "includes": {"media": media}}).encode())
    answer = SERVICES["api-v2"].read(["20"], reply)["20"]
    assert answer.post.pictures == MEDIA and answer.post.media
    assert SERVICES["api-v2"].read(["20"], answer.kept)["20"].post.pictures == MEDIA


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "photo", "media_url_https": "http://pbs.example/plain.jpg"},
        {"type": "photo", "media_url_https": "file:///etc/passwd"},
        {"type": "photo", "media_url_https": "https://user:pass@pbs.example/1.jpg"},
        {"type": "photo", "media_url_https": ["https://pbs.example/1.jpg"]},
        {"type": "video", "url": "https://video.example/film.mp4"},
        {"type": "poll", "url": "https://pbs.example/1.jpg"},
        "https://pbs.example/1.jpg",
        None,
    ],
)  # fmt: skip
def test_media_that_are_not_understood_are_left_out_and_never_break_a_post(tmp_path: Path, entry: Any) -> None:
    post = {
        "id_str": "22",
        "text": "T",
        "created_at": "2022-12-06T05:31:41Z",
        "mediaDetails": [entry, PHOTO, FILM, GIF],
    }
    path = tmp_path / "posts.jsonl"
    path.write_text(json.dumps(post) + "\n")
    found = LocalPosts(path).find({"22"})["22"]
    assert found.media and found.pictures == MEDIA


def test_fetched_pictures_are_named_by_hash_and_the_account_says_how_many(mixed: Any, tmp_path: Path) -> None:
    content = b"the picture as it came"
    written = b"written again"
    with PictureCache(tmp_path / "pictures") as cache:
        cache.add(MEDIA[0].address, content, Image("image/jpeg", hashlib.sha256(written).hexdigest(), 4, 3, written))
    found = with_pictures(run(mixed, illustrated=True), MediaPictures(PictureCache(tmp_path / "pictures")))
    named = replace(MEDIA[0], sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    assert {item.sample.media for item in found.candidates} == {(named, *MEDIA[1:])}  # type: ignore[attr-defined]
    assert found.funnel.context["pictures of kept posts"] == 12
    assert found.funnel.context["pictures fetched"] == 4
    assert found.parameters["pictures"] is True


def test_a_release_publishes_hashes_only_and_who_has_the_posts_has_the_samples_again(
    mixed: Any, place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    pillow = pytest.importorskip("PIL.Image")
    where, owner, reader = ("--quarter", "2023Q2", "--dump", mixed.write()), place / "data", place / "reader"
    sink = BytesIO()
    pillow.new("RGB", (8, 8), (9, 8, 7)).save(sink, "PNG")
    with PictureCache(owner / "pictures") as cache:
        cache.add(MEDIA[0].address, sink.getvalue(), Image("image/jpeg", sha256_text("x"), 1, 1, b"x"))
    cli("collect", "x-notes-media", *where)
    cli("release", "build", *where[:2])
    samples = owner / "releases" / "2023Q2" / "x-notes-media" / "samples.jsonl"
    assert not any(part in samples.read_text() for part in ("pbs.example", "tower", "bird", "metres"))
    row = next(iter(read_jsonl(samples)))
    assert row["media"][0] == {  # type: ignore[index]
        "kind": "photo", "address_sha256": sha256_text(MEDIA[0].address),
        "description_sha256": sha256_text("A tower & a bird"), "sha256": "", "bytes": 0,
    }  # fmt: skip
    files = [path for path in owner.rglob("*") if path.is_file() and "pictures" not in path.parts]
    assert not [path for path in files if sink.getvalue() in path.read_bytes()]
    cli("release", "publish")
    shutil.copytree(owner / "releases", reader / "releases")
    monkeypatch.setenv("HELLOFRESH_DATA", str(reader))
    cli("hydrate", *where, "--task", "x-notes-media")
    path = "2023Q2/x-notes-media/samples.jsonl"
    assert (reader / "hydrated" / path).read_bytes() == (owner / "private" / path).read_bytes()
    monkeypatch.setenv("HELLOFRESH_DATA", str(owner))
    cli("release", "takedown", row["id"], "--reason", "The post is gone.")
    with PictureCache(owner / "pictures") as cache:
        assert cache.find(MEDIA[0]) is None
