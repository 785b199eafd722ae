"""Each service's answers say of a post what they say, whole or gone, and never the note that is shown under it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.notes.posts.base import (
    BadReply,
    FoundPost,
    PostAnswer,
    PostStatus,
    ServiceReply,
    media_in,
    numbered_lines,
    posted_at,
)
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.online import Online, _asked_wait_s, _Search
from collectors.notes.posts.services import SERVICES
from hellofresh.core.net.http import HttpReply
from hellofresh.tasks.images import Media
from tests.fakes import fails_with

API_V2, ID = SERVICES["api-v2"], "1600000000000000000"
QUOTED = "1500000000000000000"
DATE = datetime(2022, 12, 6, 5, 31, 41, tzinfo=UTC)
NOTE_WORDS = "Readers added this context"

API = {"id": ID, "lang": "en", "text": "Ice &amp; water.", "created_at": "2022-12-06T05:31:41.000Z"}


def read(body: Any, status: int = 200, ids: Sequence[str] = (ID,)) -> dict[str, PostAnswer]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return dict(API_V2.read(ids, ServiceReply(status, content)))


def api(**changes: Any) -> dict[str, Any]:
    return {"data": [API | changes]}


def gone(kind: str, detail: str = "", key: str = "value") -> dict[str, Any]:
    return {"errors": [{key: ID, "parameter": "ids", "type": f"https://x/{kind}", "detail": detail}]}


QUOTES = api(referenced_tweets=[{"type": "quoted", "id": QUOTED}])
SHOWN = {"id": QUOTED, "text": "x", "attachments": {"media_keys": ["16_1"]}}
GONE_QUOTE = {"resource_id": QUOTED, "parameter": "referenced_tweets.id", "type": "https://x/resource-not-found"}
RETWEET = api(text="RT @a: Ice …", referenced_tweets=[{"type": "retweeted", "id": QUOTED}])
ANSWERS = [
    (api(), PostStatus.OK),
    (api(text="Ice ...", note_tweet={"text": "Ice &amp; water."}), PostStatus.OK),
    (api(attachments={"media_keys": ["3_1"]}), PostStatus.MEDIA),
    (QUOTES | {"includes": {"tweets": [SHOWN]}}, PostStatus.QUOTED_MEDIA),
    (api(attachments={"poll_ids": ["1"]}), PostStatus.OK),
    (QUOTES, PostStatus.TRUNCATED),  # the quoted post is not shown
    (QUOTES | {"errors": [GONE_QUOTE]}, PostStatus.OK),  # one that is gone shows no media
    (RETWEET, PostStatus.TRUNCATED),
    (gone("resource-not-found"), PostStatus.DELETED),
    (gone("not-authorized-for-resource", key="resource_id"), PostStatus.PROTECTED),
    (gone("resource-not-found", "User has been suspended: [1]."), PostStatus.SUSPENDED),
]


@pytest.mark.parametrize(("body", "status"), ANSWERS)
def test_an_answer_says_what_is_there_or_why_it_is_gone_and_what_is_kept_of_it_reads_the_same(
    body: Any, status: PostStatus
) -> None:
    answer = read(body)[ID]
    assert answer.post.status(("en",)) is status
    if body is not RETWEET and "data" in body:
        assert (answer.post.text, answer.post.language, answer.post.date) == ("Ice & water.", "en", DATE)
    if "data" not in body:
        assert answer.post == FoundPost(ID, status)
    assert API_V2.read([ID], answer.kept)[ID] == answer


BAD = [
    (200, b"<html>"), (200, b"[]"), (200, b""), (200, b"[" * 100_000), (200, api(text=1)), (301, {}), (200, {}),
    (200, api(created_at="yesterday")), (200, b'{"a":NaN}'), (400, {"errors": [{"message": "Invalid"}]}),
    (200, {"data": {}}), (200, {"data": []}), (200, gone("something-new")),
    (200, {"errors": [{"value": ID, "parameter": "referenced_tweets.id", "type": "/resource-not-found"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), BAD)
def test_an_answer_that_says_nothing_is_a_failure_and_no_fact(status: int, body: Any) -> None:
    with pytest.raises(BadReply) as caught:
        read(body, status)
    assert "somebody" not in str(caught.value)


def test_one_bad_post_does_not_cost_the_others_of_its_batch() -> None:
    body = {"data": [API, {"id": QUOTED, "text": 7}, {"id": "30", "text": "older than ids with times"}]}
    assert read(body, ids=(ID, QUOTED, "30")).keys() == {ID}


def noted(value: dict[str, Any]) -> dict[str, Any]:
    """The same answer with the note in every place where it was seen."""
    shown = {"text": NOTE_WORDS, "entities": [NOTE_WORDS]}
    planted = {
        "birdwatch_pivot": {"note": shown},
        "community_note": shown,
        "has_birdwatch_notes": True,
        "communityNote": shown,
    }
    return {key: noted(item) if isinstance(item, dict) else item for key, item in value.items()} | planted


def test_the_shown_note_is_neither_read_nor_kept() -> None:
    answer = read(noted({"data": [noted(API)]}))[ID]
    assert NOTE_WORDS not in str(answer.post)
    assert NOTE_WORDS.encode() not in answer.kept.body
    assert b"irdwatch" not in answer.kept.body


@given(st.sets(st.sampled_from([str(1_600_000_000_000_000_000 + k) for k in range(8)]), min_size=1))
def test_a_batch_is_what_its_posts_are_one_by_one(ids: set[str]) -> None:
    rows = [API | {"id": key, "text": f"Text {key}"} for key in sorted(ids) if int(key) % 2]
    errors = [
        {"value": key, "parameter": "ids", "type": "/resource-not-found"} for key in sorted(ids) if not int(key) % 2
    ]
    body = {"data": rows, "errors": errors}
    together = read(body, ids=sorted(ids))
    assert together.keys() == ids
    for key, answer in together.items():
        assert API_V2.read([key], answer.kept)[key] == answer
        assert all(other.encode() not in answer.kept.body for other in ids - {key})


def test_what_is_kept_of_a_batch_is_all_that_concerns_a_post() -> None:
    row = API | {"referenced_tweets": [{"type": "quoted", "id": QUOTED}], "attachments": {"media_keys": ["3_1", "3_2"]}}
    other = API | {"id": "1400000000000000000", "text": "Other"}
    pictures = [{"media_key": key, "type": "photo", "url": f"https://p.example/{key}"} for key in ("3_2", "3_9", "3_1")]
    problems = [GONE_QUOTE, {"value": ID, "detail": "x"}, {"value": "7"}, {"detail": "of none"}]
    body = {"data": [other, row], "errors": problems, "includes": {"tweets": [SHOWN, other], "media": pictures}}
    answers = read(body, ids=(ID, other["id"]))
    assert {key: json.loads(answer.kept.body) for key, answer in answers.items()} == {
        ID: {
            "data": [row],
            "errors": problems[:2],
            "includes": {"tweets": [SHOWN], "media": [pictures[0], pictures[2]]},
        },
        other["id"]: {"data": [other], "includes": {"tweets": []}},
    }
    assert {answer.kept.status for answer in answers.values()} == {200}
    assert [item.address[-3:] for item in answers[ID].post.pictures] == ["3_1", "3_2"]
    own = {"data": [row | {"attachments": {}}, SHOWN | {"created_at": API["created_at"]}]}
    kept = json.loads(read(own)[ID].kept.body)
    assert kept["includes"] == {"tweets": [own["data"][1]]} and read(own)[ID].post.quoted_media


FLAGS = ("media", "pictures", "quoted_media", "truncated")


@pytest.mark.parametrize("illustrated", [False, True])
def test_the_first_reason_against_a_post_counts(illustrated: bool) -> None:
    picture = (Media("photo", "https://p.example/1"),)
    for language, *flags in product(("en", "EN-gb", "fr", ""), *[(False, True)] * 4):
        shown = dict(zip(FLAGS, flags, strict=True))
        post = FoundPost(ID, language=language, **(shown | {"pictures": picture if shown["pictures"] else ()}))
        if language in ("fr", ""):
            expected = PostStatus.NOT_ENGLISH
        elif shown["media"] and not illustrated:
            expected = PostStatus.MEDIA
        elif illustrated and not shown["media"]:
            expected = PostStatus.NO_MEDIA
        elif illustrated and not shown["pictures"]:
            expected = PostStatus.UNKNOWN_MEDIA
        elif shown["quoted_media"]:
            expected = PostStatus.QUOTED_MEDIA
        else:
            expected = PostStatus.TRUNCATED if shown["truncated"] else PostStatus.OK
        assert post.status(("en",), illustrated=illustrated) is expected
        assert replace(post, gone=PostStatus.DELETED).status(("en",)) is PostStatus.DELETED
        assert (post.is_whole, replace(post, gone=PostStatus.ERROR).is_whole) == (not shown["truncated"], False)


PHOTO = {"type": "photo", "url": "https://p.example/1"}


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([None, {}, [], PHOTO], [Media("photo", "https://p.example/1")]),
        ([[PHOTO, 7, {"type": "photo"}], [PHOTO, PHOTO]], [Media("photo", "https://p.example/1")]),
        ([[PHOTO] * 17], [Media("photo", "https://p.example/1")] * 16),
        ([[PHOTO | {"type": "video"}, PHOTO | {"type": "gif"}, PHOTO | {"url": "http://p.example/1"}]], []),
        ([PHOTO | {"type": "video", "media_url_https": "", "preview_image_url": "https://p.example/2"}],
         [Media("video", "https://p.example/2")]),
        ([PHOTO | {"media_url_https": "https://p.example/3", "ext_alt_text": "a &amp; b", "alt_text": "c"}],
         [Media("photo", "https://p.example/3", description="a & b")]),
        ([{"type": "animated_gif", "media_url_https": "https://p.example/3", "alt_text": "x" * 1001}],
         [Media("animation", "https://p.example/3", description="x" * 1000)]),
    ],
)  # fmt: skip
def test_pictures_are_those_of_the_first_place_that_lists_any(places: list[Any], expected: list[Media]) -> None:
    assert media_in(*places) == tuple(expected)


def test_both_spellings_of_a_date_are_the_same_time_and_an_id_tells_it_too() -> None:
    assert posted_at("1", "Tue Dec 06 06:31:41 +0100 2022") == posted_at("1", "2022-12-06T05:31:41Z") == DATE
    assert posted_at("1", "Tue Dec 06 05:31:41 -0000 2022") == DATE
    assert posted_at(ID, "") == posted_at(ID, None) == datetime(2022, 12, 6, 5, 31, 41, 219000, tzinfo=UTC)
    for wrong in ("Tue Foo 06 06:31:41 +0100 2022", "Tue Dec 46 06:31:41 +0100 2022", "06.12.2022"):
        with pytest.raises(ValueError):
            posted_at("1", wrong)


def test_lines_are_numbered_with_blank_ones_and_none_is_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.notes.posts.base._LONGEST_LINE", 4)
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n{}\n \n123\n1234")
    assert list(numbered_lines(path)) == [(2, b"{}\n"), (4, b"123\n"), (5, b"1234")]
    path.write_bytes(b"1\n12345")
    with fails_with("endless-line") as caught:
        list(numbered_lines(path))
    assert caught.value.where == "p.jsonl line 2"
    path.write_bytes(b"")
    with fails_with("empty-file"):
        list(numbered_lines(path))
    with fails_with("unreadable-file"):
        list(numbered_lines(tmp_path))


WHOLE, CUT = FoundPost(ID, text="whole"), FoundPost(ID, text="cut", truncated=True)
DELETED, GONE = FoundPost(ID, PostStatus.DELETED), FoundPost(ID, PostStatus.UNAVAILABLE)
KNOWN = [None, *((post, old) for post in (WHOLE, CUT, DELETED, GONE) for old in (False, True))]


@pytest.mark.parametrize("failed", [False, True])
def test_a_post_is_asked_for_again_if_it_was_gone_long_ago(failed: bool, tmp_path: Path) -> None:
    search = _Search(Online(API_V2, tmp_path / "none"), None, DATE, None)
    search._failed = {ID} if failed else set()
    for known in KNOWN:
        post, old = known or (GONE, True)
        search._known = {ID: known} if known else {}
        assert search.wants(ID) is (post.gone is not None and old)
        ends = post is WHOLE or (post is DELETED and not old)
        assert search.outcome(ID) == (FoundPost(ID, PostStatus.ERROR) if failed and not ends else post), known


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None), ({"Retry-After": " 7 "}, 7.0), ({"Retry-After": " "}, None),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "1060"}, 60.0),
        ({"x-rate-limit-remaining": " 0", "x-rate-limit-reset": " 900 "}, 0.0),
        ({"x-rate-limit-remaining": "1", "x-rate-limit-reset": "1060"}, None),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "soon"}, None),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "\u0661"}, None),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "1" * 13}, float("1" * 12) - 1000),
    ],
)  # fmt: skip
def test_the_wait_that_a_service_asks_for(
    headers: dict[str, str], wait_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.notes.posts.online.time.time", lambda: 1000.0)
    assert _asked_wait_s(HttpReply(429, headers, b"")) == wait_s


def test_requests_ask_for_what_the_reader_needs() -> None:
    _, query = API_V2.request([ID, QUOTED])
    assert query["ids"] == f"{ID},{QUOTED}"
    assert {"lang", "note_tweet", "attachments", "created_at"} <= set(query["tweet.fields"].split(","))
    assert "author" not in str(query)


def local(tmp_path: Path, *answers: Any) -> LocalPosts:
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return LocalPosts(path)


LISTED = {"id_str": ID, "lang": "en", "text": "Ice &amp; water.", "created_at": "2022-12-06T05:31:41.000Z"}
MEDIA_DETAILS = [{"type": "photo", "media_url_https": "https://p.example/1"}]
LINES: list[tuple[dict[str, Any], FoundPost]] = [
    (LISTED, FoundPost(ID, text="Ice & water.", language="en", date=DATE, silent=True)),
    (LISTED | {"photos": []}, FoundPost(ID, text="Ice & water.", language="en", date=DATE)),
    (LISTED | {"lang": None, "mediaDetails": MEDIA_DETAILS}, FoundPost(ID, text="Ice & water.", date=DATE, media=True)),
    (LISTED | {"video": {"a": 1}}, FoundPost(ID, text="Ice & water.", language="en", date=DATE, media=True)),
    (LISTED | {"entities": {"media": [1]}}, FoundPost(ID, text="Ice & water.", language="en", date=DATE, media=True,
                                                      silent=True)),
    (LISTED | {"quoted_tweet": {"photos": [1]}, "photos": []},
     FoundPost(ID, text="Ice & water.", language="en", date=DATE, quoted_media=True)),
    (LISTED | {"note_tweet": {"text": "More &lt;"}, "photos": []},
     FoundPost(ID, text="More <", language="en", date=DATE)),
    (LISTED | {"note_tweet": {}, "photos": []},
     FoundPost(ID, text="Ice & water.", language="en", date=DATE, truncated=True)),
    ({"id_str": ID}, FoundPost(ID, PostStatus.UNAVAILABLE, silent=True)),
    ({"id_str": ID, "__typename": "TweetTombstone"}, FoundPost(ID, PostStatus.UNAVAILABLE, silent=True)),
    ({"id_str": ID, "tombstone": {}}, FoundPost(ID, PostStatus.UNAVAILABLE, silent=True)),
    (LISTED | {"tombstone": {"text": {"text": "This Post was DELETED by its author."}}},
     FoundPost(ID, PostStatus.DELETED, silent=True)),
    ({"id_str": ID, "tombstone": {"text": {"text": "The page no longer exists."}}},
     FoundPost(ID, PostStatus.DELETED, silent=True)),
    ({"id_str": ID, "tombstone": {"text": {"text": "who limits who can view"}}},
     FoundPost(ID, PostStatus.PROTECTED, silent=True)),
    (API, FoundPost(ID, text="Ice & water.", language="en", date=DATE, silent=True)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "post"), LINES)
def test_a_line_of_a_file_says_all_of_its_post(line: dict[str, Any], post: FoundPost, tmp_path: Path) -> None:
    source = local(tmp_path, line)
    assert source.find([ID, "7"]) == {ID: post, "7": FoundPost("7", PostStatus.UNAVAILABLE, silent=post.silent)}
    assert source.warnings == []
    again = local(tmp_path, line, line, {"text": None}, LISTED | {"id_str": "9"})
    assert again.find([ID])[ID].text == post.text
    assert again.warnings == [
        "posts.jsonl: 1 answers without the id of a post were left out.", "posts.jsonl: 1 posts appear twice."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "code", "what"),
    [
        ("7", "bad-json", "not a JSON object"), ('{"text": "x"}', "bad-post", "a post without id_str"),
        (json.dumps(LISTED) + "\n" + json.dumps(LISTED | {"text": "y"}), "conflicting-posts",
         f"post {ID} appears twice, with different content"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(content: str, code: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    path.write_text(content)
    with fails_with(code) as caught:
        LocalPosts(path).find([ID])
    assert (caught.value.what, caught.value.where) == (what, f"posts.jsonl line {1 + content.count(chr(10))}")


_REAL_LISTED = {
    "tweet_1629262255744503809_card": PostStatus.OK,
    "tweet_1641086480675225601_photo": PostStatus.MEDIA,
    "tweet_1641895049427550208_quote_with_photo": PostStatus.QUOTED_MEDIA,
    "tweet_2023357708301455483_text": PostStatus.OK,
    "tombstone_deleted": PostStatus.DELETED,
    "tombstone_age_restricted.RECONSTRUCTED": PostStatus.AGE_RESTRICTED,
    "tombstone_empty_restricted.RECONSTRUCTED": PostStatus.UNAVAILABLE,
    "tombstone_protected.RECONSTRUCTED": PostStatus.PROTECTED,
    "tombstone_suspended.RECONSTRUCTED": PostStatus.SUSPENDED,
}


@pytest.mark.integration
class TestRealAnswers:
    """Every recorded answer through the reader of its kind."""

    def load(self, shared_data: Path, name: str) -> Any:
        return json.loads((shared_data / "x" / "responses" / name).read_text(encoding="utf-8"))

    @pytest.mark.parametrize("name", _REAL_LISTED)
    def test_answers_in_a_file(self, shared_data: Path, tmp_path: Path, name: str) -> None:
        body = {"id_str": ID} | self.load(shared_data, f"syndication_{name}.json")
        post_id = body["id_str"]
        assert local(tmp_path, body).find([post_id])[post_id].status(("en",)) is _REAL_LISTED[name]

    def test_api_with_many_posts_cut_short(self, shared_data: Path) -> None:
        name = "xapi_v2_tweets_errors_not-authorized-for-resource_resource-not-found.json"
        content = (shared_data / "x" / "responses" / name).read_bytes()
        with pytest.raises(BadReply):  # the record ends in the middle of a post
            read(content, ids=("1403864655550951424",))
        body = json.loads(content[: content.rindex(b"\n  },\n")] + b"}]}")
        shown = {row["id"]: row for row in body["data"]}
        found = read(body, ids=list(shown))
        assert len(found) == len(shown) > 90
        for post_id, answer in found.items():
            kinds = {item["type"] for item in shown[post_id].get("referenced_tweets", [])}
            assert answer.post.media == bool(shown[post_id].get("attachments", {}).get("media_keys"))
            # Without the posts referred to, whether a quoted one has media is not known.
            assert answer.post.truncated == bool(kinds & {"quoted", "retweeted"})
            assert API_V2.read([post_id], answer.kept)[post_id] == answer

    def test_api_of_posts_that_are_not_there_and_of_a_wrong_request(self, shared_data: Path) -> None:
        body = self.load(shared_data, "xapi_v2_tweets_errors_resource-not-found.json")
        ids = [error["value"] for error in body["errors"]]
        assert {answer.post.gone for answer in read(body, ids=ids).values()} == {PostStatus.DELETED}
        with pytest.raises(BadReply):
            read(self.load(shared_data, "xapi_v2_tweets_errors_.json"))

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("xapi_v2_tweet_with_media.json", PostStatus.MEDIA), ("xapi_v2_tweet_quote.json", PostStatus.TRUNCATED)],
    )
    def test_api_posts_alone_from_the_api_and_from_a_file(
        self, shared_data: Path, tmp_path: Path, name: str, expected: PostStatus
    ) -> None:
        row = self.load(shared_data, name)
        from_api = read({"data": [row]}, ids=(row["id"],))[row["id"]].post
        from_file = local(tmp_path, row).find([row["id"]])[row["id"]]
        assert from_file == replace(from_api, silent="attachments" not in row)
        assert (from_api.status(("en",)), from_api.status(("de",))) == (PostStatus.NOT_ENGLISH, expected)

    def test_posts_that_a_client_flattened(self, shared_data: Path, tmp_path: Path) -> None:
        rows = self.load(shared_data, "cn_api_posts_eligible_for_notes_goodheart_posts.json")
        found = local(tmp_path, *rows).find([row["id"] for row in rows])
        assert len(found) == len(rows) > 5
        for row in rows:
            assert found[row["id"]].media == bool(row["media"])
            # The client left the language out, and a post in no known language is not asked about.
            assert found[row["id"]].status(("en",)) is PostStatus.NOT_ENGLISH
