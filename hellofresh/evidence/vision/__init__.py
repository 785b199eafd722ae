"""What can be told of pictures without a language model: printed text, known people by a source of the user's."""

from hellofresh.evidence.vision.ocr import RapidOcr, TextLine, TextReader, UnreadPictureError, ocr_parameters
from hellofresh.evidence.vision.people import PeopleFile, PeopleService, PeopleSource, open_people

__all__ = [
    "PeopleFile",
    "PeopleService",
    "PeopleSource",
    "RapidOcr",
    "TextLine",
    "TextReader",
    "UnreadPictureError",
    "ocr_parameters",
    "open_people",
]
