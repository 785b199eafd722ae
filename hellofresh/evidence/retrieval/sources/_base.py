"""What a source of a corpus is, and reading its files line by line, packed by gzip or not."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol, cast

from hellofresh.core.errors import SourceError
from hellofresh.core.files import BadJsonError, strict_json
from hellofresh.evidence.retrieval.corpora import FoundDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query

__all__ = ["CorpusSource", "day_or_none", "find_file", "lines_of", "make_query", "rows_of", "text_of", "words_of"]

MOST_LINE_BYTES = 4_000_000
"""A document of a million characters and its JSON, with room to spare."""
_JSON_DEPTH = 12


class CorpusSource(Protocol):
    """A corpus as somebody publishes it.

    Attributes:
        name: of its format.
        license: what its publisher says of its texts.
        repeats: whether rows of one id are usual, so that later ones are left out and counted.
    """

    name: ClassVar[str]
    license: ClassVar[str]
    repeats: ClassVar[bool]

    def documents(self) -> Iterator[FoundDocument]:
        """The documents in the order of the files."""

    def queries(self) -> Iterable[Query]:
        """The queries, none where the source has none."""

    def judgements(self) -> Iterable[Judgement]:
        """Which documents are relevant to which query."""


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
        SourceError: if a line is none; as `lines_of`.
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
