"""The board's further tables: they agree with scores and files, give nothing away, and keep the two splits apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hellofresh.core.clock import now
from hellofresh.core.files import read_json, read_jsonl, sha256_file
from hellofresh.core.folders import FileEntry
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.board.build import build_board
from hellofresh.results.board.schema import (
    NO_ANSWER,
    REFUSED,
    CalibrationRow,
    ConfusionCell,
    Distribution,
    License,
    Mistakes,
    PeriodDates,
    ReleaseFacts,
    ReliabilityBin,
    SampleRow,
)
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.judgements import judgements_file
from hellofresh.results.split.tables import AnswerRow, ReceiptRow, Score
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.plan import read_plan
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.components.quarters import prospect_of
from leaderboard.data.board import Board, SplitKey, load_board
from tests.fakes import fails_with

EDITS = SplitKey("2024Q1", "wikipedia-edits")
NOTES = SplitKey("2024Q1", "x-notes")
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


@pytest.mark.parametrize("split", [NOTES, EDITS])
def test_mistakes_are_those_that_scores_count(revealed: Board, split: SplitKey) -> None:
    board = revealed
    rows = board.frame(Score, split, pl.col("headline"), period="all")
    assert rows.height == 4
    for row in rows.to_dicts():
        found = board.first(Mistakes, split, origin=row["origin"])
        assert found is not None
        cells = {
            (cell.label, cell.said): cell.samples for cell in board.rows(ConfusionCell, split, origin=row["origin"])
        }
        assert found.n == row["n"] == sum(cells.values())
        assert sum(number for (_, said), number in cells.items() if said == NO_ANSWER) == row["none"]
        assert sum(number for (_, said), number in cells.items() if said == REFUSED) == row["blocked"]
        right = sum(number for (label, said), number in cells.items() if label == said)
        assert found.wrong == row["n"] - right
        accuracy = next(one for one in board.headlines(split) if one.entry.origin == row["origin"]).metric("accuracy")
        assert accuracy is not None and accuracy.value == pytest.approx(right / found.n)
        assert 0 <= found.others_right <= found.compared <= found.wrong


def test_errors_that_the_others_got_right_are_counted_without_the_system_itself(
    revealed: Board,
) -> None:
    # Good is right everywhere, fair nearly, and poor only where fair is: where two are right, poor alone is wrong.
    board = revealed
    fair, poor = (board.first(Mistakes, EDITS, origin=f"team-{name}/{name}") for name in ("fair", "poor"))
    assert fair is not None and poor is not None
    right = board.frame(SampleRow, EDITS)["right"].to_list()
    assert right.count(1) > 0 and right.count(2) > 0
    one_of_two = 0  # good alone is right besides fair: a half, not more
    assert (fair.wrong, fair.compared, fair.others_right) == (right.count(1), right.count(1), one_of_two)
    both_of_two = right.count(2)
    assert (poor.wrong, poor.compared, poor.others_right) == (right.count(1) + both_of_two, poor.wrong, both_of_two)


def test_the_curve_adds_up_to_what_was_stated(revealed: Board, revealed_board: Workspace) -> None:
    board = revealed
    (found,) = board.rows(CalibrationRow, NOTES, origin="team-fair/fair")
    labels = load_labels(revealed_board, Quarter.parse(NOTES.edition), TASKS[NOTES.task])
    said = {row["id"]: row["confidence"] for row in handed_in(revealed_board, "fair") if row["id"] in labels}
    bins = board.rows(ReliabilityBin, NOTES, origin=found.origin, prompt=found.prompt, subject=found.subject)
    assert found.n == len(said) == sum(step.n for step in bins) == 72
    assert sum(step.hits for step in bins) == sum(item.label for item in labels.values())
    assert all(step.low <= step.share <= step.high and step.share == step.hits / step.n for step in bins)
    squares = [(said[key] - item.label) ** 2 for key, item in labels.items()]
    assert found.brier == pytest.approx(np.mean(squares))
    assert found.ece == pytest.approx(sum(step.n * abs(step.share - step.confidence) for step in bins) / found.n)
    assert found.brier_low is not None and found.brier_high is not None
    assert found.brier_low < found.brier < found.brier_high


def handed_in(workspace: Workspace, team: str) -> list[dict[str, Any]]:
    folder = workspace.root.parent / "submissions" / "2024Q1" / f"team-{team}" / team
    return list(read_jsonl(folder / "predictions.jsonl"))


def test_who_states_no_confidence_has_no_curve(revealed: Board) -> None:
    board = revealed
    assert board.rows(CalibrationRow, NOTES, origin="team-good/good") == []


def test_receipts_and_days_of_entry_are_those_of_the_files(revealed: Board, revealed_board: Workspace) -> None:
    board = revealed
    facts = board.systems(NOTES)
    for result in board.headlines(NOTES):
        origin = result.entry.origin
        receipt = board.first(ReceiptRow, NOTES, origin=origin)
        if result.entry.kind == "submission":
            stored = read_json(revealed_board.root.parent / "submissions/2024Q1" / origin / "receipt.json")
            assert receipt is not None
            assert (receipt.sha256, receipt.received, receipt.code) == (
                stored["sha256"], stored["received"], stored["code"],
            )  # fmt: skip
            assert (receipt.tasks, receipt.earlier) == (", ".join(stored["tasks"]), len(stored["earlier"]))
            assert facts[origin].entered == stored["received"][:10] == "2024-07-01"
        else:
            plan = read_plan(revealed_board.runs / origin)
            assert receipt is None and plan is not None
            assert facts[origin].entered == plan.started[:10]


@pytest.mark.parametrize("split", [NOTES, EDITS])
def test_data_tables_add_up_and_say_what_the_manifest_says(
    revealed: Board, revealed_board: Workspace, split: SplitKey
) -> None:
    board = revealed
    samples = board.frame(SampleRow, split)
    assert sum(row.samples for row in board.rows(PeriodDates, split)) == samples.height
    assert sum(row.samples for row in board.rows(License, split)) == samples.height
    for period in board.rows(PeriodDates, split):
        days = samples.filter(pl.col("period") == period.period)["date"].str.head(10)
        assert (period.first, period.last) == (days.min(), days.max())
    path = revealed_board.release(Quarter.parse(split.edition), split.task) / "manifest.json"
    manifest, release = read_json(path), board.first(ReleaseFacts, split)
    assert release is not None and release.revealed
    assert (release.sha256, release.version) == (sha256_file(path), manifest["version"])
    assert json.loads(release.parameters) == manifest["collection"]["parameters"]
    listed = [(entry["path"], entry["size"], entry["sha256"], entry["rows"]) for entry in manifest["files"]]
    assert [(row.path, row.size, row.sha256, row.rows) for row in board.rows(FileEntry, split)] == listed


@pytest.mark.parametrize("split", [NOTES, EDITS])
def test_classes_of_a_distribution_add_up_to_all(revealed: Board, split: SplitKey) -> None:
    board = revealed
    found = board.rows(Distribution, split)
    names = {(row.kind, row.name) for row in found}
    assert ("words", "note") in names if split is NOTES else ("fact", "flip_cost") in names
    for name in names:
        of = {row.label: row for row in found if (row.kind, row.name) == name}
        assert of[None].n == of[0].n + of[1].n
        assert of[None].mean * of[None].n == pytest.approx(of[0].mean * of[0].n + of[1].mean * of[1].n)
        assert of[None].largest == max(of[0].largest, of[1].largest)
        for row in of.values():
            spread = [row.smallest, row.p10, row.p25, row.median, row.p75, row.p90, row.largest]
            assert spread == sorted(spread)


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
    state_confidence(judgements_file(workspace, quarter, private=True))
    build_board(workspace)
    return workspace


def state_confidence(path: Path) -> None:
    pl.read_parquet(path).with_columns(probabilities=pl.lit([0.3, 0.7])).write_parquet(path)


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
    state_confidence(judgements_file(open_quarter, quarter))
    build_board(open_quarter)
    board = load_board(open_quarter.board)
    split = SplitKey("2023Q2", "x-notes")
    left = board.frame(SampleRow, split)
    assert gone not in set(left["id"]) | set(table(open_quarter, "answers")["id"])
    (origin,) = board.systems(split)
    mistakes, (curve,) = board.first(Mistakes, split, origin=origin), board.rows(CalibrationRow, split, origin=origin)
    assert mistakes is not None
    assert mistakes.n == curve.n == left.height


def test_the_prospective_table_has_its_own_samples_ranks_and_scores(forecasts: Board) -> None:
    board = forecasts
    assert board.headlines(MAIN) == []  # not revealed
    own = board.headlines(FORECASTS)
    assert {result.entry.system: result.n for result in own} == {"seer": 16, "guesser": 16, "always-yes": 16}
    assert {result.entry.provenance for result in own} == {"run", "uploaded"}
    assert [standing.rank for standing in board.standings(FORECASTS).values()] == [1, 2]
    assert board.standings(MAIN) == {}
    assert board.splits == (MAIN,)
    assert board.fixed(MAIN.task, bundled=False) == []  # a baseline is on no scale


def test_main_samples_stay_hidden_where_prospective_ones_are_resolved(forecasts: Board) -> None:
    board = forecasts
    main, own = board.frame(SampleRow, MAIN), board.frame(SampleRow, FORECASTS)
    assert main.is_empty()  # its quarter has not opened, though a system was asked
    assert own["revealed"].all() and own.height == 16
    assert not own["published"].any()
    assert own["texts"].list.len().sum() == 0
    assert board.frame(AnswerRow, MAIN).is_empty()
    assert board.frame(AnswerRow, FORECASTS).height == 3 * 16


def test_what_became_of_a_prospective_split_adds_up(forecasts: Board) -> None:
    board = forecasts
    for split in (MAIN, FORECASTS):
        found = prospect_of(board, split)
        assert found is not None
        assert (found.drawn, found.decided, found.outcomes) == (20, 16, (12, 4))
        assert found.drawn == found.decided + found.undecided + found.no_label + found.early
    assert prospect_of(board, NOTES) is None
    mistakes = board.first(Mistakes, FORECASTS, origin="team-seer/seer")
    assert mistakes is not None
    assert (mistakes.n, mistakes.wrong) == (16, 2)
    facts = board.systems(FORECASTS)
    assert {fact.contamination for fact in facts.values()} == {"impossible"}


def test_forecasts_change_no_figure_of_the_main_table(prospective_board: Workspace, tmp_path: Path) -> None:
    tables = ("scores", "standings", "pairs", "fixed", "samples", "distributions")
    before = {name: main_part(table(prospective_board, name)) for name in tables}
    path = prospective_board.root / "scores/prospective/2026Q4.parquet"
    content = path.read_bytes()
    path.unlink()
    try:
        build_board(prospective_board)
        for name in tables:
            assert main_part(table(prospective_board, name)).equals(before[name])
    finally:
        path.write_bytes(content)
        build_board(prospective_board)


def main_part(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("split") == "main") if "split" in rows.columns else rows


@pytest.mark.parametrize("part", ["", "receipts"])
@pytest.mark.parametrize(
    "damage",
    [lambda path: path.write_bytes(b"PAR1"), lambda path: pl.read_parquet(path).drop("origin").write_parquet(path)],
)
def test_judgements_of_an_earlier_version_are_refused_with_the_command_that_helps(
    open_quarter: Workspace, part: str, damage: Callable[[Path], object]
) -> None:
    damage(judgements_file(open_quarter, Quarter(2023, 2), part=part, private=True))
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
    build_board(workspace)
    board = load_board(workspace.board)
    assert board.splits == (MAIN,)
    assert board.headlines(MAIN) == []
    assert [result.entry.system for result in board.headlines(FORECASTS)] == ["seer", "guesser", "always-yes"]
    assert load_board(workspace.board).fixed(MAIN.task, bundled=False) == []


def test_what_was_quoted_from_a_page_is_shown_with_its_address() -> None:
    from hellofresh.results.board.schema import TranscriptStep
    from leaderboard.views.samples import _step

    step = TranscriptStep("s", "o", 1, "quoted", url="https://a.example/b", text="It <b>did</b> not happen.")
    shown = str(_step(step))
    assert "Quoted from" in shown and 'href="https://a.example/b"' in shown
    assert "It &lt;b&gt;did&lt;/b&gt; not happen." in shown
