"""Figures are drawn from all that they show, of texts that stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pytest
from streamlit.elements.vega_charts import _stabilize_vega_json_spec

from hellofresh.workspace import Workspace
from leaderboard.data.analyses_table import ORDER, BoardAnalysis, load_analyses
from leaderboard.data.tables import Split
from leaderboard.drawing.figures import Drawing, Findings, draw, lead, systems_of
from leaderboard.drawing.vega import PALETTE, Axis, Mark, Series, intervals_in_rows, scatter, shown

NOTES = Split("2023Q2", "x-notes")
GROUNDS = ("#ffffff", "#12171d")


@pytest.fixture(scope="module")
def analyses(analysed_board: Workspace) -> dict[str, BoardAnalysis]:
    return {one.name: one for one in load_analyses(analysed_board.board)[NOTES]}


def drawn(analysis: BoardAnalysis, most: int | None = None) -> Drawing:
    table = analysis.table()
    found = Findings(
        analysis.name, analysis.question, table, analysis.points(), systems_of(analysis.name, table)[:most]
    )
    drawing = draw(found)
    assert drawing is not None
    return drawing


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


@pytest.mark.parametrize("name", ORDER)
def test_names_of_others_are_data_and_nothing_else(
    analyses: dict[str, BoardAnalysis], hostile: Sequence[str], name: str
) -> None:
    for chart in drawn(analyses[name]).charts:
        text = json.dumps(chart.spec, allow_nan=False)  # strict JSON: nothing that is no number
        for where, value in parts(chart.spec):
            if isinstance(value, str):
                assert not any(part in value for one in hostile for part in (one, shown(one))), where
                assert not re.search(r"[<>]\w|https?:|\u202e|model-|alpha|beta", value), where
        assert "\\u202e" not in text
        assert '"url"' not in text and '"href"' not in text


@pytest.mark.parametrize("name", ORDER)
def test_every_system_that_is_chosen_is_drawn_and_no_other(analyses: dict[str, BoardAnalysis], name: str) -> None:
    systems = systems_of(name, analyses[name].table())
    assert systems
    texts = " ".join(json.dumps(chart.spec, ensure_ascii=False) for chart in drawn(analyses[name], 2).charts)
    own = [shown(key) for key in systems[:2]]
    assert all(json.dumps(key, ensure_ascii=False)[1:-1] in texts for key in own)
    others = {shown(key) for key in systems[2:] if not any(shown(key) in mine for mine in own)}
    assert not [key for key in others if f'"{key}"' in texts]


@pytest.mark.parametrize("name", ORDER)
def test_a_specification_goes_through_streamlit_as_it_is(analyses: dict[str, BoardAnalysis], name: str) -> None:
    for chart in drawn(analyses[name]).charts:
        assert "data" not in chart.spec  # data at the top would be made a table of another kind
        assert _stabilize_vega_json_spec(json.dumps(chart.spec)) == json.dumps(chart.spec)


@pytest.mark.parametrize("name", ["view_1", "param_7", "view_79c4_0"])
def test_a_system_may_be_called_like_the_names_that_streamlit_renumbers(name: str) -> None:
    marks = [Mark(name, "a", 0.5, 0.4, 0.6), Mark("other", "b", 0.5, 0.4, 0.6)]
    text = json.dumps(intervals_in_rows("", "", marks, Axis("F1"), Series("s", ["a", "b"])).spec)
    assert _stabilize_vega_json_spec(text) == text
    assert name in text


def test_intervals_hold_what_the_table_holds(analyses: dict[str, BoardAnalysis]) -> None:
    table = analyses["ranking"].table()
    found = {(row["row"], row["value"], row["low"], row["high"])
             for chart in drawn(analyses["ranking"]).charts for row in rows(chart.spec)}  # fmt: skip
    assert {tuple(row[1:]) for row in found} == set(table.select("rank", "rank_low", "rank_high").rows())
    assert len(found) == table.height


def test_a_matrix_has_both_halves(analyses: dict[str, BoardAnalysis]) -> None:
    cells = [row for chart in drawn(analyses["agreement"]).charts for row in rows(chart.spec)]
    assert len(cells) == 2 * analyses["agreement"].table().height
    assert {(row["first"], row["second"]) for row in cells} == {(row["second"], row["first"]) for row in cells}


def test_leaders_have_the_best_f1_and_are_few(analyses: dict[str, BoardAnalysis]) -> None:
    scores = analyses["cost"].table()
    systems = systems_of("votes", analyses["votes"].table())
    leading = lead("votes", systems, scores)
    value = dict.fromkeys(systems, 0.0)
    for row in scores.to_dicts():
        regime = row["regime"]
        value[row["system"] if regime in ("none", "") else f"{row['system']} · {regime}"] = row["value"]
    assert len(leading) == 6 < len(systems)
    assert min(value[key] for key in leading) >= max(value[key] for key in set(systems) - set(leading))


def test_a_table_without_what_a_figure_needs_has_no_drawing(analyses: dict[str, BoardAnalysis]) -> None:
    table = analyses["votes"].table().drop("factor")
    assert systems_of("votes", table) == []
    assert draw(Findings("votes", "", table, pl.DataFrame(), ["a"])) is None
    assert draw(Findings("no-such-analysis", "", table, pl.DataFrame(), ["a"])) is None
    calibration = analyses["calibration"]
    assert draw(Findings("calibration", "", calibration.table(), pl.DataFrame(), ["alpha · zero-shot"])) is None


def test_a_free_system_stands_beside_a_logarithmic_axis() -> None:
    axes = (Axis("dollars"), Axis("F1", 0, 1))
    marks = [Mark("a", "a", 0.5, 0.4, 0.6, at=0.0), Mark("b", "b", 0.5, 0.4, 0.6, at=3.0)]
    kinds = [
        next(value for where, value in parts(scatter("", "", some, axes, Series("", ["a", "b"])).spec)
             if where.endswith(".x.scale.type"))
        for some in (marks, marks[1:], marks[:1])
    ]  # fmt: skip
    assert kinds == ["symlog", "log", "linear"]


def luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(part * value for part, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("ground", GROUNDS)
def test_colours_stand_out_in_light_and_dark(ground: str) -> None:
    for colour in PALETTE:
        one, other = sorted((luminance(colour), luminance(ground)))
        assert (other + 0.05) / (one + 0.05) >= 3, colour
