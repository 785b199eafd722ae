"""The pages Responses and Judges: what they show of a rated study, and that hostile responses stay text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest
from hostile_responses import HOSTILE_RESPONSES
from visiting import data_of, html, opened, paths

from hellofresh.core.workspace import Workspace
from hellofresh.judging.model_judge import keep_ratings
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.study import SMOKE_TEST, JudgeKind, Rating, StudyFiles
from hellofresh.results.board.build import build_board
from hellofresh.results.board.ratings import responses
from hellofresh.results.board.sample_rows import RatedResponse
from hellofresh.results.board.system_rows import JudgeRow, RatedRow
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.open import open_split, places, scan_scores
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export.copy import framed
from leaderboard.views.responses import side_by_side
from tests.ratings.rated_study import write_study

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

    return read_study(StudyFiles(workspace, MUSE_EDITION, "corrections")).ratings


def page(workspace: Workspace, view: str, monkeypatch: pytest.MonkeyPatch, **query: str) -> str:
    """All HTML that a page shows."""
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    return html(opened(view, **query))


def test_the_tables_of_the_board_hold_standings_judges_and_responses(rated_board: Workspace) -> None:
    board = load_board(rated_board.board)
    ratings = board.rows(RatedRow, SPLIT)
    assert {row.kind for row in ratings} == {"person", "model", "classifier"}
    first = [row for row in ratings if row.kind == "person" and row.criterion == "overall" and not row.part]
    assert [(row.system, row.rank) for row in first] == [
        ("muse", 1), ("laypeople-high", 2), ("gpt-4", 3), ("laypeople-average", 4),
    ]  # fmt: skip
    assert all(row.validated is (row.kind == "person") for row in ratings)
    assert {row.judge for row in board.rows(JudgeRow, SPLIT)} == {"a-model", SMOKE_TEST}
    found = board.rows(RatedResponse, SPLIT, pl.col("system").is_in(["muse", "gpt-4"]))
    assert {item.system for item in found} == {"muse", "gpt-4"}
    assert all(item.people is not None and item.judged is not None for item in found)
    assert load_board(rated_board.board).splits == (SPLIT,)


def test_the_page_ranks_by_people_and_not_by_judges_that_are_not_validated(
    rated_board: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = page(rated_board, "responses", monkeypatch)
    people = shown.partition("Judged by people")[2].partition("<h2>Judged by")[0]
    assert "Overall quality" in people and "Not validated" not in people
    assert "Not validated" in shown.partition("Judged by models")[2]
    assert people.index("muse") < people.index("laypeople-average")
    matrix, *folded = people.split("<table")[1:]
    assert (
        matrix.count('style="--share:') > 20
        and people.index("<details>") > people.index("</table>")
        and len(folded) == 1  # by part of the posts
    )
    assert "modality: multimodal" in people and "Does the link lead to a page" in people


def test_the_responses_to_a_post_stand_side_by_side_where_the_post_is_opened(
    rated_board: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(rated_board.root))
    samples = opened("samples")
    shown = next(iter(data_of(samples, "samples/0").values()))["html"]
    assert "muse answers" in shown and "overall (1 of them)" in shown
    assert shown.index(">gpt-4<") < shown.index(">muse<")


def test_responses_to_posts_that_are_withheld_are_shown_without_their_texts(rated_board: Workspace) -> None:
    (place,) = places(rated_board)
    split = open_split(rated_board, place, scan_scores(rated_board, [place]), opened=True)
    kept, withheld = list(responses(split)), list(responses(replace(split, withheld=True)))
    assert all(item.text for item in kept) and withheld == [replace(item, text="") for item in kept]
    assert [str(side_by_side(some)).count("Texts withheld.") for some in (withheld, kept)] == [1, 0]
    some = [replace(kept[0], text=""), *kept[1:]]
    assert [str(side_by_side(one)).count("no text") for one in (some, withheld, kept)] == [1, 0, 0]


def test_the_page_of_judges_shows_each_beside_people(rated_board: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page(rated_board, "judges", monkeypatch)
    for text in ("a-model", SMOKE_TEST, "not validated", "more than 65% of cases (lower limit)"):
        assert text in shown


def test_the_menu_leads_to_responses_and_judges_only_where_there_are_any(
    rated_board: Workspace, make_board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(rated_board.root))
    assert {"responses", "judges"} <= paths()
    assert './judges.html"' in framed(opened("responses"), "")
    monkeypatch.setenv("HELLOFRESH_DATA", str(make_board().root))
    assert not {"responses", "judges"} & paths()


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
