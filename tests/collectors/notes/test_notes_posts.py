"""A post is what a file's answer says, and nothing of the note that is shown under it; more bad files: tests/corpus."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import FoundPost, LocalPosts, PostStatus
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import snowflake_time

PLAIN = {
    "__typename": "Tweet",
    "id_str": "1600000000000000000",
    "lang": "en",
    "text": "Water boils at 50 degrees.",
    "created_at": "2022-12-06T05:31:41.000Z",
}
PHOTO = {"type": "photo", "media_url_https": "https://example.org/a.jpg"}


def posts(tmp_path: Path, *lines: Any) -> LocalPosts:
    path = tmp_path / "posts.jsonl"
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return LocalPosts(path)


def one(tmp_path: Path, answer: Any) -> FoundPost:
    return posts(tmp_path, answer).find(["1600000000000000000"])["1600000000000000000"]


def status(tmp_path: Path, **changes: Any) -> PostStatus:
    answer = {key: value for key, value in (PLAIN | changes).items() if value != "gone"}
    return one(tmp_path, answer).status(("en",))


@pytest.mark.parametrize("value", [[PHOTO], {"0": PHOTO}])
@pytest.mark.parametrize("key", ["mediaDetails", "photos", "video"])
def test_media_in_any_form_count(tmp_path: Path, key: str, value: Any) -> None:
    assert status(tmp_path, **{key: value}) is PostStatus.MEDIA
    assert status(tmp_path, quoted_tweet={key: value, "text": "x"}) is PostStatus.QUOTED_MEDIA
    assert status(tmp_path, entities={"media": value}) is PostStatus.MEDIA


@pytest.mark.parametrize("empty", [[], {}, None])
def test_empty_lists_of_media_in_any_spelling_are_no_media(tmp_path: Path, empty: Any) -> None:
    nothing = {"mediaDetails": empty, "photos": empty, "video": empty, "entities": {"media": empty}}
    assert status(tmp_path, **nothing) is PostStatus.OK
    assert status(tmp_path, quoted_tweet=nothing) is PostStatus.OK


@pytest.mark.parametrize("lang", ["en", "EN", "en-GB", "pt", "und", "", "gone", None])
def test_any_english_is_english_and_nothing_else(tmp_path: Path, lang: Any) -> None:
    assert status(tmp_path, lang=lang) is (PostStatus.OK if lang in ("en", "EN", "en-GB") else PostStatus.NOT_ENGLISH)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("This Post was deleted by somebody", PostStatus.DELETED),
        ("from an account that no longer exists", PostStatus.DELETED),
        ("from a suspended account", PostStatus.SUSPENDED),
        ("this account owner limits who can view", PostStatus.PROTECTED),
        ("Age-restricted adult content", PostStatus.AGE_RESTRICTED),
        ("something new", PostStatus.UNAVAILABLE),
        ("", PostStatus.UNAVAILABLE),
    ],
)
def test_tombstones_say_why(tmp_path: Path, words: str, expected: PostStatus) -> None:
    answer = {"id_str": PLAIN["id_str"], "__typename": "TweetTombstone", "tombstone": {"text": {"text": words}}}
    assert one(tmp_path, answer).gone is expected
    assert one(tmp_path, answer | {"text": "leftover"}).gone is expected


def test_what_shows_the_note_is_ignored_and_a_user_is_not_needed_and_never_kept(tmp_path: Path) -> None:
    shown = {
        "birdwatch_pivot": {"note": {"rest_id": "1"}, "subtitle": {"text": "It boils at 100 degrees."}},
        "has_birdwatch_notes": True,
        "community_note": {"text": "It boils at 100 degrees."},
        "user": {"name": "Jo Planted", "screen_name": "jo_planted"},
    }
    assert one(tmp_path, PLAIN | shown) == one(tmp_path, PLAIN)


def test_a_post_without_date_has_the_date_of_its_id(tmp_path: Path) -> None:
    undated = {key: value for key, value in PLAIN.items() if key != "created_at"}
    found = one(tmp_path, undated).date
    assert found is not None
    assert found.replace(microsecond=0) == one(tmp_path, PLAIN).date


def test_the_oldest_ids_hold_no_time() -> None:
    with pytest.raises(ValueError, match="contains no time"):
        snowflake_time(20)


def line(text: str) -> bytes:
    return text.encode() + b"\n"


BAD: dict[str, tuple[bytes, str]] = {
    "infinity": (line('{"id_str":"7","text":"a","favorite_count":-Infinity}'), "not a JSON number"),
    "id-as-number": (line('{"id_str":1600000000000000000}'), "id_str: "),
    "foreign-digits": (line('{"id_str":"١٢"}'), "id_str: "),
    "media-as-number": (line('{"id_str":"7","text":"a","photos":1}'), "photos"),
    "bad-date": (line('{"id_str":"7","text":"a","created_at":"yesterday"}'), "no date"),
    "date-without-zone": (line('{"id_str":"7","text":"a","created_at":"2023-01-01T00:00:00"}'), "no date"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_of_posts_are_refused_with_their_line(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    source = posts(tmp_path, content)
    with pytest.raises(SourceError) as caught:
        source.find(["7"])
    assert words in str(caught.value)
    assert "posts.jsonl" in str(caught.value)
    assert caught.value.code != "error"


@pytest.mark.integration
def test_the_date_of_an_id_is_the_date_of_a_real_post(shared_data: Path) -> None:
    lines = (shared_data / "x" / "dump-2022Q4-2023Q2" / "posts.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(text) for text in lines]
    assert len(answers) == 854
    for answer in answers:
        stated = datetime.fromisoformat(answer["created_at"])
        assert abs((snowflake_time(int(answer["id_str"])) - stated).total_seconds()) < 1
