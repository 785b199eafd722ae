"""Pictures from strangers: fetched by the safe fetch, decoded in a worker within limits, written again, and kept."""

from hellofresh.evidence.web.pictures.cache import PictureCache
from hellofresh.evidence.web.pictures.decoder import PictureDecoder, PictureError, decode_now
from hellofresh.evidence.web.pictures.finder import MOST_PICTURES, MediaPictures, open_pictures

__all__ = [
    "MOST_PICTURES",
    "MediaPictures",
    "PictureCache",
    "PictureDecoder",
    "PictureError",
    "decode_now",
    "open_pictures",
]
