"""Text in pictures: the lines that are printed there, in order, the same each time, and no more than asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from io import BytesIO

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.evidence.retrieval.base import packaged_file
from hellofresh.evidence.vision import RapidOcr
from hellofresh.tasks.images import Image

pytest.importorskip("rapidocr")
PIL = pytest.importorskip("PIL.Image")
LINES = ("The ferry of Lower Quill", "runs again on 4 March 2023", "Source: Harbour Gazette")


def picture(lines: Sequence[str], size: tuple[int, int] = (700, 260)) -> Image:
    """Black print on white."""
    from PIL import ImageDraw, ImageFont

    opened = PIL.new("RGB", size, "white")
    pen = ImageDraw.Draw(opened)
    for number, line in enumerate(lines):
        pen.text((30, 25 + 70 * number), line, font=ImageFont.load_default(32), fill="black")
    target = BytesIO()
    opened.save(target, "PNG")
    content = target.getvalue()
    return Image("image/png", hashlib.sha256(content).hexdigest(), *size, content)


@pytest.fixture(scope="module")
def reader() -> RapidOcr:
    return RapidOcr()


def test_printed_lines_are_read_in_order_with_confidence(reader: RapidOcr) -> None:
    found = reader.read(picture(LINES))
    assert tuple(line.text for line in found) == LINES
    assert all(80 < line.confidence <= 100 for line in found)


def test_a_line_is_read_alike_whatever_stands_beside_it(reader: RapidOcr) -> None:
    assert reader.read(picture(LINES)) == reader.read(picture(LINES))


def test_no_more_lines_are_read_than_asked_for() -> None:
    found = RapidOcr(lines=1).read(picture(LINES))
    assert [line.text for line in found] == [LINES[0]]


def test_a_picture_without_text_has_no_lines(reader: RapidOcr) -> None:
    assert reader.read(picture(())) == ()


def test_a_narrow_picture_is_read_without_fault(reader: RapidOcr) -> None:
    assert list(reader.read(picture((), size=(1500, 3)))) == []


def test_other_weights_are_refused() -> None:
    with pytest.raises(UsageError, match="not the expected file"):
        packaged_file("rapidocr", "config.yaml", "0" * 64, what="a test")
