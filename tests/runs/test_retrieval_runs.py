"""Retrievers in runs: from a corpus to a frozen edition, a run, and scores that trec_eval agrees with."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest
from pytrec_eval import RelevanceEvaluator

from hellofresh.core.editions import Frozen
from hellofresh.core.files import read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.models import Answer, Finish
from hellofresh.releases.draw.frozen import DatasetSource, evidence_candidates, freeze
from hellofresh.results.split.arrays import build_panel
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.regimes.zero_shot import read_ranking
from hellofresh.stats.intervals import metric_interval
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Status
from tests.fakes import fails_with
from tests.retrieval.conftest import small, small_documents, workspace, write_small

__all__ = ["small", "workspace"]

TASK = get_task("scifact-retrieval")
EDITION = Frozen("scifact-retrieval", "dev-16")


@pytest.fixture
def edition(workspace: Workspace, small: RetrievalCorpus) -> Frozen:
    found = evidence_candidates(small, "dev", TASK, date(2020, 5, 1))
    freeze(workspace, EDITION, TASK, found, DatasetSource("Small", "", date(2020, 5, 1), "CC0-1.0"))
    return EDITION


def run(workspace: Workspace, model: str, **more: str) -> Path:
    evaluation = Evaluation(EDITION, TASK, model, **{"regime": "retrieve", **more})  # type: ignore[arg-type]
    return evaluate(workspace, evaluation, lambda _: None).folder


def test_a_run_ranks_every_query_once_and_goes_on_without_asking_again(workspace: Workspace, edition: Frozen) -> None:
    folder = run(workspace, "bm25")
    rows = list(read_jsonl(folder / "predictions.jsonl"))
    assert len(rows) == 16
    assert all(len(row["documents"]) == len(row["scores"]) > 5 for row in rows)  # type: ignore[arg-type]
    before = (folder / "predictions.jsonl").read_bytes()
    assert run(workspace, "bm25") == folder
    assert (folder / "predictions.jsonl").read_bytes() == before


def test_the_panel_has_the_metrics_of_trec_eval(workspace: Workspace, edition: Frozen, small: RetrievalCorpus) -> None:
    folder = run(workspace, "tf-idf")
    panel = build_panel(workspace, edition, TASK, workspace.root / "submissions")
    (system,) = panel.systems
    where = system.headline.asked
    assert where.all()
    runs = {
        str(row["id"]).removeprefix(TASK.id_prefix): dict(zip(row["documents"], row["scores"], strict=True))  # type: ignore[call-overload]
        for row in read_jsonl(folder / "predictions.jsonl")
    }
    qrels = {name: dict(small.qrels()[name]) for name in runs}
    expected = RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.5", "map"}).evaluate(runs)
    for metric, theirs in (("ndcg@10", "ndcg_cut_10"), ("recall@5", "recall_5"), ("map", "map")):
        table = panel.table(system.headline, where, TASK.metric(metric))
        value = float(TASK.metric(metric).value(table.sum(axis=0)))
        assert value == pytest.approx(np.mean([one[theirs] for one in expected.values()]), abs=1e-9)
        interval = metric_interval(table, TASK.metric(metric))
        assert interval.low <= value <= interval.high


def test_another_pool_of_documents_is_refused(workspace: Workspace, edition: Frozen) -> None:
    write_small(workspace, small_documents()[:40], "small")
    with fails_with("other-corpus"):
        run(workspace, "bm25")


@pytest.mark.parametrize(
    ("model", "regime", "code"),
    [
        ("bm25", "zero-shot", "other-output"),
        ("coin", "retrieve", "baseline-regime"),
        ("smollm2", "retrieve", "unknown-name"),
    ],
)
def test_what_does_not_fit_is_refused(
    workspace: Workspace, edition: Frozen, model: str, regime: str, code: str
) -> None:
    with fails_with(code):
        run(workspace, model, regime=regime)


NO_RANKINGS = [
    *("", "no JSON", "[]", '{"documents": ["a"]}', '{"documents": ["a", "a"], "scores": [1, 2]}'),
    *('{"documents": ["a"], "scores": ["1"]}', '{"documents": ["a"], "scores": [1, 2]}'),
    '{"documents": [1], "scores": [1]}',
]


@pytest.mark.parametrize("text", NO_RANKINGS)
def test_an_answer_that_is_no_ranking_is_silence(text: str) -> None:
    found = read_ranking("query", Answer(text, Finish.STOP))
    assert found.status is Status.NONE
    assert found.documents == ()
