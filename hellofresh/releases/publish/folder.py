"""Make a publication from the opened releases and write it to a folder atomically.

The same releases give the same bytes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from hellofresh import __version__
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, ReleaseError, UsageError
from hellofresh.core.files import (
    canonical_json,
    read_json,
    read_model,
    sha256_file,
    sha256_text,
    write_bytes,
    write_json,
)
from hellofresh.core.folders import ListedFile, foreign_files, put_in_place, written_beside
from hellofresh.core.makers import makers
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import BUNDLED, MANIFEST, PREVIOUS
from hellofresh.releases.life.record import another_published, record_publication, target_name
from hellofresh.releases.publish._card import benchmark, card, croissant
from hellofresh.releases.publish._parts import (
    ABOUT_CORPUS,
    ACCOUNT,
    PublishedAccount,
    PublishedPart,
    SearchedCorpus,
    opened_parts,
    searched_corpora,
    write_table,
)
from hellofresh.tasks.samples import PROSPECTIVE

FORMAT = 1
IS_MANIFEST = re.compile(rf"releases/[^/]+/[^/]+(/{PROSPECTIVE})?/{re.escape(MANIFEST)}")
"""Path of a released manifest in a publication."""


def key_of(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus]) -> str:
    """A hash of all inputs of a publication: its content, its state, and the version that writes it.

    It is part of the publication, so anybody can compute it; changed code is for `publish_to_folder` to see.
    """
    ratings = [[path.name, sha256_file(path)] for part in parts for path in part.ratings]
    inputs = {
        "format": FORMAT,
        "corpora": [[one.name, one.sha256, one.is_published] for one in corpora],
        "parts": [[part.place.as_posix(), part.phase.value, part.manifest_sha256] for part in parts],
        **({"ratings": ratings} if ratings else {}),
    }
    return sha256_text(canonical_json({"code": __version__, "inputs": inputs}))


def build(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], folder: Path) -> Mapping[str, ListedFile]:
    """Write a publication into a new folder; returns its files by path, with size and SHA-256.

    Raises:
        ReleaseError: if a file does not match its manifest.
    """
    rows = {}
    for one in corpora:
        if one.corpus is not None:
            about = one.corpus.folder / MANIFEST
            copy_file(about, sha256_file(about), folder / one.table.with_name(ABOUT_CORPUS))
        if one.corpus is not None and one.is_published:
            copy_file(one.corpus.path, one.corpus.manifest.files[one.corpus.path.name], folder / one.table)
    for part in parts:
        for name, sha256 in part.files():
            copy_file(part.folder / name, sha256, folder / part.place / name)
        for path in part.ratings:
            copy_file(path, sha256_file(path), folder / part.place.parent / path.parent.name / path.name)
        rows[part.place] = write_table(folder / part.table, part.columns, part.rows())
    passed_on = [one for one in corpora if one.is_published]
    tables = [*(part.table for part in parts), *(one.table for one in passed_on)]
    write_json(
        folder / "croissant.json",
        croissant(parts, passed_on, [ListedFile.of(folder, folder / table) for table in tables]),
    )
    write_bytes(folder / "README.md", card(parts, corpora, rows).encode())
    write_bytes(folder / "eval.yaml", benchmark(parts).encode())
    entries = [ListedFile.of(folder, path) for path in sorted(folder.rglob("*")) if path.is_file()]
    write_json(folder / ACCOUNT, asdict(PublishedAccount(FORMAT, key_of(parts, corpora), tuple(entries), __version__)))
    return {entry.path: entry for entry in entries}


def copy_file(source: Path, sha256: str, copy: Path) -> None:
    """Copy a released file after checking its hash.

    Raises:
        ReleaseError: if it is missing or its hash differs (`bad-hash`).
    """
    copy.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file() and not source.is_symlink():
        shutil.copyfile(source, copy)
        copy.chmod(0o644)
    if not copy.is_file() or sha256_file(copy) != sha256:
        raise ReleaseError(
            "the file is not the one in the manifest",
            where=str(source),
            expected=f"SHA-256 {sha256}",
            fix="Build the release again, or restore the file.",
            code="bad-hash",
        )


@dataclass(frozen=True, slots=True)
class Publication:
    """The result of publishing: the target (a folder or a repository's commit), and whether it was current already."""

    target: str
    quarters: tuple[Edition, ...]
    files: int
    size: int
    bundled: bool
    skipped: bool
    revision: str = ""


def publish_to_folder(
    workspace: Workspace, target: Path, moment: datetime, quarters: Sequence[Edition] = ()
) -> Publication:
    """Write the opened quarters' public data to a folder, unless it is current already.

    After any failure the folder holds either the whole old publication or the whole new one.

    Raises:
        UsageError: if the target holds other files.
        ReleaseError: if no quarter has opened, a release is damaged, a published one is missing, or another version is
            published there.
        WorkspaceError: if the folder cannot be written.
    """
    target = target.absolute()
    parts = opened_parts(workspace, moment, quarters)
    corpora = searched_corpora(workspace, parts)
    with written_beside(target) as new:
        known = _published(target)
        refuse_to_lose(known, lambda name, path: known[name].sha256 == sha256_file(path), parts, str(target))
        key = key_of(parts, corpora)
        stage = Stage.of(workspace, f"publish/{sha256_text(str(target))[:16]}", key, makers(__name__))
        is_same = known and stage.is_current() and read_json(target / ACCOUNT).get("made_from") == key
        same = bool(is_same) and all(entry.is_in(target) for entry in known.values())
        files = known if same else build(parts, corpora, new)
        # Recorded first: a process killed in between may have published.
        record_publication(workspace, target_name(workspace, target), [part.folder for part in parts], moment)
        if not same:
            put_in_place(new, target)
            stage.record([])
    return outcome(str(target), parts, files, skipped=same)


def outcome(
    target: str,
    parts: Sequence[PublishedPart],
    files: Mapping[str, ListedFile],
    *,
    skipped: bool,
    revision: str = "",
) -> Publication:
    """The result of publishing these parts, with the repository's commit."""
    size = sum(entry.size for entry in files.values())
    quarters = tuple(sorted({part.edition for part in parts}))
    return Publication(target, quarters, len(files), size, any(part.bundled for part in parts), skipped, revision)


def _published(target: Path) -> Mapping[str, ListedFile]:
    """The files of the existing publication, by path; empty if the folder is missing or empty."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return {}
    try:
        known = {entry.path: entry for entry in read_model(target / ACCOUNT, PublishedAccount).files}
    except (DataError, NotADirectoryError):
        known = {}
    foreign = foreign_files(target, {*known, ACCOUNT})
    if foreign or not known:
        raise UsageError(
            f"it holds {foreign[0] if foreign else 'something'} that does not belong to a publication",
            where=str(target),
            expected="a new or empty folder, or one that 'release publish' wrote",
            fix="The folder is replaced as a whole, so use one that holds nothing else.",
            code="foreign-folder",
        )
    return known


def refuse_to_lose(
    stored: Collection[str], is_stored: Callable[[str, Path], bool], parts: Sequence[PublishedPart], where: str
) -> None:
    """Refuse a publication that lacks a release of the existing one, or does not continue its manifest.

    Args:
        stored: the files of the existing publication, by path.
        is_stored: whether the file of a path has the content of a file on this machine.
        parts: the new publication.
        where: the target.

    Raises:
        ReleaseError: naming the missing releases (`lost-quarter`), or the files that differ (`other-publication`).
    """
    mine = {part.place.as_posix(): part for part in parts}
    there = sorted(name.removesuffix(f"/{MANIFEST}") for name in stored if IS_MANIFEST.fullmatch(name))
    if lost := [place.removeprefix("releases/") for place in there if place not in mine]:
        raise ReleaseError(
            f"{', '.join(lost)} is published there and would be lost",
            where=where,
            expected="a publication of all its quarters",
            fix="Publish from the workspace that has them, without --edition; or name another target. "
            f"If this workspace came from a backup: hellofresh quarter restore --from {where}",
            code="lost-quarter",
        )
    for place in there:
        part = mine[place]
        was_bundled = replace(part, manifest=part.manifest.amended(source=BUNDLED)).table.as_posix() in stored
        versions = [part.folder / name for name, _ in part.files() if name.parts[0] in (MANIFEST, PREVIOUS)]
        if was_bundled or any(is_stored(f"{place}/{MANIFEST}", path) for path in versions):
            continue
        names = sorted(name.removeprefix(f"{place}/") for name in stored if name.startswith(f"{place}/"))
        named = [name for name in names if name.count("/") == 0 and name != MANIFEST]
        other = [name for name in named if not (part.folder / name).is_file()
                 or not is_stored(f"{place}/{name}", part.folder / name)]  # fmt: skip
        if part.manifest.dataset is None or other:
            raise another_published(
                place.removeprefix("releases/"), where, f"differs there: {', '.join([*other, MANIFEST])}"
            )
