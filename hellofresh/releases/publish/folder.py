"""Writing a publication to a folder: made whole beside it, then put in its place."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, ReleaseError, UsageError, WorkspaceError
from hellofresh.core.files import read_json, read_model, sha256_file, temporary_prefix
from hellofresh.core.workspace import Workspace
from hellofresh.releases.publish._build import build, key_of
from hellofresh.releases.publish._corpora import searched_corpora
from hellofresh.releases.publish._parts import ACCOUNT, PublishedAccount, PublishedFile, PublishedPart, opened_parts

__all__ = ["Publication", "publish_to_folder"]


@dataclass(frozen=True, slots=True)
class Publication:
    """What publishing came to.

    Attributes:
        target: the folder or repository.
        quarters: the quarters in it.
        files: number of files.
        size: bytes of all files.
        bundled: whether any of it is the bundled sample.
        skipped: True where it was there already, the same.
        revision: the repository's commit; empty for a folder.
    """

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
    """Write what the opened quarters have made public to a folder, unless it is there already.

    The folder holds the old publication or the new one, whole, whatever happens in between.

    Args:
        workspace: where the releases are.
        target: a folder that is not there, is empty, or holds an earlier publication and nothing else.
        moment: the time that counts as now.
        quarters: only these; all where none is named.

    Raises:
        UsageError: if the target holds something else.
        ReleaseError: if no quarter has opened, a release is damaged, or a quarter that is published is missing.
        WorkspaceError: if the folder cannot be written.
    """
    target = target.absolute()
    parts = opened_parts(workspace, moment, quarters)
    corpora = searched_corpora(workspace, parts)
    with _unwritable(target):
        _restore(target)
        known = _published(target)
        refuse_to_lose({Path(name).parts[1] for name in known if name.startswith("releases/")}, parts, str(target))
        if known and _is_current(target, known, key_of(parts, corpora)):
            return _outcome(target, parts, known, skipped=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=temporary_prefix(target.name), dir=target.parent) as name:
            new = Path(name) / target.name
            files = build(parts, corpora, new)
            _swap(new, target)
    return _outcome(target, parts, files, skipped=False)


def _outcome(
    target: Path, parts: Sequence[PublishedPart], files: Mapping[str, PublishedFile], *, skipped: bool
) -> Publication:
    size = sum(entry.size for entry in files.values())
    quarters = tuple(sorted({part.edition for part in parts}))
    return Publication(str(target), quarters, len(files), size, any(part.bundled for part in parts), skipped)


@contextmanager
def _unwritable(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            f"cannot be written ({error.strerror or error})",
            where=str(target),
            fix="Check permissions and free space, or name another folder. The earlier content is still there.",
            code="unwritable",
        ) from error


def _published(target: Path) -> Mapping[str, PublishedFile]:
    """The files of the publication that is there, by path; none where the folder is missing or empty."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return {}
    try:
        known = {entry.path: entry for entry in read_model(target / ACCOUNT, PublishedAccount).files}
    except (DataError, NotADirectoryError):
        known = {}
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if not path.is_dir()}
    foreign = sorted(found - known.keys() - {ACCOUNT})
    if foreign or not known:
        raise UsageError(
            f"it holds {foreign[0] if foreign else 'something'} that is no part of a publication",
            where=str(target),
            expected="a new or empty folder, or one that 'release publish' wrote",
            fix="The folder is replaced as a whole, so use one that holds nothing else.",
            code="foreign-folder",
        )
    return known


def _is_current(target: Path, known: Mapping[str, PublishedFile], key: str) -> bool:
    if read_json(target / ACCOUNT).get("made_from") != key:
        return False
    files = ((target / name, entry.sha256) for name, entry in known.items())
    return all(path.is_file() and sha256_file(path) == sha256 for path, sha256 in files)


def refuse_to_lose(published: set[str], parts: Sequence[PublishedPart], where: str) -> None:
    """Refuse a publication that lacks a quarter of the one that is there.

    Raises:
        ReleaseError: naming the quarters.
    """
    lost = sorted(published - {str(part.edition) for part in parts})
    if lost:
        raise ReleaseError(
            f"{', '.join(lost)} is published there and would be lost",
            where=where,
            expected="a publication of all its quarters",
            fix="Publish from the workspace that has them, without --edition; or name another target.",
            code="lost-quarter",
        )


def _before(target: Path) -> Path:
    return target.with_name(f".{target.name}.before")


def _swap(new: Path, target: Path) -> None:
    before = _before(target)
    if target.exists():
        shutil.rmtree(before, ignore_errors=True)
        target.rename(before)
    try:
        new.rename(target)
    except OSError:
        with suppress(OSError):
            before.rename(target)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _restore(target: Path) -> None:
    """Put the old folder back where a process was killed between the two renames."""
    before = _before(target)
    if before.is_dir() and not target.exists():
        before.rename(target)
