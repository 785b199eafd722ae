"""Full-history XML exports of a wiki, read page by page and revision by revision.

Schemas 0.3 to 0.11 (https://www.mediawiki.org/wiki/Help:Export), plain or packed by gzip, bzip2, xz or 7z, which the
first bytes reveal; names are ignored. Files with a document type or entities of their own are refused.
py7zr can only write what it unpacks to a file object, so a thread writes to a pipe.

Wikimedia's content exports cut a page that is larger than a partition into several files,
`<wiki>-<date>-p<page>r<revision>r<revision>.xml.bz2`, named after the page and the first and last revision inside
(https://gerrit.wikimedia.org/r/plugins/gitiles/analytics/refinery/source, MediawikiDumper.scala, which sorts them by
time, not by number). `histories` finds such files, and `JoinedReader` reads them as one history.

A checksum is looked for in `SHA256SUMS` in the file's folder (lines of `<64 hex digits>  <name>`, as sha256sum writes
them) and in `<name>.sha256` (such a line, or the digits alone).
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import tempfile
import zlib
from array import array
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast
from xml.parsers import expat

from collectors.wikipedia.names import ENGLISH, wiki_names
from collectors.wikipedia.wikitext import Revision, WikiPage, host_of
from hellofresh.core.errors import SourceError, UsageError, missing_extra

_CHUNK = 1 << 18  # bytes at a time, of a file that may have gigabytes
_LONGEST_TEXT = 1 << 26  # characters; MediaWiki's own limit is 2 MiB
# Encodings that Expat reads natively; it would use Python's codecs for others, many of which are not for texts.
_ENCODINGS = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
_SCHEMAS = tuple(f"0.{minor}" for minor in range(3, 12))  # what is read here is the same in all of them
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
_SEVERAL = frozenset({"content", "upload", "restrictions", "minor", "redirect"})
_LISTS = ("SHA256SUMS", "sha256sums.txt")
_PART = re.compile(r"(.+-p[0-9]+)r[0-9]+r[0-9]+\.xml(?:\.[0-9a-z]+)?")
NOT_LOADED, DAMAGED, OTHER_MODEL = LOSSES = (
    "revisions whose text the file leaves out",
    "revisions whose text is not what its length or SHA-1 says",
    "revisions of another content model than wikitext",
)
"""Why a revision of an article has no text although it is not hidden."""
NO_USER = "revisions without a user although nobody hid it"
_CHILDREN = {
    "": "mediawiki",
    "mediawiki": "siteinfo page logitem",
    "siteinfo": "sitename dbname base generator case namespaces",
    "namespaces": "namespace",
    "page": "title ns id redirect restrictions revision upload discussionthreadinginfo",
    "revision": "id parentid timestamp contributor minor comment origin model format text sha1 content",
    "contributor": "username id ip",
    "content": "role origin model format text sha1",
    "upload": "timestamp contributor comment filename archivename src size sha1base36 rel contents",
    "logitem": "id timestamp contributor comment type action text logtitle params",
}
# What may stand in what (https://www.mediawiki.org/xml/export-0.11.xsd).
_ALLOWED = {parent: frozenset(names.split()) for parent, names in _CHILDREN.items()}
_KNOWN = frozenset().union(*_ALLOWED.values())
# What has text and no elements.
_LEAVES = _KNOWN - _ALLOWED.keys() - {"discussionthreadinginfo", "redirect", "contents"}
_NOTHING: frozenset[str] = frozenset()
_SHA1 = re.compile(r"[0-9a-z]{31}|[0-9a-f]{40}")
_ENDINGS = (".xml", ".xml.gz", ".xml.bz2", ".xml.xz", ".xml.7z", ".gz", ".bz2", ".xz", ".7z")
_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+\*?(\S.*?))?\s*")
_LONGEST_LIST = 1 << 26  # bytes
THREAD = "unpack-7z"


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """What a reader has read.

    Attributes:
        pages: articles returned.
        empty, other, revisions: articles without a single revision, pages of other namespaces, and revisions of
            articles, in what was parsed.
        losses: revisions of articles whose text is missing although it is not hidden, by reason (`LOSSES`).
    """

    pages: int
    empty: int
    other: int
    revisions: int
    losses: Mapping[str, int]


class ExportReader:
    """Reads one export; iterate over `pages()`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pages = 0
        self._handler = _Handler(path)
        self._inside = False

    @property
    def read(self) -> ReadSoFar:
        """What was read so far."""
        return ReadSoFar(
            self._pages, self._handler.empty, self._handler.others, self._handler.revisions, self._handler.losses
        )

    def pages(self, *, only: Collection[int] | None = None) -> Iterator[WikiPage]:
        """The articles in the order of the file.

        Args:
            only: indices of the articles to return (the first is 0), each with its revisions put in order of time;
                None for all, with the revisions in the order of the file.

        Raises:
            SourceError: if the file is not an export, or is incomplete; reports the last readable place.
        """
        handler = self._handler = _Handler(self.path)
        events = self._events(handler)
        for event in events:
            if not isinstance(event, _Opening):
                continue
            place = self._pages
            self._pages += 1
            self._inside = True
            revisions = self._revisions(events)
            if only is None or place in only:
                in_order = revisions if only is None else _in_order_of_time(revisions)
                yield WikiPage(event.id, event.title, in_order, handler.host, handler.wiki)
            if self._inside:
                handler.skip()
            deque(revisions, maxlen=0)  # reads what the caller did not, up to the next page

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
    """The articles of one export; see `ExportReader.pages`."""
    return ExportReader(path).pages()


class JoinedReader:
    """Reads the parts of one page as one history; has the interface of `ExportReader`.

    Attributes:
        unchecked: whether no list of checksums names all parts, so that a missing last one would be undetected.

    Raises:
        SourceError: if the list of checksums beside the files names a missing part, or, without a list, there
            is a single part.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.unchecked = not min(_lists_all(path, paths) for path in paths)  # no short circuit: each must be checked
        if self.unchecked and len(paths) == 1:
            raise _missing_part(paths[0], f"{paths[0].name} is one part of a page, by its name; another part")
        self._parts = [ExportReader(path) for path in sorted(paths, key=_beginning)]

    @property
    def read(self) -> ReadSoFar:
        """What was read so far; the parts are one page."""
        found = [part.read for part in self._parts]
        pages, empty, other = (
            max(of) for of in zip(*((one.pages, one.empty, one.other) for one in found), strict=True)
        )
        losses = sum((Counter(one.losses) for one in found), Counter[str]())
        return ReadSoFar(min(1, pages), min(1, empty), min(1, other), sum(one.revisions for one in found), losses)

    def pages(self, *, only: Collection[int] | None = None) -> Iterator[WikiPage]:
        """The page, if it is an article; arguments and errors as of `ExportReader.pages`."""
        pages = self._parts[0].pages()
        first = next(pages, None)
        revisions = self._revisions(first, pages)
        if first is not None:
            yield replace(first, revisions=revisions if only is None else _in_order_of_time(revisions))
        deque(revisions, maxlen=0)  # reads what the caller did not: faults of later parts are found there

    def _revisions(self, first: WikiPage | None, pages: Iterator[WikiPage]) -> Iterator[Revision]:
        """The revisions of all parts, in the order of the parts."""
        seen: set[int] = set()
        starts: list[tuple[ExportReader, Revision]] = []
        page: WikiPage | None = first
        for place, part in enumerate(self._parts):
            if place:
                pages = part.pages()
                page = next(pages, None)
            if (page and page.id) != (first and first.id):
                raise self._other(part, page)
            for number, revision in enumerate(page.revisions if page else ()):
                if not number:
                    starts.append((part, revision._replace(text=None)))
                seen.add(revision.id)
                yield revision
            if (other := next(pages, None)) is not None:
                raise self._other(part, other)
        # Refuse a part whose first revision is based on a missing one, before all parts or between two of them.
        for place, (part, start) in enumerate(starts if self.unchecked else ()):
            parent = start.parent or 0
            if parent not in seen and (parent > 0 if place == 0 else min(seen) < parent < start.id):
                raise _missing_part(part.path, f"revision {parent}, on which revision {start.id} was made,")

    def _other(self, part: ExportReader, page: WikiPage | None) -> SourceError:
        return SourceError(
            f"page {page.id} ({page.title!r}) in a file of another page" if page else "no article in the file",
            where=str(part.path),
            expected=f"the page of {self._parts[0].path.name} alone, as the names of the files say",
            fix="Fetch the files again, and do not rename them.",
            code="other-page",
        )


def _missing_part(path: Path, what: str) -> SourceError:
    return SourceError(
        f"{what} is in none of the files of this page",
        where=str(path),
        expected="every file of a page that was cut into several",
        fix="Fetch the missing file; SHA256SUMS in the export's folder lists all of them. With it beside the files, a "
        "revision that the wiki has deleted is not taken for a missing file.",
        code="missing-part",
    )


def _beginning(path: Path) -> tuple[datetime, int, str]:
    """Time and id of the first revision of a file, by which the parts of a page are sorted."""
    for page in read_pages(path):
        for revision in page.revisions:
            return revision.timestamp, revision.id, path.name
    return datetime.min.replace(tzinfo=UTC), 0, path.name


def open_history(paths: Sequence[Path]) -> ExportReader | JoinedReader:
    """Open files grouped by `histories`."""
    return JoinedReader(paths) if _PART.fullmatch(paths[0].name) else ExportReader(paths[0])


def histories(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Groups of files to read together: one alone, or all parts of one page according to their names."""
    found: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda path: (path.name, str(path))):
        match = _PART.fullmatch(path.name)
        found.setdefault(match[1] if match else str(path), []).append(path)
    return [tuple(paths) for paths in found.values()]


def _lists_all(path: Path, given: Sequence[Path]) -> bool:
    """Whether a list of checksums exists beside a part; every part of the page in it must be given."""
    names = {one.name for one in given}
    for sums in (path.with_name(name) for name in _LISTS):
        if sums.is_file():
            listed = [Path(name).name for _, name in listed_sha256(sums)]
            parts = {name: match[1] for name in listed if (match := _PART.fullmatch(name))}
            for name, page in parts.items():
                if page == parts.get(path.name) and name not in names:
                    raise _missing_part(sums, name)
            return path.name in parts
    return False


@dataclass(frozen=True, slots=True)
class _Opening:
    """A page whose revisions follow."""

    title: str
    id: int


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
            f"compressed as {packing}",
            where=str(path),
            expected="XML, plain or compressed by gzip, bzip2, xz or 7z",
            fix="Unpack it first.",
            code="unknown-packing",
        )
    if packing == "gzip":
        return cast(BinaryIO, gzip.open(path))
    if packing == "bzip2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, io.BufferedReader(_Xz(path), _CHUNK)) if packing == "xz" else path.open("rb")


class _Xz(io.RawIOBase):
    """All streams of an xz file, also after padding, where `lzma.open` ends in silence."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._stream = lzma.LZMADecompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._stream.eof:
                rest = self._stream.unused_data.lstrip(b"\0")
                while not rest and (more := self._file.read(_CHUNK)):
                    rest = more.lstrip(b"\0")
                if not rest:
                    return 0
                self._stream = lzma.LZMADecompressor()
                data = self._stream.decompress(rest, len(buffer))
            else:
                more = self._file.read(_CHUNK) if self._stream.needs_input else b""
                if self._stream.needs_input and not more:
                    raise EOFError("the last stream has no end")
                data = self._stream.decompress(more, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Handler:
    """Converts the parser's calls to pages and revisions."""

    def __init__(self, path: Path) -> None:
        self.title = self.host = ""
        self.wiki = ENGLISH
        self.others = self.empty = self.revisions = 0
        self.losses: Counter[str] = Counter()
        self._path = path
        self._events: deque[_Event] = deque()
        self._chars: list[str] = []
        self._stack: list[str] = []
        self._language, self._key = "", 0
        self._namespaces: dict[int, set[str]] = {}
        self._page: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._text: dict[str, str] = {}
        self._announced = self._skipping = self._article = False
        self._append = self._chars.append
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = 1 << 20
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._append
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.XmlDeclHandler = self._refuse_encoding
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
        """Skip the rest of the current page, if any."""
        while self._events:
            if self._events[0] is None:
                return
            self._events.popleft()
        self._skipping = True

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._stack
        parent = stack[-1] if stack else ""
        if parent in _LEAVES or (stack and name in _KNOWN and name not in _ALLOWED.get(parent, _NOTHING)):
            raise self._wrong(f"<{name}> within <{parent}>", "an export that follows its schema", "bad-structure")
        if not stack:
            self._begin(name, attributes)
        elif name == "page":
            self._page, self._announced, self._skipping, self.title = {}, False, False, ""
        elif name == "revision":
            self._values, self._hidden, self._text = {}, set(), {}
            if not self._announced:
                self._announce()
        elif name == "namespace":
            self._key = int(key) if re.fullmatch(r"-?[0-9]{1,9}", key := attributes.get("key", "")) else 0
        elif "deleted" in attributes:
            self._hidden.add(name)
        if name == "text" and self._skipping:
            self._parser.CharacterDataHandler = None
        elif name == "text" and parent == "revision":
            self._text = attributes
        stack.append(name)
        self._chars.clear()

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if name != "mediawiki":
            what = f"the XML begins with <{name[:60]}>"
            raise self._wrong(what, "a MediaWiki export (<mediawiki>)", "not-a-dump")
        if (version := attributes.get("version", "")) not in _SCHEMAS:
            what = f"export schema {version or 'not named'}"
            raise self._wrong(what, f"{_SCHEMAS[0]} to {_SCHEMAS[-1]}", "unknown-schema")
        self._language = attributes.get("xml:lang", "")

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        parent = stack[-1] if stack else ""
        if name == "text":
            self._parser.CharacterDataHandler = self._append
        if parent == "revision":
            self._take(self._values, name)
        elif parent == "contributor":
            self._values["user:" + name] = "".join(self._chars)
        elif parent == "page":
            if name == "revision":
                if not self._skipping:
                    self._events.append(self._revision())
                self.revisions += self._article
            else:
                self._take(self._page, name)
                self.title = self._page[name].strip() if name == "title" else self.title
        elif name == "page":
            self._end_page()
        else:
            self._end_site(name, parent)
        self._chars.clear()

    def _take(self, values: dict[str, str], name: str) -> None:
        if name in values and name not in _SEVERAL:
            raise self._wrong(f"a second <{name}>", "an export that follows its schema", "bad-structure")
        values[name] = "".join(self._chars)

    def _end_site(self, name: str, parent: str) -> None:
        if parent == "siteinfo" and name == "base":
            self.host = host_of("".join(self._chars))
        elif parent == "namespaces":
            self._namespaces.setdefault(self._key, set()).add("".join(self._chars).strip())
        elif name == "siteinfo":
            self.wiki = wiki_names(self._language, self._namespaces)

    def _end_page(self) -> None:
        if not self._announced:
            self._announce()
            self.empty += self._article
        if self._article:
            self._events.append(None)
        self._skipping = False

    def _announce(self) -> None:
        """Announce a page once its title, namespace and id are known."""
        self._announced = True
        if not self.title:
            raise self._wrong("a page without a title", "an export that follows its schema", "bad-structure")
        namespace = self._page.get("ns")
        if namespace is not None:
            self._article = namespace.strip() == "0"
        else:
            prefix, colon, _ = self.title.partition(":")
            known = set().union(*self._namespaces.values()) - {""} or _ENGLISH_NAMESPACES
            self._article = not (colon and prefix.strip().replace("_", " ") in known)
        if not self._article:
            self.others += 1
            self._skipping = True
            return
        self._events.append(_Opening(self.title, self._number(self._page.get("id"), "page id")))

    def _revision(self) -> Revision:
        values = self._values
        id_ = self._number(values.get("id"), "revision id")
        time = values.get("timestamp")
        try:
            moment = datetime.fromisoformat((time or "").strip())
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            what = f"revision {id_}: timestamp is {time!r}"
            raise self._wrong(what, "a time such as 2008-01-31T12:00:00Z", "bad-timestamp")
        parent = values.get("parentid")
        if "contributor" not in self._hidden and not {"user:username", "user:ip"} & values.keys():
            self.losses[NO_USER] += 1
        user = values.get("user:username") or values.get("user:ip") or None
        text = None if "text" in self._hidden else self._whole_text(values)
        return Revision(
            id_,
            self._number(parent, "parent id") if parent is not None else None,
            moment if moment.tzinfo is UTC else moment.astimezone(UTC),
            None if "contributor" in self._hidden else user,
            text,
        )

    def _whole_text(self, values: Mapping[str, str]) -> str | None:
        """The text, unless it was left out, is damaged or is not wikitext, each of which is counted."""
        text, said = values.get("text"), self._text
        sha1 = said.get("sha1", "") or values.get("sha1", "")
        loss = loss_of(text, model=values.get("model", "wikitext").strip(), size=said.get("bytes", ""), sha1=sha1)
        if loss:
            self.losses[loss] += 1
            return None
        return text

    def _number(self, text: str | None, what: str) -> int:
        text = (text or "").strip()
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        raise self._wrong(f"{what} is {text!r}" if text else f"{what} missing", "a whole number", "bad-number")

    def _refuse_encoding(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            what = f"the XML says that it is encoded in {encoding[:40]!r}"
            raise self._wrong(what, "UTF-8, which MediaWiki writes", "bad-encoding")

    def _refuse_doctype(self, *_: object) -> None:
        raise self._wrong("a document type declaration", "none, as exports never have one", "doctype-refused")

    def _wrong(self, what: str, expected: str, code: str) -> SourceError:
        where = f"{self._path} line {self._parser.CurrentLineNumber}"
        if self.title:
            where += f" (page {self.title!r})"
        return SourceError(what, where=where, expected=expected, code=code)


def loss_of(text: str | None, *, model: str, size: str, sha1: str) -> str:
    """Why a text that is not hidden cannot be used (one of `LOSSES`); "" if it can.

    Args:
        text: as it was read.
        model: its content model.
        size, sha1: its length in bytes and its SHA-1 (in base 36 or 16), each as far as it is said.
    """
    size, sha1 = size.strip(), sha1.strip()
    if model not in ("", "wikitext"):
        return OTHER_MODEL
    if text is None or (not text and size not in ("", "0")):
        return NOT_LOADED
    has_size, has_sha1 = size.isascii() and size.isdigit(), _SHA1.fullmatch(sha1) is not None
    if has_size or has_sha1:
        data = text.encode("utf-8", "surrogatepass")
        if has_size and len(data) != int(size):
            return DAMAGED
        digest = hashlib.sha1(data, usedforsecurity=False).digest() if has_sha1 else b""
        if has_sha1 and int.from_bytes(digest) != int(sha1, 36 if len(sha1) == 31 else 16):
            return DAMAGED
    return ""


def _in_order_of_time(revisions: Iterator[Revision]) -> Iterator[Revision]:
    """The revisions sorted by (timestamp, id); their texts are kept in a temporary file."""
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


def shards(dumps: Iterable[Path]) -> list[Path]:
    """The files, with every folder replaced by its exports, sorted by name.

    Raises:
        UsageError: if a folder contains no export.
    """
    found: list[Path] = []
    for path in dumps:
        listed = list(path.iterdir()) if path.is_dir() else []
        inside = [one for one in listed if one.is_file() and one.name.endswith(_ENDINGS) and one.name[0] != "."]
        inside = inside if path.is_dir() else [path]
        if not inside:
            raise UsageError(
                "no export in the folder",
                where=str(path),
                expected=f"files whose names end in {', '.join(_ENDINGS[:5])}",
                code="no-dump",
            )
        found += inside
    return sorted(found, key=lambda path: (path.name, str(path)))


def published_sha256(path: Path) -> str | None:
    """The published SHA-256 of a file, in lower case; None if unpublished.

    Raises:
        SourceError: if a file of checksums is unreadable, or is made for this file but has no checksum for it.
    """
    own = path.with_name(path.name + ".sha256")
    if own.is_file():
        for digest, name in listed_sha256(own):
            if name in ("", path.name):
                return digest
        raise SourceError(
            f"no SHA-256 of {path.name}", where=str(own), expected="64 hexadecimal digits", code="bad-checksums"
        )
    for sums in (path.with_name(name) for name in _LISTS):
        if sums.is_file():
            return next((digest for digest, name in listed_sha256(sums) if Path(name).name == path.name), None)
    return None


def listed_sha256(sums: Path) -> list[tuple[str, str]]:
    """SHA-256 in lower case and name of each line of a list of checksums; other lines are ignored.

    Raises:
        SourceError: if the list cannot be read.
    """
    try:
        if sums.stat().st_size > _LONGEST_LIST:
            raise SourceError("too long for a list of checksums", where=str(sums), code="bad-checksums")
        text = sums.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot be read ({error})", where=str(sums), expected="a list of checksums", code="bad-checksums"
        ) from None
    matches = [_LINE.fullmatch(line) for line in text.split("\n")]
    return [(match[1].lower(), match[2] or "") for match in matches if match is not None]


def open_seven_zip(path: Path) -> BinaryIO:
    """Open the file in the archive; it is unpacked while being read, a pipe's length ahead.

    Raises:
        UsageError: if py7zr is not installed.
        SourceError: if this is not an archive of exactly one file; reading raises `EOFError` if it is cut or damaged.
    """
    try:
        import py7zr
    except ImportError:
        instead = "Or unpack the file first."
        raise missing_extra("a 7z archive", "py7zr", "archives", where=str(path), instead=instead) from None
    try:
        archive = py7zr.SevenZipFile(path)
        names = [entry.filename for entry in archive.list() if not entry.is_directory]
    except Exception as error:  # py7zr raises various errors for a broken header
        raise SourceError(
            f"not a complete 7z archive ({type(error).__name__}: {error})",
            where=str(path),
            fix="Fetch the file again and compare its checksum.",
            code="bad-archive",
        ) from None
    if len(names) != 1 or archive.needs_password():
        archive.close()
        raise SourceError(f"{len(names)} files in the archive", where=str(path), expected="one", code="bad-archive")
    return cast(BinaryIO, io.BufferedReader(_Stream(archive), 1 << 18))


class _Stream(io.RawIOBase):
    """The reading end of what a thread unpacks."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self._read, self._write = os.pipe()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._unpack, name=THREAD, daemon=True)
        self._thread.start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.readv(self._read, [buffer])
        if not count:
            self._thread.join()
            if self._error is not None:
                raise EOFError(f"{type(self._error).__name__}: {self._error}") from self._error
        return count

    def close(self) -> None:
        if not self.closed:
            os.close(self._read)  # the thread's next write fails, and it ends
            self._thread.join()
        super().close()

    def _unpack(self) -> None:
        try:
            with suppress(BrokenPipeError), self._archive:
                self._archive.extract(factory=_Sink(self._write))
        except BaseException as error:  # raised again in the reader's thread
            self._error = error
        finally:
            os.close(self._write)


class _Sink:
    """A writable file for py7zr, and the factory that provides it for the only file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._size = descriptor, 0

    def create(self, _: str) -> _Sink:
        return self

    def write(self, data: bytes | bytearray) -> int:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self._size += len(data)
        return len(data)

    def read(self, _: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, _: int = 0) -> int:
        return offset

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        pass
