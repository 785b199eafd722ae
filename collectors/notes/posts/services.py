"""The web services for posts; a new one is a `PostsService` here and a name in `SERVICES`.

X's own API, GET /2/tweets (https://docs.x.com/x-api/posts/get-posts-by-ids), returns 100 posts at once, with a token.
Unavailable posts are listed under `errors`, with HTTP status 200. Each post is charged. X's rules allow
access to its posts only by its API and by files of them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import Field

from collectors.notes.posts.base import (
    BadReply,
    FoundPost,
    Manners,
    PostAnswer,
    PostsService,
    PostStatus,
    ServiceReply,
    Several,
    check,
    load_reply,
    media_in,
    posted_at,
)
from hellofresh.core.files import canonical_json
from hellofresh.core.strict import Json, Lenient

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
    """A post; clients may put the attachments themselves in `media` instead of their keys."""

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
        """Whether anything is attached; polls are not media and have no media key."""
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
        """The unavailable post."""
        return self.resource_id or self.value

    @property
    def status(self) -> PostStatus:
        """The reason; an error if the kind of problem is unknown."""
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
        known: posts that came with it, by id; they show whether a quoted post has media.
        missing: ids of unavailable posts: nothing is known of a quoted post among them.
        media: attached objects that came with it, with their keys.

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
            with suppress(ValueError):  # no date: skip this post, and keep the others of the batch
                found[post_id] = post_from_api(posts[post_id], known, missing, envelope.includes.media)
        elif problems.get(post_id, PostStatus.ERROR) is not PostStatus.ERROR:
            found[post_id] = FoundPost(post_id, problems[post_id])
    if ids and not found:
        raise BadReply("none of the requested posts")
    return {post_id: PostAnswer(post, _share(post, body)) for post_id, post in found.items()}


def _posts(rows: Iterable[Json]) -> dict[str, ApiPost]:
    """The well-formed posts, by id: a malformed one must not cost the other 99 of its batch."""
    posts = {}
    for row in rows:
        with suppress(BadReply):
            post = check(ApiPost, row)
            posts[post.id] = post
    return posts


def _share(post: FoundPost, body: Json) -> ServiceReply:
    """The part of a reply that concerns one post, in the same form."""
    data, included = body.get("data", []), body.get("includes", {}).get("tweets", [])
    own = [item for item in data if item.get("id") == post.id]
    referred = {item["id"] for row in own for item in row.get("referenced_tweets", [])}
    about = {post.id, *referred}
    # A quoted post may itself have been requested, and is then under `data`.
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


API_V2 = PostsService(
    name="api-v2",
    base_url="https://api.x.com",
    request=_request,
    read=_read_api,
    batch=100,
    token_variable="X_BEARER_TOKEN",  # noqa: S106 - the name of a variable
    # Its limits count over windows of 15 minutes.
    manners=Manners(per_second=0.3, at_once=1, deadline_s=960.0),
)

SERVICES: Mapping[str, PostsService] = {service.name: service for service in (API_V2,)}
"""Every web service by name."""
