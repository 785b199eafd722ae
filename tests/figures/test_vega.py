"""Specifications show all that they are given, and texts in them stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hellofresh.results.analyses import ANALYSES
from hellofresh.results.figures.image import composed
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
