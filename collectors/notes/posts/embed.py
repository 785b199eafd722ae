"""The public embed endpoint, cdn.syndication.twimg.com/tweet-result: what web pages show of a post.

It has no documentation. A post that cannot be shown comes as a tombstone with a sentence, as `{}` or without its
author; of long posts only the beginning comes.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from hellofresh.collectors.notes.posts.base import (
    AnswerPart,
    BadReply,
    FoundPost,
    PostAnswer,
    PostRequest,
    PostStatus,
    Service,
    ServiceReply,
    Several,
    check,
    load_reply,
    media_in,
    posted_at,
)
from hellofresh.core.files import canonical_json
from hellofresh.tasks.images import Media

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class _TombstoneText(AnswerPart):
    text: str = ""


class _Tombstone(AnswerPart):
    text: _TombstoneText = _TombstoneText()


class _LongText(AnswerPart):
    text: str | None = None


class _Entities(AnswerPart):
    media: Several = None


class _Shown(AnswerPart):
    entities: _Entities | None = None
    media_details: Several = Field(None, alias="mediaDetails")
    photos: Several = None
    video: Several = None

    @property
    def has_media(self) -> bool:
        return any((self.media_details, self.photos, self.video, self.entities and self.entities.media))

    @property
    def pictures(self) -> tuple[Media, ...]:
        return media_in(self.media_details) or media_in(self.photos, kind="photo") or media_in(self.video, kind="video")


class _Edits(AnswerPart):
    edit_tweet_ids: list[str] = Field(default_factory=list)


class EmbedAnswer(_Shown):
    """The parts of an answer that are used; a link preview (`card`) does not count as media and is not among them."""

    typename: str = Field("", alias="__typename")
    id_str: str | None = Field(None, pattern=r"^[1-9][0-9]{0,18}$")
    text: str | None = None
    lang: str | None = None
    created_at: str | None = None
    note_tweet: _LongText | None = None
    quoted_tweet: _Shown | None = None
    tombstone: _Tombstone | None = None
    edit_control: _Edits | None = None


_TOMBSTONES = (
    ("suspended", PostStatus.SUSPENDED),
    ("deleted", PostStatus.DELETED),
    ("no longer exists", PostStatus.DELETED),
    ("age-restricted", PostStatus.AGE_RESTRICTED),
    ("limits who can view", PostStatus.PROTECTED),
)


def tombstone_status(words: str) -> PostStatus:
    """Why a post is gone, from the sentence that stands in its place."""
    return next((status for part, status in _TOMBSTONES if part in words.lower()), PostStatus.UNAVAILABLE)


def _gone(answer: EmbedAnswer) -> PostStatus | None:
    if answer.tombstone is not None or answer.typename == "TweetTombstone":
        return tombstone_status((answer.tombstone or _Tombstone()).text.text)
    return PostStatus.UNAVAILABLE if answer.text is None else None


def post_from_embed(post_id: str, answer: EmbedAnswer) -> FoundPost:
    """The post that an answer shows; raises ValueError if it has text but no time."""
    gone = _gone(answer)
    if gone is not None:
        return FoundPost(post_id, gone)
    whole = answer.note_tweet.text if answer.note_tweet else None
    return FoundPost(
        id=post_id,
        text=html.unescape(whole or answer.text or ""),
        language=answer.lang or "",
        date=posted_at(post_id, answer.created_at),
        media=answer.has_media,
        quoted_media=answer.quoted_tweet is not None and answer.quoted_tweet.has_media,
        truncated=answer.note_tweet is not None and not whole,
        pictures=answer.pictures,
    )


def _read(ids: Sequence[str], reply: ServiceReply) -> Mapping[str, PostAnswer]:
    (post_id,) = ids
    body = {} if reply.status == 404 else load_reply(reply.body)  # which speaks for itself, whatever the body
    post = FoundPost(post_id, PostStatus.UNAVAILABLE) if reply.status == 404 else _post(post_id, reply.status, body)
    return {post_id: PostAnswer(post, ServiceReply(reply.status, canonical_json(body).encode()))}


def _post(post_id: str, status: int, body: dict[str, Any]) -> FoundPost:
    if status != 200:
        raise BadReply(f"HTTP status {status}")
    answer = check(EmbedAnswer, body)
    edits = answer.edit_control.edit_tweet_ids if answer.edit_control else []
    if answer.id_str not in (None, post_id) and post_id not in edits:
        raise BadReply("an answer on another post")
    if _gone(answer) is None and "user" not in body:
        return FoundPost(post_id, PostStatus.UNAVAILABLE)
    try:
        return post_from_embed(post_id, answer)
    except ValueError as error:
        raise BadReply(f"no date of the post ({error})") from None


def request_token(post_id: str) -> str:
    """The token that the endpoint wants: the id / 10^15 * pi in base 36 as JavaScript prints it, without 0 and dot."""
    return re.sub(r"0+|\.", "", _base36(float(int(post_id)) / 1e15 * math.pi))


def _base36(value: float) -> str:
    """A positive number as V8's `toString(36)`: the shortest digits that are nearer to it than to its neighbours."""
    whole = math.floor(value)
    fraction = value - whole
    delta = max(0.5 * (math.nextafter(value, math.inf) - value), math.ulp(0.0))
    digits: list[int] = []
    while fraction >= delta:
        fraction *= 36
        delta *= 36
        digits.append(int(fraction))
        fraction -= digits[-1]
        if (fraction > 0.5 or (fraction == 0.5 and digits[-1] % 2)) and fraction + delta > 1:
            # One is added to the last digit; digits that overflow fall away.
            while digits and digits[-1] == 35:
                digits.pop()
            if digits:
                digits[-1] += 1
            else:
                whole += 1
            break
    tail = "".join(_DIGITS[digit] for digit in digits)
    return f"{_whole_base36(whole)}.{tail}" if tail else _whole_base36(whole)


def _whole_base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


EMBED = Service(
    name="embed",
    base_url="https://cdn.syndication.twimg.com",
    request=lambda ids: PostRequest("/tweet-result", {"id": ids[0], "lang": "en", "token": request_token(ids[0])}),
    read=_read,
)
