"""The page Retrieval, live and copied: metrics, recall curves, two systems query by query, documents with marks."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from visiting import opened, text

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.releases.candidates.evidence import evidence_candidates
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.results.board.build import build_board
from hellofresh.results.board.schema import FoundDocument, SampleRow
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task
from leaderboard.data.board import BoardEntry, SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.retrieval import Found, QueryPair, rankings
from tests.retrieval.conftest import small, workspace

__all__ = ["small", "workspace"]

TASK = get_task("scifact-retrieval")
EDITION = Frozen("scifact-retrieval", "dev-16")
SPLIT = SplitKey(str(EDITION), TASK.name)


@pytest.fixture
def board(workspace: Workspace, small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Two retrievers on a small corpus."""
    found = evidence_candidates(small, "dev", TASK, date(2020, 5, 1))
    freeze(workspace, EDITION, TASK, found, DatasetSource("Small", "", date(2020, 5, 1), "CC0-1.0"))
    for model in ("bm25", "tf-idf"):
        evaluate(workspace, Evaluation(EDITION, TASK, model, regime="retrieve"), lambda _: None)
    score_quarter(workspace, EDITION, workspace.root / "none", now())
    build_board(workspace)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    return workspace


def test_the_page_has_metrics_curves_and_queries_and_the_copy_too(board: Workspace, tmp_path: Path) -> None:
    shown = text(opened("retrieval", family="recall", found="both"))
    for part in ("Recall@1", "Recall@20", "Recall curve", "Query by query", "Found by", "queries; the first", "rank 1"):
        assert part in shown
    export_board(board.board, tmp_path / "copy")
    (page,) = (tmp_path / "copy").glob("scifact-retrieval/*/retrieval.html")
    copied = text(page.read_text(encoding="utf-8"))
    for part in ("NDCG@10", "MRR", "MAP", "Recall curve", "Query by query"):
        assert part in copied
    assert 'href="./retrieval.html"' in page.with_name("index.html").read_text(encoding="utf-8")


def test_queries_are_counted_once_each_by_who_found_the_evidence(board: Workspace) -> None:
    shown = text(opened("retrieval", found="both"))
    counted = re.search(r"Both (\d+) .*? Only \S+ (\d+) .*? Only \S+ (\d+) .*? Neither (\d+) ", shown)
    assert counted
    assert sum(map(int, counted.groups())) == 16


def test_without_retrieval_the_page_says_how_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path))
    assert "There is no board yet" in text(opened("retrieval"))


def test_documents_are_text_and_the_words_of_the_query_are_marked(board: Workspace) -> None:
    board = load_board(board.board)
    first = board.frame(SampleRow, SPLIT).row(0, named=True)
    sample = board.first(SampleRow, SPLIT, id=first["id"])
    assert sample is not None
    entry = BoardEntry("<b>one", "team", "harness", "language-model", "retrieve", "origin", 0, "<b>one")
    pair = QueryPair(sample, {"d1": 1, "d3": 1}, ["d1", "d2"], ["d2"])
    assert pair.found is Found.ONE
    word = max(re.findall(r"\w+", sample.texts[0]), key=len)
    hostile = FoundDocument("d1", f"<script>{word}</script>", f"{word.upper()} <img src=x>")
    shown = str(rankings(pair, (entry, entry), {"d1": hostile}))
    assert f"<mark>{word}</mark>" in shown and f"<mark>{word.upper()}</mark>" in shown
    assert "<script" not in shown and "<img" not in shown and "<b>" not in shown
    assert "Relevant, found by neither" in text(shown) and "Its text may not be shown here" in text(shown)
