"""The pages Responses and Judges: what they show of a rated study, and that hostile responses stay text."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hostile_responses import HOSTILE_RESPONSES
from visiting import html, opened

from hellofresh.core.workspace import Workspace
from hellofresh.judging.classifiers import SMOKE_TEST
from hellofresh.judging.model_judge import keep_ratings
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.study import JudgeKind, Rating
from hellofresh.results.board.build import build_board
from hellofresh.results.board.schema import JudgeRow, RatedResponse, RatedRow
from hellofresh.results.scores import score_quarter
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.responses import side_by_side

sys.path.insert(0, str(Path(__file__).parents[1] / "ratings"))
from rated_study import write_study

SPLIT = SplitKey(str(MUSE_EDITION), "corrections")


@pytest.fixture(scope="module")
def rated_board(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A board of a small rated study, which a model and a smoke test have judged too."""
    folder = tmp_path_factory.mktemp("rated")
    workspace = Workspace(folder / "data")
    study = import_muse(workspace, read_muse(write_study(folder / "study")))
    for judge, kind in (("a-model", JudgeKind.MODEL), (SMOKE_TEST, JudgeKind.CLASSIFIER)):
        rows = study.key.filter(study.key["same_as"] == "").select("response", "sample").iter_rows()
        own = [
            Rating(sample=sample, response=name, judge=judge, kind=kind, criterion="overall", value=float(number % 11))
            for number, (name, sample) in enumerate(sorted(rows))
        ]
        keep_ratings(study, judge, own)
        study = type(study)(study.files, study.rubric, _read(workspace), study.key)
    score_quarter(workspace, MUSE_EDITION, folder / "submissions")
    build_board(workspace)
    return workspace


def _read(workspace: Workspace):
    from hellofresh.judging.study import read_study

    return read_study(workspace, MUSE_EDITION, "corrections").ratings


def page(workspace: Workspace, view: str, monkeypatch: pytest.MonkeyPatch, **query: str) -> str:
    """All HTML that a page shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    return html(opened(view, **query))


def test_the_tables_of_the_board_hold_standings_judges_and_responses(rated_board: Workspace) -> None:
    board = load_board(rated_board.board)
    ratings = board.rows(RatedRow, SPLIT)
    assert {row.judges for row in ratings} == {"person", "model", "classifier"}
    first = [row for row in ratings if row.judges == "person" and row.criterion == "overall" and not row.part]
    assert [(row.system, row.rank) for row in first] == [
        ("muse", 1), ("laypeople-high", 2), ("gpt-4", 3), ("laypeople-average", 4),
    ]  # fmt: skip
    assert all(row.validated is (row.judges == "person") for row in ratings)
    assert {row.judge for row in board.rows(JudgeRow, SPLIT)} == {"a-model", SMOKE_TEST}
    found = board.rows(RatedResponse, SPLIT, pl.col("system").is_in(["muse", "gpt-4"]))
    assert {item.system for item in found} == {"muse", "gpt-4"}
    assert all(item.people is not None and item.judged is not None for item in found)
    assert load_board(rated_board.board).splits == (SPLIT,)


def test_the_page_ranks_by_people_and_not_by_judges_that_are_not_validated(
    rated_board: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = page(rated_board, "responses", monkeypatch)
    assert "Overall quality" in shown and "Not validated" not in shown
    assert shown.index("muse") < shown.index("laypeople-average")
    assert "muse answers" in shown and "2 of them" not in shown.split("Side by side")[0]
    by_model = page(rated_board, "responses", monkeypatch, judges="model")
    assert "Not validated" in by_model


def test_a_part_and_a_criterion_can_be_chosen(rated_board: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page(rated_board, "responses", monkeypatch, part="modality=multimodal")
    assert "Overall quality" in shown
    links = page(rated_board, "responses", monkeypatch, criterion="reachability")
    assert "Does the link lead to a page" in links


def test_the_page_of_judges_shows_each_beside_people(rated_board: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page(rated_board, "judges", monkeypatch)
    for text in ("a-model", SMOKE_TEST, "not validated", "lower limit above 65%"):
        assert text in shown


def test_the_static_copy_has_standings_and_judges_and_no_text_of_a_response(
    rated_board: Workspace, tmp_path: Path
) -> None:
    export_board(rated_board.board, tmp_path / "copy")
    (responses,) = (tmp_path / "copy" / SPLIT.task).glob("*/responses.html")
    shown, judges = responses.read_text(), (responses.parent / "judges.html").read_text()
    for said in ("Judged by people", "Judged by models", "Overall quality", "Does the link lead to a page"):
        assert said in shown
    assert shown.index("muse") < shown.index("laypeople-average") and "muse answers" not in shown
    assert "a-model" in judges and "lower limit above 65%" in judges
    assert './judges.html"' in shown and './responses.html"' in (responses.parent / "index.html").read_text()


def test_a_board_without_ratings_says_so(make_board, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_board()
    for view in ("responses", "judges"):
        assert "No responses have been rated yet" in page(workspace, view, monkeypatch)


class Tags(HTMLParser):
    """All tags and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("hostile", HOSTILE_RESPONSES, ids=range(len(HOSTILE_RESPONSES)))
def test_a_hostile_response_is_text_and_nothing_else(hostile: str) -> None:
    sources = (hostile, "javascript:window.pwned=1", "https://example.org/<script>", "https://example.org/page")
    item = RatedResponse("mp-1", "javascript:window.pwned=1", hostile, hostile, sources, 5.0, None, 2)
    found = Tags()
    found.feed(str(side_by_side([item, item])))
    assert found.tags <= {"div", "p", "section", "h3", "bdi", "br", "ul", "li", "a", "dl", "dt", "dd"}
    assert set(found.attributes) <= {"class", "dir", "href", "rel"}
    assert found.attributes["href"] == {"https://example.org/page"}
    for char in ("\u202e", "\u200b"):
        assert char not in found.text
    if hostile.isascii() and hostile.isprintable():
        assert hostile in found.text
