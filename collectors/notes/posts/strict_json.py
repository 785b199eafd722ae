"""Strict reading of JSON lines that others wrote: no doubled keys, no NaN, no endless lines, no broken text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from hellofresh.core.errors import SourceError

_LONGEST_LINE = 16 * 2**20


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The file's lines that are not blank, with their numbers from 1.

    Raises:
        SourceError: if the file is missing, empty, unreadable, or has a line of more than 16 MiB.
    """
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise SourceError(
                        "a line of more than 16 MiB", where=f"{path.name} line {number}", code="endless-line"
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror or error}", where=str(path), code="unreadable-file"
        ) from error
    if not number:
        raise SourceError("the file is empty", where=str(path), expected="one object a line", code="empty-file")


def load_object(line: bytes, where: str) -> dict[str, Any]:
    """Read one line as a JSON object.

    Raises:
        SourceError: if it is anything else, has a key twice, NaN, an infinite number or text that is no Unicode.
    """
    try:
        text = line.decode()
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise _bad("nested too deeply", where) from None
    except ValueError as error:  # JSON and Unicode errors are ValueErrors
        raise _bad(f"not JSON ({_brief(error)})", where) from None
    if not isinstance(value, dict):
        raise _bad("not a JSON object", where)
    return value


def _bad(what: str, where: str) -> SourceError:
    return SourceError(what, where=where, expected="one JSON object a line", code="bad-json")


def _brief(error: ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "bytes or escapes that are no Unicode text"
    return str(error).splitlines()[0][:120]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number too large")
    return number
