"""Fusion and two stages: ranks, ceilings, and heads that start as their encoder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hellofresh.evidence.retrieval.base import made_ranking
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.rerank import (
    DenseScorer,
    Head,
    TrainedScorer,
    TwoStage,
    lexical_scores,
    read_head,
    write_head,
)
from hellofresh.evidence.retrieval.retrievers import Fusion, open_retriever
from hellofresh.evidence.retrieval.sparse import Bm25, SparseRetriever
from hellofresh.tasks.outputs import Ranking
from tests.fakes import refused
from tests.retrieval.test_dense import DIMENSIONS, LetterEncoder


@dataclass
class FixedRetriever:
    documents: Sequence[str]
    name: str = "fixed"

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        return {"fixed": True}

    async def retrieve(self, query: str, k: int, *, before: date | None = None) -> Ranking:
        return made_ranking([(name, 10.0 - place) for place, name in enumerate(self.documents[:k])])


@dataclass
class Reverse:
    name: str = "reverse"

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        return {}

    def scores(self, query: str, found: Ranking) -> NDArray[np.float64]:
        return np.arange(len(found.documents), dtype=np.float64)


def test_fusion_is_the_sum_of_reciprocal_ranks() -> None:
    fusion = Fusion([FixedRetriever(["a", "b", "c"]), FixedRetriever(["c", "a"])])
    found = asyncio.run(fusion.retrieve("q", 3))
    assert found.documents == ("a", "c", "b")
    assert found.scores == pytest.approx((1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62))


def test_equal_sums_stand_as_trec_eval_reads_them() -> None:
    fusion = Fusion([FixedRetriever(["a", "b"]), FixedRetriever(["b", "a"])])
    assert asyncio.run(fusion.retrieve("q", 2)).documents == ("b", "a")


def test_the_second_stage_reads_the_first_documents_and_leaves_the_rest_below() -> None:
    two = TwoStage(FixedRetriever(list("abcdef")), Reverse(), depth=3)
    found = asyncio.run(two.retrieve("q", 5))
    assert found.documents == tuple("cbade")
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert asyncio.run(two.retrieve("q", 2)).documents == tuple("cb")


def test_nothing_found_is_nothing_to_put_in_order() -> None:
    assert asyncio.run(TwoStage(FixedRetriever([]), Reverse()).retrieve("q", 5)).documents == ()


def scorer(small: RetrievalCorpus) -> DenseScorer:
    encoder = LetterEncoder()
    return DenseScorer(encoder, encoder.queries([item.content for item in small.documents()]), small.rows)


UNTRAINED = Head(np.eye(DIMENSIONS), np.eye(DIMENSIONS), 0.0)


def test_an_untrained_head_is_its_encoder(small: RetrievalCorpus, tmp_path: Path) -> None:
    dense = scorer(small)
    write_head(tmp_path / "head", UNTRAINED, dense.parameters, {"corpus": "small"})
    head = TrainedScorer(*read_head(tmp_path / "head"), dense)
    found = asyncio.run(SparseRetriever.open(small, Bm25()).retrieve("otters of the river", 10))
    assert np.allclose(head.scores("otters", found), dense.scores("otters", found), atol=1e-6)


def test_a_head_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    head = Head(random.normal(size=(4, 4)), random.normal(size=(4, 4)), 0.3)
    write_head(tmp_path, head, {"encoder": "letters"}, {"corpus": "small"})
    again, record = read_head(tmp_path)
    assert np.array_equal(again.query, head.query)
    assert np.array_equal(again.document, head.document)
    assert again.lexical == head.lexical
    assert record.training == {"corpus": "small"}


def test_a_head_that_was_changed_or_is_of_another_encoder_is_refused(small: RetrievalCorpus, tmp_path: Path) -> None:
    write_head(tmp_path, UNTRAINED, {"encoder": "other"}, {})
    refused("other-encoder", TrainedScorer, *read_head(tmp_path), scorer(small))
    (tmp_path / "head.npz").write_bytes(b"x")
    refused("changed-file", read_head, tmp_path)


def test_lexical_scores_are_shares_of_the_best() -> None:
    assert lexical_scores(made_ranking([("a", 4.0), ("b", 1.0)])).tolist() == [1.0, 0.25]


@pytest.mark.parametrize("name", ["bm26", "bm25+nothing", "bm25+trained:"])
def test_unknown_retrievers_are_refused(small: RetrievalCorpus, name: str) -> None:
    refused("unknown-name", open_retriever, name, small)


def test_retrievers_have_names_and_say_what_decides_them(small: RetrievalCorpus) -> None:
    for name in ("tf-idf", "bm25"):
        retriever = open_retriever(name, small)
        assert retriever.name == name
        assert retriever.parameters["corpus"] == small.manifest.sha256
