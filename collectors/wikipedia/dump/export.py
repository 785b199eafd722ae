"""Full-history XML exports of a wiki, read page by page and revision by revision.

Schemas 0.3 to 0.11 (https://www.mediawiki.org/wiki/Help:Export), plain or packed by gzip, bzip2, xz or 7z; what it is
packed by is told from the first bytes, not from the name. A document type or an entity of its own is refused.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zlib
from array import array
from collections import deque
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from xml.parsers import expat

from collectors.wikipedia.dump.sevenzip import open_seven_zip
from collectors.wikipedia.rules.history import Revision, WikiPage
from hellofresh.core.errors import SourceError

__all__ = ["ExportReader", "read_pages"]

_CHUNK = 1 << 18
_LONGEST_TEXT = 1 << 26  # characters; MediaWiki's own limit is 2 MiB
_SCHEMAS = tuple(f"0.{minor}" for minor in range(3, 12))
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_ENGLISH_NAMESPACES = frozenset(
    f"{name}{talk}"
    for name in ("User", "Wikipedia", "Image", "File", "MediaWiki", "Template", "Help", "Category", "Portal")
    for talk in ("", " talk")
) | {"Talk", "Special", "Media"}


class ExportReader:
    """Reads one export; iterate over `pages()`.

    Attributes:
        pages_read: articles given so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pages_read = 0
        self._handler = _Handler(path)
        self._inside = False

    @property
    def pages_empty(self) -> int:
        """Articles without a single revision, in what was parsed so far."""
        return self._handler.empty

    @property
    def pages_other(self) -> int:
        """Pages of other namespaces, in what was parsed so far."""
        return self._handler.others

    @property
    def revisions_read(self) -> int:
        """Revisions of articles, in what was parsed so far."""
        return self._handler.revisions

    def skip_texts(self) -> None:
        """Give what is left of the present page without texts (empty ones), which is faster."""
        if self._inside:
            self._handler.skip_texts()

    def pages(self, *, only: Collection[int] | None = None) -> Iterator[WikiPage]:
        """The articles in the order of the file.

        Args:
            only: places of the articles to give (the first is 0), each with its revisions put in order of time;
                None for all, with the revisions in the order of the file.

        Raises:
            SourceError: if the file is no export that can be read to its end; says how far it came.
        """
        handler = self._handler = _Handler(self.path)
        events = self._events(handler)
        for event in events:
            if not isinstance(event, _Opening):
                continue
            place = self.pages_read
            self.pages_read += 1
            self._inside = True
            revisions = self._revisions(events)
            if only is None or place in only:
                title, id_ = event
                yield WikiPage(id_, title, revisions if only is None else _in_order_of_time(revisions))
            if self._inside:
                handler.skip()
            deque(revisions, maxlen=0)

    def _revisions(self, events: Iterator[_Event]) -> Iterator[Revision]:
        for event in events:
            if not isinstance(event, Revision):
                self._inside = False
                return
            yield event

    def _events(self, handler: _Handler) -> Iterator[_Event]:
        read = 0
        try:
            with _open(self.path) as file:
                while chunk := file.read(_CHUNK):
                    read += len(chunk)
                    handler.feed(chunk)
                    yield from handler.take()
                handler.close()
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise self._broken(f"the packed file is cut or damaged ({error})", handler, read, "bad-archive") from error
        except expat.ExpatError as error:
            what = f"not whole XML ({expat.ErrorString(error.code)}, line {error.lineno})"
            raise self._broken(what, handler, read, "bad-xml") from error
        yield from handler.take()

    def _broken(self, what: str, handler: _Handler, read: int, code: str) -> SourceError:
        after = f" in page {handler.title!r}" if handler.title else ""
        return SourceError(
            f"{what} after {read:,} bytes of XML, {handler.revisions:,} revisions{after}",
            where=str(self.path),
            expected="a complete export that ends with </mediawiki>",
            fix="Fetch the file again and compare its checksum.",
            code=code,
        )


def read_pages(path: Path) -> Iterator[WikiPage]:
    """The articles of one export, see `ExportReader.pages`."""
    return ExportReader(path).pages()


class _Opening(tuple[str, int]):
    """Title and id of a page whose revisions follow."""

    __slots__ = ()


_Event = _Opening | Revision | None  # None ends a page


def _open(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror or error})", where=str(path), code="unreadable") from None
    packing = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "none")
    if not head:
        raise SourceError("the file is empty", where=str(path), expected="an XML export", code="empty-file")
    if packing == "7z":
        return open_seven_zip(path)
    if packing in {"zip", "zstd"}:
        raise SourceError(
            f"packed as {packing}",
            where=str(path),
            expected="XML, plain or packed by gzip, bzip2, xz or 7z",
            fix="Unpack it first.",
            code="unknown-packing",
        )
    if packing == "gzip":
        return cast(BinaryIO, gzip.open(path))
    if packing == "bzip2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, lzma.open(path)) if packing == "xz" else path.open("rb")


class _Handler:
    """Turns the parser's calls into pages and revisions."""

    def __init__(self, path: Path) -> None:
        self.title = ""
        self.others = self.empty = self.revisions = 0
        self._path = path
        self._events: deque[_Event] = deque()
        self._chars: list[str] = []
        self._stack: list[str] = []
        self._namespaces: set[str] = set()
        self._page: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._announced = self._skipping = self._article = False
        self._texts = True
        self._append = self._chars.append
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = 1 << 20
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._append
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser = parser

    def feed(self, chunk: bytes) -> None:
        self._parser.Parse(chunk, False)
        if len(self._chars) > 8 and sum(map(len, self._chars)) > _LONGEST_TEXT:
            raise self._wrong("a text of more than 64 million characters", "a wiki's page", "text-too-long")

    def close(self) -> None:
        self._parser.Parse(b"", True)

    def take(self) -> Iterator[_Event]:
        while self._events:
            yield self._events.popleft()

    def skip(self) -> None:
        """Drop the rest of the page that is being read, if its end has not come yet."""
        while self._events:
            if self._events[0] is None:
                return
            self._events.popleft()
        self._skipping = True

    def skip_texts(self) -> None:
        """Give the rest of the page's revisions with empty texts."""
        self._texts = any(event is None for event in self._events)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._stack
        if not stack:
            self._check_root(name, attributes)
        elif stack[-1] == "mediawiki" and name == "page":
            self._page, self._announced, self._skipping, self.title = {}, False, False, ""
            self._texts = True
        elif name == "revision" and stack[-1] == "page":
            self._begin_revision()
        elif "deleted" in attributes:
            self._hidden.add(name)
        if name == "text" and (self._skipping or not self._texts):
            self._parser.CharacterDataHandler = None
        stack.append(name)
        self._chars.clear()

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        parent = stack[-1] if stack else ""
        if parent == "revision":
            self._values[name] = "".join(self._chars)
            if name == "text":
                self._parser.CharacterDataHandler = self._append
        elif parent == "contributor":
            self._values["user:" + name] = "".join(self._chars)
        elif parent == "page":
            self._end_in_page(name)
        elif name == "page":
            self._end_page()
        elif parent == "namespaces":
            self._namespaces.add("".join(self._chars).strip())
        self._chars.clear()

    def _end_in_page(self, name: str) -> None:
        if name == "revision":
            if not self._skipping:
                self._events.append(self._revision())
            self.revisions += self._article
            return
        self._page[name] = "".join(self._chars)
        if name == "title":
            self.title = self._page[name].strip()

    def _begin_revision(self) -> None:
        self._values = {}
        self._hidden = set()
        if not self._announced:
            self._announce()

    def _announce(self) -> None:
        """Say that a page begins, once its title, namespace and id are known."""
        self._announced = True
        self._article = self._is_article()
        if not self._article:
            self.others += 1
            self._skipping = True
            return
        self._events.append(_Opening((self.title, self._number(self._page.get("id"), "page id"))))

    def _end_page(self) -> None:
        if not self._announced:
            self._announce()
            self.empty += self._article
        if self._article:
            self._events.append(None)
        self._skipping = False

    def _is_article(self) -> bool:
        namespace = self._page.get("ns")
        if namespace is not None:
            return namespace.strip() == "0"
        prefix, colon, _ = self.title.partition(":")
        known = (self._namespaces - {""}) or _ENGLISH_NAMESPACES
        return not (colon and prefix.strip().replace("_", " ") in known)

    def _revision(self) -> Revision:
        values = self._values
        id_ = self._number(values.get("id"), "revision id")
        parent = values.get("parentid")
        user = values.get("user:username") or values.get("user:ip") or None
        text = None if "text" in self._hidden else values.get("text")
        return Revision(
            id_,
            self._number(parent, "parent id") if parent is not None else None,
            self._timestamp(values.get("timestamp"), id_),
            None if "contributor" in self._hidden else user,
            text,
        )

    def _number(self, text: str | None, what: str) -> int:
        text = (text or "").strip()
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        raise self._wrong(f"{what} is {text!r}" if text else f"{what} missing", "a whole number", "bad-number")

    def _timestamp(self, text: str | None, revision: int) -> datetime:
        try:
            moment = datetime.fromisoformat((text or "").strip())
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise self._wrong(
                f"revision {revision}: timestamp is {text!r}", "a time such as 2008-01-31T12:00:00Z", "bad-timestamp"
            )
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)

    def _check_root(self, name: str, attributes: dict[str, str]) -> None:
        if name != "mediawiki":
            raise self._wrong(f"the XML begins with <{name[:60]}>", "a MediaWiki export (<mediawiki>)", "not-a-dump")
        version = attributes.get("version", "")
        if version not in _SCHEMAS:
            raise self._wrong(
                f"export schema {version or 'not named'}", f"{_SCHEMAS[0]} to {_SCHEMAS[-1]}", "unknown-schema"
            )

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._wrong("a document type declaration", "none, as exports never have one", "doctype-refused")

    def _wrong(self, what: str, expected: str, code: str) -> SourceError:
        where = f"{self._path} line {self._parser.CurrentLineNumber}"
        if self.title:
            where += f" (page {self.title!r})"
        return SourceError(what, where=where, expected=expected, code=code)


def _in_order_of_time(revisions: Iterator[Revision]) -> Iterator[Revision]:
    """The same revisions by (timestamp, id); the texts wait in a temporary file."""
    keys: list[tuple[datetime, int, int]] = []
    heads: list[Revision] = []
    ends = array("q", [0])
    with tempfile.TemporaryFile() as spool:
        for revision in revisions:
            keys.append((revision.timestamp, revision.id, len(keys)))
            heads.append(revision._replace(text=None if revision.text is None else ""))
            spool.write((revision.text or "").encode())
            ends.append(spool.tell())
        for _, _, place in sorted(keys):
            spool.seek(ends[place])
            text = spool.read(ends[place + 1] - ends[place]).decode()
            head = heads[place]
            yield head if head.text is None else head._replace(text=text)
