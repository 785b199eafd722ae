"""Copies of released files on the board, so that whoever reads the site can take the samples away.

`released/<edition>/<task>/` holds what the release's manifest lists, `released/<edition>/<task>-prospective/` what that
of the prospective samples does. Only what has been public since the opening is copied, with the hashes that manifests
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from hellofresh.core.files import atomic_path, remove_file, sha256_file
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, calendar_of, read_manifest
from hellofresh.releases.publish import copy_file
from hellofresh.results.board.manifest import RELEASED
from hellofresh.results.board.splits import SplitPlace, places
from hellofresh.tasks.samples import MAIN

__all__ = ["opened_places", "put_released", "released_inputs"]


def opened_places(workspace: Workspace, moment: datetime) -> Sequence[SplitPlace]:
    """The splits whose samples are public by then."""
    return [place for place in places(workspace) if _is_open(workspace, place, moment)]


def _is_open(workspace: Workspace, place: SplitPlace, moment: datetime) -> bool:
    folder = place.folder(workspace)
    manifest = read_manifest(folder)
    if not place.edition.is_living or (place.split != MAIN and manifest.calendar is not None):
        return True
    return manifest.calendar is not None and moment >= calendar_of(manifest, folder).opens


def released_inputs(workspace: Workspace, opened: Sequence[SplitPlace]) -> object:
    """What decides the copies."""
    return [[str(place.edition), place.task, place.split, sha256_file(place.folder(workspace) / MANIFEST)]
            for place in opened]  # fmt: skip


def put_released(workspace: Workspace, opened: Sequence[SplitPlace], board: Path, mode: int) -> list[Path]:
    """Write the copies, take away what is there besides, and name what is there.

    Raises:
        ReleaseError: if a file is not the one that its manifest names (`bad-hash`).
    """
    kept: dict[Path, None] = {}
    for place in opened:
        name = place.task if place.split == MAIN else f"{place.task}-{place.split}"
        for entry in read_manifest(place.folder(workspace)).files:
            copy = board / RELEASED / str(place.edition) / name / entry.path
            with atomic_path(copy, mode=mode) as new:
                copy_file(place.folder(workspace) / entry.path, entry.sha256, new)
            kept[copy] = None
    for path in (board / RELEASED).rglob("*"):
        if path.is_file() and path not in kept:
            remove_file(path)
    return list(kept)
