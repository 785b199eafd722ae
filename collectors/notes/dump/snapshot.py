"""The manifest of a downloaded dump: which files it has, and their hashes, which need not be taken again.

A hash counts as known as long as the file is the very one that was hashed: same name, size and time of last change of
its inode. Writing to a file, replacing it, or unpacking it from an archive sets that time, and no program can choose
it, so that a manifest that came with a dump from elsewhere is not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Strict

from collectors.notes.dump.shards import UNFINISHED
from collectors.notes.dump.tables import RATINGS
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_model, sha256_file, write_json
from hellofresh.releases.candidates.rows import SourceFile

__all__ = ["MANIFEST", "SnapshotManifest", "known_hashes", "newest_snapshot", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """What a snapshot holds.

    Attributes:
        base_url: where it was downloaded from.
        ratings: whether the ratings are among the files.
        files: every file with size and SHA-256; names are paths in the folder.
        changed_ns: when the inode of each file last changed (ns since 1970).
    """

    base_url: str
    ratings: bool
    files: Sequence[SourceFile]
    changed_ns: Sequence[int]


@dataclass(frozen=True, slots=True)
class _StoredManifest:
    """The same as a file: the times are by file name; files of earlier versions have none."""

    date: str
    base_url: str
    ratings: bool
    files: list[SourceFile]
    changed_ns: Mapping[str, Annotated[int, Strict()]] = field(default_factory=dict)


def write_manifest(place: Path, day: date, base_url: str, progress: Callable[[str], None]) -> SnapshotManifest:
    """Hash every finished file in the folder's subfolders and write the manifest: a snapshot with one is whole."""
    files: list[SourceFile] = []
    changed: dict[str, int] = {}
    tables = (path for path in place.glob("*/*") if path.suffix in {".zip", ".tsv"})
    for path in sorted(path for path in tables if not (path.parent / UNFINISHED).exists()):
        progress(f"hashing {path.name}")
        status = path.stat()  # before hashing: a change meanwhile then shows
        files.append(SourceFile(path.relative_to(place).as_posix(), status.st_size, sha256_file(path)))
        changed[files[-1].name] = status.st_ctime_ns
    ratings = any(item.name.startswith(f"{RATINGS.subfolder}/") for item in files)
    manifest = SnapshotManifest(base_url, ratings, files, list(changed.values()))
    write_json(place / MANIFEST, asdict(_StoredManifest(day.isoformat(), base_url, ratings, files, changed)))
    return manifest


def read_manifest(place: Path) -> SnapshotManifest | None:
    """The folder's manifest, or None if there is none, or it is none of ours."""
    try:
        stored = read_model(place / MANIFEST, _StoredManifest)
    except (DataError, OSError):
        return None
    changed = [stored.changed_ns.get(item.name, 0) for item in stored.files]
    return SnapshotManifest(stored.base_url, stored.ratings, stored.files, changed)


def newest_snapshot(folder: Path, base_url: str) -> Path | None:
    """The newest whole snapshot that was downloaded from there, among folders named by their days."""
    days = sorted(path for path in folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]") if path.is_dir())
    for place in reversed(days):
        manifest = read_manifest(place)
        if manifest is not None and manifest.base_url.rstrip("/") == base_url.rstrip("/"):
            return place
    return None


def known_hashes(place: Path) -> Mapping[Path, SourceFile]:
    """The hashes of the files that are unchanged since the manifest was written, by path, with the files' own names."""
    manifest = read_manifest(place)
    known: dict[Path, SourceFile] = {}
    for item, changed_ns in zip(manifest.files, manifest.changed_ns, strict=True) if manifest else ():
        path = place / item.name
        try:
            status = path.stat()
        except (OSError, ValueError):
            continue
        if (status.st_size, status.st_ctime_ns) == (item.size, changed_ns):
            known[path] = SourceFile(path.name, item.size, item.sha256)
    return known
