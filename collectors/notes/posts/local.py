"""Posts from a local file, one object per line.

Two forms are read: that of X's API v2 (`id`), and `id_str` with `text`, `lang`, `created_at` and, where a post has
media, `mediaDetails` or `entities`; a post that is gone has a `tombstone` with a sentence. The note shown under
the post is never read.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

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
from collectors.notes.posts.services import ApiPost, post_from_api
from hellofresh.core.errors import SourceError
from hellofresh.core.strict import Json, Lenient

_OF_MEDIA = ("mediaDetails", "photos", "video", "attachments")
_TOMBSTONES = (
    ("suspended", PostStatus.SUSPENDED),
    ("deleted", PostStatus.DELETED),
    ("no longer exists", PostStatus.DELETED),
    ("age-restricted", PostStatus.AGE_RESTRICTED),
    ("limits who can view", PostStatus.PROTECTED),
)


class LocalPosts:
    """Source of posts from a JSONL file.

    A line whose object has neither text nor tombstone is an unavailable post. A file that never mentions media, for
    any post, is silent: media were stripped from it, or it was copied from web pages.
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
            silent = silent and not any(name in answer for name in _OF_MEDIA)
            post = _read(answer, where)
            if post is None:
                unnamed += 1
            elif post.id in seen:
                repeated += 1
                if seen[post.id] != hash(post):
                    raise SourceError(
                        f"post {post.id} appears twice, with different content",
                        where=where,
                        expected="one line per post",
                        code="conflicting-posts",
                        fix="Keep the newest answer.",
                    )
            else:
                seen[post.id] = hash(post)
                if post.id in found:
                    found[post.id] = post
        counts = {"answers without the id of a post were left out": unnamed, "posts appear twice": repeated}
        self.warnings = [f"{self.path.name}: {count} {what}." for what, count in counts.items() if count]
        return {key: replace(post, silent=True) for key, post in found.items()} if silent else found


def _read(answer: Json, where: str) -> FoundPost | None:
    """The post on a line; None if the answer is about an unknown post."""
    try:
        if "id" in answer and "id_str" not in answer:
            return post_from_api(check(ApiPost, answer), {}, ())
        listed = check(_ListedPost, answer)
        if listed.id_str is not None:
            return listed.found(listed.id_str)
    except BadReply as error:
        raise _bad_post(str(error), where) from None
    except ValueError as error:
        raise _bad_post(f"no date of the post ({error})", where) from None
    if listed.text is not None:
        raise _bad_post("a post without id_str", where)
    return None


def _bad_post(what: str, where: str) -> SourceError:
    return SourceError(what, where=where, expected="a post with id_str, or in the form of X's API v2", code="bad-post")


class _TombstoneText(Lenient):
    text: str = ""


class _Tombstone(Lenient):
    text: _TombstoneText = _TombstoneText()


class _LongText(Lenient):
    text: str | None = None


class _Entities(Lenient):
    media: Several = None


class _Shown(Lenient):
    entities: _Entities | None = None
    media_details: Several = Field(None, alias="mediaDetails")
    photos: Several = None
    video: Several = None

    @property
    def has_media(self) -> bool:
        return any((self.media_details, self.photos, self.video, self.entities and self.entities.media))


class _ListedPost(_Shown):
    """The used parts of a line; a link preview (`card`) does not count as media."""

    typename: str = Field("", alias="__typename")
    id_str: str | None = Field(None, pattern=r"^[1-9][0-9]{0,18}$")
    text: str | None = None
    lang: str | None = None
    created_at: str | None = None
    note_tweet: _LongText | None = None
    quoted_tweet: _Shown | None = None
    tombstone: _Tombstone | None = None

    def found(self, post_id: str) -> FoundPost:
        """The post; raises ValueError if it has text but no time."""
        if self.tombstone is not None or self.typename == "TweetTombstone":
            words = (self.tombstone or _Tombstone()).text.text.lower()
            gone = next((status for part, status in _TOMBSTONES if part in words), PostStatus.UNAVAILABLE)
            return FoundPost(post_id, gone)
        if self.text is None:
            return FoundPost(post_id, PostStatus.UNAVAILABLE)
        whole = self.note_tweet.text if self.note_tweet else None
        return FoundPost(
            id=post_id,
            text=html.unescape(whole or self.text),
            language=self.lang or "",
            date=posted_at(post_id, self.created_at),
            media=self.has_media,
            quoted_media=self.quoted_tweet is not None and self.quoted_tweet.has_media,
            truncated=self.note_tweet is not None and not whole,
            pictures=media_in(self.media_details),
        )
