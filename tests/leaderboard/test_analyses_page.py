"""The page Analyses, without a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import visiting
from streamlit.elements.vega_charts import _stabilize_vega_json_spec
from streamlit.testing.v1 import AppTest
from visiting import html, text

from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.figures.vega import place
from leaderboard.data.analyses import ORDER, load_analyses
from leaderboard.data.board import SplitKey
from leaderboard.live.session import for_streamlit
from leaderboard.views.analyses import analysis_section, findings, ordered, plain_rows

NOTES = {"task": "x-notes", "edition": "2023Q2"}
SPLIT = SplitKey("2023Q2", "x-notes")


def opened(**query: str | list[str]) -> AppTest:
    return visiting.opened("analyses", **(NOTES | query))


def charts(test: AppTest) -> list[dict[str, Any]]:
    return [json.loads(element.proto.spec) for element in test.get("vega_lite_chart")]


def box(test: AppTest, label: str) -> Any:
    return next(item for item in (*test.selectbox, *test.multiselect) if item.label.startswith(label))


def asked(test: AppTest) -> dict[str, list[str]]:
    """The URL's query."""
    return {name: [value] if isinstance(value, str) else list(value) for name, value in test.query_params.items()}


@pytest.fixture
def board(analysed_board: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may damage, shown by the site."""
    shutil.copytree(analysed_board.board, tmp_path / "data/board")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    return tmp_path / "data/board"


def change(board: Path, name: str, change: Callable[[Path], object]) -> None:
    """Change a file of the analyses and let the manifest name it as it is now."""
    path = board / "analyses" / SPLIT.edition / SPLIT.task / name
    change(path)
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["sha256"] = sha256_file(board / entry["path"])
    (board / "manifest.json").write_text(json.dumps(manifest))


def change_described(board: Path, name: str, **values: Any) -> None:
    def write(path: Path) -> None:
        index = json.loads(path.read_text())
        next(one for one in index["analyses"] if one["name"] == name).update(values)
        path.write_text(json.dumps(index))

    change(board, "index.json", write)


@pytest.mark.parametrize("name", ORDER)
def test_every_analysis_is_shown_whole(board: Path, name: str) -> None:
    test = opened(analysis=name)
    analysis = next(one for one in load_analyses(board)[SPLIT[:2]] if one.text.name == name)
    said = text(html(test))
    for part in (
        analysis.text.question,
        "How to read it",
        " ".join(analysis.text.how_to_read.split()),
        f"{analysis.text.row_count:,} rows",
    ):
        assert part in said
    assert charts(test)
    assert all(analysis.text.question in chart["description"] for chart in charts(test))
    assert [button.proto.label for button in test.get("download_button")] == [
        "Download CSV", "Download JSON", "Download LaTeX", "Download the figure as SVG",
    ]  # fmt: skip


def test_the_question_lives_in_the_address(board: Path) -> None:
    test = opened()
    assert asked(test)["analysis"] == ["ranking"]
    box(test, "Question").set_value("cost").run()
    assert asked(test)["analysis"] == ["cost"]
    assert "What does a better score cost?" in text(html(test))
    unknown = opened(analysis="<b>no-such")
    assert "<b>no-such" in unknown.text[0].value
    assert asked(unknown)["analysis"] == ["ranking"]


def test_an_analysis_without_figure_says_why(board: Path) -> None:
    change_described(board, "search-gain", missing="Nobody searched.", figure=None)
    test = opened(analysis="search-gain")
    assert "No figure. Nobody searched." in text(html(test))
    assert not charts(test)
    assert any("(no figure)" in title for title in box(test, "Question").options)


def test_an_analysis_without_table_says_why_and_offers_none(board: Path) -> None:
    change_described(board, "search-gain", missing="Nobody searched.", figure=None, row_count=0, files=[])
    test = opened(analysis="search-gain")
    assert "No figure. Nobody searched." in text(html(test))
    assert "<table" not in html(test)
    assert not test.get("download_button")


def test_a_quarter_without_analyses_names_the_command(board: Path) -> None:
    said = text(html(opened(edition="2026Q3")))
    assert "hellofresh analyse all --edition 2026Q3" in said
    assert "hellofresh board build" in said
    assert "Bundled sample." in said


def test_a_damaged_file_is_named_on_the_page(board: Path) -> None:
    (board / "analyses/2023Q2/x-notes/silence.parquet").write_bytes(b"nothing")
    said = text(html(opened(analysis="silence")))
    assert "The board cannot be read" in said
    assert "silence.parquet" in said
    assert "How to read it" in text(html(opened(analysis="slices")))


def test_an_analysis_that_the_page_does_not_know_is_drawn_as_well(board: Path) -> None:
    def rename(path: Path) -> None:
        path.write_text(path.read_text().replace('"cost"', '"novelty"').replace('"cost.', '"novelty.'))
        for ending in ("parquet", "points.parquet", "svg"):
            path.with_name(f"cost.{ending}").rename(path.with_name(f"novelty.{ending}"))
        manifest = board / "manifest.json"
        manifest.write_text(manifest.read_text().replace("2023Q2/x-notes/cost.", "2023Q2/x-notes/novelty."))

    change(board, "index.json", rename)
    test = opened(analysis="novelty")
    assert len(charts(test)) == 1
    assert "<table" in html(test)


def test_points_that_are_no_marks_are_a_damaged_board(board: Path) -> None:
    change(board, "votes.points.parquet", lambda path: pl.read_parquet(path).drop("series").write_parquet(path))
    said = text(html(opened(analysis="votes")))
    assert "The board cannot be read" in said
    assert "votes.points.parquet" in said


@pytest.mark.parametrize("name", ORDER)
def test_a_specification_goes_through_streamlit_as_it_is(board: Path, name: str) -> None:
    for chart in charts(opened(analysis=name)):
        assert "data" not in chart  # data at the top would be made a table of another kind
        assert _stabilize_vega_json_spec(json.dumps(chart)) == json.dumps(chart)


@pytest.mark.parametrize("name", ["view_1", "param_7", "view_79c4_0"])
def test_a_system_may_be_called_like_the_names_that_streamlit_renumbers(name: str) -> None:
    figure = Figure((Chart("intervals", Axis("F1")),), (name, "other"))
    marks = [Mark(who, who, 0.5, 0.4, 0.6, row=who) for who in figure.systems]
    text = json.dumps(for_streamlit(place(figure, marks, "")[0].spec))
    assert _stabilize_vega_json_spec(text) == text
    assert name in text


def test_other_systems_can_be_chosen_and_the_choice_is_kept_for_this_question_only(board: Path) -> None:
    test = opened(analysis="slices")
    chosen = box(test, "Systems in the figure: 4 of 20")
    assert len(chosen.value) == 4
    chosen.set_value(["gamma · zero-shot"]).run()
    assert asked(test)["show"] == ["gamma · zero-shot"]
    assert {row["series"] for chart in charts(test) for layer in chart["layer"]
            for row in layer.get("data", {}).get("values", [])} == {"gamma · zero-shot"}  # fmt: skip
    box(test, "Systems in the figure").set_value([]).run()
    assert "Choose at least one system" in text(html(test))
    box(test, "Question").set_value("votes").run()
    assert len(box(test, "Systems in the figure").value) == 6
    assert "show" not in asked(test)
    linked = opened(analysis="votes", show=["beta · placebo", "no such system"])
    assert box(linked, "Systems in the figure").value == ["beta · placebo"]


def test_a_regime_can_be_highlighted_in_all_panels(board: Path) -> None:
    test = opened(analysis="temporal-consistency", highlight="placebo")
    strengths = {(row["series"], row["strength"]) for chart in charts(test) for layer in chart["layer"]
                 for row in layer.get("data", {}).get("values", [])}  # fmt: skip
    assert ("placebo", 1.0) in strengths
    assert all((strength == 1.0) == (series == "placebo") for series, strength in strengths)


def test_the_table_comes_in_the_order_that_is_asked_for(board: Path) -> None:
    test = opened(analysis="cost", order="value")
    table = html(test).partition("<table")[2].partition("</table>")[0]
    values = [float(value) for value in re.findall(r'data-label="F1" role="cell">([\d.]+)', table)]
    assert len(values) == 20
    assert values == sorted(values, reverse=True)


def test_the_static_section_has_everything_in_one_piece(board: Path, hostile: tuple[str, ...]) -> None:
    for analysis in load_analyses(board)[SPLIT[:2]]:
        source = str(analysis_section(analysis, "./a.svg"))
        assert source.count("<img ") == source.count("<h2>") == source.count("<table ") == 1
        assert not re.search(r"<(script|a|b)\b|\u202e|\u0301{4}", source)
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in source


def test_what_is_the_same_in_every_row_is_said_once() -> None:
    rows = pl.DataFrame({"system": ["a", "b"], "metric": ["f1", "f1"], "value": [0.5, 0.5], "none": [None, None]})
    said = text(str(findings(rows)))
    assert said == "Findings System F1 a 0.500 b 0.500 The same in every row. Metric: f1"
    assert findings(rows.clear()) is None


def test_limits_stand_under_the_value_that_they_are_of() -> None:
    row = {"system": "a", "value": 0.5, "value_against": 0.25, "difference": 0.25, "low": -0.125, "high": 1.0}
    source = str(findings(pl.DataFrame([row])))
    assert "<small>\N{MINUS SIGN}0.12\N{EN DASH}1.00</small>" in source.partition('data-label="Difference"')[2]
    assert source.count("<small>") == 1


def test_long_tables_are_cut_and_say_so() -> None:
    source = str(findings(pl.DataFrame({"system": [f"s{k}" for k in range(300)]})))
    assert source.count("<tr") == 101
    assert "The first 100 of 300 rows; the files have all." in source


def test_order_puts_large_numbers_first_and_unknown_ones_last() -> None:
    rows = pl.DataFrame({"a": [1.0, float("nan"), 3.0, None], "b": ["y", "x", None, "z"]})
    assert ordered(rows, "a")["a"].to_list()[:2] == [3.0, 1.0]
    assert ordered(rows, "b")["b"].to_list() == ["x", "y", "z", None]
    assert ordered(rows, "no-such-column").equals(rows)
    assert [row["a"] for row in plain_rows(rows)] == [1.0, None, 3.0, None]
