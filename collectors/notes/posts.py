"""What is known of a post: the seam to any source of posts, and the first source, a local file.

The file has one object a line in the shape of the public embed endpoint (cdn.syndication.twimg.com/tweet-result), each
with the post's `id_str`. Nothing that shows the note under the post is read.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collectors.notes._json import load_object, numbered_lines
from hellofresh.errors import SourceError
from hellofresh.quarters import parse_utc

__all__ = ["FoundPost", "LocalPosts", "PostSource", "PostStatus", "snowflake_time"]

_SNOWFLAKE_EPOCH_MS = 1_288_834_974_657
_FIRST_SNOWFLAKE = 29_700_859_247


class PostStatus(StrEnum):
    """Whether a post can stand in a sample, and if not, the first reason why not."""

    OK = "ok"
    MEDIA = "media"
    QUOTED_MEDIA = "quoted-media"
    TRUNCATED = "truncated"
    NOT_ENGLISH = "not-english"
    DELETED = "deleted"
    SUSPENDED = "suspended"
    PROTECTED = "protected"
    AGE_RESTRICTED = "age-restricted"
    UNAVAILABLE = "unavailable"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class FoundPost:
    """What a source says of one post.

    Attributes:
        id: the post's id.
        gone: why there is no text (deleted ... error), or None.
        text: as a reader sees it, HTML entities resolved; empty if gone.
        language: as the source says, such as `en`; empty if it does not.
        date: when it was posted, UTC; None if gone.
        media: has a photo, video or animated image.
        quoted_media: the quoted post has one.
        truncated: the text is not whole.
    """

    id: str
    gone: PostStatus | None = None
    text: str = ""
    language: str = ""
    date: datetime | None = None
    media: bool = False
    quoted_media: bool = False
    truncated: bool = False

    def status(self, languages: Collection[str]) -> PostStatus:
        """The first reason against the post, in the order gone, language, media, quoted media, truncated; or ok."""
        reasons = (
            (self.language.split("-")[0].lower() not in languages, PostStatus.NOT_ENGLISH),
            (self.media, PostStatus.MEDIA),
            (self.quoted_media, PostStatus.QUOTED_MEDIA),
            (self.truncated, PostStatus.TRUNCATED),
        )
        return self.gone or next((status for holds, status in reasons if holds), PostStatus.OK)


class PostSource(Protocol):
    """Something that can be asked for posts."""

    def find(self, ids: Collection[str]) -> Mapping[str, FoundPost]:
        """Every id with what is known of its post; a post that the source does not have is unavailable.

        Raises:
            SourceError: if the source itself is broken.
        """

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences about the last search for the person who runs it."""


def snowflake_time(post_id: int) -> datetime:
    """When a post or note with this id was made, to the millisecond.

    Raises:
        ValueError: for ids from before ids held the time (November 2010).
    """
    if post_id < _FIRST_SNOWFLAKE:
        raise ValueError(f"{post_id} holds no time")
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=(post_id >> 22) + _SNOWFLAKE_EPOCH_MS)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _TombstoneText(_Part):
    text: str = ""


class _Tombstone(_Part):
    text: _TombstoneText = _TombstoneText()


class _LongText(_Part):
    text: str | None = None


_Several = list[Any] | dict[str, Any] | None
"""Media in any form: only whether there are some counts, and empty lists were seen printed as empty objects."""


class _Entities(_Part):
    media: _Several = None


class _Shown(_Part):
    entities: _Entities | None = None
    media_details: _Several = Field(None, alias="mediaDetails")
    photos: _Several = None
    video: _Several = None

    @property
    def has_media(self) -> bool:
        return any((self.media_details, self.photos, self.video, self.entities and self.entities.media))


class _Answer(_Shown):
    typename: str = Field("", alias="__typename")
    id_str: str | None = Field(None, pattern=r"^[1-9][0-9]{0,18}$")
    text: str | None = None
    lang: str | None = None
    created_at: str | None = None
    note_tweet: _LongText | None = None
    quoted_tweet: _Shown | None = None
    tombstone: _Tombstone | None = None


_TOMBSTONES = (
    ("suspended", PostStatus.SUSPENDED),
    ("deleted", PostStatus.DELETED),
    ("no longer exists", PostStatus.DELETED),
    ("age-restricted", PostStatus.AGE_RESTRICTED),
    ("limits who can view", PostStatus.PROTECTED),
)


def _gone(answer: _Answer) -> PostStatus | None:
    if answer.tombstone is not None or answer.typename == "TweetTombstone":
        words = (answer.tombstone or _Tombstone()).text.text.lower()
        return next((status for part, status in _TOMBSTONES if part in words), PostStatus.UNAVAILABLE)
    return PostStatus.UNAVAILABLE if answer.text is None else None


def _found(post_id: str, answer: _Answer) -> FoundPost:
    gone = _gone(answer)
    if gone is not None:
        return FoundPost(post_id, gone)
    whole = answer.note_tweet.text if answer.note_tweet else None
    return FoundPost(
        id=post_id,
        text=html.unescape(whole or answer.text or ""),
        language=answer.lang or "",
        date=parse_utc(answer.created_at) if answer.created_at else snowflake_time(int(post_id)),
        media=answer.has_media,
        quoted_media=answer.quoted_tweet is not None and answer.quoted_tweet.has_media,
        truncated=answer.note_tweet is not None and not whole,
    )


class LocalPosts:
    """Posts from a JSONL file.

    A line whose object has neither text nor tombstone (the endpoint's `{}`) is an unavailable post. A post without
    `user` is taken if its text is there: who strips user names from a file does right.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warnings: list[str] = []

    @property
    def warnings(self) -> Sequence[str]:
        """What was odd in the file."""
        return tuple(self._warnings)

    def find(self, ids: Collection[str]) -> Mapping[str, FoundPost]:
        """Look the posts up in the file.

        Raises:
            SourceError: if the file is missing, a line is no answer of the endpoint, or two lines on a post differ.
        """
        self._warnings = []
        found = {post_id: FoundPost(post_id, PostStatus.UNAVAILABLE) for post_id in ids}
        seen: dict[str, int] = {}
        unnamed = repeated = 0
        for number, line in numbered_lines(self.path):
            where = f"{self.path.name} line {number}"
            post = _read(line, where)
            if post is None:
                unnamed += 1
            elif post.id in seen:
                repeated += 1
                _refuse_difference(seen[post.id] == hash(post), post.id, where)
            else:
                seen[post.id] = hash(post)
                if post.id in found:
                    found[post.id] = post
        self._note(unnamed, "answers without the id of a post were left out")
        self._note(repeated, "posts are there twice")
        return found

    def _note(self, count: int, what: str) -> None:
        if count:
            self._warnings.append(f"{self.path.name}: {count} {what}.")


def _read(line: bytes, where: str) -> FoundPost | None:
    """The post on the line, or None for an answer on an unknown post."""
    try:
        answer = _Answer.model_validate(load_object(line, where))
        if answer.id_str is not None:
            return _found(answer.id_str, answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _bad_post(f"{field}: {first['msg'].lower()}", where) from None
    except ValueError as error:
        raise _bad_post(f"no date of the post ({error})", where) from None
    if answer.text is not None:
        raise _bad_post("a post without id_str", where)
    return None


def _bad_post(what: str, where: str) -> SourceError:
    return SourceError(
        what, where=where, expected="an answer of the embed endpoint with the post's id_str", code="bad-post"
    )


def _refuse_difference(same: bool, post_id: str, where: str) -> None:
    if not same:
        raise SourceError(
            f"post {post_id} is there twice, with different content",
            where=where,
            expected="one line a post",
            code="conflicting-posts",
            fix="Keep the newest answer.",
        )
