"""A publication's files, all derived from the opened releases: the same releases give the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import sha256_file, write_bytes, write_json
from hellofresh.core.stages import input_key
from hellofresh.releases.publish._card import card
from hellofresh.releases.publish._corpora import SearchedCorpus
from hellofresh.releases.publish._croissant import croissant
from hellofresh.releases.publish._parts import ACCOUNT, PublishedAccount, PublishedFile, PublishedPart
from hellofresh.releases.publish._tables import write_table

__all__ = ["FORMAT", "build", "copy_file", "key_of"]

FORMAT = 2
"""The file that names all others with size and SHA-256."""


def key_of(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus]) -> str:
    """One hash for all that decides a publication: what is in it, where it stands, and the code that writes it."""
    return input_key(
        {
            "format": FORMAT,
            "corpora": [[one.name, one.sha256, one.is_published] for one in corpora],
            "parts": [[part.place.as_posix(), part.phase.value, part.manifest_sha256] for part in parts],
        }
    )


def build(
    parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], folder: Path
) -> Mapping[str, PublishedFile]:
    """Write a publication into a new folder; returns its files by path, with size and SHA-256.

    Raises:
        ReleaseError: if a file is not the one that its manifest names.
    """
    rows = {}
    for one in corpora:
        if one.corpus is not None and one.is_published:
            copy_file(one.corpus.path, one.corpus.manifest.files[one.corpus.path.name], folder / one.table)
    for part in parts:
        for name, sha256 in part.files():
            copy_file(part.folder / name, sha256, folder / part.place / name)
        rows[part.place] = write_table(folder / part.table, part.columns, part.rows())
    passed_on = [one for one in corpora if one.is_published]
    tables = [*(part.table for part in parts), *(one.table for one in passed_on)]
    write_json(
        folder / "croissant.json", croissant(parts, passed_on, [_entry(folder, folder / table) for table in tables])
    )
    write_bytes(folder / "README.md", card(parts, corpora, rows).encode())
    entries = [_entry(folder, path) for path in sorted(folder.rglob("*")) if path.is_file()]
    write_json(folder / ACCOUNT, asdict(PublishedAccount(FORMAT, key_of(parts, corpora), tuple(entries))))
    return {entry.path: entry for entry in entries}


def _entry(folder: Path, path: Path) -> PublishedFile:
    return PublishedFile(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_file(path))


def copy_file(source: Path, sha256: str, copy: Path) -> None:
    """Copy a released file, if it is the one that its manifest names.

    Raises:
        ReleaseError: if it is another or missing (`bad-hash`).
    """
    copy.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file() and not source.is_symlink():
        shutil.copyfile(source, copy)
        copy.chmod(0o644)
    if not copy.is_file() or sha256_file(copy) != sha256:
        raise ReleaseError(
            "the file is not the one that the manifest names",
            where=str(source),
            expected=f"SHA-256 {sha256}",
            fix="Build the release again, or restore the file.",
            code="bad-hash",
        )
