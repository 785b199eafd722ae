"""The page Retrieval: metrics, recall curves, two systems query by query, documents with marks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from visiting import data_of, opened, text

from hellofresh.core.clock import now
from hellofresh.core.editions import Frozen
from hellofresh.core.files import write_bytes
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.releases.draw.frozen import DatasetSource, evidence_candidates, freeze
from hellofresh.results.board.asked import transcripts
from hellofresh.results.board.build import build_board
from hellofresh.results.board.sample_rows import SampleRow, ShownDocument
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.open import open_split, places, scan_scores
from hellofresh.results.split.tables import AnswerRow
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.record import file_entries, read_record
from hellofresh.tasks import get_task, relevance_of
from hellofresh.tasks.transcripts import TRANSCRIPTS, ReadEvent, Transcript
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export import export_board
from leaderboard.views.retrieval import documents_of
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
    shown = text(opened("retrieval"))
    assert all(part in shown for part in ("Recall@1", "Recall@20", "k = 20", "Query by query"))
    samples = opened("samples")
    opened_query = next(iter(data_of(samples, "samples/0").values()))
    assert [said[1:] for said in opened_query["said"]] == [["a ranking", None, [], None]] * 2  # its documents are below
    assert "The documents" in opened_query["html"] and "relevant" in opened_query["html"]
    assert all("Ranking: " in words for _, words in opened_query["words"]) and len(opened_query["words"]) == 2
    export_board(board.board, tmp_path / "copy")
    (page,) = (tmp_path / "copy").glob("scifact-retrieval/*/retrieval.html")
    copied = text(page.read_text(encoding="utf-8"))
    heads = re.findall(r"NDCG@(\d+)</th>", page.read_text(encoding="utf-8"))
    assert heads == sorted(heads, key=int) and len(heads) > 2
    assert page.read_text(encoding="utf-8").count("<table") == 2
    for part in ("NDCG@10", "MRR", "MAP", "Query by query"):
        assert part in copied
    assert 'href="./retrieval.html"' in page.with_name("index.html").read_text(encoding="utf-8")


def test_of_every_query_it_is_said_who_found_the_evidence(board: Workspace) -> None:
    listed = data_of(opened("samples"), "samples/list")
    assert len(listed["right"]) == len(listed["systems"]) == 2
    rows = {row.id: row for row in load_board(board.board).rows(SampleRow, SPLIT)}
    for (origin, _), marks in zip(listed["systems"], listed["right"], strict=True):
        answers = load_board(board.board).rows(AnswerRow, SPLIT, origin=origin)
        ranked = {row.id: row.documents or () for row in answers if row.headline}
        expected = []
        for key in listed["samples"]["id"]:
            relevant = {name for name, value in relevance_of(json.loads(rows[key].facts)).items() if value > 0}
            expected.append("1" if relevant & set(ranked[key][:10]) else "0")
        assert list(marks) == expected


def test_documents_are_text_and_the_words_of_the_query_are_marked(board: Workspace) -> None:
    board = load_board(board.board)
    first = board.frame(SampleRow, SPLIT).row(0, named=True)
    sample = board.first(SampleRow, SPLIT, id=first["id"])
    assert sample is not None
    word = max(re.findall(r"\w+", sample.texts[0]), key=len)
    hostile = ShownDocument("d1", f"<script>{word}</script>", f"{word.upper()} <img src=x>")
    shown = str(documents_of(sample, ["d1", "d3"], [hostile]))
    assert f"<mark>{word}</mark>" in shown and f"<mark>{word.upper()}</mark>" in shown
    assert "<script" not in shown and "<img" not in shown and "<b>" not in shown
    assert "Its text may not be shown here" in text(shown)


def test_titles_of_documents_that_may_not_be_passed_on_stand_in_no_transcript(board: Workspace) -> None:
    (place,) = places(board)
    split = open_split(board, place, scan_scores(board, [place]), opened=True)
    transcript = Transcript(
        id=split.samples[0].id, repetition=1, events=(ReadEvent(place=1, url="https://a.example", title="A title"),)
    )
    for row in split.systems:
        folder = board.runs / row["origin"]
        write_bytes(folder / TRANSCRIPTS, transcript.model_dump_json().encode())
        record = read_record(folder)
        assert record is not None
        record.model_copy(update={"files": file_entries(folder)}).write(folder)
    assert {step.title for steps in transcripts(split) for step in steps} == {"A title"}
    withheld = replace(split, corpora=[replace(one, corpus=None) for one in split.corpora])
    assert {step.title for steps in transcripts(withheld) for step in steps} == {""}
