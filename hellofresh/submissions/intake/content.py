"""Reading files that may be anything: bounded in size and depth, text only, JSON without what parsers let pass."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from hellofresh.files import Json, canonical_json
from hellofresh.submissions.intake.faults import MAX_DEPTH, MAX_FAULTS, Fault

__all__ = ["BadJsonError", "problems", "read_plain", "strict_json"]

_KINDS = (
    (b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"), (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"), (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    *((bytes((0x80, version)), "a pickle") for version in range(2, 6)),
)  # fmt: skip
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]')
"""Strings, also unfinished ones, and brackets; nothing is ever read twice, whatever the text."""


def read_plain(path: Path, most: int, faults: list[Fault]) -> bytes | None:
    """The content of a plain file of text, or None and a fault."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        faults.append(Fault("not-a-file", str(path), "a link or folder", "Hand in the file itself."))
        return None
    if not path.exists():
        faults.append(Fault("missing-file", str(path), "no such file", "Hand in predictions.jsonl and system.toml."))
        return None
    size = path.stat().st_size
    if size > most:
        faults.append(Fault("too-large", str(path), f"{size:,} bytes", f"At most {most:,} bytes are taken."))
        return None
    content = path.read_bytes()
    fault = _no_text(content)
    if fault is not None:
        code, what, fix = fault
        faults.append(Fault(code, str(path), what, fix))
        return None
    return content


def _no_text(content: bytes) -> tuple[str, str, str] | None:
    """Code, fault and remedy where the content cannot be a text in UTF-8."""
    for mark, name in _KINDS:
        if content.startswith(mark):
            return "wrong-kind", f"this is {name}", "Hand in the plain text file."
    if content[257:262] == b"ustar":
        return "wrong-kind", "this is a tar archive", "Hand in the plain text file."
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in content:
        return "not-utf8", "UTF-16 or NUL bytes", "Save the file as UTF-8."
    if content.startswith(b"\xef\xbb\xbf"):
        return "byte-order-mark", "a byte-order mark before the text", "Save the file as UTF-8 without it."
    return None


def problems(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Field and fault of each finding; a field that came from outside is named only if it is a plain name."""
    for item in error.errors(include_url=False, include_input=False)[:MAX_FAULTS]:
        field = ".".join(str(part)[:80] for part in item["loc"] if not isinstance(part, str) or part.isidentifier())
        yield field or "the whole", item["msg"].removeprefix("Value error, ")


class BadJsonError(ValueError):
    """A line that is no JSON value as it is taken here; `code` names the fault."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


def strict_json(content: bytes) -> Json:
    """Parse one value, refusing what Python's parser lets pass: NaN, repeated keys, huge numbers, half surrogates.

    Raises:
        BadJsonError: if it is refused.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadJsonError("not-utf8", f"byte {error.start} is not UTF-8") from None
    if _depth(text) > MAX_DEPTH:
        raise BadJsonError("too-deep", f"nested more than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text, parse_constant=_no_constant, object_pairs_hook=_no_repeats, parse_int=_short_int, parse_float=_finite
        )
    except BadJsonError:
        raise
    except ValueError as error:
        raise BadJsonError("bad-json", f"not JSON ({error})") from None
    try:
        canonical_json(value).encode()
    except UnicodeEncodeError:
        raise BadJsonError("lone-surrogate", "half of a surrogate pair") from None
    return value


def _depth(text: str) -> int:
    """How deeply brackets outside strings are nested."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> Json:
    raise BadJsonError("not-finite", f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    repeated = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    if repeated:
        raise BadJsonError("repeated-key", f"the key {repeated[0][:80]!r} is there twice")
    return dict(pairs)


def _short_int(digits: str) -> int:
    if len(digits) > 20:
        raise BadJsonError("huge-number", f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits) if len(digits) <= 400 else float("inf")
    if abs(value) == float("inf"):
        raise BadJsonError("not-finite", "a number beyond the range of floats")
    return value
