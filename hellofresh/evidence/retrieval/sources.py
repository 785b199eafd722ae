"""Readers of published corpora, one function per format. A new format is a function here and a line in `SOURCES`.

Input is untrusted: lines and fields are bounded, and an unusable row is an error that names it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path

from hellofresh.core.errors import SourceError, UnknownNameError
from hellofresh.core.files import write_bytes, write_jsonl
from hellofresh.evidence.retrieval.corpora import FoundDocument, LeftOut, RetrievalCorpus
from hellofresh.evidence.retrieval.documents import CorpusDocument, Judgement, Query, read_qrels, read_queries
from hellofresh.tasks._datasets import MOST_LINE, FileRow, json_rows, text_lines

_UNJUDGED = "no-relevant-document"
_CLAIMS = re.compile(r"claims_([a-z0-9_-]+)\.jsonl(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A published corpus in some format.

    Attributes:
        name: name of the format.
        license: licence of its texts, from its publisher.
        documents: returns the documents in the order of the files.
        queries, judgements: return queries and relevance judgements; most sources have none.
        repeats: whether the source repeats ids, so that later rows are dropped and counted.
        left_out: see `CorpusContent`.
    """

    name: str
    license: str
    documents: Callable[[], Iterator[FoundDocument]]
    queries: Callable[[], Iterable[Query]] = tuple
    judgements: Callable[[], Iterable[Judgement]] = tuple
    repeats: bool = False
    left_out: LeftOut = dict


def _missing(what: str, path: Path, expected: str) -> SourceError:
    return SourceError(what, where=str(path), expected=expected, code="missing-file")


def _find_file(folder: Path, *names: str) -> Path | None:
    """The first existing file of these names in a folder, plain or with `.gz`."""
    paths = (path for name in names for path in (folder / name, folder / f"{name}.gz"))
    return next((path for path in paths if path.is_file()), None)


def _cells_of(path: Path, *, tabs: bool) -> Iterator[tuple[str, list[str]]]:
    """Rows of cells, separated by tabs or as CSV, with their places.

    Raises:
        SourceError: bad-csv; also like `text_lines`.
    """
    where = str(path)

    def texts() -> Iterator[str]:
        nonlocal where
        for number, line in text_lines(path):
            where = f"{path.name} line {number}"
            yield line

    csv.field_size_limit(MOST_LINE)
    rows = (text.rstrip("\r\n").split("\t") for text in texts()) if tabs else csv.reader(texts())
    try:
        yield from ((where, row) for row in rows if any(row))
    except csv.Error as error:
        code = "too-long" if "field limit" in str(error) else "bad-csv"
        raise SourceError(f"not a row ({error})", where=where, code=code) from None


def _records_of(path: Path, *needed: Sequence[str], tabs: bool) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Rows of a table with a header as cells by column, with their places; with `tabs`, lines with `#` are comments.

    Args:
        path: the table.
        needed: required columns, each with its possible names.
        tabs: whether cells are separated by tabs, as many per row as in the header; else it is CSV.

    Raises:
        SourceError: missing-columns, bad-row; also like `_cells_of`.
    """
    columns: list[str] = []
    for where, cells in _cells_of(path, tabs=tabs):
        if tabs and cells[0].startswith("#"):
            continue
        if columns:
            if tabs and len(cells) != len(columns):
                raise SourceError(f"{len(cells)} columns", where=where, expected=f"{len(columns)}", code="bad-row")
            yield where, dict(zip(columns, (cell.strip() for cell in cells), strict=False))
            continue
        columns = cells
        for names in needed:
            if not set(names) & set(columns):
                expected = f"the columns {', '.join(' or '.join(one) for one in needed)}"
                raise SourceError(f"no column {names[0]}", where=where, expected=expected, code="missing-columns")


def _text_of(row: FileRow, *names: str) -> str:
    """The text of the first of these fields that exists; lists of sentences are joined, numbers converted.

    Raises:
        SourceError: if none exists, or its type is wrong.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, str | int):
            return str(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return " ".join(item.strip() for item in value)
    raise row.fault(f"no text in {' or '.join(names)}", "missing-field", f"the field {names[0]}")


def _words_of(row: FileRow, name: str) -> list[str]:
    """The ids in a list field, each a text or a number.

    Raises:
        SourceError: if the field has another type.
    """
    value = row.get(name)
    if not isinstance(value, list) or any(isinstance(item, bool) or not isinstance(item, str | int) for item in value):
        raise row.fault(f"{name} is not a list of ids", "missing-field")
    return [str(item) for item in value]


def _query(row: FileRow, *, id: str, text: str, split: str, group: str) -> Query:  # noqa: A002 - as the field
    """Make a query.

    Raises:
        SourceError: if a field is invalid.
    """
    try:
        return Query(id=id, text=text.strip(), split=split, group=group)
    except ValueError:
        expected = "an id without a space, and a text of 1 to 20,000 characters without NUL"
        raise row.fault(f"the query {id[:80]!r} cannot be used", "bad-query", expected) from None


def _day_or_none(text: str | None) -> date | None:
    """A full date; None for a year or a month alone."""
    try:
        return date.fromisoformat((text or "").strip()[:10])
    except ValueError:
        return None


def _beir(folder: Path) -> CorpusSource:
    """A data set's folder in the layout of BEIR (Thakur et al., NeurIPS 2021).

    It has `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`), and `qrels/<split>.tsv` with a
    header and the columns query, document and score. Queries without a relevant document are left out.
    """
    corpus, asked = _find_file(folder, "corpus.jsonl"), _find_file(folder, "queries.jsonl")
    qrels = sorted((folder / "qrels").glob("*.tsv*"))
    if corpus is None or asked is None or not qrels:
        raise _missing("not in the layout of BEIR", folder, "corpus.jsonl, queries.jsonl and qrels/test.tsv")

    def documents() -> Iterator[FoundDocument]:
        for row in json_rows(corpus):
            row.optional_text("title")  # refuses a number or a list
            name, text, title = _text_of(row, "_id"), _text_of(row, "text"), str(row.get("title") or "")
            yield FoundDocument(CorpusDocument(name, title.strip(), text.strip(), None, "beir"), row.where)

    judged = cache(partial(_judged, qrels, str(asked)))
    left_out: dict[str, int] = {}

    def queries() -> Iterator[Query]:
        splits, known = judged()[0], set()
        left_out["queries"] = 0
        for row in json_rows(asked):
            name = _text_of(row, "_id")
            if name not in splits:
                left_out["queries"] += 1
            else:
                known.add(name)
                yield _query(row, id=name, text=_text_of(row, "text"), split=splits[name], group=name)
        if missing := sorted(splits.keys() - known):
            what = f"a judgement of the unknown query {missing[0][:80]!r}"
            raise SourceError(what, where=str(asked), expected="a query of queries.jsonl", code="unknown-query")

    def without() -> Mapping[str, Mapping[str, int]]:
        return {unit: {_UNJUDGED: count} for unit, count in {**left_out, "judgements": judged()[2]}.items()}

    return CorpusSource("beir", "as its data set says", documents, queries, lambda: judged()[1], left_out=without)


def _judged(qrels: Sequence[Path], where: str) -> tuple[dict[str, str], list[Judgement], int]:
    """The split of each query that has a relevant document, the judgements of these queries, and how many others."""
    splits: dict[str, str] = {}
    found = [(path.name.split(".")[0].lower(), item) for path in qrels for item in _judgements_of(path)]
    for split, item in found:
        if item.relevance > 0 and splits.setdefault(item.query, split) != split:
            raise SourceError(
                f"query {item.query[:80]} is judged in {splits[item.query]} and in {split}",
                where=where,
                expected="each query in one split",
                code="query-in-two-splits",
            )
    kept = [item for _, item in found if item.query in splits]
    return splits, kept, len(found) - len(kept)


def _judgements_of(path: Path) -> Iterator[Judgement]:
    for number, (where, cells) in enumerate(_cells_of(path, tabs=True)):
        score = cells[-1].removeprefix("-")
        is_whole = score.isascii() and score.isdigit() and len(score) < 10
        if len(cells) == 3 and is_whole:
            yield Judgement(cells[0], cells[1], int(cells[2]))
        elif number or len(cells) != 3:  # the first line may be a header
            what = f"not a judgement: {' '.join(cells)[:80]!r}"
            raise SourceError(what, where=where, expected="query, document, score", code="bad-qrels")


def write_beir(corpus: RetrievalCorpus, folder: Path) -> None:
    """Write a corpus in the layout of BEIR; dates of documents are under `metadata`, which its loaders ignore."""
    rows = (
        {"_id": one.id, "title": one.title, "text": one.text, "metadata": {"date": str(one.date)} if one.date else {}}
        for one in corpus.documents()
    )
    write_jsonl(folder / "corpus.jsonl", rows)
    queries, qrels = corpus.queries(), corpus.qrels()
    write_jsonl(folder / "queries.jsonl", ({"_id": one.id, "text": one.text, "metadata": {}} for one in queries))
    for split in corpus.manifest.queries:
        lines = [
            f"{query.id}\t{document}\t{relevance}\n"
            for query in queries
            if query.split == split
            for document, relevance in qrels[query.id].items()
        ]
        write_bytes(folder / "qrels" / f"{split}.tsv", "".join(["query-id\tcorpus-id\tscore\n", *lines]).encode())


def _abstracts(path: Path, source: str, ids: Sequence[str], texts: Sequence[str]) -> Iterator[FoundDocument]:
    """Documents as JSON lines; id and text are in the first of these fields that exists."""
    for row in json_rows(path):
        name, title, text = (_text_of(row, *fields) for fields in (ids, ("title",), texts))
        yield FoundDocument(CorpusDocument(name, title.strip(), text.strip(), None, source), row.where)


def _of_claims(
    name: str,
    license: str,  # noqa: A002 - as the field
    documents: Callable[[], Iterator[FoundDocument]],
    files: Sequence[tuple[str, Path]],
    cited: Callable[[FileRow], list[str]],
) -> CorpusSource:
    """A source of claims, one per line, with the documents that they cite as relevant; claims without any are left out.

    Args:
        name, license, documents: as in `CorpusSource`.
        files: split and path of each file of claims.
        cited: returns the documents that a claim cites. Claims on the same documents form a group.
    """

    @cache
    def every() -> list[tuple[str, FileRow, list[str]]]:
        return [(split, row, cited(row)) for split, path in files for row in json_rows(path)]

    def rows() -> list[tuple[str, FileRow, list[str]]]:
        return [found for found in every() if found[2]]

    def queries() -> Iterator[Query]:
        for split, row, names in rows():
            text, group = _text_of(row, "claim"), "+".join(sorted(names))[:200]
            yield _query(row, id=_text_of(row, "id"), text=text, split=split, group=group)

    def judgements() -> Iterator[Judgement]:
        for _, row, names in rows():
            yield from (Judgement(_text_of(row, "id"), document, 1) for document in names)

    def left_out() -> Mapping[str, Mapping[str, int]]:
        return {"queries": {_UNJUDGED: len(every()) - len(rows())}}

    return CorpusSource(name, license, documents, queries, judgements, left_out=left_out)


def _check_covid(folder: Path) -> CorpusSource:
    """Check-COVID (Wang et al., Findings of ACL 2023): claims on COVID-19, each with the abstract that decides it.

    The folder has `corpus.jsonl` and `claims_train.jsonl`, `claims_dev.jsonl`, `claims_test.jsonl`, or is the authors'
    own with `corpus.json` and `train/covidCheck_train_*.json` and so on. The only relevant document of a claim is the
    abstract that it was written from, whatever its label.
    """
    corpus, claims = _find_file(folder, "corpus.jsonl", "corpus.json"), []
    for split in ("train", "dev", "test"):
        whole = _find_file(folder, f"claims_{split}.jsonl")
        kinds = (f"{split}/covidCheck_{split}_{kind}.json" for kind in ("composed", "extracted"))
        found = [whole] if whole else [_find_file(folder, name) for name in kinds]
        claims += [(split, path) for path in found if path is not None]
    if corpus is None or not claims:
        expected = "corpus.jsonl and claims_train.jsonl, claims_dev.jsonl or claims_test.jsonl"
        raise _missing("not a folder of Check-COVID", folder, expected)

    documents = partial(_abstracts, corpus, "check-covid", ("cord_id",), ("abstract",))
    return _of_claims("check-covid", "MIT", documents, claims, lambda row: [_text_of(row, "cord_id")])


def _scifact(folder: Path) -> CorpusSource:
    """SciFact (Wadden et al., EMNLP 2020): scientific claims, each with the abstracts that it cites.

    The folder has `corpus.jsonl` and `claims_<split>.jsonl`, as released or in the hub's form. Every cited abstract is
    relevant, as in BEIR. Claims without one, as in the released test set, are left out.
    """
    corpus, files = _find_file(folder, "corpus.jsonl"), sorted(folder.glob("claims_*.jsonl*"))
    claims = [(match[1], path) for path in files if (match := _CLAIMS.fullmatch(path.name))]
    if corpus is None or not claims:
        raise _missing("not a folder of SciFact", folder, "corpus.jsonl, and claims_train.jsonl or claims_dev.jsonl")

    documents = partial(_abstracts, corpus, "scifact", ("doc_id", "_id"), ("text", "abstract"))

    def cited(row: FileRow) -> list[str]:
        return _words_of(row, "cited_doc_ids") if row.get("cited_doc_ids") else []

    return _of_claims("scifact", "CC-BY-4.0 AND ODC-By-1.0", documents, claims, cited)


def _cord_19(path: Path) -> CorpusSource:
    """CORD-19's `metadata.csv` (Wang et al., 2020), plain or gzipped, or its folder.

    Titles and abstracts of papers on coronaviruses, without queries. A paper may have several rows with the same id or
    DOI; the first is kept. Rows without title and abstract are left out.
    """
    columns = ("cord_uid", "title", "abstract", "doi", "publish_time")
    table = path / "metadata.csv" if path.is_dir() else path
    if not table.is_file():
        raise _missing("no such file", table, "CORD-19's metadata.csv")

    def documents() -> Iterator[FoundDocument]:
        for where, row in _records_of(table, *((column,) for column in columns), tabs=False):
            name, title, abstract, doi, day = (row.get(column, "") for column in columns)
            yield FoundDocument(CorpusDocument(name, title, abstract, _day_or_none(day), "cord-19"), where, doi)

    return CorpusSource("cord-19", "as each paper's license says", documents, repeats=True)


def _litcovid(path: Path) -> CorpusSource:
    """An export of LitCovid (Chen et al., Nucleic Acids Research 2021), plain or gzipped, or its folder.

    A table of PubMed ids and titles on COVID-19 with tab-separated columns `pmid`, `title_e` or `title`, and optionally
    `abstract`; comments begin with `#`. Its titles serve as distractors.
    """
    files = sorted(path.glob("*.tsv*")) if path.is_dir() else [path]
    if len(files) != 1 or not files[0].is_file():
        raise _missing("not one table", path, "an export as .tsv")

    def documents() -> Iterator[FoundDocument]:
        for where, row in _records_of(files[0], ("pmid",), ("title_e", "title"), tabs=True):
            title, day = row.get("title_e") or row.get("title", ""), _day_or_none(row.get("date"))
            document = CorpusDocument(row["pmid"], title, row.get("abstract", ""), day, "litcovid")
            yield FoundDocument(document, where, row.get("doi", ""))

    return CorpusSource("litcovid", "public domain (US government work)", documents, repeats=True)


def _json_lines(path: Path) -> CorpusSource:
    """Documents as JSON lines: `id`, `title`, `text` and, if known, `date`, `source` and `doi`.

    Besides `documents.jsonl`, a folder may hold `queries.jsonl` and `qrels` in the project's own formats.
    """
    found = _find_file(path, "documents.jsonl") if path.is_dir() else path
    if found is None or not found.is_file():
        raise _missing("no such file", path, "documents.jsonl")
    asked, qrels = (found.parent / name for name in ("queries.jsonl", "qrels"))

    def documents() -> Iterator[FoundDocument]:
        for row in json_rows(found):
            for name in ("title", "doi", "source", "date"):
                row.optional_text(name)  # refuses a number or a list
            title, doi, source, day = (str(row.get(name) or "") for name in ("title", "doi", "source", "date"))
            name, text = _text_of(row, "id"), _text_of(row, "text")
            yield FoundDocument(CorpusDocument(name, title, text, _day_or_none(day), source or "jsonl"), row.where, doi)

    return CorpusSource(
        "jsonl",
        "as its owner says",
        documents,
        lambda: read_queries(asked) if asked.is_file() else [],
        lambda: read_qrels(qrels) if qrels.is_file() else [],
    )


SOURCES: Mapping[str, Callable[[Path], CorpusSource]] = {
    "check-covid": _check_covid,
    "scifact": _scifact,
    "beir": _beir,
    "cord-19": _cord_19,
    "litcovid": _litcovid,
    "jsonl": _json_lines,
}


def open_source(name: str, path: Path) -> CorpusSource:
    """The source of a format.

    Raises:
        UnknownNameError: if there is no such format.
        DataError: if its files are missing.
    """
    if name not in SOURCES:
        raise UnknownNameError("corpus format", name, SOURCES)
    return SOURCES[name](path)
