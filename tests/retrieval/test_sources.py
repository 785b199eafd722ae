"""Corpora as others publish them: each format is read, and what is broken in it has a name and a line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.comparison import compare_retrievers
from hellofresh.evidence.retrieval.corpora import IGNORE_IDENTICAL, RetrievalCorpus
from hellofresh.evidence.retrieval.documents import CorpusDocument, Judgement, Query, by_query
from hellofresh.evidence.retrieval.retrievers import open_retriever
from hellofresh.evidence.retrieval.sources import CorpusSource, open_source, write_beir
from tests.fakes import refused
from tests.retrieval.conftest import stored, write_rows

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def check_covid(folder: Path) -> None:
    write_rows(
        folder / "corpus.jsonl", [{"cord_id": "c1", "title": "Otters", "abstract": ["Otters sing.", "They do."]}]
    )
    write_rows(
        folder / "claims_dev.jsonl",
        [{"id": "1_0", "claim": "Otters sing.", "cord_id": "c1", "label": "SUPPORT"},
         {"id": "1_1", "claim": "Otters are silent. ", "cord_id": "c1", "label": "REFUTE"}],
    )  # fmt: skip


def scifact(folder: Path) -> None:
    write_rows(folder / "corpus.jsonl", [{"doc_id": 7, "title": "Kites", "abstract": ["Kites fly."]}])
    write_rows(
        folder / "claims_dev.jsonl",
        [{"id": 3, "claim": "Kites fly.", "cited_doc_ids": [7]}, {"id": 4, "claim": "A test claim."}],
    )


def beir(folder: Path) -> None:
    write_rows(folder / "corpus.jsonl", [{"_id": "d1", "title": "", "text": "Barley grows."}])
    write_rows(folder / "queries.jsonl", [{"_id": "q1", "text": "barley"}, {"_id": "q2", "text": "not judged"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")


def cord_19(folder: Path) -> None:
    (folder / "metadata.csv").write_text(
        "cord_uid,sha,title,doi,abstract,publish_time\n"
        'u1,,Lanterns,10.1/a,"Lanterns, lit at\nnight.",2020-03-01\n'
        "u1,,Lanterns again,,Other words.,2020\n"
        "u2,,Lanterns copied,10.1/A,Copied.,2020\n"
        "u3,,,,,2020\n"
        "u4,,Only a title,,,2021\n"
    )


def litcovid(folder: Path) -> None:
    (folder / "export.tsv").write_text("# a comment\npmid\ttitle_e\tjournal\n11\tHarbours.\tJ\n12\tBeetles.\tJ\n")


def json_lines(folder: Path) -> None:
    write_rows(folder / "documents.jsonl", [{"id": "a", "title": "A", "text": "Text.", "date": "2021-05-04"}])
    write_rows(folder / "queries.jsonl", [{"id": "q", "text": "text", "split": "dev", "group": "q"}])
    (folder / "qrels").write_text("q 0 a 1\n")


FORMATS: dict[str, Callable[[Path], None]] = {
    "check-covid": check_covid,
    "scifact": scifact,
    "beir": beir,
    "cord-19": cord_19,
    "litcovid": litcovid,
    "jsonl": json_lines,
}


def imported(tmp_path: Path, name: str, source: CorpusSource) -> list[str]:
    made = stored(
        Workspace(tmp_path / "data").corpora / name, source.documents(), source=source.name, license=source.license,
        queries=list(source.queries()), judgements=source.judgements(),
        drop_invalid=source.repeats, drop_duplicates=source.repeats, left_out=source.left_out,
    )  # fmt: skip
    return [str(ledger) for ledger in made.manifest.ledgers]


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], CorpusSource]:
    def made(name: str) -> CorpusSource:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        FORMATS[name](folder)
        return open_source(name, folder)

    return made


JUDGED = {
    "check-covid": ([("1_0", "Otters sing.", "dev", "c1"), ("1_1", "Otters are silent.", "dev", "c1")], {"c1": 1}),
    "scifact": ([("3", "Kites fly.", "dev", "7")], {"7": 1}),
    "beir": ([("q1", "barley", "test", "q1")], {"d1": 2}),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_format_gives_the_queries_that_are_judged_with_what_judges_them(source, name: str) -> None:
    opened, (queries, grades) = source(name), JUDGED[name]
    assert [(query.id, query.text, query.split, query.group) for query in opened.queries()] == queries
    assert by_query(opened.judgements()) == {query[0]: grades for query in queries}


def test_the_sentences_of_an_abstract_are_one_text_and_litcovid_gives_titles(source) -> None:
    assert [found.document.text for found in source("check-covid").documents()] == ["Otters sing. They do."]
    found = [(found.document.id, found.document.title) for found in source("litcovid").documents()]
    assert found == [("11", "Harbours."), ("12", "Beetles.")]


def test_the_authors_own_folder_of_check_covid_is_read(tmp_path: Path) -> None:
    write_rows(tmp_path / "corpus.json", [{"cord_id": "c1", "title": "Otters", "abstract": ["Otters sing."]}])
    for kind in ("composed", "extracted"):
        row = {"id": f"{kind}_0", "claim": "Otters sing.", "cord_id": "c1"}
        write_rows(tmp_path / "train" / f"covidCheck_train_{kind}.json", [row])
    found = [query.id for query in open_source("check-covid", tmp_path).queries()]
    assert found == ["composed_0", "extracted_0"]


def test_cord_19_counts_what_stands_twice_and_what_is_empty(
    tmp_path: Path, source: Callable[[str], CorpusSource]
) -> None:
    counts = imported(tmp_path, "cord", source("cord-19"))
    assert counts[0] == ("5 documents: 2 went on, 3 left out (1 duplicate-id, 1 duplicate-doi, 1 empty-document)")


def test_cells_between_tabs_may_hold_quotes_and_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "export.tsv").write_bytes(b'pmid\ttitle_e\tjournal\r\n11\t"Harbours\rin winter\tJ\r\n')
    (found,) = open_source("litcovid", tmp_path).documents()
    assert found.document.title == '"Harbours\rin winter'


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_format_reads_the_same_packed_by_gzip(
    tmp_path: Path, source: Callable[[str], CorpusSource], name: str
) -> None:
    before = [found.document for found in source(name).documents()]
    for path in [item for item in (tmp_path / name).rglob("*") if item.suffix in {".jsonl", ".csv", ".tsv"}]:
        if name == "jsonl" and path.name != "documents.jsonl":
            continue
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    target = tmp_path / name / "metadata.csv.gz" if name == "cord-19" else tmp_path / name
    assert [found.document for found in open_source(name, target).documents()] == before


BROKEN = [
    ("jsonl", "documents.jsonl", b"{not json}\n", "bad-json"),
    ("jsonl", "documents.jsonl", b"[1]\n", "not-an-object"),
    ("jsonl", "documents.jsonl", b'{"id": "a", "title": "x"}\n', "missing-field"),
    ("jsonl", "documents.jsonl", b'{"id": "a", "text": "\xff"}\n', "not-utf8"),
    ("jsonl", "documents.jsonl", b'{"id": "a", "id": "b", "text": "x"}\n', "repeated-key"),
    ("jsonl", "documents.jsonl", b'{"id": "a", "text": "' + b"x" * 5_000_000 + b'"}\n', "too-long"),
    ("jsonl", "documents.jsonl", b'{"id": "a", "text": "x\\u0000y"}\n', "nul-character"),
    ("jsonl", "qrels", b"q 0 a\n", "bad-qrels"),
    ("jsonl", "qrels", b"q 0 nowhere 1\n", "unknown-document"),
    ("beir", "qrels/test.tsv", b"q1\td1\tmany\nq1\td1\tmany\n", "bad-qrels"),
    ("beir", "qrels/dev.tsv", b"q1\td1\t1\n", "query-in-two-splits"),
    ("beir", "qrels/dev.tsv", b"q9\td1\t1\n", "unknown-query"),
    ("cord-19", "metadata.csv", b"cord_uid,title\nu,t\n", "missing-columns"),
    ("cord-19", "metadata.csv", b"cord_uid,title,abstract,doi,publish_time\n\xff,t,a,,\n", "not-utf8"),
    (
        "cord-19", "metadata.csv",
        b"cord_uid,title,abstract,doi,publish_time\nu,t," + b"x" * 5_000_000 + b",,\n", "too-long",
    ),
    ("litcovid", "export.tsv", b"pmid\ttitle_e\n1\n", "bad-row"),
    ("litcovid", "export.tsv", b"a\tb\n1\t2\n", "missing-columns"),
    ("check-covid", "claims_dev.jsonl", b'{"id": "1 2", "claim": "x", "cord_id": "c1"}\n', "bad-query"),
    ("scifact", "claims_dev.jsonl", b'{"id": 1, "claim": "x", "cited_doc_ids": "7"}\n', "missing-field"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "content", "code"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_broken_source_is_a_named_error(
    tmp_path: Path, source: Callable[[str], CorpusSource], name: str, file: str, content: bytes, code: str
) -> None:
    source(name)
    (tmp_path / name / file).write_bytes(content)
    refused(code, imported, tmp_path, "broken", open_source(name, tmp_path / name))


def test_a_cut_archive_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "text": "x"}\n' * 1000)[:-20])
    refused("bad-gzip", list, open_source("jsonl", path).documents())


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_an_empty_folder_is_a_named_error(tmp_path: Path, name: str) -> None:
    refused("missing-file", open_source, name, tmp_path)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="scifact"):
        open_source("scifct", tmp_path)


@pytest.mark.integration
def test_the_real_check_covid_has_its_documents_and_claims(tmp_path: Path, needed: Callable[[bool, str], None]) -> None:
    needed((DATA / "check_covid").is_dir(), "shared/data/check_covid")
    counts = imported(tmp_path, "check-covid", open_source("check-covid", DATA / "check_covid"))
    assert counts[0] == "795 documents: 787 went on, 8 left out (8 duplicate-text)"


def test_a_corpus_exported_in_the_layout_of_beir_comes_back_whole(small: RetrievalCorpus, tmp_path: Path) -> None:
    write_beir(small, tmp_path / "beir")
    back = open_source("beir", tmp_path / "beir")
    assert [(d.document.id, d.document.content) for d in back.documents()] == [
        (d.id, d.content) for d in small.documents()
    ]
    assert {(q.id, q.text, q.split) for q in back.queries()} == {(q.id, q.text, q.split) for q in small.queries()}
    assert by_query(back.judgements()) == small.qrels()


def test_a_query_that_is_a_document_never_finds_itself(tmp_path: Path) -> None:
    documents = [CorpusDocument(f"d{n}", "", f"an otter argues {'well ' * n}") for n in range(30)]
    query = Query(id="d0", text="an otter argues", split="test", group="d0")
    judged = [Judgement("d0", one.id, 1) for one in documents[1:]]
    parameters = {IGNORE_IDENTICAL: True}
    corpus = stored(tmp_path / "own", documents, queries=[query], judgements=judged, parameters=parameters)
    found = compare_retrievers(corpus, "test", [open_retriever("bm25", corpus)])
    (one,) = found.retrievers
    assert "d0" not in one.rankings[0].documents and len(one.rankings[0].documents) == 29
    # 29 documents are relevant: ten of ten is all that ten places can hold.
    assert [one.mean(f"recall_cap@{cut}") for cut in (10, 20, 100)] == [1.0, 1.0, 1.0]
    assert one.mean("recall@10") == pytest.approx(10 / 29)
