"""Reading and writing the project's own files: canonical JSON, whole-file (atomic) writes, hashes.

A file appears under its name only when it is complete: it is written beside its place, flushed to disk and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hellofresh.core.errors import DataError, HelloFreshError, missing_file, unwritable

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError


_MOST_TOML_BYTES = 1_000_000  # tables are written by hand
_MOST_DOTS = 1_000  # the parser's time grows with the square of a key's dots
MAX_DEPTH = 8
"""Default limit of nesting in untrusted JSON."""
# Strings, also unfinished ones, and brackets; possessive, so matching takes linear time.
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]')


_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{6})-([0-9]{1,10})-[A-Za-z0-9_]{8}")
_Kind = TypeVar("_Kind")
_ADAPTERS: dict[type, TypeAdapter[Any]] = {}
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
_CHECKSUM = "checksum"


def canonical_json(value: object) -> str:
    """The canonical text of a JSON value: sorted keys, no spaces, no escapes beyond JSON's own, no NaN."""
    return _CANONICAL.encode(value)


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic_path(path: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it is renamed to `path`, on failure deleted.

    Missing folders are made; for a file that only its owner may read, only the owner may enter them.

    Raises:
        WorkspaceError: if the folder cannot be made or written.
    """
    try:
        _make_folder(path.parent, 0o777 if mode & 0o077 else 0o700)
        descriptor, name = tempfile.mkstemp(prefix=temporary_prefix(path.name), dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(mode)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            with suppress(OSError):
                temporary.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def sync_folder(folder: Path) -> None:
    """Flush a folder's names to disk, to survive a power cut; Windows cannot open folders."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def temporary_prefix(name: str) -> str:
    """Prefix of the name of a temporary file or folder: its target, and the machine and process that made it."""
    return f".{name}.{_machine()}-{os.getpid()}-"


@cache
def _machine() -> str:
    return sha256_text(os.uname().nodename if hasattr(os, "uname") else "")[:6]


def sweep_leftovers(folder: Path, *, deep: bool = True) -> int:
    """Delete temporary files of killed processes of this machine; returns how many there were.

    Args:
        folder: where to look.
        deep: whether to look into folders below it, too.
    """
    if os.name != "posix":  # other systems have no harmless check whether a process lives
        return 0
    gone = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            found = _TEMPORARY.fullmatch(name)
            if found is not None and found[1] == _machine() and not _lives(int(found[2])):
                gone += 1
                path = Path(place, name)
                with suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if not deep:
            break
    return gone


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _make_folder(folder: Path, mode: int) -> None:
    """Make a folder and its missing parents; files that only the owner may read get folders with the same limit."""
    if not folder.is_dir():
        _make_folder(folder.parent, mode)
        folder.mkdir(mode=mode, exist_ok=True)


def remove_file(path: Path) -> None:
    """Delete a file, if it is there.

    Raises:
        WorkspaceError: if it cannot be deleted.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def write_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a whole file atomically."""
    with atomic_path(path, mode=mode) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: object, *, mode: int = 0o644) -> None:
    """Write one JSON value, indented for people, keys sorted."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    write_bytes(path, f"{text}\n".encode(), mode=mode)


def _checksum(content: dict[str, object]) -> str:
    return sha256_text(canonical_json(content))


def write_sealed(path: Path, content: dict[str, object], *, mode: int = 0o644) -> None:
    """Write a JSON object with a hash of its content, by which `read_sealed` sees that a byte has changed."""
    write_json(path, content | {_CHECKSUM: _checksum(content)}, mode=mode)


def read_sealed(path: Path, *, error: type[HelloFreshError] = DataError, fix: str, code: str) -> dict[str, object]:
    """Read what `write_sealed` wrote, without the hash.

    Raises:
        DataError: if the file is missing or not JSON.
        HelloFreshError: of the class `error`, if the content has changed since it was written.
    """
    content = read_json(path)
    if content.pop(_CHECKSUM, None) != _checksum(content):
        expected = f"content whose SHA-256 is its {_CHECKSUM}"
        raise error("has changed since it was written", where=str(path), expected=expected, fix=fix, code=code)
    return content


def write_jsonl(path: Path, rows: Iterable[object], *, mode: int = 0o644) -> int:
    """Write one canonical JSON value per line; returns the number of lines."""
    count = 0
    with atomic_path(path, mode=mode) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(canonical_json(row) + "\n")
            count += 1
    return count


def read_json(path: Path) -> dict[str, object]:
    """Read a file of this project that holds one JSON object.

    Raises:
        DataError: if the file is missing or holds something else.
    """
    try:
        return _json_object(path.read_bytes())
    except FileNotFoundError:
        raise missing_file(path) from None
    except ValueError as error:
        raise DataError(f"not JSON ({error})", where=str(path), code="bad-json") from error


def _json_object(content: bytes) -> dict[str, object]:
    """Parse untrusted JSON; raises ValueError if it is not an object or cannot be written again."""
    try:
        value = json.loads(content, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("no object")
    if b"\\ud" in content.lower():
        canonical_json(value).encode()  # half a surrogate pair is not text
    return value


def parse_toml(content: bytes) -> dict[str, object]:
    """Parse untrusted TOML.

    Raises:
        ValueError: if it is not UTF-8, not TOML, too large, nested too deeply, or has a number of thousands of digits.
    """
    if len(content) > _MOST_TOML_BYTES:
        raise ValueError(f"{len(content):,} bytes, at most {_MOST_TOML_BYTES:,} are read")
    if any(line.count(b".") > _MOST_DOTS for line in content.splitlines()):
        # The parser's time is quadratic in the number of parts of a dotted key.
        raise ValueError(f"a line with more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_model(
    path: Path, kind: type[_Kind], *, error: type[HelloFreshError] = DataError, fix: str = "", code: str = "bad-json"
) -> _Kind:
    """Read a file that holds one JSON object, as a dataclass, typed dictionary or pydantic model.

    Args:
        path: the file.
        kind: the type of its content.
        error, fix, code: class, advice and code of the error if the content is not of that type.

    Raises:
        DataError: if the file is missing or not JSON.
        HelloFreshError: of the class `error`, if the content is not of the type.
    """
    return as_model(kind, read_json(path), where=str(path), error=error, fix=fix, code=code)


def read_models(
    path: Path, kind: type[_Kind], *, error: type[HelloFreshError] = DataError, fix: str = "", code: str = "bad-json"
) -> Iterator[_Kind]:
    """Read a JSONL file, each line as `read_model` reads a file; the error names the line."""
    for number, row in enumerate(read_jsonl(path), start=1):
        yield as_model(kind, row, where=f"{path} line {number}", error=error, fix=fix, code=code)


def as_model(
    kind: type[_Kind],
    value: object,
    *,
    where: str,
    error: type[HelloFreshError] = DataError,
    fix: str = "",
    code: str = "bad-json",
) -> _Kind:
    """A JSON or TOML value as a dataclass, typed dictionary or pydantic model; raises as `read_model`."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as fault:
        raise error(model_fault(fault), where=where, fix=fix, code=code) from None


def model_fault(error: ValidationError) -> str:
    """The first fault of a validation, as `field: message`; a long name from outside is cut."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])[:200]
    what = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] in {"model_type", "dataclass_type"}:  # whose text names a class of ours
        what = "input should be an object"
    return f"{place}: {what[:1].lower()}{what[1:]}" if place else what


def _adapter(kind: type[_Kind]) -> TypeAdapter[_Kind]:
    from pydantic import TypeAdapter  # imported late: most commands read no files

    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def read_ids(path: Path) -> Iterator[str]:
    """The ids of the rows of a JSONL file of this project, in its order.

    Raises:
        DataError: if the file is missing, or a line is not a JSON object with an id.
    """
    for number, row in enumerate(read_jsonl(path), start=1):
        found = row.get("id")
        if not isinstance(found, str):
            raise DataError("no id", where=f"{path} line {number}", code="bad-json")
        yield found


def read_jsonl(path: Path) -> Iterator[dict[str, object]]:
    """Read a JSONL file of this project, one object per line.

    Raises:
        DataError: if the file is missing or a line is not a JSON object.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise missing_file(path) from None
    with file:
        for number, line in enumerate(file, start=1):
            try:
                yield _json_object(line)
            except ValueError as error:
                raise DataError(f"not JSON ({error})", where=f"{path} line {number}", code="bad-json") from error


class BadJsonError(ValueError):
    """A value that strict JSON does not allow; `code` names the fault."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


def strict_json(content: bytes, *, most_depth: int = MAX_DEPTH) -> object:
    """Parse one value, refusing what Python's parser accepts: NaN, repeated keys, huge numbers, half surrogates.

    Raises:
        BadJsonError: if it is refused.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadJsonError("not-utf8", f"byte {error.start} is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise BadJsonError("byte-order-mark", "a byte-order mark before the text")
    if text.count("[") + text.count("{") > most_depth and _depth(text) > most_depth:
        raise BadJsonError("too-deep", f"nested more than {most_depth} levels")
    try:
        value = json.loads(
            text, parse_constant=_no_constant, object_pairs_hook=_no_repeats, parse_int=_short_int, parse_float=_finite
        )
    except BadJsonError:
        raise
    except ValueError as error:
        raise BadJsonError("bad-json", f"not JSON ({error})") from None
    if "\\u" in text:  # only an escape can produce half of a surrogate pair
        try:
            canonical_json(value).encode()
        except UnicodeEncodeError:
            raise BadJsonError("lone-surrogate", "half of a surrogate pair") from None
    return value


def _depth(text: str) -> int:
    """The depth of nested brackets outside strings."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> object:
    raise BadJsonError("not-finite", f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise BadJsonError("repeated-key", f"the key {repeated[:80]!r} appears twice")
    return value


def _short_int(digits: str) -> int:
    if len(digits) > 20:
        raise BadJsonError("huge-number", f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits) if len(digits) <= 400 else float("inf")
    if abs(value) == float("inf"):
        raise BadJsonError("not-finite", "a number beyond the range of floats")
    return value
