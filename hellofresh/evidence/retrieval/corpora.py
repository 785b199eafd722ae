"""Corpora: documents, queries and judgements in `corpora/<name>/`, with a manifest.

The manifest is written last and has the SHA-256 of each file; without it, or with a changed file, the corpus is
invalid. Its `sha256` is a hash of the content in order, which does not depend on the library that wrote the files.

A pool is a corpus with judgements plus distractors from other corpora. It has all documents of the first corpus, in
order. The remaining places up to the size are divided equally among the other corpora (the first ones get the
remainder). Each gives the documents with the smallest SHA-256 of `<seed>:<id>`, without those whose title equals,
except for case and punctuation, a title in the first corpus, since they may be the same paper. Their ids are prefixed
with the corpus's name. Without a size, all documents are included.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import polars as pl
from pydantic import Field

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import (
    canonical_json,
    read_model,
    remove_file,
    sha256_file,
    sha256_text,
    write_bytes,
    write_json,
    write_jsonl,
)
from hellofresh.core.intake import Intake
from hellofresh.core.strict import Strict
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import DocumentKeys
from hellofresh.evidence.retrieval.documents import (
    CorpusDocument,
    DocumentWriter,
    Duplicates,
    Judgement,
    Query,
    SameBy,
    by_query,
    check_document,
    document_columns,
    normalised,
    read_qrels,
    read_queries,
)
from hellofresh.evidence.retrieval.documents import read_documents as _read_documents

ADDRESS_ENDING = ".corpus.invalid"
"""Suffix of host names for documents of corpora; no server can have such a name."""
LeftOut = Callable[[], Mapping[str, Mapping[str, int]]]
IGNORE_IDENTICAL = "ignore_identical_ids"
"""Parameter of corpora whose queries are documents too (ArguAna, Quora): a query never finds itself."""
_FORMAT = 1
_DAYS_BEFORE_1970 = date(1970, 1, 1).toordinal()
_FILES = ("documents.parquet", "queries.jsonl", "qrels")
_NAME = r"^[a-z0-9]+(?:-[a-z0-9]+)*$"


class CorpusManifest(Strict):
    """The description of a corpus.

    Attributes:
        format: format of this file.
        name: name on the command line.
        source: the format that it was imported from, or `pool` if it was built from other corpora.
        license: licence of its texts.
        parameters: all settings that determined its content.
        documents, judgements: their numbers.
        queries: number of queries, by split.
        ledgers: of documents, queries and judgements, and of what documents are made of.
        undated: documents without a whole date.
        files: SHA-256 of each file.
        sha256: hash of the content.
    """

    format: int = Field(ge=_FORMAT, le=_FORMAT)
    name: str = Field(pattern=_NAME, max_length=60)
    source: str
    license: str
    parameters: dict[str, str | int | float | bool]
    documents: int
    queries: dict[str, int]
    judgements: int
    ledgers: list[Intake]
    undated: int
    files: dict[str, str]
    sha256: str


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document in a source, its DOI if it has one, and its place for errors."""

    document: CorpusDocument
    where: str
    doi: str = ""


@dataclass(frozen=True)
class RetrievalCorpus:
    """A searchable corpus.

    Attributes:
        folder: folder of its files.
        manifest: its description.
    """

    folder: Path
    manifest: CorpusManifest

    @property
    def name(self) -> str:
        """Name on the command line."""
        return self.manifest.name

    @property
    def path(self) -> Path:
        """Path of the documents' file."""
        return self.folder / "documents.parquet"

    def documents(self, start: int = 0, stop: int | None = None) -> Iterator[CorpusDocument]:
        """The documents in order."""
        return _read_documents(self.path, start, stop if stop is not None else self.manifest.documents)

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the documents, in order."""
        return document_columns(self.path, "id")["id"].to_list()

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The row of each document, by id."""
        return {name: row for row, name in enumerate(self.ids)}

    def document(self, name: str) -> CorpusDocument:
        """The document with that id."""
        row = self.rows[name]
        return next(self.documents(row, row + 1))

    @cached_property
    def keys(self) -> DocumentKeys:
        """Ids and days of the documents, in order."""
        table = document_columns(self.path, "id", "date")
        # Polars counts days from 1970.
        days = table["date"].to_physical().cast(pl.Int32) + _DAYS_BEFORE_1970
        return DocumentKeys(table["id"].to_list(), days.fill_null(-1).to_numpy())

    def queries(self, split: str | None = None) -> list[Query]:
        """The queries of a split, or all.

        Raises:
            UsageError: if there is no such split.
        """
        if split is not None and split not in self.manifest.queries:
            raise UsageError(
                f"no queries of the split {split!r}",
                where=f"corpus {self.name}",
                expected=f"one of {', '.join(self.manifest.queries)}" if self.manifest.queries else "queries at all",
                code="unknown-split",
            )
        found = read_queries(self.folder / "queries.jsonl")
        return [query for query in found if split is None or query.split == split]

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Relevance by query and document."""
        return by_query(read_qrels(self.folder / "qrels"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusContent:
    """The content to write as a corpus.

    Attributes:
        source: name of the source's format.
        license: licence of the texts.
        documents: in the order in which they are stored.
        queries: with unique ids.
        judgements: of these queries and documents. Those of a duplicate are moved to the document that is kept.
        parameters: settings that determined the content.
        drop_invalid: drop and count unusable documents and their judgements instead of raising an error.
        drop_duplicates: drop and count documents with the id of an earlier one instead of raising an error.
        keep_copies: keep documents with the DOI or text of an earlier one instead of dropping and counting them.
        left_out: queries and judgements that the source left out, by unit and reason; asked for when all are read.
        parts: ledgers of what documents are made of; asked for likewise.
    """

    source: str
    license: str
    documents: Iterable[FoundDocument]
    queries: Sequence[Query] = ()
    judgements: Iterable[Judgement] = ()
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    drop_invalid: bool = False
    drop_duplicates: bool = False
    keep_copies: bool = False
    left_out: LeftOut = dict
    parts: Callable[[], Sequence[Intake]] = tuple


def write_corpus(
    folder: Path, content: CorpusContent, *, progress: Callable[[int], None] = lambda done: None
) -> CorpusManifest:
    """Write a corpus to `corpora/<name>`, replacing an earlier one.

    Raises:
        DataError: if the source has a fault.
    """
    remove_file(folder / "manifest.json")
    sifting, queries = _Sifting(content), content.queries
    with DocumentWriter(folder / _FILES[0]) as writer:
        for number, found in enumerate(content.documents, start=1):
            if sifting.accepts(found):
                writer.add(found.document)
            if number % 1000 == 0:
                progress(number)
    if not writer.rows:
        raise DataError("no document", where=str(folder), expected="at least one", code="empty-corpus")
    kept = list(sifting.judgements({query.id for query in queries}))
    _check_queries(queries, kept, folder)
    write_jsonl(folder / _FILES[1], (query.model_dump() for query in queries))
    lines = (f"{item.query} 0 {item.document} {item.relevance}\n" for item in kept)
    write_bytes(folder / _FILES[2], "".join(lines).encode())
    digest = hashlib.sha256(writer.digest.digest())
    said = (*(query.model_dump() for query in queries), *([item.query, item.document, item.relevance] for item in kept))
    for one in said:
        digest.update(canonical_json(one).encode())
    splits = Counter(query.split for query in queries)
    manifest = CorpusManifest(
        format=_FORMAT,
        name=folder.name,
        source=content.source,
        license=content.license,
        parameters=dict(content.parameters),
        documents=writer.rows,
        queries=dict(sorted(splits.items())),
        judgements=len(kept),
        ledgers=sifting.ledgers(documents=writer.rows, queries=len(queries), judgements=len(kept)),
        undated=sifting.undated,
        files={name: sha256_file(folder / name) for name in _FILES},
        sha256=digest.hexdigest(),
    )
    write_json(folder / "manifest.json", manifest.model_dump())
    return manifest


class _Sifting:
    """Selects documents and judgements, and counts the others."""

    def __init__(self, content: CorpusContent) -> None:
        self._content = content
        self._duplicates = Duplicates(content.keep_copies)
        self._dropped: set[str] = set()
        self._read: Counter[str] = Counter()
        self._out: dict[str, Counter[str]] = defaultdict(Counter)
        self.undated = 0

    def accepts(self, found: FoundDocument) -> bool:
        """Whether the document is included."""
        self._read["documents"] += 1
        try:
            check_document(found.document, found.where)
        except DataError as error:
            if not self._content.drop_invalid:
                raise
            self._dropped.add(found.document.id)
            self._out["documents"][error.code] += 1
            return False
        same = self._duplicates.find(found.document, found.doi)
        if same is None:
            self.undated += found.document.date is None
            return True
        if same is SameBy.ID and not self._content.drop_duplicates:
            raise DataError(
                f"the document id {found.document.id} appears twice",
                where=found.where,
                expected="unique ids",
                fix="Repair the source, or repeat with --drop-invalid to keep the first.",
                code="duplicate-id",
            )
        self._out["documents"][same.value] += 1
        return False

    def judgements(self, queries: set[str]) -> Iterator[Judgement]:
        """The judgements of included documents; those of duplicates are moved to the kept document."""
        documents = self._duplicates.ids
        seen: dict[tuple[str, str], int] = {}
        for item in self._content.judgements:
            self._read["judgements"] += 1
            name = self._duplicates.kept.get(item.document, item.document)
            if item.query not in queries:
                raise _unknown("query", item.query, item)
            if name not in documents:
                if not (self._content.drop_invalid and name in self._dropped):
                    raise _unknown("document", name, item)
                self._out["judgements"]["document-left-out"] += 1
                continue
            self._out["judgements"]["repeated"] += (item.query, name) in seen
            if (before := seen.setdefault((item.query, name), item.relevance)) != item.relevance:
                raise DataError(
                    f"query {item.query}, document {name}: relevance {before} and {item.relevance}",
                    where="judgements",
                    expected="one judgement",
                    code="contradicting-judgements",
                )
        yield from (Judgement(query, name, relevance) for (query, name), relevance in seen.items())

    def ledgers(self, **went_on: int) -> list[Intake]:
        """What became of documents, queries and judgements, given how many of each are written."""
        before, found = self._content.left_out(), []
        for unit, count in went_on.items():
            by_source = before.get(unit, {})
            came_in = (self._read[unit] or count) + sum(by_source.values())
            found.append(Intake(unit, came_in, count, dict(Counter(by_source) + self._out[unit])))
        return [*found, *self._content.parts()]


def _unknown(what: str, name: str, item: Judgement) -> DataError:
    return DataError(
        f"a judgement of the unknown {what} {name[:80]!r}",
        where=f"judgements, query {item.query[:80]}",
        expected=f"a {what} of the corpus",
        fix="Import documents, queries and judgements of one version.",
        code=f"unknown-{what}",
    )


def _check_queries(queries: Sequence[Query], judgements: Sequence[Judgement], folder: Path) -> None:
    seen: set[str] = set()
    relevant = {item.query for item in judgements if item.relevance > 0}
    for query in queries:
        if query.id in seen:
            what = f"the query id {query.id} appears twice"
            raise DataError(what, where=str(folder), expected="unique ids", code="duplicate-query")
        seen.add(query.id)
        if query.id not in relevant:
            raise DataError(
                f"query {query.id} has no relevant document",
                where=str(folder),
                expected="at least one judgement above 0 for each query",
                fix="Leave the query out: nothing can be found for it.",
                code="no-relevant-document",
            )


def open_corpus(workspace: Workspace, name: str) -> RetrievalCorpus:
    """Open a corpus of the workspace; only the names of files and the size of the table are checked.

    Raises:
        UsageError: if no corpus has that name.
        DataError: if it is damaged.
    """
    folder = workspace.corpora / name
    if not (folder / "manifest.json").is_file():
        known = [corpus.name for corpus in list_corpora(workspace)]
        raise UsageError(
            f"no corpus {name!r}",
            where=str(workspace.corpora),
            expected=f"one of {', '.join(known)}" if known else "a corpus to be imported",
            fix=f"Import it: hellofresh corpus import FORMAT PATH --name {name}",
            code="no-corpus",
        )
    return _opened(folder)


def open_exact(workspace: Workspace, name: str, sha256: str) -> RetrievalCorpus:
    """Open a corpus of the workspace with exactly this content.

    Raises:
        UsageError: if no corpus has that name, or its content differs.
        DataError: if it is damaged.
    """
    corpus = open_corpus(workspace, name)
    if corpus.manifest.sha256 != sha256:
        raise UsageError(
            "the corpus differs from the one for which the samples were made",
            where=f"corpus {name}",
            expected=f"content {sha256[:12]}...",
            fix="Import or build it again as docs/retrieval.md says.",
            code="other-corpus",
        )
    return corpus


def document_address(corpus: str, document: str) -> str:
    """A document's address, `https://NAME.corpus.invalid/ID`; no server can have such a host name."""
    return f"https://{corpus}{ADDRESS_ENDING}/{quote(document, safe='')}"


def _opened(folder: Path) -> RetrievalCorpus:
    path = folder / "manifest.json"
    return RetrievalCorpus(
        folder, read_model(path, CorpusManifest, fix="Import the corpus again.", code="bad-manifest")
    )


def list_corpora(workspace: Workspace) -> list[RetrievalCorpus]:
    """All corpora of the workspace, by name."""
    manifests = sorted(workspace.corpora.glob("*/manifest.json"))
    return [_opened(path.parent) for path in manifests]


def check_corpus(corpus: RetrievalCorpus) -> None:
    """Check a whole corpus: hashes, columns, texts, unique ids, and known queries and documents in judgements.

    Raises:
        DataError: for the first fault.
    """
    for name, expected in corpus.manifest.files.items():
        path = corpus.folder / name
        if not path.is_file() or sha256_file(path) != expected:
            raise DataError(
                "changed since it was imported" if path.is_file() else "no such file",
                where=str(path),
                expected=f"SHA-256 {expected[:12]}...",
                fix="Import the corpus again.",
                code="changed-file",
            )
    seen: set[str] = set()
    for document in _read_documents(corpus.path):
        check_document(document, str(corpus.path))
        if document.id in seen:
            raise DataError(f"the document id {document.id} appears twice", where=str(corpus.path), code="duplicate-id")
        seen.add(document.id)
    queries, judgements = corpus.queries(), read_qrels(corpus.folder / "qrels")
    known = {query.id for query in queries}
    for item in judgements:
        if item.query not in known or item.document not in seen:
            what, name = ("query", item.query) if item.query not in known else ("document", item.document)
            raise _unknown(what, name, item)
    _check_queries(queries, judgements, corpus.folder)


@dataclass(frozen=True, slots=True)
class PoolRule:
    """The rule by which a pool is made.

    Attributes:
        base: the corpus with queries and judgements.
        others: corpora of the distractors.
        size: total number of documents, None for all.
        seed: seed of the choice of distractors.
    """

    base: RetrievalCorpus
    others: Sequence[RetrievalCorpus]
    size: int | None = None
    seed: int = 1

    @property
    def parameters(self) -> dict[str, str | int | float | bool]:
        """The inputs of the pool: names and content of the corpora, size and seed."""
        corpora = (self.base, *self.others)
        return {
            "corpora": ", ".join(f"{corpus.name} {corpus.manifest.sha256[:16]}" for corpus in corpora),
            "size": self.size or 0,
            "seed": self.seed,
        }


def pool_documents(rule: PoolRule) -> Iterator[FoundDocument]:
    """The documents of a pool.

    Raises:
        UsageError: if the corpora are too small for the size, or too large.
    """
    taken = rule.base.manifest.documents
    if rule.size is not None and (rule.size < taken or not rule.others):
        raise UsageError(
            f"a pool of {rule.size:,} documents",
            where=f"corpus {rule.base.name}",
            expected=f"at least its {taken:,}, and another corpus for the rest",
            code="bad-pool-size",
        )
    titles = set()
    for document in rule.base.documents():
        titles.add(normalised(document.title))
        yield FoundDocument(document, rule.base.name)
    share, rest = divmod((rule.size or taken) - taken, max(1, len(rule.others)))
    for number, other in enumerate(rule.others):
        places = None if rule.size is None else share + (number < rest)
        chosen = _chosen(other, places, rule.seed, titles)
        for document in other.documents():
            if document.id in chosen:
                yield FoundDocument(replace(document, id=f"{other.name}:{document.id}"), other.name)


def _chosen(corpus: RetrievalCorpus, places: int | None, seed: int, titles: set[str]) -> set[str]:
    allowed = [document.id for document in corpus.documents() if normalised(document.title) not in titles]
    if places is None:
        return set(allowed)
    if len(allowed) < places:
        raise UsageError(
            f"{len(allowed):,} documents can be distractors",
            where=f"corpus {corpus.name}",
            expected=f"at least {places:,}",
            fix="Name another corpus, or a smaller --size.",
            code="too-few-distractors",
        )
    return set(sorted(allowed, key=lambda name: sha256_text(f"{seed}:{name}"))[:places])
