"""Each service's answers say of a post what they say, whole or gone, and never the note that is shown under it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.notes.posts.base import BadReply, FoundPost, PostAnswer, PostStatus, ServiceReply, posted_at
from collectors.notes.posts.local import LocalPosts
from collectors.notes.posts.services import SERVICES

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


def test_both_spellings_of_a_date_are_the_same_time() -> None:
    assert posted_at("1", "Tue Dec 06 06:31:41 +0100 2022") == posted_at("1", "2022-12-06T05:31:41Z") == DATE
    for wrong in ("Tue Foo 06 06:31:41 +0100 2022", "Tue Dec 46 06:31:41 +0100 2022", "06.12.2022"):
        with pytest.raises(ValueError):
            posted_at("1", wrong)


def test_requests_ask_for_what_the_reader_needs() -> None:
    _, query = API_V2.request([ID, QUOTED])
    assert query["ids"] == f"{ID},{QUOTED}"
    assert {"lang", "note_tweet", "attachments", "created_at"} <= set(query["tweet.fields"].split(","))
    assert "author" not in str(query)


def local(tmp_path: Path, *answers: Any) -> LocalPosts:
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return LocalPosts(path)


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
