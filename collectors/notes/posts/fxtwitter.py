"""FxTwitter, api.fxtwitter.com (https://github.com/FxEmbed/FxEmbed/wiki/Status-Fetch-API): a post with its media.

Long posts come whole. The note under the post comes too (`community_note`) and is taken out before anything is read.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from collectors.notes.posts._answers import AnswerPart, BadReply, Several, check, posted_at
from collectors.notes.posts._media import media_in
from collectors.notes.posts.found import FoundPost, PostStatus
from collectors.notes.posts.service import Manners, PostRequest, Service, one_by_one

__all__ = ["FXTWITTER"]

_LATEST = 4_102_444_800
_GONE = {"PRIVATE_TWEET": PostStatus.PROTECTED, "NOT_FOUND": PostStatus.UNAVAILABLE}


class _Media(AnswerPart):
    """`all` has photos, videos and animated images; `external`, a player behind a link, is a preview and no media."""

    all: Several = None
    photos: Several = None
    videos: Several = None


class _RawText(AnswerPart):
    text: str


class _Status(AnswerPart):
    media: _Media | None = None

    @property
    def has_media(self) -> bool:
        return self.media is not None and any((self.media.all, self.media.photos, self.media.videos))


class _Post(_Status):
    id: str
    text: str
    raw_text: _RawText | None = None
    lang: str | None = None
    created_at: str | None = None
    created_timestamp: int | None = None
    quote: _Status | None = None


class _Answer(AnswerPart):
    message: str = ""
    tweet: _Post | None = None


def _read_post(post_id: str, status: int, body: dict[str, Any]) -> FoundPost:
    answer = check(_Answer, body)
    if answer.message in _GONE:
        return FoundPost(post_id, _GONE[answer.message])
    if status != 200 or answer.tweet is None:
        raise BadReply(f"HTTP status {status} without a post")
    post = answer.tweet
    if post.id != post_id:
        raise BadReply("an answer on another post")
    return FoundPost(
        id=post_id,
        # `raw_text` has the links as they were posted, as the other sources give them.
        text=html.unescape(post.raw_text.text) if post.raw_text else post.text,
        language=post.lang or "",
        date=_date(post),
        media=post.has_media,
        quoted_media=post.quote is not None and post.quote.has_media,
        pictures=() if post.media is None else media_in(post.media.all, post.media.photos, post.media.videos),
    )


def _date(post: _Post) -> datetime:
    if post.created_timestamp is not None and 0 < post.created_timestamp < _LATEST:
        return datetime.fromtimestamp(post.created_timestamp, UTC)
    try:
        return posted_at(post.id, post.created_at)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None


def _request(ids: Sequence[str]) -> PostRequest:
    return PostRequest(f"/status/{ids[0]}", {})


FXTWITTER = Service(
    name="fxtwitter",
    base_url="https://api.fxtwitter.com",
    request=_request,
    read=one_by_one(_read_post),
    manners=Manners(per_second=1.0, at_once=2),
)
