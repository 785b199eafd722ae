"""Data of a post, and the interface of sources of posts."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from hellofresh.core.errors import SourceError
from hellofresh.core.files import BadJsonError, model_fault, strict_json
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.core.quarters import parse_utc, snowflake_time
from hellofresh.core.strict import Json, Lenient
from hellofresh.tasks.images import Media, MediaKind

_LONGEST_LINE = 16 * 2**20  # a post has a few kilobytes; without line ends a file would be read into memory whole
_MOST_DEPTH = 200  # quoted posts nest; Python's parser would end in its recursion limit
_SHOWN_NOTE = re.compile(r"birdwatch|community_?note", re.IGNORECASE)
_LONG_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} [+-]\d{4} \d{4}", re.A)

Several = list[Any] | Json | None
"""Media in any form: only their presence counts, and empty lists may be printed as empty objects."""
_KINDS: dict[str, MediaKind] = {"photo": "photo", "video": "video", "animated_gif": "animation"}
# Fields with a picture's address, or the poster frame of a video; `url` is that of a photo, or of the video itself.
_POSTERS = ("media_url_https", "preview_image_url")
_DESCRIPTIONS = ("ext_alt_text", "alt_text")
_LONGEST_DESCRIPTION = 1_000  # characters; X's own limit
_MOST = 16  # X allows four; a longer list is damaged, or not one of a post


class PostStatus(StrEnum):
    """Whether a post can be in a sample, and if not, the first reason."""

    OK = "ok"
    MEDIA = "media"
    NO_MEDIA = "no-media"
    UNKNOWN_MEDIA = "unknown-media"
    QUOTED_MEDIA = "quoted-media"
    TRUNCATED = "truncated"
    NOT_ENGLISH = "not-english"
    DELETED = "deleted"
    SUSPENDED = "suspended"
    PROTECTED = "protected"
    AGE_RESTRICTED = "age-restricted"
    UNAVAILABLE = "unavailable"
    ERROR = "error"
    NOT_ASKED = "not-asked"


@dataclass(frozen=True, slots=True)
class FoundPost:
    """A source's data of one post.

    Attributes:
        id: the post's id.
        gone: the reason for the missing text (deleted ... error), or None.
        text: as a reader sees it, HTML entities resolved; empty if gone.
        language: reported by the source, such as `en`; empty if missing.
        date: when it was posted, UTC; None if gone.
        media: has a photo, video or animated image.
        quoted_media: the quoted post has media.
        truncated: the text is incomplete, or the source does not show whether media are behind a link.
        silent: the source never reports media, so a post without any may have had some.
        pictures: its media, as far as the source lists them.
    """

    id: str
    gone: PostStatus | None = None
    text: str = ""
    language: str = ""
    date: datetime | None = None
    media: bool = False
    quoted_media: bool = False
    truncated: bool = False
    silent: bool = False
    # Answers on a post compare equal whichever of them describes its pictures.
    pictures: tuple[Media, ...] = field(default=(), compare=False)

    def status(self, languages: Collection[str], *, illustrated: bool = False) -> PostStatus:
        """The first reason against the post, in the order gone, language, media, quoted media, truncated; or ok.

        Args:
            languages: accepted languages.
            illustrated: whether it must have media, or must lack them.
        """
        reasons = (
            (self.language.split("-")[0].lower() not in languages, PostStatus.NOT_ENGLISH),
            (self.media and not illustrated, PostStatus.MEDIA),
            (illustrated and not self.media, PostStatus.NO_MEDIA),
            (illustrated and not self.pictures, PostStatus.UNKNOWN_MEDIA),
            (self.quoted_media, PostStatus.QUOTED_MEDIA),
            (self.truncated, PostStatus.TRUNCATED),
        )
        return self.gone or next((status for holds, status in reasons if holds), PostStatus.OK)

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that other sources could add nothing."""
        return self.gone is None and not self.truncated


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The file's non-blank lines, with their numbers from 1.

    Raises:
        SourceError: if the file is missing, empty, unreadable, or has a line of more than 16 MiB.
    """
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise SourceError(
                        "a line of more than 16 MiB", where=f"{path.name} line {number}", code="endless-line"
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror or error}", where=str(path), code="unreadable-file"
        ) from error
    if not number:
        raise SourceError("the file is empty", where=str(path), expected="one object per line", code="empty-file")


def load_object(line: bytes, where: str) -> Json:
    """Read one line as a JSON object.

    Raises:
        SourceError: if it is anything else, has a key twice, NaN, an infinite number or text that is not Unicode.
    """
    try:
        value = strict_json(line, most_depth=_MOST_DEPTH)
    except BadJsonError as error:
        raise SourceError(str(error), where=where, expected="one JSON object per line", code="bad-json") from None
    if not isinstance(value, dict):
        raise SourceError("not a JSON object", where=where, expected="one JSON object per line", code="bad-json")
    return value


class BadReply(ValueError):  # noqa: N818 - it says what the service did
    """An unusable response: a failure of the service, not a fact about the post."""


_Model = TypeVar("_Model", bound=Lenient)


def without_shown_note(value: Any) -> Any:
    """Remove members with the note shown under the post from a JSON value: they would reveal the label."""
    if isinstance(value, dict):
        return {key: without_shown_note(item) for key, item in value.items() if not _SHOWN_NOTE.search(key)}
    if isinstance(value, list):
        return [without_shown_note(item) for item in value]
    return value


def load_reply(body: bytes) -> Json:
    """The body of a response as a JSON object, without the shown note.

    Raises:
        BadReply: if it is something else.
    """
    try:
        stripped: Json = without_shown_note(load_object(body, "the answer"))
    except SourceError as error:
        raise BadReply(error.what) from None
    return stripped


def check(kind: type[_Model], value: object) -> _Model:
    """Validate a part of a response.

    Raises:
        BadReply: for another form, naming the field, never the content.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise BadReply(model_fault(error)) from None


def posted_at(post_id: str, stated: str | None) -> datetime:
    """When the post was made: as stated, in ISO 8601 or as X's API v1.1 writes it, else from its id.

    Raises:
        ValueError: if neither gives a time.
    """
    if not stated:
        return snowflake_time(int(post_id))
    if _LONG_DATE.fullmatch(stated) is None:
        return parse_utc(stated)
    return parsedate_to_datetime(stated.replace(" -0000 ", " +0000 ")).astimezone(UTC)


def media_in(*several: Several) -> tuple[Media, ...]:
    """The pictures and their kinds, from the first of several places that lists any."""
    for place in several:
        entries: Iterable[Any] = place if isinstance(place, list) else [place]
        found = [item for entry in entries if isinstance(entry, dict) and (item := _media(entry)) is not None]
        if found:
            return tuple(found[:_MOST])
    return ()


def _media(entry: Json) -> Media | None:
    kind = _KINDS.get(str(entry.get("type")))
    names = (*_POSTERS, *(("url",) if kind == "photo" else ()))
    try:
        address = PageAddress.parse(_first_text(entry, names))
    except AddressError:
        return None
    if kind is None or address.scheme != "https":
        return None
    return Media(kind, address.url, description=html.unescape(_first_text(entry, _DESCRIPTIONS))[:_LONGEST_DESCRIPTION])


def _first_text(entry: Json, names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := entry.get(name), str) and value), "")


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """An HTTP response: status and body."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """A post, and the part of the reply to store, without the shown note; `PostsService.read` reproduces it."""

    post: FoundPost
    kept: ServiceReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners(RetryPolicy):
    """Limits of requests to a service. A service that requests a longer wait than `deadline_s` is skipped.

    Attributes:
        per_second: requests a second in the long run.
        burst: requests that may be sent at once after a pause.
        at_once: concurrent requests.
        largest_body: bytes of a response.
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
class PostsService:
    """One web service.

    Attributes:
        name: as in `--posts-from`.
        base_url: scheme and host, perhaps with a path.
        request: the GET for some posts: the path below the base URL, and the query.
        read: returns each requested post with its answer; raises BadReply if the reply contains no data on posts.
        batch: maximal posts in one request.
        token_variable: environment variable with the bearer token; empty if none is needed.
        manners: limits of requests.
    """

    name: str
    base_url: str
    request: Callable[[Sequence[str]], tuple[str, Mapping[str, str]]]
    read: Callable[[Sequence[str], ServiceReply], Mapping[str, PostAnswer]]
    batch: int = 1
    token_variable: str = ""
    manners: Manners = field(default_factory=Manners)
