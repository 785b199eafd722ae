"""The board's further tables: they agree with scores and files, give nothing away, and keep the two splits apart."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from hellofresh.core.clock import now
from hellofresh.core.files import read_json, read_jsonl, sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.strict import SiteSettings
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.board.build import build_board
from hellofresh.results.board.release_rows import ReleaseFacts
from hellofresh.results.board.sample_rows import SampleRow
from hellofresh.results.board.system_rows import CalibrationRow, Mistakes
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.judgements import judgements_file
from hellofresh.results.split.tables import AnswerRow
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.data.board import Board, SplitKey, load_board
from leaderboard.export.copy import Site
from leaderboard.export.records import record_files
from tests.fakes import fails_with

MAIN = SplitKey("2026Q4", "x-notes")
FORECASTS = MAIN._replace(kind=PROSPECTIVE)
LABEL_SIDE = ("calibration", "reliability", "mistakes", "answers", "transcripts")


def table(workspace: Workspace, name: str) -> pl.DataFrame:
    return pl.read_parquet(workspace.board / f"{name}.parquet")


@pytest.fixture
def revealed(revealed_board: Workspace) -> Board:
    return load_board(revealed_board.board)


@pytest.fixture
def forecasts(prospective_board: Workspace) -> Board:
    return load_board(prospective_board.board)


@pytest.fixture
def open_quarter(make: Any, tmp_path: Path) -> Workspace:
    """A quarter that was scored and is not revealed, with votes on the label side and confidences on the other."""
    workspace, quarter = make.workspace(), Quarter(2023, 2)
    notes = make.notes(3, 2)
    for candidate in notes:
        candidate.label.facts["ratings"] = 7
    make.release(notes, quarter=quarter)
    evaluate(workspace, Evaluation(quarter, TASKS["x-notes"], "coin"), lambda _: None)
    score_quarter(workspace, quarter, tmp_path / "none")
    state_confidence(workspace, private=True)
    build_board(workspace)
    return workspace


def state_confidence(workspace: Workspace, *, private: bool) -> None:
    path = judgements_file(workspace, Quarter(2023, 2), private=private)
    pl.read_parquet(path).with_columns(probabilities=pl.lit([0.3, 0.7])).write_parquet(path)
    Stage.amend_all(workspace, [path])


def test_an_open_quarter_gives_nothing_of_the_label_side_away(open_quarter: Workspace) -> None:
    for name in LABEL_SIDE:
        assert table(open_quarter, name).is_empty()
    spread = table(open_quarter, "distributions")
    assert spread.height == 2
    assert set(spread["kind"]) == {"words"}
    assert spread["label"].null_count() == spread.height
    release = load_board(open_quarter.board).first(ReleaseFacts, SplitKey("2023Q2", "x-notes"))
    assert release is not None and not release.revealed


def test_what_was_held_back_is_there_after_the_reveal(open_quarter: Workspace) -> None:
    assert reveal(open_quarter, Quarter(2023, 2), TASKS["x-notes"], now())
    build_board(open_quarter)
    for name in set(LABEL_SIDE) - {"transcripts"}:
        assert not table(open_quarter, name).is_empty()
    ratings = table(open_quarter, "distributions").filter(pl.col("name") == "ratings")
    assert set(ratings["label"]) == {None, 0, 1}
    assert set(ratings["median"]) == {7.0}


def test_a_sample_that_was_taken_down_is_gone_from_every_table(open_quarter: Workspace, tmp_path: Path) -> None:
    quarter, task = Quarter(2023, 2), TASKS["x-notes"]
    assert reveal(open_quarter, quarter, task, now())
    gone = table(open_quarter, "samples")["id"][0]
    take_down(open_quarter, quarter, task, {gone: "asked for"}, now())
    score_quarter(open_quarter, quarter, tmp_path / "none")
    state_confidence(open_quarter, private=False)
    build_board(open_quarter)
    board = load_board(open_quarter.board)
    split = SplitKey("2023Q2", "x-notes")
    left = board.frame(SampleRow, split)
    assert gone not in set(left["id"]) | set(table(open_quarter, "answers")["id"])
    (origin,) = board.systems(split)
    mistakes, (curve,) = board.first(Mistakes, split, origin=origin), board.rows(CalibrationRow, split, origin=origin)
    assert mistakes is not None
    assert mistakes.n == curve.n == left.height


def test_main_samples_stay_hidden_where_prospective_ones_are_resolved(forecasts: Board) -> None:
    board = forecasts
    main, own = board.frame(SampleRow, MAIN), board.frame(SampleRow, FORECASTS)
    assert main.is_empty()  # its quarter has not opened, though a system was asked
    assert own["revealed"].all() and own.height == 16
    assert not own["published"].any()
    assert own["texts"].list.len().sum() == 0
    assert board.frame(AnswerRow, MAIN).is_empty()
    assert board.frame(AnswerRow, FORECASTS).height == 3 * 16


@pytest.mark.parametrize("part", ["", "receipts"])
@pytest.mark.parametrize(
    "damage",
    [lambda path: path.write_bytes(b"PAR1"), lambda path: pl.read_parquet(path).drop("origin").write_parquet(path)],
)
def test_judgements_of_an_earlier_version_are_refused_with_the_command_that_helps(
    open_quarter: Workspace, part: str, damage: Callable[[Path], object]
) -> None:
    path = judgements_file(open_quarter, Quarter(2023, 2), part=part, private=True)
    damage(path)
    Stage.amend_all(open_quarter, [path])  # as the earlier version recorded it
    with fails_with("damaged-judgements") as caught:
        build_board(open_quarter)
    assert caught.value.fix.endswith("hellofresh score --edition 2023Q2")


def test_texts_that_are_filled_in_later_are_measured(make: Any, tmp_path: Path) -> None:
    workspace, quarter, task = make.workspace(), Quarter(2023, 2), TASKS["x-notes"]
    make.release(make.notes(3, 2), quarter=quarter)
    evaluate(workspace, Evaluation(quarter, task, "coin"), lambda _: None)
    score_quarter(workspace, quarter, tmp_path / "none")
    kept = workspace.private(quarter, task.name) / "samples.jsonl"
    texts = kept.read_bytes()
    kept.unlink()
    build_board(workspace)
    assert table(workspace, "distributions").is_empty()
    kept.write_bytes(texts)
    assert not build_board(workspace).skipped
    assert set(table(workspace, "distributions")["name"]) == {"post", "note"}


def test_forecasts_alone_make_a_board_too(prospective_board: Workspace, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    shutil.copytree(prospective_board.root, workspace.root)
    workspace.scores(Quarter(2026, 4), private=True).unlink()
    (workspace.root / "private/receipts/score/2026Q4.json").unlink()
    build_board(workspace)
    board = load_board(workspace.board)
    assert board.splits == (MAIN,)
    assert board.headlines(MAIN) == []
    assert [result.entry.system for result in board.headlines(FORECASTS)] == ["seer", "guesser", "always-yes"]
    assert load_board(workspace.board).fixed(MAIN.task, bundled=False) == []


def test_what_was_quoted_from_a_page_is_shown_with_its_address() -> None:
    from hellofresh.results.board.sample_rows import TranscriptStep
    from leaderboard.views.samples import _step

    step = TranscriptStep("s", "o", 1, "quoted", url="https://a.example/b", text="It <b>did</b> not happen.")
    shown = str(_step(step))
    assert "Quoted from" in shown and 'href="https://a.example/b"' in shown
    assert "It &lt;b&gt;did&lt;/b&gt; not happen." in shown


# --- What the static copy says in the formats of other places: results for the hub, Every Eval Ever.


SPLIT, TASK = SplitKey("2026Q4", "x-notes", "prospective"), "x-notes-prospective-2026Q4"


def test_nothing_of_the_bundled_sample_or_an_unrevealed_split_is_passed_on(
    hostile_board: Workspace, hostile_copy: Path
) -> None:
    board = load_board(hostile_board.board)
    silent = [split for split in board.splits if board.is_bundled(split) or board.is_open(split)]
    assert any(board.is_bundled(split) for split in silent) and any(board.is_open(split) for split in silent)
    named = "".join(path.as_posix() + path.read_text() for path in elsewhere(hostile_copy))
    for split in silent:
        assert f"{split.task}-{split.edition}" not in named and f"{split.task}/{split.edition}/" not in named
    assert TASK in named


def elsewhere(folder: Path) -> list[Path]:
    return [*(folder / "every_eval_ever").rglob("*.json"), *(folder / ".eval_results").rglob("*.yaml")]


def test_every_ranked_system_has_a_record_that_says_what_the_table_says(
    hostile_board: Workspace, hostile_copy: Path
) -> None:
    board = load_board(hostile_board.board)
    ranked = board.standings(SPLIT)
    results = {one.entry.origin: one.headline.value for one in board.headlines(SPLIT)}
    records = [read_json(path) for path in (hostile_copy / "every_eval_ever").rglob("*.json")]
    mine = [one for one in records if f"/{TASK}/" in str(one["evaluation_id"])]
    scores = [one["evaluation_results"][0]["score_details"]["score"] for one in mine]
    assert sorted(scores) == sorted(results[origin] for origin in ranked)
    for record in mine:
        metrics = [one["metric_config"] for one in record["evaluation_results"]]
        assert [(one["metric_name"], one["min_score"], one["max_score"]) for one in metrics[:3]] == [
            ("Relative Brier index", 0.0, 100.0),
            ("Brier index", 0.0, 100.0),
            ("Log score", pytest.approx(math.log(0.01)), 0.0),
        ]
        details, root = record["detailed_evaluation_results"], hostile_copy / "every_eval_ever"
        rows = list(read_jsonl(root / details["file_path"]))
        assert (
            sha256_file(root / details["file_path"]) == details["checksum"] and len(rows) == details["total_rows"] > 0
        )
        assert {row["evaluation_id"] for row in rows} == {record["evaluation_id"]}
        accuracy = next(one for one in record["evaluation_results"] if one["evaluation_name"].endswith(" accuracy"))
        assert {row["evaluation_name"] for row in rows} == {accuracy["evaluation_name"]}
        right = [row["output"]["raw"] == row["input"]["reference"] for row in rows]
        assert right == [row["evaluation"]["is_correct"] for row in rows]
        assert sum(right) / len(rows) == pytest.approx(accuracy["score_details"]["score"])
        assert record["source_metadata"]["evaluator_relationship"] == "first_party"
        assert record["source_metadata"]["additional_details"]["provenance"] == "uploaded"


@pytest.mark.skipif(find_spec("every_eval_ever") is None, reason="every_eval_ever, which needs Python 3.12, is missing")
def test_records_pass_the_check_of_every_eval_ever(hostile_copy: Path) -> None:
    from every_eval_ever.validator.validation_core import validate_file

    folder = hostile_copy / "every_eval_ever"
    paths = sorted(folder.rglob("*.json*"))
    assert {path.suffix for path in paths} == {".json", ".jsonl"}
    places = {path.relative_to(folder).as_posix(): path for path in paths}
    for place, path in places.items():
        report = validate_file(
            path,
            repo_path=place,
            available_files=places,
            read_repo_file=lambda name: places[name].read_text(encoding="utf-8"),
            run_semantic_checks=True,
        )
        assert report.valid, (place, report.errors)


def test_what_was_said_of_each_sample_is_written_on_demand_only(hostile_board: Workspace) -> None:
    site = Site.of(load_board(hostile_board.board), "0" * 12)
    every, records = dict(record_files(site, instances=True)), dict(record_files(site))
    assert {path for path in every if path.endswith("_samples.jsonl")} == every.keys() - records.keys() != set()
    assert not any("detailed_evaluation_results" in text for text in records.values())


def test_results_for_the_hub_name_the_task_of_eval_yaml_and_are_read_by_its_library(hostile_board: Workspace) -> None:
    addresses = SiteSettings(dataset="owner/hellofresh", repository="https://example.org/hellofresh")
    board = replace(load_board(hostile_board.board), addresses=addresses)
    files = dict(record_files(Site.of(board, "0" * 12)))
    mine = [text for path, text in files.items() if path.startswith(f".eval_results/{TASK}-")]
    entries = [entry for text in mine for entry in parse_eval_result_entries(yaml.safe_load(text))]
    assert sorted(entry.value for entry in entries) == sorted(
        round(one.headline.value, 6) for one in board.headlines(SPLIT) if one.entry.origin in board.standings(SPLIT)
    )
    assert {(entry.dataset_id, entry.task_id, entry.source_url) for entry in entries} == {
        ("owner/hellofresh", TASK, "https://example.org/hellofresh")
    }
    assert all("Relative Brier index" in str(entry.notes) and "uploaded" in str(entry.notes) for entry in entries)
