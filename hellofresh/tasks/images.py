"""Pictures: as a sample names them, and as a model is shown them.

A sample names its pictures (`Media`) and never holds them. What is shown to a model (`Image`) holds the bytes that a
safe decoder wrote again (`hellofresh.evidence.web.pictures`); journals and transcripts hold its hash alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Image", "ImageType", "Media", "MediaKind", "media_of"]

MediaKind = Literal["photo", "video", "animation"]
"""What a post shows; of a video and an animation only the poster frame is looked at."""
ImageType = Literal["image/jpeg", "image/png", "image/webp"]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture of a post, as its sample names it.

    Attributes:
        kind: what the post shows.
        address: of the picture, or of the poster frame.
        sha256: of its bytes as they came, empty where nobody fetched it.
        bytes: their number, 0 where nobody fetched it.
        description: what its author says that it shows (the alternative text), often empty.
    """

    kind: MediaKind
    address: str
    sha256: str = ""
    bytes: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as a model is shown it.

    Attributes:
        type: media type of the content.
        sha256: of the content; two images are the same if this is.
        width, height: in pixels.
        content: the bytes; empty of an image that was read back from a journal.
        address: where it came from, empty for a file of the user's.
    """

    type: ImageType
    sha256: str
    width: int
    height: int
    content: bytes = field(default=b"", repr=False, compare=False)
    address: str = field(default="", compare=False)


def media_of(sample: object) -> tuple[Media, ...]:
    """The pictures that a sample names, none where its task has no field `media`."""
    media = getattr(sample, "media", ())
    return tuple(item for item in media if isinstance(item, Media))
