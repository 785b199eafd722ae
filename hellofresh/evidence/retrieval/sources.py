"""Corpora as others publish them, a class a format. A new format is a class here and a line in `SOURCES`.

All that is read is somebody else's: lines and fields are bounded, and what cannot be used is an error that names it.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, ClassVar, TextIO, cast

from hellofresh.core.errors import SourceError, UnknownNameError
from hellofresh.core.files import BadJsonError, strict_json, write_bytes, write_jsonl
from hellofresh.evidence.retrieval.corpora import FoundDocument, RetrievalCorpus
from hellofresh.evidence.retrieval.documents import CorpusDocument, Judgement, Query, read_qrels, read_queries

MOST_LINE_BYTES = 4_000_000
"""A document of a million characters and its JSON, with room to spare."""
_JSON_DEPTH = 12


class CorpusSource(ABC):
    """A corpus as somebody publishes it.

    Attributes:
        name: of its format.
        license: what its publisher says of its texts.
        repeats: whether rows of one id are usual, so that later ones are left out and counted.
    """

    name: ClassVar[str]
    license: ClassVar[str]
    repeats: ClassVar[bool] = False

    @abstractmethod
    def documents(self) -> Iterator[FoundDocument]:
        """The documents in the order of the files."""

    def queries(self) -> Iterable[Query]:
        """The queries; most sources have none."""
        return ()

    def judgements(self) -> Iterable[Judgement]:
        """Which documents are relevant to which query; most sources have none."""
        return ()

    def _document(self, where: str, name: str, title: str, text: str) -> FoundDocument:
        return FoundDocument(CorpusDocument(name, title.strip(), text.strip(), None, self.name), where)


def _missing(what: str, path: Path, expected: str) -> SourceError:
    return SourceError(what, where=str(path), expected=expected, code="missing-file")


def find_file(folder: Path, *names: str) -> Path | None:
    """The first file of these names in a folder, as it is or with `.gz`."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, gzip.BadGzipFile) as error:
        raise SourceError(f"a damaged archive ({error})", where=str(path), code="bad-archive") from None
    except (FileNotFoundError, IsADirectoryError):
        raise SourceError("no such file", where=str(path), code="missing-file") from None


def lines_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Lines and their places, without empty ones; never more than one line in memory.

    Raises:
        SourceError: document-too-large for a line beyond the bound, missing-file, bad-archive.
    """
    with _opened(path) as file:
        number = 0
        while line := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise SourceError(
                    f"a line of more than {MOST_LINE_BYTES:,} bytes",
                    where=f"{path} line {number}",
                    expected="one document a line",
                    fix="Split the document into passages.",
                    code="document-too-large",
                )
            if line.strip():
                yield f"{path} line {number}", line


def rows_of(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """JSON objects, one a line, and their places.

    Raises:
        SourceError: if a line is not a JSON object; as `lines_of`.
    """
    for where, line in lines_of(path):
        try:
            row = strict_json(line.strip(), most_depth=_JSON_DEPTH)
        except BadJsonError as error:
            raise SourceError(str(error), where=where, expected="a JSON object a line", code=error.code) from None
        if not isinstance(row, dict):
            raise SourceError("not a JSON object", where=where, expected="one a line", code="bad-json")
        yield where, row


def text_of(row: Mapping[str, object], where: str, *names: str) -> str:
    """The text of the first of these fields that is there; a list of sentences is joined, a number written out.

    Raises:
        SourceError: if none is there, or it is something else.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, str | int):
            return str(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return " ".join(item.strip() for item in value)
    raise SourceError(
        f"no text in {' or '.join(names)}", where=where, expected=f"the field {names[0]}", code="missing-field"
    )


def words_of(row: Mapping[str, object], where: str, name: str) -> list[str]:
    """A list of ids, each a text or a number.

    Raises:
        SourceError: if the field is something else.
    """
    value = row.get(name)
    if not isinstance(value, list) or any(isinstance(item, bool) or not isinstance(item, str | int) for item in value):
        raise SourceError(f"{name} is not a list of ids", where=where, code="missing-field")
    return [str(item) for item in value]


def make_query(where: str, *, id: str, text: str, split: str, group: str) -> Query:  # noqa: A002 - as the field
    """A query.

    Raises:
        SourceError: if it cannot be one.
    """
    try:
        return Query(id=id, text=text.strip(), split=split, group=group)
    except ValueError:
        raise SourceError(
            f"the query {id[:80]!r} cannot be used",
            where=where,
            expected="an id without a space, and a text of 1 to 20,000 characters without NUL",
            code="bad-query",
        ) from None


def day_or_none(text: str | None) -> date | None:
    """A date that is a whole day; a year or a month alone is not known to the day."""
    try:
        return date.fromisoformat((text or "").strip()[:10])
    except ValueError:
        return None


class BeirSource(CorpusSource):
    """The layout of BEIR (Thakur et al., NeurIPS 2021), for any of its sets: a data set's folder.

    `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`), and `qrels/<split>.tsv` with a head and
    the columns query, document and score. Queries without a relevant document are left out.

    Raises:
        SourceError: if one of its three parts is missing.
    """

    name: ClassVar[str] = "beir"
    license: ClassVar[str] = "as its data set says"

    def __init__(self, folder: Path) -> None:
        corpus, queries = find_file(folder, "corpus.jsonl"), find_file(folder, "queries.jsonl")
        self._qrels = sorted((folder / "qrels").glob("*.tsv*"))
        if corpus is None or queries is None or not self._qrels:
            raise _missing("not in the layout of BEIR", folder, "corpus.jsonl, queries.jsonl and qrels/test.tsv")
        self._corpus, self._queries = corpus, queries

    def documents(self) -> Iterator[FoundDocument]:
        """The documents."""
        for where, row in rows_of(self._corpus):
            title = value.strip() if isinstance(value := row.get("title"), str) else ""
            text = text_of(row, where, "text")
            yield self._document(where, text_of(row, where, "_id"), title, text)

    @cached_property
    def _judged(self) -> dict[str, list[Judgement]]:
        found: dict[str, list[Judgement]] = {}
        for path in self._qrels:
            split = path.name.split(".")[0].lower()
            found[split] = list(_rows(path))
        return found

    @cached_property
    def _splits(self) -> dict[str, str]:
        """The split of each query that has a relevant document."""
        splits: dict[str, str] = {}
        for split, judged in self._judged.items():
            for item in judged:
                if item.relevance > 0 and splits.setdefault(item.query, split) != split:
                    raise SourceError(
                        f"query {item.query[:80]} is judged in {splits[item.query]} and in {split}",
                        where=str(self._queries),
                        expected="each query in one split",
                        code="query-in-two-splits",
                    )
        return splits

    def queries(self) -> Iterator[Query]:
        """The queries of all splits, in their order; each is a group of its own."""
        known = set()
        for where, row in rows_of(self._queries):
            name = text_of(row, where, "_id")
            if name in self._splits:
                known.add(name)
                yield make_query(where, id=name, text=text_of(row, where, "text"), split=self._splits[name], group=name)
        if missing := sorted(self._splits.keys() - known):
            raise SourceError(
                f"a judgement of the unknown query {missing[0][:80]!r}", where=str(self._queries), code="unknown-query"
            )

    def judgements(self) -> Iterator[Judgement]:
        """Those of the queries above."""
        for judged in self._judged.values():
            yield from (item for item in judged if item.query in self._splits)


def write_beir(corpus: RetrievalCorpus, folder: Path) -> None:
    """Write a corpus in the layout of BEIR; dates of documents stand under `metadata`, which its loaders pass over."""
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


def _rows(path: Path) -> Iterator[Judgement]:
    for number, (where, line) in enumerate(lines_of(path)):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
        except UnicodeDecodeError as error:
            raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="bad-qrels") from None
        if number == 0 and len(cells) == 3 and not _is_whole(cells[2]):
            continue  # the head
        if len(cells) != 3 or not _is_whole(cells[2]):
            raise SourceError(
                f"not a judgement: {line[:80]!r}", where=where, expected="query, document, score", code="bad-qrels"
            )
        yield Judgement(cells[0], cells[1], int(cells[2]))


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 10


_SPLITS = ("train", "dev", "test")
_KINDS = ("composed", "extracted")


class CheckCovidSource(CorpusSource):
    """Check-COVID (Wang et al., Findings of ACL 2023): claims on COVID-19, each with the abstract that decides it.

    Read are `corpus.jsonl` and `claims_train.jsonl`, `claims_dev.jsonl`, `claims_test.jsonl` in one folder, or the
    authors' own folder with `corpus.json` and `train/covidCheck_train_*.json` and so on. The one relevant document of a
    claim is the abstract it was written from, whatever the claim's label. Claims on one abstract are a group.

    Raises:
        SourceError: if there is no corpus or no claim in it.
    """

    name: ClassVar[str] = "check-covid"
    license: ClassVar[str] = "MIT"

    def __init__(self, folder: Path) -> None:
        corpus = find_file(folder, "corpus.jsonl", "corpus.json")
        self._claims = list(_claim_files(folder))
        if corpus is None or not self._claims:
            raise _missing(
                "not a folder of Check-COVID",
                folder,
                "corpus.jsonl and claims_train.jsonl, claims_dev.jsonl or claims_test.jsonl",
            )
        self._corpus = corpus

    def documents(self) -> Iterator[FoundDocument]:
        """The abstracts."""
        for where, row in rows_of(self._corpus):
            name, title, text = (text_of(row, where, field) for field in ("cord_id", "title", "abstract"))
            yield self._document(where, name, title, text)

    @cached_property
    def _rows(self) -> list[tuple[str, str, Mapping[str, object]]]:
        return [(split, where, row) for split, path in self._claims for where, row in rows_of(path)]

    def queries(self) -> Iterator[Query]:
        """The claims."""
        for split, where, row in self._rows:
            name, text, abstract = (text_of(row, where, field) for field in ("id", "claim", "cord_id"))
            yield make_query(where, id=name, text=text, split=split, group=abstract)

    def judgements(self) -> Iterator[Judgement]:
        """One for each claim."""
        for _, where, row in self._rows:
            yield Judgement(text_of(row, where, "id"), text_of(row, where, "cord_id"), 1)


def _claim_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for split in _SPLITS:
        path = find_file(folder, f"claims_{split}.jsonl")
        names = [f"{split}/covidCheck_{split}_{kind}.json" for kind in _KINDS]
        found = [path] if path else [own for name in names if (own := find_file(folder, name))]
        yield from ((split, item) for item in found)


_COLUMNS = ("cord_uid", "title", "abstract", "doi", "publish_time")


class Cord19Source(CorpusSource):
    """CORD-19's `metadata.csv` (Wang et al., 2020), packed by gzip or not, or the folder that holds it.

    Titles and abstracts of papers on coronaviruses, without queries. One paper stands in several rows, by its id or its
    DOI: the first stays. Rows without title and abstract are left out.

    Raises:
        SourceError: if it is not there.
    """

    name: ClassVar[str] = "cord-19"
    license: ClassVar[str] = "as each paper's license says"
    repeats: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self._path = path / "metadata.csv" if path.is_dir() else path
        if not self._path.is_file():
            raise _missing("no such file", self._path, "CORD-19's metadata.csv")

    def documents(self) -> Iterator[FoundDocument]:
        """The papers, a row at a time."""
        columns: list[str] = []
        for where, row in self._rows():
            if not columns:
                columns = self._head(row)
                continue
            cells = dict(zip(columns, (cell.strip() for cell in row), strict=False))
            name, title, abstract, doi, day = (cells.get(column, "") for column in _COLUMNS)
            yield FoundDocument(CorpusDocument(name, title, abstract, day_or_none(day), self.name), where, doi)

    def _head(self, row: list[str]) -> list[str]:
        if missing := sorted(set(_COLUMNS) - set(row)):
            raise SourceError(
                f"no column {missing[0]}",
                where=str(self._path),
                expected=f"the columns {', '.join(_COLUMNS)}",
                code="missing-columns",
            )
        return row

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        csv.field_size_limit(MOST_LINE_BYTES)
        with self._opened() as file:
            rows = csv.reader(file)
            while True:
                where = f"{self._path} line {rows.line_num + 1}"
                try:
                    row = next(rows, None)
                except csv.Error as error:
                    code = "document-too-large" if "field limit" in str(error) else "bad-csv"
                    raise SourceError(f"not a row ({error})", where=where, code=code) from None
                except UnicodeDecodeError as error:
                    raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="not-utf8") from None
                except (EOFError, gzip.BadGzipFile) as error:
                    raise SourceError(f"a damaged archive ({error})", where=where, code="bad-archive") from None
                if row is None:
                    return
                if row:
                    yield where, row

    def _opened(self) -> TextIO:
        if self._path.suffix == ".gz":
            return io.TextIOWrapper(gzip.open(self._path), encoding="utf-8", newline="")
        return self._path.open(encoding="utf-8", newline="")


class JsonLinesSource(CorpusSource):
    """Documents as JSON lines: `id`, `title`, `text`, and, where known, `date`, `source` and `doi`.

    A folder may hold beside `documents.jsonl` also `queries.jsonl` and `qrels` in the project's own formats.

    Raises:
        SourceError: if there are no documents.
    """

    name: ClassVar[str] = "jsonl"
    license: ClassVar[str] = "as its owner says"

    def __init__(self, path: Path) -> None:
        documents = find_file(path, "documents.jsonl") if path.is_dir() else path
        if documents is None or not documents.is_file():
            raise _missing("no such file", path, "documents.jsonl")
        self._documents = documents
        self._queries, self._qrels = (documents.parent / name for name in ("queries.jsonl", "qrels"))

    def documents(self) -> Iterator[FoundDocument]:
        """The documents."""
        for where, row in rows_of(self._documents):
            title, doi, source, day = (
                value if isinstance(value := row.get(name), str) else "" for name in ("title", "doi", "source", "date")
            )
            name, text = text_of(row, where, "id"), text_of(row, where, "text")
            yield FoundDocument(CorpusDocument(name, title, text, day_or_none(day), source or self.name), where, doi)

    def queries(self) -> list[Query]:
        """Those of `queries.jsonl`."""
        return read_queries(self._queries) if self._queries.is_file() else []

    def judgements(self) -> list[Judgement]:
        """Those of `qrels`."""
        return read_qrels(self._qrels) if self._qrels.is_file() else []


class LitCovidSource(CorpusSource):
    """An export of LitCovid (Chen et al., Nucleic Acids Research 2021), packed by gzip or not, or its folder.

    PubMed ids and titles on COVID-19: a table with tabs between columns `pmid`, `title_e` or `title`, and, where the
    export has it, `abstract`; comments begin with `#`. Its titles serve as distractors.

    Raises:
        SourceError: if it is not there.
    """

    name: ClassVar[str] = "litcovid"
    license: ClassVar[str] = "public domain (US government work)"
    repeats: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("*.tsv*")) if path.is_dir() else [path]
        if len(files) != 1 or not files[0].is_file():
            raise _missing("not one table", path, "an export as .tsv")
        self._path = files[0]

    def documents(self) -> Iterator[FoundDocument]:
        """The papers."""
        columns: list[str] = []
        for where, line in lines_of(self._path):
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise SourceError(f"byte {error.start} is not UTF-8", where=where, code="not-utf8") from None
            if text.startswith("#"):
                continue
            cells = text.split("\t")
            if not columns:
                columns = _head(cells, where)
                continue
            if len(cells) != len(columns):
                raise SourceError(f"{len(cells)} columns", where=where, expected=f"{len(columns)}", code="bad-row")
            row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
            title = row.get("title_e") or row.get("title", "")
            document = CorpusDocument(
                row["pmid"], title, row.get("abstract", ""), day_or_none(row.get("date")), self.name
            )
            yield FoundDocument(document, where, row.get("doi", ""))


def _head(cells: list[str], where: str) -> list[str]:
    if "pmid" not in cells or not {"title_e", "title"} & set(cells):
        raise SourceError("no column pmid or title_e", where=where, expected="the head", code="missing-columns")
    return cells


_CLAIMS = re.compile(r"claims_([a-z0-9_-]+)\.jsonl(?:\.gz)?")


class SciFactSource(CorpusSource):
    """SciFact (Wadden et al., EMNLP 2020): scientific claims, each with the abstracts that it cites.

    Read are `corpus.jsonl` and `claims_<split>.jsonl` in one folder, as released or in the hub's form. Every cited
    abstract is relevant, as BEIR has it. Claims without one, as in the released test set, are left out.

    Raises:
        SourceError: if there is no corpus or no claim in it.
    """

    name: ClassVar[str] = "scifact"
    license: ClassVar[str] = "CC-BY-4.0 AND ODC-By-1.0"

    def __init__(self, folder: Path) -> None:
        corpus = find_file(folder, "corpus.jsonl")
        files = sorted(folder.glob("claims_*.jsonl*"))
        self._claims = [(match[1], path) for path in files if (match := _CLAIMS.fullmatch(path.name))]
        if corpus is None or not self._claims:
            raise _missing(
                "not a folder of SciFact", folder, "corpus.jsonl, and claims_train.jsonl or claims_dev.jsonl"
            )
        self._corpus = corpus

    def documents(self) -> Iterator[FoundDocument]:
        """The abstracts."""
        for where, row in rows_of(self._corpus):
            name, title = text_of(row, where, "doc_id", "_id"), text_of(row, where, "title")
            text = text_of(row, where, "text", "abstract")
            yield self._document(where, name, title, text)

    @cached_property
    def _rows(self) -> list[tuple[str, str, Mapping[str, object]]]:
        return [
            (split, where, row)
            for split, path in self._claims
            for where, row in rows_of(path)
            if row.get("cited_doc_ids")
        ]

    def queries(self) -> Iterator[Query]:
        """The claims; those on the same abstracts are a group."""
        for split, where, row in self._rows:
            group = "+".join(sorted(words_of(row, where, "cited_doc_ids")))[:200]
            yield make_query(
                where, id=text_of(row, where, "id"), text=text_of(row, where, "claim"), split=split, group=group
            )

    def judgements(self) -> Iterator[Judgement]:
        """One for each cited abstract."""
        for _, where, row in self._rows:
            for name in words_of(row, where, "cited_doc_ids"):
                yield Judgement(text_of(row, where, "id"), name, 1)


SOURCES: Mapping[str, Callable[[Path], CorpusSource]] = {
    "check-covid": CheckCovidSource,
    "scifact": SciFactSource,
    "beir": BeirSource,
    "cord-19": Cord19Source,
    "litcovid": LitCovidSource,
    "jsonl": JsonLinesSource,
}


def open_source(name: str, path: Path) -> CorpusSource:
    """The source of a format.

    Raises:
        UnknownNameError: if there is no such format.
        DataError: if its files are not there.
    """
    if name not in SOURCES:
        raise UnknownNameError("corpus format", name, SOURCES)
    return SOURCES[name](path)
