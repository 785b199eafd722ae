"""Search on this machine in place of the web: in a folder of pages, by BM25 as of a day, or in a retrieval corpus.

A page of the folder is one file `<topic>/<slug>.md`: TOML between two lines of `+++` with `url`, `title` and `date`,
then its text as paragraphs.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import numpy as np
from pydantic import Field, ValidationError, field_validator

from hellofresh.core.errors import SourceError, WorkspaceError
from hellofresh.core.files import canonical_json, model_fault, parse_toml, sha256_text
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.strict import Strict
from hellofresh.core.texts import visible as clean
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web.fetch import FetchResult
from hellofresh.evidence.web.search import Hit, ProviderAnswer, ranked
from hellofresh.evidence.web.text import MainText, first_words

if TYPE_CHECKING:
    from hellofresh.evidence.retrieval.base import Retriever
    from hellofresh.evidence.retrieval.corpora import RetrievalCorpus

_SNIPPET_WORDS = 30  # about what search engines show
BUNDLED = Path(__file__).parents[1] / "corpus"
"""The pages that come with the package."""
_FENCE = "+++"
_SITE = re.compile(r"\bsite:([\w.-]+)")
_WITHIN = re.compile(r"\(?\bsite:\S+(?: OR site:\S+)*\)?")


class _Head(Strict):
    url: str
    title: str = Field(min_length=1)
    date: datetime.date

    @field_validator("date", mode="before")
    @classmethod
    def _day(cls, value: object) -> object:
        # Written with or without quotation marks it is the same day.
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value

    @field_validator("url")
    @classmethod
    def _readable(cls, value: str) -> str:
        return PageAddress.parse(value).url


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a corpus.

    Attributes:
        name: path within the corpus, such as `rivers/delta.md`.
        url: in its one spelling.
        title, text: cleaned of invisible characters; paragraphs are lines.
        date: the day the page is from.
    """

    name: str
    url: str
    title: str
    date: datetime.date
    text: str


@dataclass(frozen=True)
class Corpus:
    """All pages of a folder, sorted by name.

    Attributes:
        documents: the pages.
    """

    documents: Sequence[Document]

    @classmethod
    def load(cls, folder: Path) -> Corpus:
        """Read a folder.

        Raises:
            WorkspaceError: if the folder is missing or has no page.
            SourceError: if a page is malformed, or two have the same URL.
        """
        paths = sorted(folder.glob("*/*.md"), key=lambda path: (path.parent.name, path.name))
        if not paths:
            raise WorkspaceError(
                "no pages",
                where=str(folder),
                expected="files <topic>/<slug>.md",
                code="no-corpus",
                fix="Name a folder of pages as `corpus` under [web] in hellofresh.toml.",
            )
        documents = [_read(path) for path in paths]
        seen: dict[str, str] = {}
        for document in documents:
            if document.url in seen:
                raise SourceError(
                    f"the same url as {seen[document.url]}",
                    where=document.name,
                    expected="a url of its own for each page",
                    code="duplicate-url",
                )
            seen[document.url] = document.name
        return cls(documents)

    @property
    def sha256(self) -> str:
        return sha256_text(canonical_json([[d.url, d.title, d.date.isoformat(), d.text] for d in self.documents]))


def _read(path: Path) -> Document:
    name = f"{path.parent.name}/{path.name}"

    def fault(what: str, expected: str = "") -> SourceError:
        return SourceError(what, where=name, expected=expected, code="bad-page")

    try:
        lines = path.read_bytes().decode().replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise WorkspaceError(f"cannot be read ({error.strerror})", where=str(path), code="unreadable") from error
    except UnicodeDecodeError as error:
        raise fault(f"not UTF-8 ({error.reason})") from None
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise fault("no front matter", f"TOML between two lines {_FENCE}")
    end = lines.index(_FENCE, 1)
    try:
        head = _Head.model_validate(parse_toml("\n".join(lines[1:end]).encode()))
    except ValidationError as error:
        raise fault(model_fault(error), "url, title and date") from None
    except ValueError as error:
        raise fault(f"not TOML ({error})") from None
    # Lines of one paragraph are joined, since where they were broken means nothing.
    blocks = "\n".join(line.strip() for line in lines[end + 1 :]).split("\n\n")
    text = clean("\n".join(block.replace("\n", " ").strip() for block in blocks))
    if not text:
        raise fault("no text", "paragraphs after the front matter")
    return Document(name, head.url, clean(head.title), head.date, text)


class _AtHand:
    """Reads pages of the corpus that is searched."""

    def text_at(self, address: PageAddress) -> MainText | None:
        raise NotImplementedError

    async def fetch(self, url: str) -> FetchResult:
        """The page with that address as if it had been fetched, else `dead`."""
        try:
            address = PageAddress.parse(url)
        except AddressError as error:
            return FetchResult(url, PageStatus.UNSAFE, str(error))
        found = self.text_at(address)
        if found is None:
            return FetchResult(address.url, PageStatus.DEAD, "not in the corpus")
        return FetchResult(address.url, PageStatus.OK, "", "text/plain; charset=utf-8", found.text.encode(), found)

    async def close(self) -> None:
        """Nothing is held."""


class Offline(_AtHand):
    """A search engine over a corpus, its index in memory; the same corpus gives the same results everywhere.

    Raises:
        UsageError: if the stemmer (PyStemmer) is not installed.
    """

    name = "offline"

    def __init__(self, corpus: Corpus) -> None:
        from hellofresh.evidence.retrieval.sparse import SparseRetriever  # brings polars, which few commands need

        self._documents = corpus.documents
        self._by_url = {document.url: document for document in corpus.documents}
        self._hosts = [urlsplit(document.url).hostname or "" for document in corpus.documents]
        # Titles count double.
        texts = [f"{document.title}\n{document.title}\n{document.text}" for document in corpus.documents]
        names, days = zip(*((document.name, document.date) for document in corpus.documents), strict=True)
        self._index = SparseRetriever.of_texts(names, texts, days)
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "offline",
            "engine": "bm25",
            "corpus": corpus.sha256,
            "pages": len(corpus.documents),
            "dated": True,
        }

    async def search(self, query: str, count: int, before: datetime.date | None) -> ProviderAnswer:
        """Search, within the sites of `(site:one.example OR site:two.example)`; equal scores are in order of name."""
        scores = self._index.scores(_WITHIN.sub("", query))
        if sites := _SITE.findall(query):
            within = [any(host == site or host.endswith(f".{site}") for site in sites) for host in self._hosts]
            scores[~np.array(within)] = 0.0
        if before is not None:
            scores[~self._index.keys.early(before)] = 0.0
        best = [number for number in np.argsort(-scores, kind="stable")[:count].tolist() if scores[number] > 0]
        found = [self._documents[number] for number in best]
        raw = json.dumps([[round(float(scores[number]), 4), self._documents[number].name] for number in best]).encode()
        hits = [
            Hit(
                url=page.url,
                title=page.title,
                snippet=first_words(page.text, _SNIPPET_WORDS),
                date=page.date.isoformat(),
            )
            for page in found
        ]
        return ProviderAnswer(ranked(hits, count, before), raw)

    def text_at(self, address: PageAddress) -> MainText | None:
        """The page with that address."""
        page = self._by_url.get(address.url)
        return None if page is None else MainText(page.title, page.text, page.date.isoformat())


class CorpusSearch(_AtHand):
    """Finds documents of a corpus of the workspace by a retriever; those known to be from `before` on are left out.

    A document's address is `https://NAME.corpus.invalid/ID`, a name that no server can have.
    """

    name = "corpus"

    def __init__(self, corpus: RetrievalCorpus, retriever: Retriever) -> None:
        # They bring polars, which few commands need.
        from hellofresh.evidence.retrieval.corpora import ADDRESS_ENDING, document_address

        self._corpus, self._retriever, self._address_of = corpus, retriever, document_address
        self._host = f"{corpus.name}{ADDRESS_ENDING}"
        self.parameters: Mapping[str, str | int | float | bool] = {
            "provider": "corpus",
            "corpus": corpus.name,
            "corpus_sha256": corpus.manifest.sha256,
            "dated": True,
            **{f"retriever_{name}": value for name, value in retriever.parameters.items()},
        }

    async def search(self, query: str, count: int, before: datetime.date | None) -> ProviderAnswer:
        """The nearest documents."""
        ranking = await self._retriever.retrieve(query, count, before=before)
        hits = [
            Hit(
                url=self._address_of(self._corpus.name, document.id),
                title=document.title,
                snippet=first_words(document.text, _SNIPPET_WORDS),
                date=None if document.date is None else document.date.isoformat(),
            )
            for document in map(self._corpus.document, ranking.documents)
        ]
        raw = json.dumps([list(ranking.documents), [round(score, 6) for score in ranking.scores]]).encode()
        return ProviderAnswer(ranked(hits, count, before), raw)

    def text_at(self, address: PageAddress) -> MainText | None:
        """The document with that address."""
        name = unquote(address.target.removeprefix("/"))
        if address.host != self._host or name not in self._corpus.rows:
            return None
        document = self._corpus.document(name)
        day = "" if document.date is None else document.date.isoformat()
        return MainText(clean(document.title), clean(document.text or document.title), day)
