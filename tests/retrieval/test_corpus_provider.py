"""A corpus of the workspace stands in for the web: searched by a retriever, read by addresses that no server has."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date

import pytest

from hellofresh.core.errors import ConfigError, UsageError
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.settings import WebSettings
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web.store import open_web
from tests.fakes import refused
from tests.retrieval.conftest import stored

ODD = CorpusDocument("10.1/a?b#c%2F", "An odd name", "Kites of the hill sing, as nobody else does.", date(2024, 5, 1))


@pytest.fixture
def settings(make, monkeypatch) -> WebSettings:
    monkeypatch.setenv("HELLOFRESH_DATA", str(make.workspace().root))
    return WebSettings(provider="corpus", corpus="own", retriever="bm25", count=3)


def played(settings: WebSettings, folder, work):
    async def play():
        web = open_web(settings, folder)
        try:
            return await work(web)
        finally:
            await web.close()

    return asyncio.run(play())


def written(make, *documents: CorpusDocument) -> RetrievalCorpus:
    return stored(make.workspace().corpora / "own", documents)


def test_documents_are_found_and_read_back_whatever_their_ids(settings, make, tmp_path) -> None:
    plain = replace(ODD, id="plain", title="Plain", text="Otters of the river travel.", date=None)
    corpus = written(make, ODD, plain)

    async def work(web):
        found = await web.search("kites on a hill")
        return found.results, [await web.read(result.url) for result in found.results], dict(web.parameters)

    results, pages, parameters = played(settings, tmp_path, work)
    assert (results[0].title, results[0].date) == ("An odd name", "2024-05-01")
    assert results[0].url.startswith("https://own.corpus.invalid/")
    assert (pages[0].status, pages[0].text) == (PageStatus.OK, ODD.text)
    assert parameters["corpus_sha256"] == corpus.manifest.sha256
    assert "extractor" not in parameters


def test_later_documents_and_other_addresses_are_not_there(settings, make, tmp_path) -> None:
    written(make, ODD, replace(ODD, id="early", text="Kites of the hill.", date=date(2020, 1, 1)))

    async def work(web):
        found = await web.search("kites", before=date(2024, 5, 1))
        others = ("https://own.corpus.invalid/none", "https://other.corpus.invalid/early", "https://own.invalid/early")
        return found.results, [(await web.read(url)).status for url in others]

    results, statuses = played(settings, tmp_path, work)
    assert [result.url for result in results] == ["https://own.corpus.invalid/early"]
    assert statuses == [PageStatus.DEAD] * 3


def test_a_corpus_that_is_not_there_is_named(settings, tmp_path) -> None:
    refused("no-corpus", open_web, settings, tmp_path)
    with pytest.raises(ConfigError):
        open_web(settings.model_copy(update={"corpus": None}), tmp_path)


@pytest.mark.integration
def test_a_dense_retriever_finds_by_meaning(settings, make, tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    written(make, ODD, replace(ODD, id="money", title="Rates", text="The bank raised interest on loans."))

    async def work(web):
        return (await web.search("cost of borrowing")).results

    try:
        first = played(settings.model_copy(update={"retriever": "minilm"}), tmp_path, work)[0]
    except UsageError as error:
        pytest.skip(str(error))
    assert first.url.endswith("/money")
