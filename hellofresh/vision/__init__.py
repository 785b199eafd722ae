"""What can be seen in pictures without a language model: printed text, and how alike two pictures are."""

from hellofresh.vision.ocr import RapidOcr, TextLine, TextReader

__all__ = ["RapidOcr", "TextLine", "TextReader"]
