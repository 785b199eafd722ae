"""What the pages say, without a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from visiting import html, opened, paths, text

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.submissions.check import Due
from hellofresh.tasks.samples import Split
from leaderboard.components.markup import DASH
from leaderboard.data.board import SplitKey
from leaderboard.export.copy import framed
from leaderboard.views import home_of
from leaderboard.views.submit import what_is_due
from leaderboard.views.visit import Visit

REAL = {"task": "x-notes", "edition": "2023Q2"}


@pytest.fixture
def use_board(make_board: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a board, and makes it the one that the site shows."""

    def use(**how: Any) -> Path:
        workspace = make_board(**how)
        monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
        return workspace.board

    return use


def test_the_site_opens_on_a_living_task_though_names_of_data_sets_sort_behind_quarters() -> None:
    splits = [SplitKey("scifact-retrieval@dev-9", "scifact-retrieval"), SplitKey("2023Q2", "x-notes")]
    full = SimpleNamespace(splits=splits, entries=bool, standings=bool, is_bundled=lambda _: False)
    assert home_of(cast(Any, full)).task == "x-notes"


@pytest.mark.parametrize(
    ("task", "split", "asked"),
    [
        ("x-notes", "main", "id and label (1, 0, or null for no answer) for each"),
        ("x-notes", "prospective", "id and label (1, 0, or null for no answer) and probabilities (one for each class)"),
        ("corrections", "main", "id and text (the response, or null"),
        ("scifact-retrieval", "main", "id and documents (a list of their ids, the best first, or null"),
    ],
)
def test_what_is_due_is_the_field_of_the_tasks_answers(task: str, split: str, asked: str) -> None:
    said = what_is_due(Due(Frozen("anything", "9"), {task: ("a", "b")}, {}, split=Split(split)), now())
    assert asked in text(said.source)


def test_pages_with_nothing_to_show_are_in_no_menu_and_have_no_file(use_board: Callable[..., Path]) -> None:
    use_board()
    empty = ("Compare", "Samples", "Responses", "Judges", "Retrieval", "Forecasts", "Analyses", "Guess")
    assert paths().isdisjoint(map(str.lower, empty))
    menu = re.findall(r">([^<>]+)</a></li>", framed(opened("leaderboard", **REAL), "").partition("</nav>")[0])
    assert set(menu).isdisjoint(empty) and {"Home", "Ranking", "Data", "Submit", "About"} <= set(menu)


def table_rows(test: Visit) -> list[tuple[str, str]]:
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
        "run here",
        "2022-12-31",
    ):
        assert shown in first


def test_baselines_and_smoke_tests_stand_apart_and_are_explained(use_board: Callable[..., Path]) -> None:
    use_board()
    said = text(opened("leaderboard", **REAL))
    said = said[said.index("Find a system or team") :]
    places = [said.index(part) for part in ("ranked by F1", "rules without a language model", "at chance level")]
    assert places == sorted(places)
    assert places[1] < said.index("always-yes") < places[2] < said.index("tiny-model")


def test_the_bundled_sample_says_that_it_is_a_demonstration(use_board: Callable[..., Path]) -> None:
    use_board()
    test = opened("leaderboard", task="x-notes", edition="2026Q3")
    assert "to try it out. Its scores are for demonstration only" in text(test)
    assert "for demonstration only" not in text(opened("leaderboard", **REAL))
