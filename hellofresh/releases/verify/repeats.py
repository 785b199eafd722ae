"""Samples that two releases have: nothing is asked about twice."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from hellofresh.releases.draw.prospective import PROSPECTIVE
from hellofresh.releases.life.tombstones import TOMBSTONES
from hellofresh.releases.verify.content import MAX_LINE_BYTES
from hellofresh.releases.verify.files import EDITION, MANIFEST, read_manifest

__all__ = ["neighbours", "releases_in", "repeat_faults"]

_MOST_FAULTS = 20
_EDITION = re.compile(EDITION)


def neighbours(folder: Path) -> set[Path]:
    """The releases beside one that lies in a folder of its quarter."""
    above = (place.parent for place in folder.resolve().parents[:2] if _EDITION.fullmatch(place.name))
    return {found for root in above for found in releases_in(root)}


def releases_in(root: Path) -> set[Path]:
    """The releases in a folder of quarters."""
    patterns = (f"*/*/{MANIFEST}", f"*/*/{PROSPECTIVE}/{MANIFEST}")
    return {path.parent for pattern in patterns for path in root.resolve().glob(pattern)}


def repeat_faults(folders: Iterable[Path]) -> Mapping[Path, Sequence[str]]:
    """By folder, the samples that a release of another quarter, task or split has, too, now or before a takedown.

    Files are read side by side in the order of ids, so that no more than a line of each is in memory.
    """
    names: dict[Path, str] = {}
    for folder in folders:
        try:
            manifest = read_manifest(folder / MANIFEST).manifest
            if not manifest.is_frozen:  # versions of a data set have most of their samples in common
                names[folder] = manifest.name
        except ValueError:  # named where that release is checked
            continue
    found: dict[Path, list[str]] = {}
    streams = (_ids(folder, name) for folder in names for name in ("samples.jsonl", TOMBSTONES))
    for key, group in groupby(heapq.merge(*streams), key=lambda item: item[0]):
        places = {folder for _, folder in group}
        for folder in places if len(places) > 1 else ():
            others = sorted({names[other] for other in places} - {names[folder]})
            if others:
                found.setdefault(folder, []).append(f"{key[:80]!r} is a sample of {others[0]}, too")
    return {folder: _few(faults) for folder, faults in found.items()}


def _few(faults: Sequence[str]) -> Sequence[str]:
    more = len(faults) - _MOST_FAULTS
    return [*faults[:_MOST_FAULTS], f"{more:,} more like these"] if more > 0 else faults


def _ids(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Ids as far as they can be read; whatever is wrong with a file is named where its release is checked."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as file:
        for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
            try:
                key = json.loads(line)["id"]
            except (ValueError, TypeError, KeyError, RecursionError):
                return
            if isinstance(key, str):
                yield key, folder
