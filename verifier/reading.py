"""Readers of untrusted files: strict JSON, canonical lines, and the required forms of values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars

Row = dict[str, Any]
Form = Any
"""The required form of a value, see `misfit`."""
COUNT = range(2**63)  # whole numbers of a signed 64-bit column
SHA256 = re.compile("[0-9a-f]{64}")
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MOST_SHOWN = 100
"""Characters of a name or message."""
MOST_FAULTS = 20
"""Faults reported for each file; further ones are counted."""
MOST_LINE_BYTES = 10_000_000  # a line without an end must not fill memory
_MOST_LEVELS = 8  # deeper ones would end Python's parser in its recursion limit
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: object) -> str:
    """The canonical JSON of a value: sorted keys, no spaces, no escapes beyond JSON's own, no NaN."""
    return _ENCODER.encode(value)


def text_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def strict_json(content: bytes, levels: int) -> Any:
    """A JSON value that every parser reads in the same way.

    Raises:
        ValueError: with a phrase for the fault, such as nesting beyond `levels`.
    """

    def fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("an object has a field twice")
        return dict(pairs)

    def whole(digits: str) -> int:
        if len(digits) > 20:
            raise ValueError(f"a number of {len(digits)} digits")
        return int(digits)

    def depth(value: object) -> int:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inside is None else 1 + max(map(depth, inside), default=0)

    text = content.decode()
    if text.startswith("\ufeff"):
        raise ValueError("a byte-order mark before the text")
    try:
        value = json.loads(text, object_pairs_hook=fields, parse_int=whole)
        canonical(value).encode()  # refuses NaN, infinity and half of a surrogate pair
        if depth(value) > levels:
            raise ValueError(f"nested more than {levels} levels")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def misfit(value: object, form: Form, place: str = "") -> str:
    """The first way in which a JSON value does not match a form; empty if it matches.

    A form is a type (a `float` may be written as a whole number, an `object` is anything), a pattern that a text
    matches, a range, None, a tuple of forms of which one fits, a list with the form of its items, or a dictionary with
    the form of each field. A field whose name ends with `?` may be missing; `*` stands for all fields not named, which
    are refused without it.
    """
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{place or 'the line'}: not an object"
        above, names = f"{place}." if place else "", {name.rstrip("?"): name for name in form}
        missing = [name for name in form if name[-1] not in "?*" and name not in value]
        strange = [] if "*" in form else sorted(value.keys() - names.keys())
        if missing or strange:
            return f"{above}{missing[0]}: missing" if missing else f"{above}{short(strange[0])}: not a field"
        inside = ((value[key], form[names.get(key, "*")], f"{above}{short(key)}") for key in value)
        return next(filter(None, (misfit(*item) for item in inside)), "")
    if isinstance(form, list) and isinstance(value, list):
        return next(filter(None, (misfit(item, form[0], f"{place}[{k}]") for k, item in enumerate(value))), "")
    if isinstance(form, tuple):
        found = (misfit(value, one, place) for one in form)
        first = next(found)
        return first if first and all(found) else ""
    return "" if _is_of(value, form) else f"{place or 'the line'}: {short(json.dumps(value))} does not belong here"


def _is_of(value: object, form: Form) -> bool:
    if isinstance(form, re.Pattern):
        return isinstance(value, str) and form.fullmatch(value) is not None
    if isinstance(form, range):
        return type(value) is int and value in form
    if form is float:
        return type(value) in {int, float}
    return form is object or (value is None if form is None else type(value) is form)


def rows(path: Path, form: Form, faults: list[str]) -> Iterator[tuple[int, Row]]:
    """Numbered values of a file of canonical JSON lines that match a form; other lines are reported as faults."""
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
            if wrong := misfit(value, form):
                faults.append(f"line {number}: {wrong}")
            else:
                yield number, value


def by_id(path: Path, form: Form, faults: list[str]) -> Iterator[tuple[str, Row]]:
    """The rows of a file sorted by unique `id`, with their ids."""
    last = ""
    for number, row in rows(path, form, faults):
        if row["id"] > last:
            last = row["id"]
            yield last, row
        else:
            what = "appears twice" if row["id"] == last else "is not in its place (sorted by id)"
            faults.append(f"line {number}: {quoted(row['id'])} {what}")


def short(text: str) -> str:
    """Shorten a text of any length for messages."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def quoted(text: str) -> str:
    """Quote a name, so that its ends can be seen."""
    return repr(short(text))


def few(keys: Iterable[str], what: str) -> list[str]:
    """A fault for each name; only the first of many."""
    return first_of([f"{quoted(key)} {what}" for key in sorted(keys)])


def first_of(faults: Sequence[str]) -> list[str]:
    """The first faults, and the number of further ones."""
    more = len(faults) - MOST_FAULTS
    return [*faults[:MOST_FAULTS], *([f"{more:,} more like these"] if more > 0 else [])]


def read_table(path: Path) -> polars.DataFrame:
    """A Parquet table.

    Raises:
        ValueError: if it cannot be read.
    """
    try:
        return polars.read_parquet(path)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise ValueError(f"{path.name} cannot be read ({type(error).__name__})") from None
