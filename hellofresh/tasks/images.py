"""Pictures: references in samples (`Media`) and contents for models (`Image`).

A sample names its pictures (`Media`) and never holds them. What is shown to a model (`Image`) holds the bytes that a
safe decoder wrote again (`hellofresh.evidence.web.pictures`); journals and transcripts hold its hash alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MediaKind = Literal["photo", "video", "animation"]
"""The kind of media; of a video or animation, only the poster frame is used."""
ImageType = Literal["image/jpeg", "image/png", "image/webp"]
MOST_PICTURES = 8
"""Of one sample; a post on X has at most four."""


@dataclass(frozen=True, slots=True)
class Media:
    """A picture of a post, as referenced by its sample.

    Attributes:
        kind: the kind of media.
        address: of the picture, or of the poster frame.
        sha256: of its bytes as received; empty if not fetched.
        bytes: its size in bytes; 0 if not fetched.
        description: the author's alternative text, often empty.
    """

    kind: MediaKind
    address: str
    sha256: str = ""
    bytes: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in the form sent to a model.

    Attributes:
        type: media type of the content.
        sha256: of the content; equal hashes mean equal images.
        width, height: in pixels.
        content: the bytes; empty for an image read back from a journal.
        address: its source; empty for a file of the user's.
    """

    type: ImageType
    sha256: str
    width: int
    height: int
    content: bytes = field(default=b"", repr=False, compare=False)
    address: str = field(default="", compare=False)


def media_of(sample: object) -> tuple[Media, ...]:
    """The sample's pictures; empty if its task has no field `media`."""
    media = getattr(sample, "media", ())
    return tuple(item for item in media if isinstance(item, Media))
