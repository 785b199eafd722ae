"""Decoding one picture and writing it again: what comes out holds pixels and nothing else.

Runs in a worker process (`PictureDecoder`), since a decoder of a stranger's bytes may be
broken by them. Its first bytes say its type, never by a name or a header. Only the first frame is decoded.
"""

from __future__ import annotations

import struct
import warnings
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageFile, ImageOps

MOST_BYTES = 20_000_000  # the largest photo of a phone is below
# A photo of 8,000 by 6,000; Pillow takes four bytes for each, and twice that while it turns one.
_MOST_PIXELS = 50_000_000
_LONGEST_SIDE = 1568  # pixels; no model of today looks at more (docs/models.md)
_QUALITY = 90  # text in screenshots stays sharp
_SIGNATURES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF87a": "GIF", b"GIF89a": "GIF"}


class UnfitPictureError(Exception):
    """A picture that is refused, with the reason."""


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    """A picture written again as a JPEG, with its size in pixels."""

    width: int
    height: int
    content: bytes


def decode(content: bytes) -> DecodedPicture:
    """The picture that some bytes hold, without metadata, at most 1,568 pixels a side.

    Raises:
        UnfitPictureError: if it is of another type than JPEG, PNG, WebP and GIF, over a limit, or broken.
    """
    if len(content) > MOST_BYTES:
        raise UnfitPictureError(f"over {MOST_BYTES:,} bytes")
    kind = _kind(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata, which is dropped anyway
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _decoded(content, kind)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_many_pixels() from None
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, OverflowError) as error:
        raise UnfitPictureError(f"no whole {kind} ({type(error).__name__})") from None


def _kind(content: bytes) -> str:
    for signature, kind in _SIGNATURES.items():
        if content.startswith(signature):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "WEBP"
    raise UnfitPictureError("not a JPEG, PNG, WebP or GIF")


def _too_many_pixels() -> UnfitPictureError:
    return UnfitPictureError(f"over {_MOST_PIXELS:,} pixels")


def _decoded(content: bytes, kind: str) -> DecodedPicture:
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    with Image.open(BytesIO(content), formats=[kind]) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            raise _too_many_pixels()
        if kind == "JPEG":
            picture.draft("RGB", (_LONGEST_SIDE, _LONGEST_SIDE))  # most of what would be thrown away is not computed
        picture.load()
        upright: Image.Image = picture  # as it is, where its metadata are broken
        with suppress(OSError, ValueError, SyntaxError, LookupError, TypeError, struct.error):
            upright = ImageOps.exif_transpose(picture)
        shown = _plain(upright)
    shown.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE), Image.Resampling.LANCZOS)
    written = BytesIO()
    shown.save(written, "JPEG", quality=_QUALITY)
    return DecodedPicture(shown.width, shown.height, written.getvalue())


def _plain(picture: Image.Image) -> Image.Image:
    """The picture on white, in colours only: without alpha and metadata."""
    if picture.mode.startswith("I;16"):
        picture = picture.point(lambda value: value / 256).convert("L")
    clear = picture.has_transparency_data
    colours = picture.convert("RGBA" if clear else "RGB")
    plain = Image.new("RGB", colours.size, "white")
    plain.paste(colours, mask=colours if clear else None)
    return plain
