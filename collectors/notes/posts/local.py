"""Posts from a local file, one object a line.

Three forms are read: the public embed endpoint's (`id_str`), that of X's API v2 (`id`) and that of X's web answers
(`rest_id`, `legacy` or `data`). Nothing that shows the note under the post is read.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from collectors.notes.posts.base import (
    BadReply,
    FoundPost,
    PostStatus,
    Several,
    check,
    load_object,
    media_in,
    numbered_lines,
    posted_at,
    without_shown_note,
)
from collectors.notes.posts.services import (
    ApiPost,
    EmbedAnswer,
    post_from_api,
    post_from_embed,
    tombstone_status,
)
from hellofresh.core.errors import SourceError
from hellofresh.core.strict import Json, Lenient
from hellofresh.tasks.images import Media

_Read = TypeVar("_Read")
_OF_MEDIA = ("mediaDetails", "photos", "video", "attachments")


class LocalPosts:
    """Posts from a JSONL file.

    A line whose object has neither text nor tombstone (the endpoint's `{}`) is an unavailable post. A post without
    `user` is taken if its text is there: who strips user names from a file does right. A file without a single word on
    media, of any post, is silent: it was stripped of them, or copied from web pages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []

    def find(self, ids: Collection[str]) -> Mapping[str, FoundPost]:
        """Look the posts up in the file.

        Raises:
            SourceError: if the file is missing, a line has none of the forms, or two lines on a post differ.
        """
        found = {post_id: FoundPost(post_id, PostStatus.UNAVAILABLE) for post_id in ids}
        seen: dict[str, int] = {}
        unnamed = repeated = 0
        silent = True
        for number, line in numbered_lines(self.path):
            where = f"{self.path.name} line {number}"
            answer = without_shown_note(load_object(line, where))
            silent = silent and not looks_like_graphql(answer) and not any(name in answer for name in _OF_MEDIA)
            posts = _read(answer, where)
            unnamed += not posts
            for post in posts:
                if post.id in seen:
                    repeated += 1
                    if seen[post.id] != hash(post):
                        raise SourceError(
                            f"post {post.id} is there twice, with different content",
                            where=where,
                            expected="one line a post",
                            code="conflicting-posts",
                            fix="Keep the newest answer.",
                        )
                else:
                    seen[post.id] = hash(post)
                    if post.id in found:
                        found[post.id] = post
        counts = {"answers without the id of a post were left out": unnamed, "posts are there twice": repeated}
        self.warnings = [f"{self.path.name}: {count} {what}." for what, count in counts.items() if count]
        return {key: replace(post, silent=True) for key, post in found.items()} if silent else found


def _read(answer: Json, where: str) -> list[FoundPost]:
    """The posts on the line; none for an answer on an unknown post."""
    try:
        if looks_like_graphql(answer):
            # The posts inside, from which the shown note has been taken out; posts without an id are left out.
            return [post for result in _results(answer) if (post := _post(_seen(result))) is not None]
        if "id" in answer and "id_str" not in answer:
            return [_dated(post_from_api, check(ApiPost, answer), {}, ())]
        embedded = check(EmbedAnswer, answer)
        if embedded.id_str is not None:
            return [_dated(post_from_embed, embedded.id_str, embedded)]
    except BadReply as error:
        raise _bad_post(str(error), where) from None
    if embedded.text is not None:
        raise _bad_post("a post without id_str", where)
    return []


def _dated(read: Callable[..., _Read], *parts: object) -> _Read:
    try:
        return read(*parts)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None


def _bad_post(what: str, where: str) -> SourceError:
    return SourceError(
        what, where=where, expected="an answer of the embed endpoint with the post's id_str", code="bad-post"
    )


_MARKS = frozenset({"data", "legacy", "rest_id"})
_REASONS = {
    "Suspended": PostStatus.SUSPENDED,
    "Protected": PostStatus.PROTECTED,
    "NsfwLoggedOut": PostStatus.AGE_RESTRICTED,
    "NsfwViewerIsUnderage": PostStatus.AGE_RESTRICTED,
}


class _Entities(Lenient):
    media: Several = None


class _Legacy(Lenient):
    full_text: str
    lang: str | None = None
    created_at: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None

    @property
    def has_media(self) -> bool:
        return any(part is not None and part.media for part in (self.entities, self.extended_entities))

    @property
    def pictures(self) -> tuple[Media, ...]:
        """Those of the extended entities, which name all of them and say what kind they are."""
        return media_in(*(part.media for part in (self.extended_entities, self.entities) if part is not None))


class _LongResult(Lenient):
    text: str


class _LongResults(Lenient):
    result: _LongResult


class _LongText(Lenient):
    note_tweet_results: _LongResults


class _Result(Lenient):
    rest_id: str = Field(pattern=r"^[1-9][0-9]{0,18}$")
    legacy: _Legacy
    note_tweet: _LongText | None = None
    quoted_status_result: Json | None = None


def looks_like_graphql(answer: Json) -> bool:
    """Whether an object is in this form rather than in the embed endpoint's."""
    return bool(_MARKS & answer.keys()) and "id_str" not in answer


def _results(answer: Json) -> Iterator[Json]:
    """The results that are shown for themselves: of an answer on one post, of a conversation, or the bare result."""
    if "data" not in answer:
        yield answer
        return
    pending: list[Any] = [answer["data"]]
    while pending:
        value = pending.pop(0)
        if isinstance(value, list):
            pending = [*value, *pending]
        elif isinstance(value, dict):
            result = _inner(value.get("tweetResult")) or _inner(value.get("tweet_results"))
            if result is not None:
                yield result
            else:
                pending = [*value.values(), *pending]


def _inner(holder: Any) -> Json | None:
    result = holder.get("result") if isinstance(holder, dict) else None
    return result if isinstance(result, dict) else None


def _seen(result: Json) -> Json:
    """The post inside the envelope that X puts round posts which few may answer."""
    tweet = result.get("tweet")
    return tweet if result.get("__typename") == "TweetWithVisibilityResults" and isinstance(tweet, dict) else result


def _post(result: Json) -> FoundPost | None:
    if "legacy" not in result:
        return _gone(result)
    tweet = check(_Result, result)
    text = tweet.note_tweet.note_tweet_results.result.text if tweet.note_tweet else tweet.legacy.full_text
    quoted = _seen(_inner(result.get("quoted_status_result")) or {})
    return FoundPost(
        id=tweet.rest_id,
        text=html.unescape(text),
        language=tweet.legacy.lang or "",
        date=_dated(posted_at, tweet.rest_id, tweet.legacy.created_at),
        media=tweet.legacy.has_media,
        quoted_media="legacy" in quoted and check(_Result, quoted).legacy.has_media,
        pictures=tweet.legacy.pictures,
    )


def _gone(result: Json) -> FoundPost | None:
    post_id = result.get("rest_id")
    if not isinstance(post_id, str):
        return None
    reason = result.get("reason")
    if isinstance(reason, str):
        return FoundPost(post_id, _REASONS.get(reason, PostStatus.UNAVAILABLE))
    return FoundPost(post_id, tombstone_status(str(result.get("tombstone", ""))))
