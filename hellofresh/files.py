"""Reading and writing the project's own files: canonical JSON, whole-file (atomic) writes, hashes.

A file appears under its name only when it is complete: it is written beside its place, flushed to disk and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hellofresh.errors import DataError, WorkspaceError

__all__ = [
    "Json",
    "atomic_path",
    "canonical_json",
    "parse_toml",
    "read_json",
    "read_jsonl",
    "remove_file",
    "sha256_file",
    "sha256_text",
    "write_bytes",
    "write_json",
    "write_jsonl",
]

_MOST_TOML_BYTES = 1_000_000
_MOST_DOTS = 1_000

Json = Any  # what json.loads returns; a recursive alias costs more casts than it finds faults

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Json) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, no escapes beyond JSON's own, no NaN."""
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
    """Give a temporary path beside `path`; on success it becomes `path`, on failure nothing is left.

    Raises:
        WorkspaceError: if the folder cannot be made or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(descriptor)
    except OSError as error:
        raise _unwritable(path, error) from error
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_file(path: Path) -> None:
    """Delete a file, if it is there.

    Raises:
        WorkspaceError: if it cannot be deleted.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        f"cannot write: {error.strerror or error}",
        where=str(path),
        fix="Check the folder's permissions and free space, or set HELLOFRESH_DATA to another folder.",
        code="unwritable",
    )


def write_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a whole file atomically."""
    with atomic_path(path, mode=mode) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: Json, *, mode: int = 0o644) -> None:
    """Write one JSON value, indented for people, keys sorted."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    write_bytes(path, f"{text}\n".encode(), mode=mode)


def write_jsonl(path: Path, rows: Iterable[Json], *, mode: int = 0o644) -> int:
    """Write one canonical JSON value a line; returns the number of lines."""
    count = 0
    with atomic_path(path, mode=mode) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(canonical_json(row) + "\n")
            count += 1
    return count


def read_json(path: Path) -> Json:
    """Read one JSON value of our own making.

    Raises:
        DataError: if the file is missing or is not JSON.
    """
    try:
        return _parse_json(path.read_bytes())
    except FileNotFoundError:
        raise DataError("no such file", where=str(path), code="missing-file") from None
    except ValueError as error:
        raise DataError(f"not JSON ({error})", where=str(path), code="bad-json") from error


def _parse_json(content: bytes) -> Json:
    """Parse JSON that may be anything; raises ValueError where it is none or could not be written again."""
    try:
        value = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if b"\\ud" in content.lower():
        canonical_json(value).encode()  # half a surrogate pair is no text
    return value


def parse_toml(content: bytes) -> dict[str, Json]:
    """Parse TOML that may be anything.

    Raises:
        ValueError: if it is not UTF-8, no TOML, too large, nested too deeply, or has a number of thousands of digits.
    """
    if len(content) > _MOST_TOML_BYTES:
        raise ValueError(f"{len(content):,} bytes, at most {_MOST_TOML_BYTES:,} are read")
    if any(line.count(b".") > _MOST_DOTS for line in content.splitlines()):
        # The parser's time grows with the square of the parts of a dotted key.
        raise ValueError(f"a line with more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_jsonl(path: Path) -> Iterator[Json]:
    """Read a JSONL file of our own making, a value a line.

    Raises:
        DataError: if the file is missing or a line is not JSON.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise DataError("no such file", where=str(path), code="missing-file") from None
    with file:
        for number, line in enumerate(file, start=1):
            try:
                yield _parse_json(line)
            except ValueError as error:
                raise DataError(f"not JSON ({error})", where=f"{path} line {number}", code="bad-json") from error
