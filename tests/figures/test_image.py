"""Pictures are the same every time, have every text as text, and can do nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import pytest

from hellofresh.results.analyses import ANALYSES
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.figures.image import render
from tests.figures.hostile_names import HOSTILE, DrawnFigure

TAGS = {"svg", "g", "path", "text", "rect", "line", "defs", "clipPath", "linearGradient", "stop", "tspan"}
FEW = ("ranking", "cost", "slices", "precision-recall", "agreement")


def svg(drawn: DrawnFigure, systems: Sequence[str] | None = None, *, narrow: bool = False) -> ElementTree.Element:
    image = render(drawn.figure, drawn.marks(systems), drawn.question, png=False)
    return ElementTree.fromstring(image.narrow if narrow else image.svg)


def texts(root: ElementTree.Element) -> list[str]:
    return [
        " ".join(element.itertext()).replace("\N{NO-BREAK SPACE}", " ")
        for element in root.iter()
        if element.tag.endswith("}text")
    ]


def test_the_same_figure_gives_the_same_bytes_whatever_was_drawn_before(figures: dict[str, DrawnFigure]) -> None:
    def images(names: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        return {name: render(figures[name].figure, figures[name].marks(), "Why?") for name in names}

    assert images(FEW) == images(FEW[::-1])


@pytest.mark.parametrize("name", ANALYSES)
def test_names_are_texts_and_pictures_can_do_nothing(figures: dict[str, DrawnFigure], name: str) -> None:
    drawn = figures[name]
    theirs = [who for who in drawn.figure.systems if any(who.startswith(one) for one in HOSTILE)]
    starts = range(0, len(theirs), drawn.figure.most)
    for start, narrow in product(starts, (False, True)):
        shown = theirs[start : start + drawn.figure.most]
        root = svg(drawn, shown, narrow=narrow)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= TAGS
        for element in root.iter():
            for key, value in element.attrib.items():
                assert not key.lower().startswith("on") and not key.endswith("href"), key
                assert not re.search(r"url\((?!#part\d+\))", value) or key == "aria-label", value
        said = " ".join(" ".join(text.split()) for text in texts(root))
        for who in shown:
            assert who[:8].strip() in said, who


@pytest.mark.parametrize("name", ANALYSES)
def test_a_narrow_picture_fits_a_phone_and_can_be_read_there(figures: dict[str, DrawnFigure], name: str) -> None:
    """Of 390 pixels 358 are the page's, and 2 its frame's. Titles in several lines hold the words of the wide one."""
    wide, narrow = (svg(figures[name], narrow=narrow) for narrow in (False, True))
    assert float(narrow.attrib["width"]) <= 356 < float(wide.attrib["width"])
    sizes = {one.attrib["font-size"] for one in narrow.iter() if "font-size" in one.attrib}
    assert sizes <= {"0px", "11px", "12px", "13px"}  # no numbers in cells that are too small for them
    words = [{word for text in texts(root) for word in re.findall("[A-Za-z]{3,}", text)} for root in (wide, narrow)]
    assert words[0] - words[1] <= {"left", "the"}  # numbers stand below


@pytest.mark.parametrize("name", ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"])
def test_names_that_every_object_has_are_names(name: str) -> None:
    """As a title, a row, a series and one of a pair."""
    axis = Axis("F1")
    figures = (
        (Chart("intervals", axis, panel=name), [Mark(name, name, 0.5, 0.4, 0.6, row=name, panel=name)]),
        (Chart("curves", axis, axis, places=("1",)), [Mark(name, name, 0.5, 0.4, 0.6, at="1")]),
        (Chart("scatter", axis, axis), [Mark(one, one, 0.5, 0.4, 0.6, at=1.0, row=one) for one in (name, "b")]),
        (Chart("pairs", Axis("kappa", 0, 1)), [Mark(name, "", 0.5, other="b"), Mark("b", "", 0.5, other=name)]),
    )
    for chart, marks in figures:
        image = render(Figure((chart,), (name,), by_system=chart.kind == "curves"), marks, "Why?", png=False)
        assert chart.kind == "curves" or name.encode() in image.svg


def test_who_cannot_see_a_figure_is_told_its_question(figures: dict[str, DrawnFigure]) -> None:
    root = svg(replace(figures["cost"], question='What does "better" cost & why?'))
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == 'What does "better" cost & why?'
