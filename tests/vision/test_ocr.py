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


def test_printed_lines_are_read_in_order_with_confidence_and_alike_each_time(reader: RapidOcr) -> None:
    found = reader.read(picture(LINES))
    assert tuple(line.text for line in found) == LINES
    assert all(80 < line.confidence <= 100 for line in found)
    assert reader.read(picture(LINES)) == found
    assert [line.text for line in RapidOcr(lines=1).read(picture(LINES))] == [LINES[0]]  # no more than asked for


@pytest.mark.parametrize("size", [(700, 260), (1500, 3)])
def test_a_picture_without_text_has_no_lines_however_narrow(reader: RapidOcr, size: tuple[int, int]) -> None:
    assert list(reader.read(picture((), size=size))) == []


def test_other_weights_are_refused() -> None:
    with pytest.raises(UsageError, match="not the expected file"):
        packaged_file("rapidocr", "config.yaml", "0" * 64, what="a test")
