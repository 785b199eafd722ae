"""What a post's pictures show, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.images import Media
from hellofresh.regimes._base import Case
from hellofresh.regimes._texts import fence, one_line
from hellofresh.regimes.correction.settings import CorrectionSettings
from hellofresh.transcripts import Event, NotedEvent

__all__ = ["DESCRIBER", "DescribedPicture", "DescribedPictures", "describe", "media_of", "most_requests"]

DESCRIBER = "describer"
_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class DescribedPicture:
    """A picture in words.

    Attributes:
        address: of the picture.
        text: what it shows.
        source: where the words come from, such as `alternative text`.
    """

    address: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class DescribedPictures:
    """A post's pictures in words.

    Attributes:
        pictures: those that there are words for, in the post's order.
        count: pictures of the post, with or without words.
        events: what happened, in order.
    """

    pictures: Sequence[DescribedPicture] = ()
    count: int = 0
    events: Sequence[Event] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What the pictures show."""
        return tuple(picture.text for picture in self.pictures)

    @property
    def shown(self) -> str:
        """The descriptions as a prompt shows them, between lines with a mark; empty where there are none."""
        return fence(self.texts).text if self.pictures else ""


def media_of(case: Case) -> tuple[Media, ...]:
    """The pictures that a sample names; none for samples of tasks without pictures."""
    found = getattr(case.sample, "media", ())
    return tuple(item for item in found if isinstance(item, Media))


def most_requests(settings: CorrectionSettings) -> int:
    """Most requests for one post."""
    return 0


async def describe(case: Case, settings: CorrectionSettings) -> DescribedPictures:
    """Describe a post's pictures by their alternative texts; nothing where vision is off."""
    media = media_of(case) if settings.vision else ()
    if not media:
        return DescribedPictures()
    texts = [(item.address, one_line(item.description, _CHARACTERS)) for item in media]
    pictures = [DescribedPicture(address, text, "alternative text") for address, text in texts if text]
    values = {"pictures": len(media), "described": len(pictures)}
    return DescribedPictures(pictures, len(media), (NotedEvent(name="described", values=values),))
