"""A web service that answers with posts: how it is asked, how its answers are read, and how gently it is treated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from collectors.notes.posts._answers import load_reply
from collectors.notes.posts.found import FoundPost
from hellofresh.core.files import canonical_json
from hellofresh.core.net.retry import RetryPolicy

__all__ = ["Manners", "PostAnswer", "PostRequest", "Service", "ServiceReply", "one_by_one"]


@dataclass(frozen=True, slots=True)
class PostRequest:
    """A GET: the path below the service's base URL, and the query."""

    path: str
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """What came back: HTTP status and body."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """What is known of one post, and the part of the reply that says so.

    Attributes:
        post: the post, or why there is none.
        kept: status and body to be stored, without the shown note; the service's `read` gives the same post from it.
    """

    post: FoundPost
    kept: ServiceReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners(RetryPolicy):
    """How a service is asked. One that asks for a longer wait than `deadline_s` is set aside.

    Attributes:
        per_second: requests a second in the long run.
        burst: requests that may follow each other at once after a pause.
        at_once: requests under way at a time.
        largest_body: bytes of an answer.
    """

    attempts: int = 5
    most_s: float = math.inf
    retry_after_s: float = math.inf
    timeout_s: float = 20.0
    deadline_s: float = 120.0
    per_second: float = 2.0
    burst: int = 1
    at_once: int = 4
    largest_body: int = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Service:
    """One web service.

    Attributes:
        name: as in `--posts-from`.
        base_url: scheme and host, perhaps with a path.
        request: the request for some posts.
        read: each post asked for with its answer; raises BadReply where the reply says nothing about posts.
        batch: most posts in one request.
        token_variable: environment variable with the bearer token; empty where none is needed.
        manners: how it is asked.
    """

    name: str
    base_url: str
    request: Callable[[Sequence[str]], PostRequest]
    read: Callable[[Sequence[str], ServiceReply], Mapping[str, PostAnswer]]
    batch: int = 1
    token_variable: str = ""
    manners: Manners = field(default_factory=Manners)


def one_by_one(
    read_post: Callable[[str, int, dict[str, Any]], FoundPost], bodiless: Sequence[int] = ()
) -> Callable[[Sequence[str], ServiceReply], Mapping[str, PostAnswer]]:
    """The `read` of a service that answers on one post at a time.

    Args:
        read_post: the post from its id, the HTTP status and the body.
        bodiless: statuses that speak for themselves, whatever the body.
    """

    def read(ids: Sequence[str], reply: ServiceReply) -> Mapping[str, PostAnswer]:
        (post_id,) = ids
        body = {} if reply.status in bodiless else load_reply(reply.body)
        kept = ServiceReply(reply.status, canonical_json(body).encode())
        return {post_id: PostAnswer(read_post(post_id, reply.status, body), kept)}

    return read
