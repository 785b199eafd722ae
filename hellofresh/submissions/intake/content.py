"""Reading files that may be anything: bounded in size, text only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from hellofresh.core.files import BadJsonError, strict_json
from hellofresh.submissions.intake.faults import MAX_FAULTS, Fault

__all__ = ["BadJsonError", "problems", "read_plain", "strict_json"]

_KINDS = (
    (b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "gzip data"), (b"BZh", "bzip2 data"), (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"), (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    *((bytes((0x80, version)), "a pickle") for version in range(2, 6)),
)  # fmt: skip


def read_plain(path: Path, most: int, faults: list[Fault]) -> bytes | None:
    """The content of a plain file of text, or None and a fault."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        faults.append(Fault("not-a-file", str(path), "a link or folder", "Submit the file itself."))
        return None
    if not path.exists():
        faults.append(Fault("missing-file", str(path), "no such file", "Submit predictions.jsonl and system.toml."))
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
            return "wrong-kind", f"this is {name}", "Submit the plain text file."
    if content[257:262] == b"ustar":
        return "wrong-kind", "this is a tar archive", "Submit the plain text file."
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
