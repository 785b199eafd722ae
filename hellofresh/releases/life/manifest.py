"""A release's manifest, and how it changes after the opening: never in place, each version names the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hellofresh.calendar import Calendar
from hellofresh.errors import ReleaseError
from hellofresh.files import Json, read_json, sha256_file, write_bytes, write_json

__all__ = ["DRAW_KEY", "PREVIOUS", "REVEALED", "amend_manifest", "calendar_of", "file_entry"]

PREVIOUS = "manifests"
"""Folder, beside the manifest, of its earlier versions: `1.json`, `2.json` ..."""
REVEALED = ("labels.jsonl", "predictions.jsonl", "scores.jsonl")
"""Files that a release's folder has only once its quarter is revealed."""
DRAW_KEY = "draw.key"
"""File, in the release's private folder, of the key by which its samples were drawn."""


def file_entry(folder: Path, path: Path, rows: int) -> dict[str, Json]:
    """What a manifest says of one file: its place below the release's folder, size in bytes, SHA-256 and rows."""
    name = path.relative_to(folder).as_posix()
    return {"path": name, "size": path.stat().st_size, "sha256": sha256_file(path), "rows": rows}


def calendar_of(manifest: Mapping[str, Json], where: Path) -> Calendar:
    """The calendar that was fixed when the release was built.

    Raises:
        ReleaseError: if the manifest has none.
    """
    try:
        return Calendar.from_json(manifest["calendar"])
    except (KeyError, ValueError) as error:
        raise ReleaseError(
            "the manifest has no calendar",
            where=str(where),
            expected="the times at which the quarter opens, closes and is revealed",
            fix="Build the release again.",
            code="damaged-release",
        ) from error


def amend_manifest(folder: Path, changes: Mapping[str, Json], files: Sequence[Mapping[str, Json]]) -> list[Path]:
    """Write the next version of a manifest; the present one is kept under `manifests/` and named by its hash.

    Args:
        folder: the release's folder.
        changes: top-level values that are new or other.
        files: entries of files that are new or other, from `file_entry`; all others stay.

    Returns:
        The files written.
    """
    path = folder / "manifest.json"
    manifest = read_json(path)
    version = int(manifest["version"])
    kept = folder / PREVIOUS / f"{version}.json"
    write_bytes(kept, path.read_bytes())
    entries = {entry["path"]: entry for entry in manifest["files"]} | {entry["path"]: entry for entry in files}
    previous = {"path": f"{PREVIOUS}/{version}.json", "sha256": sha256_file(kept)}
    new = {**manifest, **changes, "version": version + 1, "previous": previous, "files": list(entries.values())}
    write_json(path, new)
    return [path, kept]
