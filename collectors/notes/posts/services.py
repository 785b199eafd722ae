"""The web services that can be asked for posts; a new one is a `Service` here and a name in `SERVICES`.

The public embed endpoint (cdn.syndication.twimg.com/tweet-result) gives what web pages show of a post. It has no
documentation. A post that cannot be shown comes as a tombstone with a sentence, as `{}` or without its author; of long
posts only the beginning comes.

X's own API, GET /2/tweets (https://docs.x.com/x-api/posts/get-posts-by-ids), gives 100 posts at once, with a token.
Posts that cannot be had are listed under `errors`, with HTTP status 200. It is paid by the post.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import Field

from collectors.notes.posts.base import (
    BadReply,
    FoundPost,
    Manners,
    PostAnswer,
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
from hellofresh.core.strict import Json, Lenient
from hellofresh.tasks.images import Media

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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

    @property
    def pictures(self) -> tuple[Media, ...]:
        return media_in(self.media_details) or media_in(self.photos, kind="photo") or media_in(self.video, kind="video")


class _Edits(Lenient):
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


def _read_embed(ids: Sequence[str], reply: ServiceReply) -> Mapping[str, PostAnswer]:
    (post_id,) = ids
    body = {} if reply.status == 404 else load_reply(reply.body)  # which speaks for itself, whatever the body
    post = FoundPost(post_id, PostStatus.UNAVAILABLE) if reply.status == 404 else _post(post_id, reply.status, body)
    return {post_id: PostAnswer(post, ServiceReply(reply.status, canonical_json(body).encode()))}


def _post(post_id: str, status: int, body: Json) -> FoundPost:
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
    request=lambda ids: ("/tweet-result", {"id": ids[0], "lang": "en", "token": request_token(ids[0])}),
    read=_read_embed,
)


_OF_POSTS = (None, "id", "ids")
_PROBLEMS = (("/resource-not-found", PostStatus.DELETED), ("/not-authorized-for-resource", PostStatus.PROTECTED))


class _Attachments(Lenient):
    media_keys: list[str] = Field(default_factory=list)


class _ApiText(Lenient):
    text: str


class _Reference(Lenient):
    type: str
    id: str


class ApiPost(Lenient):
    """A post; `media` is where clients put the attachments themselves instead of their keys."""

    id: str = Field(pattern=r"^[1-9][0-9]{0,18}$")
    text: str
    lang: str | None = None
    created_at: str | None = None
    note_tweet: _ApiText | None = None
    attachments: _Attachments | None = None
    media: Several = None
    referenced_tweets: list[_Reference] = Field(default_factory=list)

    @property
    def has_media(self) -> bool:
        """Whether anything is attached; polls are no media and have no media key."""
        return bool(self.media or (self.attachments and self.attachments.media_keys))

    def referred(self, kind: str) -> list[str]:
        """Ids of the posts that it quotes, repeats or replies to."""
        return [reference.id for reference in self.referenced_tweets if reference.type == kind]


class _Problem(Lenient):
    type: str = ""
    detail: str = ""
    parameter: str | None = None
    value: str | None = None
    resource_id: str | None = None

    @property
    def about(self) -> str | None:
        """The post that cannot be had."""
        return self.resource_id or self.value

    @property
    def status(self) -> PostStatus:
        """Why; an error where the kind of problem is not known."""
        if "suspended" in self.detail.lower():
            return PostStatus.SUSPENDED
        return next((status for end, status in _PROBLEMS if self.type.endswith(end)), PostStatus.ERROR)


class _Included(Lenient):
    tweets: list[Json] = Field(default_factory=list)
    media: list[Json] = Field(default_factory=list)


class _Envelope(Lenient):
    data: list[Json] = Field(default_factory=list)
    errors: list[_Problem] = Field(default_factory=list)
    includes: _Included = _Included()


def post_from_api(
    post: ApiPost, known: Mapping[str, ApiPost], missing: Iterable[str], media: Sequence[Json] = ()
) -> FoundPost:
    """The post in the common form.

    Args:
        known: posts that came with it, by id; whether a quoted post has media is to be seen there.
        missing: ids of posts that could not be had: a quoted post that is gone shows nothing.
        media: that came with it, with their keys.

    Raises:
        ValueError: if it has no time.
    """
    quoted = post.referred("quoted")
    keyed = {item.get("media_key"): item for item in media}
    keys = post.attachments.media_keys if post.attachments else []
    unseen = set(quoted) - known.keys() - set(missing)
    return FoundPost(
        id=post.id,
        text=html.unescape(post.note_tweet.text if post.note_tweet else post.text),
        language=post.lang or "",
        date=posted_at(post.id, post.created_at),
        media=post.has_media,
        quoted_media=any(known[post_id].has_media for post_id in quoted if post_id in known),
        truncated=bool(unseen or post.referred("retweeted")),
        pictures=media_in([keyed[key] for key in keys if key in keyed], post.media),
    )


def _read_api(ids: Sequence[str], reply: ServiceReply) -> Mapping[str, PostAnswer]:
    body = load_reply(reply.body)
    if reply.status != 200 or not ("data" in body or "errors" in body):
        raise BadReply(f"HTTP status {reply.status}, no posts")
    envelope = check(_Envelope, body)
    posts = _posts(envelope.data)
    known = _posts(envelope.includes.tweets) | posts
    problems = {problem.about: problem.status for problem in envelope.errors if problem.parameter in _OF_POSTS}
    missing = {problem.about for problem in envelope.errors if problem.about}
    found: dict[str, FoundPost] = {}
    for post_id in ids:
        if post_id in posts:
            with suppress(ValueError):  # no date: not a word on this post, and the others of the batch stand
                found[post_id] = post_from_api(posts[post_id], known, missing, envelope.includes.media)
        elif problems.get(post_id, PostStatus.ERROR) is not PostStatus.ERROR:
            found[post_id] = FoundPost(post_id, problems[post_id])
    if ids and not found:
        raise BadReply("nothing about any post that was asked for")
    return {post_id: PostAnswer(post, _share(post, body)) for post_id, post in found.items()}


def _posts(rows: Iterable[Json]) -> dict[str, ApiPost]:
    """The posts that have the right form, by id: one that has not must not cost the other 99 of its batch."""
    posts = {}
    for row in rows:
        with suppress(BadReply):
            post = check(ApiPost, row)
            posts[post.id] = post
    return posts


def _share(post: FoundPost, body: Json) -> ServiceReply:
    """The part of a reply that speaks of one post, in the same form."""
    data, included = body.get("data", []), body.get("includes", {}).get("tweets", [])
    own = [item for item in data if item.get("id") == post.id]
    referred = {item["id"] for row in own for item in row.get("referenced_tweets", [])}
    about = {post.id, *referred}
    # What was quoted may itself have been asked for, and then stands under `data`.
    tweets = [item for item in [*included, *data] if item.get("id") in referred]
    errors = [item for item in body.get("errors", []) if about & {item.get("resource_id"), item.get("value")}]
    keys = {key for row in own for key in (row.get("attachments") or {}).get("media_keys") or []}
    media = [item for item in body.get("includes", {}).get("media", []) if item.get("media_key") in keys]
    includes = {"tweets": tweets} | ({"media": media} if media else {})
    part = {"data": own, "errors": errors, "includes": includes}
    return ServiceReply(200, canonical_json({key: value for key, value in part.items() if value}).encode())


def _request(ids: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    query = {
        "ids": ",".join(ids),
        "tweet.fields": "attachments,created_at,lang,note_tweet,referenced_tweets",
        "expansions": "attachments.media_keys,referenced_tweets.id",
        "media.fields": "alt_text,media_key,preview_image_url,type,url",
    }
    return "/2/tweets", query


API_V2 = Service(
    name="api-v2",
    base_url="https://api.x.com",
    request=_request,
    read=_read_api,
    batch=100,
    token_variable="X_BEARER_TOKEN",  # noqa: S106 - the name of a variable
    # Its limits count over windows of 15 minutes.
    manners=Manners(per_second=0.3, at_once=1, deadline_s=960.0),
)

SERVICES: Mapping[str, Service] = {service.name: service for service in (EMBED, API_V2)}
"""Every web service by name."""
