"""Reading what may be anything: strict JSON, lines in their one spelling, and the forms that values must have."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Form = Any
"""What a value must be, see `misfit`."""

COUNT = range(2**63)
SHA256 = re.compile("[0-9a-f]{64}")
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MOST_FAULTS = 20
"""Faults named for each file; the others are counted."""
MOST_LINE_BYTES = 10_000_000
_MOST_LEVELS = 8
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: object) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, no escapes beyond JSON's own, no NaN."""
    return _ENCODER.encode(value)


def text_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def strict_json(content: bytes, levels: int) -> object:
    """A JSON value that every parser reads alike.

    Raises:
        ValueError: with a phrase that says why it is not one, or is nested more deeply.
    """
    text = content.decode()
    if text.startswith("\ufeff"):
        raise ValueError("a byte-order mark before the text")
    try:
        value: object = json.loads(text, object_pairs_hook=_different_fields, parse_int=_short_number)
        canonical(value).encode()  # refuses NaN, infinity and half of a surrogate pair
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _nested_deeper(value, levels):
        raise ValueError(f"nested more than {levels} levels")
    return value


def _different_fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a field twice")
    return fields


def _short_number(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _nested_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_nested_deeper(item, levels - 1) for item in inside)


def misfit(value: Any, form: Form, place: str = "") -> str:
    """What about a JSON value does not fit a form; empty where it fits.

    A form is a type (a `float` may be written as a whole number, an `object` is anything), a pattern that a text
    matches, a range, None, a tuple of forms of which one fits, a list with the form of its items, or a dictionary with
    the form of each field. A field whose name ends with `?` may be missing; `*` stands for all fields not named, which
    are refused without it.
    """
    if isinstance(form, dict):
        return _object_misfit(value, form, place)
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{place}: not a list"
        found = (misfit(item, form[0], f"{place}[{number}]") for number, item in enumerate(value))
        return next(filter(None, found), "")
    if isinstance(form, tuple):
        found = (misfit(value, one, place) for one in form)
        wrong = [fault for fault in found if fault]
        return wrong[0] if len(wrong) == len(form) else ""
    if isinstance(form, re.Pattern):
        fits = isinstance(value, str) and form.fullmatch(value) is not None
    elif isinstance(form, range):
        fits = type(value) is int and value in form
    elif form is float:
        fits = type(value) in {int, float}
    else:
        fits = form is object or (value is None if form is None else type(value) is form)
    return "" if fits else f"{place or 'the line'}: {json.dumps(value)[:60]} does not belong here"


def _object_misfit(value: Any, form: Row, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place or 'the line'}: not an object"
    above = f"{place}." if place else ""
    names = {name.rstrip("?"): name for name in form if name != "*"}
    for key, name in names.items():
        if key in value:
            if wrong := misfit(value[key], form[name], above + key):
                return wrong
        elif not name.endswith("?"):
            return f"{above}{key}: missing"
    for key in value.keys() - names.keys():
        wrong = (
            misfit(value[key], form["*"], f"{above}{key[:80]}") if "*" in form else f"{above}{key[:80]}: not a field"
        )
        if wrong:
            return wrong
    return ""


def lines(path: Path, faults: list[str]) -> Iterator[tuple[int, Any]]:
    """The values of a file of canonical JSON lines with their numbers; what is not canonical is a fault."""
    if path.is_symlink() or not path.is_file():
        faults.append("no such file")
        return
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
            if len(faults) > MOST_FAULTS:
                faults.append("and more")
                return
            try:
                deep = line.count(b"[") + line.count(b"{") > _MOST_LEVELS
                value = strict_json(line, _MOST_LEVELS) if deep else json.loads(line)
                if f"{canonical(value)}\n".encode() != line:
                    faults.append(f"line {number} is not canonical (sorted keys, no spaces, UTF-8, a line end)")
            except ValueError as error:
                faults.append(f"line {number} is not JSON of up to {MOST_LINE_BYTES:,} bytes: {error}")
                continue
            yield number, value


def rows(path: Path, form: Form, faults: list[str]) -> Iterator[tuple[int, Row]]:
    """The lines of a file that have a form; the others are faults."""
    for number, value in lines(path, faults):
        if wrong := misfit(value, form):
            faults.append(f"line {number}: {wrong}")
        else:
            yield number, value


def by_id(path: Path, form: Form, faults: list[str]) -> Iterator[tuple[str, Row]]:
    """The rows of a file that is sorted by `id`, with their ids; each may be there once."""
    last = ""
    for number, row in rows(path, form, faults):
        if row["id"] > last:
            last = row["id"]
            yield last, row
        else:
            what = "is there twice" if row["id"] == last else "is not in its place (sorted by id)"
            faults.append(f"line {number}: {row['id'][:80]!r} {what}")


def few(keys: Iterable[str], what: str) -> list[str]:
    """A fault for each of some ids; of many the first."""
    found = sorted(keys)
    more = [f"{len(found) - MOST_FAULTS:,} more like these"] if len(found) > MOST_FAULTS else []
    return [f"{key[:80]!r} {what}" for key in found[:MOST_FAULTS]] + more
