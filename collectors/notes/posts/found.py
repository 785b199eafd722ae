"""What is known of a post, and the seam to anything that can be asked for posts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from hellofresh.tasks.images import Media

__all__ = ["SNOWFLAKE_EPOCH_MS", "FoundPost", "PostSource", "PostStatus", "snowflake_time"]

SNOWFLAKE_EPOCH_MS = 1_288_834_974_657
_FIRST_SNOWFLAKE = 29_700_859_247


class PostStatus(StrEnum):
    """Whether a post can stand in a sample, and if not, the first reason why not."""

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
    """What a source says of one post.

    Attributes:
        id: the post's id.
        gone: why there is no text (deleted ... error), or None.
        text: as a reader sees it, HTML entities resolved; empty if gone.
        language: as the source says, such as `en`; empty if it does not.
        date: when it was posted, UTC; None if gone.
        media: has a photo, video or animated image.
        quoted_media: the quoted post has one.
        truncated: the text is not whole, or the source does not tell whether media are behind a link.
        silent: the source says nothing of any post's media, so that a post without may have had some.
        pictures: its media, as far as the source names them.
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
    # Two answers on one post are the same whichever of them describes its pictures.
    pictures: tuple[Media, ...] = field(default=(), compare=False)

    def status(self, languages: Collection[str], *, illustrated: bool = False) -> PostStatus:
        """The first reason against the post, in the order gone, language, media, quoted media, truncated; or ok.

        Args:
            languages: in one of which it must be.
            illustrated: whether it must have media, or must have none.
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
        """Whether no other source could say more."""
        return self.gone is None and not self.truncated


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
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=(post_id >> 22) + SNOWFLAKE_EPOCH_MS)
