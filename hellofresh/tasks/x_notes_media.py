"""x-notes-media: would this Community Note on a post with photos or videos be rated helpful by its readers?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from hellofresh.core.files import sha256_text
from hellofresh.tasks import x_notes
from hellofresh.tasks._base import SamplePage, TextPart
from hellofresh.tasks.images import Media, MediaKind

__all__ = ["TASK", "IllustratedNote", "PublicIllustratedNote", "WithheldMedia", "described"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IllustratedNote(x_notes.Note):
    """A sample of x-notes-media: a note under a post that shows something."""

    media: tuple[Media, ...]


@dataclass(frozen=True, slots=True)
class WithheldMedia:
    """What is published of a picture: neither its address nor its author's description.

    Attributes:
        kind: what the post shows.
        address_sha256, description_sha256: hex SHA-256 of the texts' UTF-8 bytes.
        sha256, bytes: of the picture as it came; empty and 0 where nobody fetched it.
    """

    kind: MediaKind
    address_sha256: str
    description_sha256: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicIllustratedNote(x_notes.PublicNote):
    """A sample of x-notes-media as anybody may see it."""

    media: tuple[WithheldMedia, ...]


def withheld(media: Media) -> WithheldMedia:
    """A picture as it is published."""
    hashes = sha256_text(media.address), sha256_text(media.description)
    return WithheldMedia(media.kind, *hashes, media.sha256, media.bytes)


def described(text: str, media: tuple[Media, ...]) -> str:
    """A post's text, and for each picture what it is and what its author says that it shows."""
    lines = [f"[{item.kind}: {' '.join(item.description.split()) or 'without a description'}]" for item in media]
    return "\n".join([text, *lines])


def _public(sample: IllustratedNote) -> PublicIllustratedNote:
    whole = x_notes.TASK.public(sample)
    common = {field.name: getattr(whole, field.name) for field in fields(x_notes.PublicNote)}
    return PublicIllustratedNote(**common, media=tuple(map(withheld, sample.media)))


def _slots(sample: IllustratedNote) -> Mapping[str, str]:
    return {**x_notes.TASK.slots(sample), "post": described(sample.post.text, sample.media)}


def _page(sample: IllustratedNote | PublicIllustratedNote) -> SamplePage:
    page = x_notes.TASK.page_of(sample)
    if not isinstance(sample, IllustratedNote):
        return page
    post = TextPart("post", described(sample.post.text, sample.media), "context")
    return replace(page, parts=(post, *page.parts[1:]))


TASK = replace(
    x_notes.TASK,
    name="x-notes-media",
    title="Community Notes on posts with pictures",
    question="Would readers of different views rate this Community Note on a post with pictures as helpful?",
    id_prefix="xnm-",
    sample_type=IllustratedNote,
    slots=_slots,
    page=_page,
    text=lambda sample: f"{described(sample.post.text, sample.media)}\n{sample.note.text}",
    own_texts=lambda sample: (*x_notes.TASK.own_texts(sample), *(item.description for item in sample.media)),
    public_type=PublicIllustratedNote,
    public=_public,
    prompts="x-notes",
)
