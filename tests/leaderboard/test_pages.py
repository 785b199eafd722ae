"""What the pages say, without a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from visiting import html, opened, text

from leaderboard.components.markup import DASH
from leaderboard.live import PAGES

REAL = {"task": "x-notes", "edition": "2023Q2"}
ALL_PAGES = [page.path for page in PAGES]


def asked(test: AppTest) -> dict[str, str]:
    """The URL's query, whether a value comes alone or in a list."""
    return {name: value if isinstance(value, str) else value[0] for name, value in test.query_params.items()}


@pytest.fixture
def use_board(make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a board, and makes it the one that the site shows."""

    def use(**how: Any) -> Path:
        workspace = make_board(**how)
        monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
        return workspace.board

    return use


@pytest.mark.parametrize("path", ALL_PAGES)
def test_every_page_opens(use_board: Callable[..., Path], path: str) -> None:
    use_board()
    assert html(opened(path))


def test_the_whole_app_opens_on_the_first_page(use_board: Callable[..., Path], root: Path) -> None:
    use_board()
    assert "How well do language models predict" in html(
        AppTest.from_file(root / "leaderboard/visit.py", default_timeout=300).run()
    )


def table_rows(test: AppTest) -> list[tuple[str, str]]:
    table = html(test).partition("</table>")[0]
    return re.findall(r'<td class="hf-rank" role="cell">(.*?)</td>.*?<bdi>(.*?)</bdi>', table)


def test_without_standings_systems_stand_by_f1_and_nobody_has_a_rank(use_board: Callable[..., Path]) -> None:
    use_board()
    assert table_rows(opened("leaderboard", **REAL)) == [
        (DASH, "best"), (DASH, "second-best"), (DASH, "level-a"), (DASH, "level-b"), ("", "always-yes"),
        ("", "tiny-model"),
    ]  # fmt: skip


def test_a_row_shows_all_its_figures(use_board: Callable[..., Path]) -> None:
    use_board()
    first = html(opened("leaderboard", **REAL)).split('<td class="hf-rank"')[1].partition("</tr>")[0]
    for shown in (
        "0.900",
        "0.85\N{EN DASH}0.95",
        "3.3%",
        "1 none, 1 blocked",
        "of 60",
        "web-search",
        "run by us",
        "2022-12-31",
    ):
        assert shown in first


def test_baselines_and_smoke_tests_stand_apart_and_are_explained(use_board: Callable[..., Path]) -> None:
    use_board()
    said = text(opened("leaderboard", **REAL))
    places = [said.index(part) for part in ("ranked by F1", "rules without a language model", "at chance level")]
    assert places == sorted(places)
    assert places[1] < said.index("always-yes") < places[2] < said.index("tiny-model")


def test_the_bundled_sample_ranks_nobody(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", task="x-notes", edition="2026Q3")
    assert "to try it out. Its scores are for demonstration only" in text(test)
    assert {rank for rank, _ in table_rows(test)} == {""}
    assert "for demonstration only" not in text(opened("leaderboard", **REAL))


@pytest.mark.parametrize("path", ["leaderboard", "data"])
def test_task_and_quarter_live_in_the_address(use_board: Callable[..., Path], path: str) -> None:
    use_board()
    test = opened(path, task="wikipedia-edits", edition="2023Q2")
    assert [box.value for box in test.selectbox][:2] == ["wikipedia-edits", "2023Q2"]
    test.selectbox[0].set_value("x-notes").run()
    assert asked(test) == {"task": "x-notes", "edition": "2023Q2"}
    test.query_params["edition"] = "2026Q3"
    test.run()
    assert test.selectbox[1].value == "2026Q3"


def test_an_unknown_task_in_the_address_is_named_and_the_first_one_shown(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", task="<b>no-such", edition="2023Q2")
    assert not test.exception
    assert test.text[0].value == "The address asks for the task “<b>no-such”, which this board does not have."
    assert test.selectbox[0].value == "x-notes"
    test.run()
    assert not test.text


def test_the_chart_shows_the_chosen_systems_only(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", **REAL)
    assert html(test).count("<figure") == 3
    chosen = next(box for box in test.multiselect if box.label == "Systems to show")
    chosen.set_value(chosen.value[:1]).run()
    assert html(test).count("<figure") == 1
    next(box for box in test.multiselect if box.label == "Systems to show").set_value([]).run()
    assert "Choose at least one system" in text(test)


def test_prompts_of_the_chosen_system_are_shown(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", **REAL)
    last = html(test).rpartition("<tbody")[2]
    assert re.findall(r"<bdi>(.*?)</bdi>", last) == ["majority", "manual", "rephrased-1"]


def test_the_data_page_shows_the_funnel_and_the_balance(use_board: Callable[..., Path]) -> None:
    use_board()
    said = text(opened("data", **REAL))
    for shown in ("1,303", "too-short", "it has fewer than ten letters", "\N{MINUS SIGN}1,234", "2023-04", "60 in all"):
        assert shown in said


def test_a_quarter_without_scores_says_so(use_board: Callable[..., Path], make_board: Any) -> None:
    make_board.release_only("2024Q1")
    use_board()
    said = text(opened("leaderboard", task="x-notes", edition="2024Q1"))
    assert "No system has been scored" in said
    assert "too-short" in text(opened("data", task="x-notes", edition="2024Q1"))


@pytest.mark.parametrize("path", ALL_PAGES)
def test_an_empty_workspace_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    said = text(opened(path))
    assert "There is no board yet" in said
    assert "make release" in said


@pytest.mark.parametrize("path", ALL_PAGES)
def test_a_damaged_table_is_explained_even_if_it_was_fine_before(use_board: Callable[..., Path], path: str) -> None:
    board = use_board()
    assert "cannot be read" not in text(opened(path))
    (board / "periods.parquet").write_bytes(b"not a table")
    said = text(opened(path))
    assert "The board cannot be read" in said
    assert "periods.parquet" in said
    assert "make release" in said


def test_links_go_to_web_addresses_or_stay_on_the_site(use_board: Callable[..., Path]) -> None:
    use_board()
    links = [link for path in ALL_PAGES for link in re.findall(r'href="([^"]*)"', html(opened(path)))]
    assert links
    assert all(re.match(r"https://|\./(system|compare|samples)?\?task=", link) for link in links)


def test_hostile_names_never_become_markup(
    use_board: Callable[..., Path], hostile: tuple[str, ...], system: Callable[..., Any]
) -> None:
    use_board(systems=[system(name, team=name, about=name, kind="submission") for name in hostile])
    shown = html(opened("leaderboard", **REAL))
    leaving = r'href="(?!\./\w+\?task=[\w%&=.;-]*")'
    assert not re.search(r"<(script|img|b|code)\b|\u202e|\u0301{4}|" + leaving, shown)
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in shown
