"""The outside of a release: its manifest, the files that it lists, and the manifests before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.files import sha256_file
from hellofresh.releases.build.prospective import OUTCOMES
from hellofresh.releases.life.manifest import PREVIOUS

__all__ = [
    "MANIFEST",
    "Listed",
    "Manifest",
    "Opened",
    "bad_path",
    "file_faults",
    "history",
    "read_manifest",
    "unlisted",
]

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 50_000_000
MAX_VERSIONS = 1000
_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){0,3}")
_SHA256 = r"^[0-9a-f]{64}$"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Listed(_Strict):
    """What a manifest says of a file."""

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=_SHA256)
    rows: int = Field(ge=0)


class _Previous(_Strict):
    path: str
    sha256: str = Field(pattern=_SHA256)


class _Period(_Strict):
    taken_per_class: int = Field(ge=0)


class _Open(_Strict):
    """What may say more, which is kept to be compared."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class _Selection(_Open):
    periods: dict[str, _Period]


class _Draw(_Strict):
    commitment: str
    key: str | None = None


class _TakenDown(_Strict):
    id: str
    reason: str
    date: str


class _Resolved(_Open):
    labels: int


class Manifest(_Open):
    """What checking needs of a manifest; it may say more."""

    version: int = Field(ge=1)
    task: str
    quarter: str
    source: str
    files: list[Listed]
    previous: _Previous | None = None
    revealed: bool = False
    texts: str = "included"
    calendar: dict[str, str] | None = None
    selection: _Selection | None = None
    draw: _Draw | None = None
    samples_at_opening: str | None = None
    takedowns: list[_TakenDown] = []
    resolved: _Resolved | None = None

    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of each file by path."""
        return {entry.path: entry.sha256 for entry in self.files}


@dataclass(frozen=True, slots=True)
class Opened:
    """A manifest and the hash of its bytes."""

    manifest: Manifest
    sha256: str


def read_manifest(path: Path) -> Opened:
    """Read a manifest that may be anything.

    Raises:
        ValueError: with a phrase that says what is wrong.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError("no such file")
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise ValueError(f"larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        return Opened(Manifest.model_validate(json.loads(path.read_bytes())), sha256_file(path))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "a value"
        raise ValueError(f"{field}: {first['msg'].lower()}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from None


def bad_path(path: str) -> str:
    """What is wrong with a path that a manifest names; empty if nothing."""
    if not _PATH.fullmatch(path):
        return f"{path[:100]!r} is no path of plain names below the release's folder"
    if path == MANIFEST or path.startswith(f"{PREVIOUS}/"):
        return f"{path!r} is listed, but is the manifest itself or one of its versions"
    return ""


def file_faults(folder: Path, entry: Listed) -> Iterator[str]:
    """What about a file is not as listed."""
    if wrong := bad_path(entry.path):
        yield wrong
        return
    path = folder / entry.path
    if _leaves(folder, path) or not path.is_file():
        yield f"{entry.path} is listed, but there is no such plain file"
        return
    if (size := path.stat().st_size) != entry.size:
        yield f"{entry.path} has {size:,} bytes, not {entry.size:,}"
    elif sha256_file(path) != entry.sha256:
        yield f"{entry.path} has other bytes than the manifest says"
    if entry.path.endswith(".jsonl") and (rows := _lines(path)) != entry.rows:
        yield f"{entry.path} has {rows:,} rows, not {entry.rows:,}"


def _leaves(folder: Path, path: Path) -> bool:
    """Whether a link is on the way."""
    while path != folder:
        if path.is_symlink():
            return True
        path = path.parent
    return False


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def unlisted(folder: Path, manifest: Manifest, kept: int) -> Iterator[str]:
    """Files that nothing lists; a folder with a manifest of its own is a release of its own.

    Args:
        folder: the release's folder.
        manifest: its manifest.
        kept: number of earlier manifests that were found.
    """
    last = manifest.version
    known = {MANIFEST, *manifest.hashes(), *(f"{PREVIOUS}/{last - 1 - k}.json" for k in range(kept))}
    own = [path.parent for path in folder.rglob(MANIFEST) if path.parent != folder]
    for path in sorted(folder.rglob("*")):
        inside = any(path == other or other in path.parents for other in own)
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or (not inside and not path.is_dir() and name not in known):
            yield f"{name[:200]!r} is not listed{' and is a link' if path.is_symlink() else ''}"


def history(folder: Path, now: Opened) -> tuple[list[Opened], list[str]]:
    """The manifests before this one, newest first, as far as they can be followed, and what is wrong with them."""
    chain: list[Opened] = []
    newer = now.manifest
    while newer.version > 1 and len(chain) < MAX_VERSIONS:
        path = f"{PREVIOUS}/{newer.version - 1}.json"
        if newer.previous is None or newer.previous.path != path:
            return chain, [f"version {newer.version} does not name {path} as the one before it"]
        try:
            older = read_manifest(folder / path)
        except ValueError as error:
            return chain, [f"{path}: {error}"]
        if older.sha256 != newer.previous.sha256:
            return chain, [f"{path} is not the manifest that version {newer.version} names"]
        chain.append(older)
        if wrong := list(_changes(older.manifest, newer)):
            return chain, [f"from version {older.manifest.version} to {newer.version}: {what}" for what in wrong]
        newer = older.manifest
    if newer.version == 1 and newer.previous is not None:
        return chain, ["version 1 names one before it"]
    return chain, [] if newer.version == 1 else [f"more than {MAX_VERSIONS} versions"]


_FIXED = ("task", "quarter", "source", "texts", "calendar", "selection")


def _changes(older: Manifest, newer: Manifest) -> Iterator[str]:
    """What must not change from one version to the next, and has."""
    if older.version != newer.version - 1:
        yield f"the one before says that it is version {older.version}"
    yield from (f"{name} has changed" for name in _FIXED if getattr(older, name) != getattr(newer, name))
    more = newer.model_extra or {}
    yield from (
        f"{name[:80]} has changed" for name, said in (older.model_extra or {}).items() if more.get(name) != said
    )
    if (older.draw and older.draw.commitment) != (newer.draw and newer.draw.commitment):
        yield "the commitment to the draw has changed"
    if older.revealed and not newer.revealed:
        yield "what was revealed is not any more"
    if older.resolved is not None and newer.resolved != older.resolved:
        yield "resolved has changed"
    before, after = older.hashes(), newer.hashes()
    if any(item not in newer.takedowns for item in older.takedowns):
        yield "a takedown has been taken back"
    fixed = {"commitments.jsonl", "labels.jsonl", OUTCOMES} | (
        {"samples.jsonl"} if older.takedowns == newer.takedowns else set()
    )
    for name in sorted(before.keys() & fixed):
        if after.get(name) != before[name]:
            yield f"{name} has changed"
    for name in sorted(before.keys() - after.keys()):
        yield f"{name} is not listed any more"
    if newer.takedowns and not older.takedowns and newer.samples_at_opening != before.get("samples.jsonl"):
        yield "samples_at_opening is not the hash of the samples before the first takedown"
