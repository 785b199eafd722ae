"""Corpora: what is written is read back, the same content has one hash, and what is broken has a name."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_json, write_json
from hellofresh.core.intake import Intake
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import (
    FoundDocument,
    PoolRule,
    RetrievalCorpus,
    check_corpus,
    list_corpora,
    open_corpus,
    pool_documents,
)
from hellofresh.evidence.retrieval.documents import (
    CorpusDocument,
    Judgement,
    Query,
    read_documents,
    read_qrels,
)
from tests.fakes import refused
from tests.retrieval.conftest import small_documents, small_queries, stored, write_small

QUERY = Query(id="q", text="Do otters sing?", split="dev", group="q")


def write(
    workspace: Workspace, documents: list[CorpusDocument] | list[FoundDocument], **more: object
) -> RetrievalCorpus:
    return stored(workspace.corpora / "made", documents, **more)


def document(name: str, **more: object) -> CorpusDocument:
    return replace(CorpusDocument(name, f"Title of {name}", f"Text of {name}."), **more)  # type: ignore[arg-type]


def test_a_corpus_is_read_back_as_it_was_written(small: RetrievalCorpus) -> None:
    assert list(small.documents()) == small_documents()
    assert small.queries() == small_queries()
    assert small.qrels()["q0"] == {"otters-river": 1}
    assert small.ids == [item.id for item in small_documents()]
    check_corpus(small)


def test_a_table_larger_than_memory_allows_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hellofresh.evidence.retrieval.documents._PART", 100)

    def many() -> Iterator[CorpusDocument]:
        yield from (document(f"d{n}", text="word " * 400 + str(n)) for n in range(3000))

    tracemalloc.start()
    stored(tmp_path / "large", many(), keep_copies=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000  # the texts alone are 6 MB
    assert sum(1 for _ in read_documents(tmp_path / "large" / "documents.parquet")) == 3000


def test_duplicates_are_found_by_id_doi_and_text_and_counted(workspace: Workspace) -> None:
    found = [
        FoundDocument(document("a"), "1", "10.1/X"),
        FoundDocument(document("b"), "2", "https://doi.org/10.1/x"),
        FoundDocument(document("c", title="TITLE, of a", text="text  of A"), "3"),
        FoundDocument(document("a", text="Another"), "4"),
        FoundDocument(document("d"), "5"),
    ]
    judged = [Judgement("q", "b", 1), Judgement("q", "c", 1)]
    made = write(workspace, found, queries=[QUERY], judgements=judged, drop_duplicates=True)
    expected = {"duplicate-doi": 1, "duplicate-text": 1, "duplicate-id": 1}
    assert made.manifest.ledgers[0] == Intake("documents", 5, 2, expected)
    # Judgements of what was left out go to what stays.
    assert made.qrels() == {"q": {"a": 1}}


def test_copies_stay_where_they_are_asked_for(workspace: Workspace) -> None:
    twice = [document("a"), replace(document("a"), id="b")]
    assert write(workspace, twice).manifest.documents == 1
    assert write(workspace, twice, keep_copies=True).manifest.documents == 2


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (document("a b"), "bad-document-id"),
        (document(""), "bad-document-id"),
        (document("x" * 201), "bad-document-id"),
        (document("a", text="one\0two"), "nul-character"),
        (document("a", title="", text=" "), "empty-document"),
        (document("a", text="x" * 50_000_000), "document-too-large"),
        (document("ok"), "duplicate-id"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_corpus_may_hold_is_a_named_error_or_counted(
    workspace: Workspace, bad: CorpusDocument, code: str
) -> None:
    documents = [document("ok"), bad, document("last")]
    refused(code, write, workspace, documents)
    with pytest.raises(UsageError, match="no corpus"):
        open_corpus(workspace, "made")
    kept = write(workspace, documents, drop_invalid=True, drop_duplicates=True)
    assert kept.ids == ["ok", "last"]


@pytest.mark.parametrize(
    ("queries", "judgements", "code"),
    [
        ([QUERY], [Judgement("q", "nowhere", 1)], "unknown-document"),
        ([QUERY], [Judgement("p", "a", 1)], "unknown-query"),
        ([QUERY], [Judgement("q", "a", 0)], "no-relevant-document"),
        ([QUERY, QUERY], [Judgement("q", "a", 1)], "duplicate-query"),
        ([QUERY], [Judgement("q", "a", 1), Judgement("q", "a", 2)], "contradicting-judgements"),
    ],
)
def test_judgements_that_do_not_fit_are_named_errors(
    workspace: Workspace, queries: list[Query], judgements: list[Judgement], code: str
) -> None:
    refused(code, write, workspace, [document("a")], queries=queries, judgements=judgements)


@pytest.mark.parametrize("character", "\u2028\x85\x0b\x0c\x1c\x1d\x1e")
def test_a_line_of_judgements_ends_at_its_line_break_only(tmp_path: Path, character: str) -> None:
    (tmp_path / "qrels").write_text(f"q 0 a{character}1\nq 0 b 1\n", encoding="utf-8")
    assert [item.document for item in read_qrels(tmp_path / "qrels")] == ["a", "b"]


def test_a_changed_file_is_found(small: RetrievalCorpus) -> None:
    path = small.folder / "qrels"
    path.write_text(path.read_text().replace("otters-river 1", "otters-hill 1"))
    refused("changed-file", check_corpus, small)


def test_a_manifest_of_another_version_is_refused(workspace: Workspace, small: RetrievalCorpus) -> None:
    path = small.folder / "manifest.json"
    write_json(path, {**read_json(path), "format": 2})
    refused("bad-manifest", list_corpora, workspace)


def test_a_pool_holds_the_base_and_equal_shares_of_the_others_by_seed(
    workspace: Workspace, small: RetrievalCorpus
) -> None:
    first = write_small(workspace, [document(f"a{n}") for n in range(50)], "first")
    again = document("x", title="OTTERS of the river!")
    second = write_small(workspace, [again, *(document(f"b{n}") for n in range(50))], "second")
    rule = PoolRule(small, [first, second], 75, seed=3)
    names = [found.document.id for found in pool_documents(rule)]
    assert names[:48] == small.ids
    assert sum(name.startswith("first:") for name in names) == 14
    assert sum(name.startswith("second:") for name in names) == 13
    assert names == [found.document.id for found in pool_documents(rule)]
    assert names != [found.document.id for found in pool_documents(replace(rule, seed=4))]
    everything = [found.document.id for found in pool_documents(PoolRule(small, [first, second]))]
    assert len(everything) == 148
    assert "second:x" not in everything  # it has a title of the base


def test_a_pool_that_cannot_be_filled_is_refused(workspace: Workspace, small: RetrievalCorpus) -> None:
    few = write_small(workspace, [document("a")], "few")
    for size, code in ((10, "bad-pool-size"), (60, "too-few-distractors")):
        refused(code, list, pool_documents(PoolRule(small, [few], size)))
