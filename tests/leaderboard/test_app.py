"""The board in Streamlit, without a browser: every page, its addresses, and what people choose on it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import polars as pl
import pytest
import visiting
from streamlit.testing.v1 import AppTest
from visiting import app, shown, text

from hellofresh.core.workspace import Workspace
from hellofresh.results.board.build import build_board
from leaderboard.components.parts import DataColumn
from leaderboard.data.board import load_board
from leaderboard.views import all_pages, page_keys

QUARTER = {"task": "x-notes", "edition": "2024Q1"}


@pytest.fixture(autouse=True)
def board(hostile_board: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The board that the app shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(hostile_board.root))
    return hostile_board


def rows(test: AppTest) -> pl.DataFrame:
    """The values of the page's table."""
    return pl.from_pandas(test.dataframe[0].value)


def box(test: AppTest, label: str) -> object:
    return next(one for one in (*test.selectbox, *test.text_input) if one.label == label)


def test_every_page_of_the_copy_is_a_page_of_the_app(board: Workspace) -> None:
    there = {path for path, _, choices in page_keys(load_board(board.board)) if not choices}
    assert {"leaderboard", "compare", "samples", "forecasts", "data"} <= there
    for page in all_pages():
        if page.path in there or page.once:
            drawn = visiting.opened(page.path)
            assert re.findall("<h1>.*?</h1>", shown(app(page.path))) == re.findall("<h1>.*?</h1>", visiting.html(drawn))


def test_every_link_leads_to_a_page_that_shows_what_it_names(board: Workspace) -> None:
    said = "".join(shown(app(path, **QUARTER)) for path in ("leaderboard", "compare", "samples"))
    links = {link.replace("&amp;", "&") for link in re.findall(r'href="\./([^"]*\?[^"]*)"', said)}
    assert len(links) > 3
    keys = {(path, split.task) for path, split, _ in page_keys(load_board(board.board))}
    for link in links:
        path, _, query = link.partition("?")
        assert (path, dict(parse_qsl(query, strict_parsing=True))["task"]) in keys
    system = next(link for link in sorted(links) if link.startswith("system?"))
    visited = shown(app("system", **dict(parse_qsl(system.partition("?")[2]))))
    assert re.search("<h1><bdi>(good|fair|poor|coin|always-yes)</bdi></h1>", visited)


def test_the_leaderboard_has_typed_and_pinned_columns() -> None:
    test = app()
    found = rows(test)
    assert "Would readers of different views rate this Community Note as helpful?" in text(shown(test))
    assert found["System"].to_list()[:2] == ["best", "second-best"]
    assert found.schema["F1"].is_float() and found["F1"][0] == pytest.approx(0.9)
    settings = test.dataframe[0].proto.columns
    assert '"System": {' in settings and settings.count('"pinned": true') >= 1
    assert [one.proto.label for one in test.get("download_button")] == [
        "Download CSV", "Download JSON", "Download LaTeX",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "value", "address", "systems"),
    [
        ("Provenance", "uploaded", {"provenance": "uploaded"}, 10),
        ("Regime", "web-search", {"regime": "web-search"}, 1),
        ("Kind", "Baselines", {"kind": "Baselines"}, 1),
        ("Find a system or team", "BEST", {"find": "BEST"}, 2),
        ("Find a system or team", "<script>", {"find": "<script>"}, 1),
    ],
)
def test_choices_narrow_the_table_and_stand_in_the_address(
    label: str, value: str, address: dict[str, str], systems: int
) -> None:
    test = app()
    assert rows(test).height == 16
    box(test, label).set_value(value)  # type: ignore[attr-defined]
    test.run()
    assert (rows(test).height, dict(test.query_params)) == (systems, address)
    assert rows(app(**address)).equals(rows(test))


def test_task_and_quarter_are_chosen_and_kept_in_the_address() -> None:
    test = app()
    box(test, "Quarter or data set").select("2024Q1").run()  # type: ignore[attr-defined]
    assert test.query_params == {"task": "x-notes", "edition": "2024Q1"}
    assert "good" in rows(test)["System"].to_list()
    box(test, "Task").select("wikipedia-edits").run()  # type: ignore[attr-defined]
    assert test.query_params["task"] == "wikipedia-edits"
    assert not test.exception


@pytest.mark.parametrize("address", [{"task": "no-such", "edition": "x"}, {"provenance": "<b>"}, {"system": "no"}])
def test_an_address_that_names_nothing_shows_the_board(address: dict[str, str]) -> None:
    test = app(**address)
    assert "best" in rows(test)["System"].to_list()
    said = [element.value for element in test.text if "ignored" in element.value]
    assert len(said) == ("provenance" in address) and not {"provenance"} & {*test.query_params}


def test_two_to_five_systems_are_compared_and_the_link_keeps_them(board: Workspace) -> None:
    origins = {entry.name: origin for split in load_board(board.board).splits if split.edition == "2024Q1"
               for origin, entry in load_board(board.board).entries(split).items()}  # fmt: skip
    first = text(shown(app("compare", **QUARTER)))
    assert "good is better than fair by 0.167 in F1" in first and "Difference in F1" in first
    two = text(shown(app("compare", **QUARTER, one=origins["fair"], two=origins["poor"])))
    assert "fair is better than poor" in two and "Agreement" in two
    three = shown(app("compare", **QUARTER, **dict(zip(("one", "two", "three"), list(origins.values()), strict=False))))
    assert three.count("<details>") == 3 and "adjusted for all pairs on the board" in three
    assert three.partition("<details>")[0].count("adjusted") == 1
    assert "Tick two to five systems" in text(shown(app("compare", **QUARTER, one=origins["fair"])))


def test_a_sample_is_opened_with_what_each_system_said() -> None:
    test = app("samples", **QUARTER)
    found = rows(test)
    said = text(shown(app("samples", **QUARTER, sample=found["Sample"][0])))
    assert "What systems said" in said and "People decided" in said
    assert "✓ right" in said and found["Sample"][0] in said
    box(test, "Label").select("helpful").run()  # type: ignore[attr-defined]
    assert {*rows(test)["Label"]} == {"helpful"} and rows(test).height * 2 == found.height


def test_words_are_the_same_everywhere_and_files_stand_below_their_title() -> None:
    test = app()
    assert {*rows(test)["Provenance"]} == {"run here", "uploaded"}
    assert {"run here", "uploaded"} < {*box(test, "Provenance").options}  # type: ignore[attr-defined]
    opened = app("samples", **QUARTER, sample=rows(app("samples", **QUARTER))["Sample"][0])
    assert "in these words." in text(shown(opened)) and "1 wordings" not in text(shown(opened))
    page = [(node.type, str(node.proto)) for node in app("data", **QUARTER).main]
    title = next(at for at, (_, said) in enumerate(page) if "Get the samples" in said)
    files = [at for at, (kind, said) in enumerate(page) if kind == "download_button" and "json" in said]
    assert files and min(files) > title


def test_hostile_names_stay_texts_and_are_no_formulas(hostile: Sequence[str]) -> None:
    test = app()
    names = rows(test)["System"].to_list()
    assert any("<script>" in name for name in names) and not any(
        "\u202e" in name or "\u0301" * 4 in name for name in names
    )
    assert not re.search(r"<(script|img)|\u202e", shown(test))
    assert DataColumn("x", ["=1+1", "-1", "@a", "plain", None, 3]).series().to_list() == [
        "'=1+1",
        "'-1",
        "'@a",
        "plain",
        None,
        "3",
    ]


def test_a_board_that_is_missing_or_damaged_is_said_and_one_that_changes_is_shown_anew(
    board: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    assert "There is no board yet" in text(shown(app()))
    shutil.copytree(board.board, tmp_path / "board")
    assert "Community Note as helpful?" in text(shown(app()))
    (tmp_path / "board" / "scores.parquet").write_bytes(b"broken")
    (tmp_path / "board" / "manifest.json").write_text((tmp_path / "board" / "manifest.json").read_text() + "\n")
    assert "The board cannot be read" in text(shown(app()))


@pytest.mark.parametrize(
    ("address", "allowed", "host", "whole"),
    [
        ("localhost", [], "localhost:8501", True),
        ("localhost", [], "127.0.0.1:8501", True),
        ("::1", [], "[::1]:8501", True),
        ("localhost", [], "evil.example:8501", False),
        ("localhost", [], "localhost.evil.example", False),
        ("localhost", ["board.example"], "board.example", True),  # which Streamlit itself has compared
        ("0.0.0.0", [], "board.example", True),
    ],
)
def test_on_this_machine_the_app_answers_to_its_own_name_only(
    monkeypatch: pytest.MonkeyPatch, address: str, allowed: Sequence[str], host: str, whole: bool
) -> None:
    options = {"server.address": address, "server.allowedHosts": allowed}
    monkeypatch.setattr("leaderboard.live.st.get_option", options.get)
    monkeypatch.setattr("leaderboard.live.st.context", SimpleNamespace(headers={"Host": host}, url=""))
    said = text(shown(app()))
    assert ("Community Note as helpful?" in said, "this machine only" in said) == (whole, not whole)


def test_a_private_board_is_shown_on_this_machine_only(
    open_board: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(open_board.root, tmp_path / "data")
    monkeypatch.setenv("HELLOFRESH_BOARD", str(build_board(Workspace(tmp_path / "data"), private=True).folder))
    for address, whole in (("localhost", True), ("0.0.0.0", False), ("", False)):
        monkeypatch.setattr("leaderboard.live.st.get_option", {"server.address": address}.get)
        said = text(shown(app()))
        assert ("The maintainers' own board." in said, "this machine only" in said) == (whole, not whole)


def test_the_address_without_a_page_opens_all_tasks_with_the_days_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2027-04-05T12:00:00Z")
    assert "Community Notes on X" in text(shown(app("../../etc")))
    said = text(shown(app("")))
    assert "Community Notes on X" in said and "Edits of Wikipedia paragraphs" in said
    assert "Take part : 2026Q4 accepts predictions from 22 January 2027 until 15 April 2027 (in 10 days)." in said
