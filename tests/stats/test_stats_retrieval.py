"""Measures of rankings: what trec_eval itself says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytrec_eval import RelevanceEvaluator

from hellofresh.stats.retrieval import METRICS, measures, trec_order

CUTS = (1, 3, 5, 10, 20)


NAMES = {
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in CUTS[:4]},
    **{f"recall_{k}": f"recall@{k}" for k in CUTS},
    "recip_rank": "mrr",
    "map": "map",
}


def ours(qrels: dict[str, int], run: dict[str, float]) -> dict[str, float]:
    found = measures(list(run), list(run.values()), qrels)
    assert set(found) == {metric.name for metric in METRICS}
    return {name: found[own] for name, own in NAMES.items()}


def trec(qrels: dict[str, int], run: dict[str, float]) -> dict[str, float]:
    cuts = ",".join(map(str, CUTS))
    evaluator = RelevanceEvaluator({"q": qrels}, {f"ndcg_cut.{cuts}", f"recall.{cuts}", "recip_rank", "map"})
    return {name: value for name, value in evaluator.evaluate({"q": run})["q"].items() if name in NAMES}


documents = st.sampled_from([f"d{n}" for n in range(30)] + ["D1", "d", "é", "z-9", "10", "9"])


@settings(max_examples=150, deadline=None)
@given(
    qrels=st.dictionaries(documents, st.integers(-1, 3), min_size=1),
    run=st.dictionaries(documents, st.sampled_from([0.0, 0.5, 0.5 + 1e-9, 1.0, -2.0, 1 / 3]), min_size=1),
)
def test_every_measure_equals_trec_eval(qrels: dict[str, int], run: dict[str, float]) -> None:
    expected = trec(qrels, run)
    found = ours(qrels, run)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


def test_order_is_that_of_trec_eval_in_single_precision() -> None:
    assert trec_order(["a", "b", "c"], [1.0, 1.0 + 1e-12, 2.0]) == [2, 1, 0]
