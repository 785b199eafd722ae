"""Analyses are read as they were made, or refused; and the page Analyses, without a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from visiting import html, opened, text

from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.results.figures.charts import ORDER
from leaderboard.components.markup import el, visible
from leaderboard.data.analyses import BoardAnalysis, load_analyses
from leaderboard.data.board import SplitKey
from leaderboard.views.analyses import analysis_section, answer, findings

NOTES = {"task": "x-notes", "edition": "2023Q2"}
SPLIT = SplitKey("2023Q2", "x-notes")


def section(name: str) -> str:
    """What the page has on one question."""
    page = html(opened("analyses", **NOTES))
    return page.partition(f'id="{name}">')[2].partition("</section>")[0]


@pytest.fixture
def board(analysed_board: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may damage, shown by the site."""
    shutil.copytree(analysed_board.board, tmp_path / "data/board")
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    return tmp_path / "data/board"


def folder(board: Path) -> Path:
    return board / "analyses" / SPLIT.edition / SPLIT.task


def loaded(board: Path) -> dict[str, BoardAnalysis]:
    return {one.text.name: one for one in load_analyses(board)[SPLIT[:2]]}


def restate(board: Path) -> None:
    """Make the manifest name the files as they are now."""
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["sha256"] = sha256_file(board / entry["path"])
    (board / "manifest.json").write_text(json.dumps(manifest))


def change_index(board: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder(board) / "index.json"
    index = json.loads(path.read_text())
    change(index)
    path.write_text(json.dumps(index))
    restate(board)


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        work()
    assert caught.value.code == "damaged-board"
    assert "hellofresh release run" in caught.value.fix
    return str(caught.value)


@pytest.mark.parametrize("name", ORDER)
def test_every_analysis_is_shown_whole(board: Path, name: str) -> None:
    analysis = next(one for one in load_analyses(board)[SPLIT[:2]] if one.text.name == name)
    shown = section(name)
    for part in (analysis.text.question, "How to read it", " ".join(analysis.text.how_to_read.split())):
        assert part in text(shown)
    assert f"./{name}.svg" in shown and f"{name}.csv" in shown


def test_an_analysis_without_figure_or_table_says_why(board: Path) -> None:
    nothing = {"missing": "Nobody searched.", "figure": None, "row_count": 0, "files": []}
    change_index(
        board, lambda index: [one.update(nothing) for one in index["analyses"] if one["name"] == "search-gain"]
    )
    shown = section("search-gain")
    assert "Nobody searched." in text(shown)
    assert "<table" not in shown and "href=" not in shown


def test_an_analysis_that_the_page_does_not_know_is_shown_as_well(board: Path) -> None:
    path, manifest = folder(board) / "index.json", board / "manifest.json"
    path.write_text(path.read_text().replace('"cost"', '"novelty"').replace('"cost.', '"novelty.'))
    for ending in ("parquet", "points.parquet", "svg", "narrow.svg"):
        path.with_name(f"cost.{ending}").rename(path.with_name(f"novelty.{ending}"))
    manifest.write_text(manifest.read_text().replace("2023Q2/x-notes/cost.", "2023Q2/x-notes/novelty."))
    restate(board)
    assert "<img " in section("novelty") and "<table" in section("novelty")


def test_the_static_section_has_everything_in_one_piece(board: Path, hostile: tuple[str, ...]) -> None:
    for analysis in load_analyses(board)[SPLIT[:2]]:
        source = str(analysis_section(analysis, el("img", src="./a.svg")))
        assert source.count("<img ") == source.count("<h3>") == source.count("<table ") == 1
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
    assert "The first 100 of 300 rows; the files hold all of them." in source


def test_a_changed_index_is_refused(board: Path) -> None:
    path = folder(board) / "index.json"
    path.write_text(path.read_text().replace("question", "answer"))
    assert "index.json" in refusal(lambda: load_analyses(board))


@pytest.mark.parametrize("ending", ["parquet", "svg", "narrow.svg"])
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_file_is_refused_when_it_is_read_and_the_others_are_not(
    board: Path, ending: str, damage: str
) -> None:
    path = folder(board) / f"cost.{ending}"
    path.write_bytes(b"nothing") if damage == "changed" else path.unlink()
    found = loaded(board)
    assert f"cost.{ending}" in refusal(
        found["cost"].table if ending == "parquet" else lambda: found["cost"].svg(ending)
    )
    assert found["votes"].table().height


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda index: index.update(more=1), "extra inputs"),
        (lambda index: index["analyses"][0].update(name="../up"), "analyses.0.name"),
        (lambda index: index["analyses"][0].pop("notes"), "analyses.0.notes"),
        (lambda index: index["analyses"][0].update(row_count="3"), "analyses.0.row_count"),
        (lambda index: index["analyses"][0]["files"].append("votes.svg"), "not those"),
        (lambda index: index["analyses"][0]["files"].append("agreement.png"), "not those"),
        (lambda index: index.update(edition="2023Q1"), "something else"),
        (lambda index: index["analyses"].append(index["analyses"][0]), "something else"),
    ],
)
def test_an_index_that_says_something_else_is_refused(board: Path, change: Callable[..., object], said: str) -> None:
    change_index(board, change)
    assert said in refusal(lambda: load_analyses(board))


def test_a_table_that_is_not_as_long_as_its_index_says_is_refused(board: Path) -> None:
    change_index(board, lambda index: index["analyses"][0].update(row_count=1))
    found = load_analyses(board)[SPLIT[:2]]
    assert "not the one that its index describes" in refusal(
        next(one for one in found if one.text.row_count == 1).table
    )


def test_a_table_of_lists_is_refused(board: Path) -> None:
    pl.DataFrame({"system": [["a"]]}).write_parquet(folder(board) / "cost.parquet")
    restate(board)
    assert "neither texts nor numbers" in refusal(loaded(board)["cost"].table)


def test_a_manifest_cannot_lead_out_of_the_board(board: Path) -> None:
    manifest = json.loads((board / "manifest.json").read_text())
    for entry in manifest["analyses"]:
        entry["path"] = entry["path"].replace("2023Q2", "..")
    (board / "manifest.json").write_text(json.dumps(manifest))
    assert load_analyses(board) == {}


def test_the_ranking_shows_each_model_before_and_after_its_cutoff(board: Path) -> None:
    page = opened("leaderboard", **NOTES)
    rows = [row for row in loaded(board)["contamination"].table().to_dicts() if row["difference"] is not None]
    better, surely = (sum(row[name] > 0 for row in rows) for name in ("difference", "low"))
    said = f"{better} of {len(rows)} models with samples on both sides of their knowledge cutoff do better before it"
    assert f"{said}, {surely} of them significantly." in text(page)
    drawn = html(page).partition("Before and after the cutoff")[2].partition("The numbers")[0]
    assert drawn.count('class="hf-trend"') == len(rows) > 6 and drawn.count('class="hf-dot"') == 2 * len(rows)
    assert "<script>window" not in drawn and "14 more" in drawn


ANSWERS: dict[str, tuple[dict[str, list[Any]], str | None]] = {
    "differences": (
        {"difference": [0.2, -0.1, 0.0], "low": [0.1, -0.2, -0.1], "high": [0.3, -0.05, 0.1]},
        "Clearly above zero: 1 of 3 differences; clearly below: 1. The others may be chance.",
    ),
    "limits of their own": (
        {"step": [0.2], "step_low": [0.1], "step_high": [0.3], "low": [-1.0], "high": [1.0]},
        "Clearly above zero: 1 of 1 difference; clearly below: 0. The others may be chance.",
    ),
    "ranks": (
        {"tie_group": [1, 1, 2, None], "value": [0.5] * 4},
        "2 of 3 ranked systems may be the best: they do not differ significantly.",
    ),
    "values": (
        {"system": ["a", "\u202eb"], "metric": ["f1", "f1"], "value": [0.5, 0.25]},
        f"F1 is highest for a (0.500) and lowest for {visible(chr(0x202E))}b (0.250).",
    ),
    "values with intervals": (
        {"system": ["a", "b"], "share": [0.5, 0.25], "low": [0.4, 0.1], "high": [0.6, 0.3]},
        "Share is highest for a (0.500) and lowest for b (0.250). Their intervals do not overlap.",
    ),
    "values that overlap": (
        {"system": ["a", "b"], "share": [0.5, 0.25], "share_low": [0.2, 0.1], "share_high": [0.6, 0.3]},
        "Share is highest for a (0.500) and lowest for b (0.250). Their intervals overlap: it may be chance.",
    ),
    "the same everywhere": ({"share": [0.0, 0.0]}, "Share is 0.000 throughout."),
    "texts alone": ({"system": ["a"]}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_question_is_answered_in_one_sentence(name: str) -> None:
    found, said = ANSWERS[name]
    assert answer(pl.DataFrame(found)) == said


def test_questions_stand_in_three_groups_with_the_size_of_their_pictures(board: Path) -> None:
    source = html(opened("analyses", **NOTES))
    titles = ["How sure is the ranking?", "What kind of mistakes are made?", "What made the score?"]
    assert re.findall("<h2>([^<]*)</h2>", source) == titles
    images, narrow = re.findall("<img [^>]*>", source), re.findall("<source [^>]*>", source)
    assert len(images) == len(narrow) == len(ORDER)
    assert all(re.search(r' width="\d+" height="\d+"', one) for one in [*images, *narrow])
    phone = r'<source .*media="\(max-width: 699px\)" srcset="\./[a-z-]+\.narrow\.svg">'
    assert all(re.match(phone, one) for one in narrow) and all(' alt="' in one for one in images)


def test_a_board_without_narrow_pictures_shows_the_wide_ones(board: Path) -> None:
    change_index(
        board,
        lambda index: [one.update(files=[f for f in one["files"] if "narrow" not in f]) for one in index["analyses"]],
    )
    assert section("cost").count("<img ") == 1 and "<source" not in html(opened("analyses", **NOTES))


def test_differences_that_could_not_be_measured_have_no_answer() -> None:
    unknown = pl.DataFrame({"less_best": [None], "less_best_low": [None], "less_best_high": [None]}, strict=False)
    assert answer(unknown.cast(pl.String)) is None
