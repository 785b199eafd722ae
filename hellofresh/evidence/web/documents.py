"""Pages in a folder: a corpus that stands in for the web where there is none.

A page is one file `<topic>/<slug>.md`: TOML between two lines of `+++` with `url`, `title` and `date`, then its text as
paragraphs.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from hellofresh.core.errors import SourceError, WorkspaceError
from hellofresh.core.files import canonical_json, model_fault, parse_toml, sha256_text
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.strict import Strict
from hellofresh.core.texts import visible as clean
from hellofresh.evidence.web._base import PageStatus
from hellofresh.evidence.web.fetch import FetchResult
from hellofresh.evidence.web.text import MainText

BUNDLED = Path(__file__).with_name("corpus")
"""The pages that come with the package."""
_FENCE = "+++"


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
            WorkspaceError: if there is no such folder or no page in it.
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
        """Hash of all pages."""
        return sha256_text(canonical_json([[d.url, d.title, d.date.isoformat(), d.text] for d in self.documents]))

    @property
    def by_url(self) -> Mapping[str, Document]:
        """The pages by URL."""
        return {document.url: document for document in self.documents}


def _read(path: Path) -> Document:
    name = f"{path.parent.name}/{path.name}"
    try:
        lines = path.read_bytes().decode().replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise WorkspaceError(f"cannot be read ({error.strerror})", where=str(path), code="unreadable") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"not UTF-8 ({error.reason})", where=name, code="bad-page") from None
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise SourceError("no front matter", where=name, expected=f"TOML between two lines {_FENCE}", code="bad-page")
    end = lines.index(_FENCE, 1)
    head = _head(name, "\n".join(lines[1:end]))
    text = clean(_paragraphs(lines[end + 1 :]))
    if not text:
        raise SourceError("no text", where=name, expected="paragraphs after the front matter", code="bad-page")
    return Document(name, head.url, clean(head.title), head.date, text)


def _paragraphs(lines: Sequence[str]) -> str:
    """Lines of one paragraph joined, since where they were broken means nothing."""
    blocks = "\n".join(line.strip() for line in lines).split("\n\n")
    return "\n".join(block.replace("\n", " ").strip() for block in blocks)


def _head(name: str, text: str) -> _Head:
    try:
        return _Head.model_validate(parse_toml(text.encode()))
    except ValidationError as error:
        raise SourceError(model_fault(error), where=name, expected="url, title and date", code="bad-page") from None
    except ValueError as error:
        raise SourceError(f"not TOML ({error})", where=name, code="bad-page") from None


class CorpusReader:
    """Gives a corpus's pages as if they had been fetched."""

    def __init__(self, corpus: Corpus) -> None:
        self._by_url = corpus.by_url

    async def fetch(self, url: str) -> FetchResult:
        """The page with that address, `dead` where there is none."""
        try:
            address = PageAddress.parse(url).url
        except AddressError as error:
            return FetchResult(url, PageStatus.UNSAFE, str(error))
        found = self._by_url.get(address)
        if found is None:
            return FetchResult(address, PageStatus.DEAD, "not in the corpus")
        text = MainText(found.title, found.text, found.date.isoformat())
        return FetchResult(address, PageStatus.OK, "", "text/plain; charset=utf-8", found.text.encode(), text)

    async def close(self) -> None:
        """Nothing is held."""
