"""Reading a feed of ClaimReview objects piece by piece, whatever its size.

Three forms are read: a DataFeed (an object with a list `dataFeedElement`, whose elements hold reviews in `item`), a
list of reviews, and one review a line. A file may be compressed with gzip. A feed that is not JSON is an error as a
whole; an element that is not as it should be is given as it is, for the caller to count.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from hellofresh.core.errors import SourceError

_PIECE = 1 << 20
_MOST_ELEMENT = 16 << 20
_GZIP = b"\x1f\x8b"
_LIST = "dataFeedElement"
_SPACE = re.compile(r"[ \t\r\n]*")


def feed_items(path: Path) -> Iterator[object]:
    """Every review of a feed, in order; None stands for an element without one.

    Raises:
        SourceError: if the file cannot be read, or is not JSON in one of the three forms.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == _GZIP
            with gzip.open(raw) if packed else raw as file:
                yield from _Feed(path, file).items()  # type: ignore[arg-type]  # a gzip file reads bytes too
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(
            f"not a whole gzip file ({error})", where=path.name, fix="Fetch it again.", code="bad-gzip"
        ) from None
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror or error})", where=str(path), fix="Check the path.", code="missing-source"
        ) from error


class _Feed:
    """A JSON text of which only a window is in memory."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(parse_constant=self._no_constant, parse_int=self._integer)
        self._text, self._at, self._read, self._ended = "", 0, 0, False

    def items(self) -> Iterator[object]:
        """The reviews."""
        match self._next():
            case "[":
                yield from self._list(of_elements=False)
            case "{":
                yield from self._objects()
            case "":
                raise self._fault("the file is empty", "empty-file")
            case _:
                raise self._fault("neither an object nor a list", "bad-json")
        if self._next():
            raise self._fault("more text after the end of the feed", "bad-json")

    def _objects(self) -> Iterator[object]:
        """A data feed, or one object a line."""
        self._at += 1
        first: dict[str, object] = {}
        found = False
        while self._next() != "}":
            name = self._value()
            self._expect(":")
            if name == _LIST and not found and self._next() == "[":
                found = True
                yield from self._list(of_elements=True)
            else:
                first[str(name)] = self._value()
            if self._next() != "}":
                self._expect(",")
        self._at += 1
        if found:
            return
        if _LIST in first:
            raise self._fault(f"{_LIST} is not a list", "not-a-feed")
        if "claimReviewed" not in first and "itemReviewed" not in first and not self._next():
            raise self._fault(f"an object without {_LIST}", "not-a-feed")
        yield first
        while self._next():
            yield self._value()

    def _list(self, *, of_elements: bool) -> Iterator[object]:
        self._at += 1
        while self._next() != "]":
            value = self._value()
            if of_elements or (isinstance(value, dict) and "item" in value and "claimReviewed" not in value):
                # The reviews of an element: `item` may be missing, null, an object or a list.
                item = value.get("item") if isinstance(value, dict) else None
                yield from (item or [None]) if isinstance(item, list) else [item]
            else:
                yield value
            if self._next() != "]":
                self._expect(",")
        self._at += 1

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise self._fault(f"no {character!r} where one is needed", "bad-json")
        self._at += 1

    def _next(self) -> str:
        """The next character that is not a space, without taking it; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches anything
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _value(self) -> object:
        """Take the next value."""
        self._next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._fault("nested too deeply", "too-deep") from None
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _MOST_ELEMENT:
                    what = f"an element of more than {_MOST_ELEMENT:,} characters, or no end of one"
                    raise self._fault(what, "too-long") from None
                if self._fill():
                    continue
                raise self._fault(f"not JSON ({error.msg})", "bad-json") from None
            # A number at the end of the window may go on after it.
            if end == len(self._text) and not isinstance(value, str | dict | list) and self._fill():
                continue
            self._at = end
            return value

    def _fill(self) -> bool:
        """Read on; what was taken is forgotten. The window doubles, so that a long element is not read too often."""
        if self._ended:
            return False
        wanted = max(_PIECE, len(self._text) - self._at)
        piece = self._file.read(wanted)
        self._ended = not piece
        try:
            text = self._decode.decode(piece, final=self._ended)
        except UnicodeDecodeError:
            raise self._fault("bytes that are not UTF-8", "not-utf8") from None
        self._read += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text) or not self._ended

    def _no_constant(self, name: str) -> object:
        raise self._fault(f"{name} is not a JSON number", "not-finite")

    def _integer(self, digits: str) -> object:
        if len(digits) > 400:
            raise self._fault(f"a number of {len(digits)} digits", "huge-number")
        return int(digits)

    def _fault(self, what: str, code: str) -> SourceError:
        return SourceError(
            what,
            where=f"{self._path.name} after {self._read + self._at:,} characters",
            expected="a DataFeed, a list of ClaimReview objects, or one such object a line",
            fix="Fetch the feed again; nothing was written.",
            code=code,
        )
