"""What the static copy says in the formats of other places: results for the hub, Every Eval Ever."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from hellofresh.core.files import read_json, read_jsonl, sha256_file
from hellofresh.core.strict import SiteSettings
from hellofresh.core.workspace import Workspace
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export.copy import Site
from leaderboard.export.records import record_files

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
