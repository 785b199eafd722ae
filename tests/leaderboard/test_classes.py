"""Pages of a task of three classes in a frozen data set: confusion, scores of each class, reasons, and its version."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.systems import MODEL_FACTS
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.results.board.build import build_board
from hellofresh.results.board.release_rows import LabelCount
from hellofresh.results.board.schema import TABLES
from hellofresh.results.board.system_rows import NO_ANSWER, ConfusionCell
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import Statement, get_task
from hellofresh.tasks.samples import Candidate, Label
from leaderboard.components.labels import Links
from leaderboard.data.board import Board, BoardEntry, MetricValue, SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.system import entry_page

NOWHERE = Links({}, "index.html")
"""Links of a site without any page."""

TASK = get_task("fever")
EDITION = Frozen("fever", "7")
SPLIT = SplitKey(str(EDITION), TASK.name)
LABELS = [2] * 21 + [1] * 6 + [0] * 3


def statement(number: int, label: int) -> Candidate:
    sample = Statement(
        id=f"{TASK.id_prefix}{number}", task=TASK.name, edition="", period="", date=datetime(2020, 1, 1, tzinfo=UTC),
        group=f"g{number}", license="CC-BY-SA-4.0", statement=f"Claim {number} holds.", language="en", speaker="",
        context="",
    )  # fmt: skip
    return Candidate(sample, Label(sample.id, label, {}))


def frozen_board(folder: Path) -> Workspace:
    """A data set of 30 statements, two baselines, and a run that says something of every sample."""
    workspace = Workspace(folder / "data")
    source = DatasetSource("A list <b>of</b> claims", "javascript:alert(1)", date(2018, 5, 1), "CC-BY-SA-4.0")
    found = Collection.whole(
        [statement(number, label) for number, label in enumerate(LABELS)], [SourceFile("claims.jsonl", 9, "0" * 64)]
    )
    freeze(workspace, EDITION, TASK, found, source)
    for model in ("coin", "always-yes"):
        evaluate(workspace, Evaluation(EDITION, TASK, model), lambda _: None)
    score_quarter(workspace, EDITION, folder / "none", now())
    build_board(workspace)
    return workspace


@pytest.fixture(scope="module")
def workspace(built_once: Callable[[str, Callable[[Path], None]], Path]) -> Workspace:
    def build(folder: Path) -> None:
        frozen_board(folder)

    return Workspace(built_once("three-classes", build) / "data")


@pytest.fixture(scope="module")
def shown(workspace: Workspace) -> Board:
    return load_board(workspace.board)


def text(html: object) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", str(html)).split())


def test_the_confusion_counts_every_sample_once_and_keeps_the_skew(shown: Board) -> None:
    for result in shown.headlines(SPLIT):
        cells = shown.rows(ConfusionCell, SPLIT, origin=result.entry.origin)
        support = [sum(cell.samples for cell in cells if cell.label == label) for label in range(3)]
        assert support == [3, 6, 21]
        assert sum(cell.samples for cell in cells if cell.said == NO_ANSWER) == result.none
        right = sum(cell.samples for cell in cells if cell.label == cell.said)
        accuracy = result.metric("accuracy")
        assert accuracy is not None and accuracy.value == pytest.approx(right / 30)
    assert [row.samples for row in shown.rows(LabelCount, SPLIT)] == [3, 6, 21]


def test_a_system_page_has_each_class_with_its_scores_and_support(shown: Board) -> None:
    result = shown.headlines(SPLIT)[0]
    page = str(entry_page(shown, SPLIT, result, NOWHERE))
    for name in TASK.classes:
        assert f"It said {name}" in text(page)
    assert "Scores of each class" in page and "Support" in page
    assert "By period" not in page


def test_a_frozen_edition_has_no_calendar_and_says_version_content_licence_and_since_when(
    workspace: Workspace, tmp_path: Path
) -> None:
    export_board(workspace.board, tmp_path / "copy")
    folder = tmp_path / "copy" / "fever"
    (page,) = folder.glob("*/index.html")
    said = text(page.read_text())
    assert "Frozen data set, version 7, content" in said and "CC-BY-SA-4.0" in said
    assert "public since 1 May 2018" in said
    assert "21 supported" in said and "Macro F1" in said
    assert not re.search(r"accepts predictions|next quarter|All quarters|opens on|by period", said)
    data = (page.parent / "data.html").read_text()
    assert "Content" in text(data) and "javascript:" not in data and "<b>of</b>" not in data


def test_a_metric_of_numbers_has_a_plain_table_and_no_confusion() -> None:
    split = SplitKey("2026Q3", "corrections")
    entry = BoardEntry("a", "T", "run", "language-model", "zero-shot", "a", 0, "a")
    value = MetricValue("overall", 6.2, 5.1, 7.3)
    row = {"edition": split.edition, "task": split.task, "split": split.kind, "headline": True, "prompt": "p",
           "period": "all", "smoke_test": False, "knowledge_cutoff": "unknown", "about": "", "n": 9, "n_split": 9,
           "clusters": 9, "none": 1, "blocked": 0, "method": "t", **entry._asdict(),
           **dict.fromkeys(MODEL_FACTS),
           "metric": [value.name], **{name: [value[k]] for k, name in enumerate(value._fields) if k}}  # fmt: skip
    tables = {name: pl.DataFrame(schema=table.schema) for name, table in TABLES.items()}
    board = Board(_tables=tables | {"scores": pl.DataFrame([row])})
    page = str(entry_page(board, split, board.headlines(split)[0], NOWHERE))
    assert "6.200" in page and "5.10" in page and "Overall quality" in page
    assert "good and bad at" not in page and "It said" not in page
    assert "6.200 Overall quality" in text(page) and page.count('class="hf-lane') == 1
