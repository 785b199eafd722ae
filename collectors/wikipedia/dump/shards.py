"""The files of a dump: all exports of a folder, and the checksums that were published beside them.

A checksum is looked for in `SHA256SUMS` in the file's folder (lines of `<64 hex digits>  <name>`, as sha256sum writes
them) and in `<name>.sha256` (such a line, or the digits alone).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hellofresh.core.errors import SourceError, UsageError

__all__ = ["published_sha256", "shards"]

_ENDINGS = (".xml", ".xml.gz", ".xml.bz2", ".xml.xz", ".xml.7z", ".gz", ".bz2", ".xz", ".7z")
_LISTS = ("SHA256SUMS", "sha256sums.txt")
_LINE = re.compile(r"([0-9a-fA-F]{64})(?:\s+\*?(\S.*?))?\s*")
_LONGEST_LIST = 1 << 26  # bytes


def shards(dumps: Iterable[Path]) -> list[Path]:
    """The files, with every folder replaced by the exports that lie in it, sorted by name.

    Raises:
        UsageError: if a folder holds no export.
    """
    found: list[Path] = []
    for path in dumps:
        inside = _exports(path) if path.is_dir() else [path]
        if not inside:
            raise UsageError(
                "no export in the folder",
                where=str(path),
                expected=f"files whose names end in {', '.join(_ENDINGS[:5])}",
                code="no-dump",
            )
        found += inside
    return sorted(found, key=lambda path: (path.name, str(path)))


def _exports(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.iterdir()
        if path.is_file() and path.name.endswith(_ENDINGS) and not path.name.startswith(".")
    ]


def published_sha256(path: Path) -> str | None:
    """What the file's SHA-256 should be, in lower case; None where nobody says.

    Raises:
        SourceError: if a file of checksums cannot be read, or says nothing about this one though made for it.
    """
    own = path.with_name(path.name + ".sha256")
    if own.is_file():
        for digest, name in _lines(own):
            if name in ("", path.name):
                return digest
        raise SourceError(
            f"no SHA-256 of {path.name}",
            where=str(own),
            expected="64 hexadecimal digits",
            code="bad-checksums",
        )
    for sums in (path.with_name(name) for name in _LISTS):
        if sums.is_file():
            return next((digest for digest, name in _lines(sums) if Path(name).name == path.name), None)
    return None


def _lines(sums: Path) -> list[tuple[str, str]]:
    try:
        if sums.stat().st_size > _LONGEST_LIST:
            raise SourceError("too long for a list of checksums", where=str(sums), code="bad-checksums")
        text = sums.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot be read ({error})", where=str(sums), expected="a list of checksums", code="bad-checksums"
        ) from None
    matches = [_LINE.fullmatch(line) for line in text.splitlines()]
    return [(match[1].lower(), match[2] or "") for match in matches if match is not None]
