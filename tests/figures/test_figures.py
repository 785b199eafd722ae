"""Specifications show all that they are given; pictures are the same every time, and texts in them stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest

from hellofresh.results.analyses import ANALYSES
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.figures.image import composed, render
from hellofresh.results.figures.vega import PALETTE, place
from tests.figures.hostile_names import HOSTILE, DrawnFigure

GROUNDS = ("#ffffff", "#12171d")


def specs(drawn: DrawnFigure, systems: list[str] | None = None) -> list[Any]:
    return [one.spec for one in place(drawn.figure, drawn.marks(systems), drawn.question)]


def parts(spec: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a specification but its data, with its place."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key not in ("values", "domain", "description"):
                yield from parts(value, f"{where}.{key}")
    elif isinstance(spec, list):
        for value in spec:
            yield from parts(value, where)
    else:
        yield where, spec


def rows(spec: Any) -> Iterator[dict[str, Any]]:
    """All rows of data in a specification."""
    if isinstance(spec, dict):
        yield from spec.get("values", []) if isinstance(spec.get("values"), list) else []
        for value in spec.values():
            yield from rows(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from rows(value)


@pytest.mark.parametrize("name", ANALYSES)
def test_names_of_others_are_data_and_nothing_else(figures: dict[str, DrawnFigure], name: str) -> None:
    drawn = figures[name]
    for spec in [*specs(drawn, list(drawn.figure.systems)), composed(drawn.figure, drawn.marks(), drawn.question)]:
        text = json.dumps(spec, allow_nan=False)  # strict JSON: nothing that is not a number
        for where, value in parts(spec):
            if isinstance(value, str) and not where.endswith((".title.text", ".$schema")):
                assert not any(one in value for one in HOSTILE), where
                assert not re.search(r"[<>]\w|https?:|system-|alpha|beta", value), where
        assert '"url"' not in text and '"href"' not in text
        for row in rows(spec):
            assert all(cell is None or isinstance(cell, str | int | float) for cell in row.values())


@pytest.mark.parametrize("name", ANALYSES)
def test_hostile_names_change_no_more_than_texts(
    figures: dict[str, DrawnFigure], harmless: dict[str, DrawnFigure], name: str
) -> None:
    """The same places hold the same kinds of values."""

    def shape(drawn: DrawnFigure) -> list[str]:
        order = sorted(drawn.figure.systems, key=lambda who: drawn.points["who"].to_list().index(who))
        return sorted({where for spec in specs(drawn, order) for where, _ in parts(spec)})

    assert shape(figures[name]) == shape(harmless[name])


def test_intervals_hold_what_the_table_holds(figures: dict[str, DrawnFigure]) -> None:
    drawn = figures["ranking"]
    found = {(row["row"], row["value"], row["low"], row["high"])
             for spec in specs(drawn, list(drawn.figure.systems)) for row in rows(spec)}  # fmt: skip
    ranked = drawn.table.drop_nulls("rank")
    assert {tuple(row[1:]) for row in found} == set(ranked.select("rank", "rank_low", "rank_high").rows())
    assert len(found) == ranked.height


def test_leaders_have_the_best_f1_and_are_few(figures: dict[str, DrawnFigure]) -> None:
    value = figures["votes"].f1
    figure = figures["votes"].figure
    assert len(figure.leading) == 6 < len(figure.systems)
    rest = set(figure.systems) - set(figure.leading)
    assert min(value[key] for key in figure.leading) >= max(value[key] for key in rest)
    assert all(name in figure.left_out for name in figure.systems[6:26])
    assert figure.systems[0] not in figure.left_out
    assert replace(figure, most=99).left_out == ""


def luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(part * value for part, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("ground", GROUNDS)
def test_colours_stand_out_in_light_and_dark(ground: str) -> None:
    for colour in PALETTE:
        one, other = sorted((luminance(colour), luminance(ground)))
        assert (other + 0.05) / (one + 0.05) >= 3, colour


# --- Pictures are the same every time, have every text as text, and can do nothing.


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
