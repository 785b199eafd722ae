"""Check a publication against the releases in it: whatever follows from them is made again and must be the same.

Card, Croissant, `eval.yaml` and the account are compared byte for byte. The bytes of a Parquet table depend on the
library's version: its rows, its schema and metadata are compared, and no byte may lie outside of what its footer names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from hellofresh import __version__
from hellofresh.core.errors import HelloFreshError, ReleaseError
from hellofresh.core.files import read_model, sha256_file, write_bytes, write_json
from hellofresh.core.folders import ListedFile
from hellofresh.core.parquet import read_footer
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import CorpusManifest, RetrievalCorpus
from hellofresh.releases.exposure import places
from hellofresh.releases.life.manifest import MANIFEST, calendar_of, read_manifest
from hellofresh.releases.life.phases import Phase
from hellofresh.releases.publish._card import benchmark, card, croissant
from hellofresh.releases.publish._parts import (
    ABOUT_CORPUS,
    ACCOUNT,
    PublishedAccount,
    PublishedPart,
    SearchedCorpus,
    corpora_named,
    write_table,
)
from hellofresh.releases.publish.folder import FORMAT, key_of
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import PROSPECTIVE

OF_THE_HUB = (".gitattributes", ".cache")
"""What a hub or its client adds to a copy; it is let by."""
_Made = tuple[Sequence[PublishedPart], Sequence[SearchedCorpus]]


@dataclass(frozen=True, slots=True)
class PublicationCheck:
    """What was found: `said` if there is no fault, the faults, and what could not be checked."""

    said: str
    faults: Sequence[str] = ()
    unchecked: Sequence[str] = ()


def check_publication(root: Path, moment: datetime) -> PublicationCheck:
    """Make a publication again from its releases, and compare.

    Args:
        root: its folder.
        moment: now; a quarter cannot have been closed before its deadline.
    """
    try:
        account = read_model(root / ACCOUNT, PublishedAccount)
        if account.code != __version__:
            what = f"what hellofresh {account.code} made of these releases: this is {__version__}"
            return PublicationCheck("", (), (what,))
        made = _made(root, account, moment)
        if made is None:
            return PublicationCheck("", ("made_from is not the key of these releases in any state that they have had",))
        faults = [*_foreign(root, *made), *_differences(root, account, *made)]
    except (HelloFreshError, OSError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        return PublicationCheck("", (f"cannot be made again ({type(error).__name__}: {error})",))
    said = "card, Croissant, eval.yaml, account and tables match the releases, and nothing else is there"
    added = ", ".join(name for name in OF_THE_HUB if (root / name).exists())
    said += f" (but {added}, which a hub adds)" if added else ""
    when = any(part.phase is not Phase.REVEALED for part in made[0])
    unchecked = ["on which day it was published"] if when else []
    return PublicationCheck(said, faults, unchecked)


def _made(root: Path, account: PublishedAccount, moment: datetime) -> _Made | None:
    """Parts and corpora in the states that the account's key is of, at a moment until now; None if in none."""
    later = _parts(root, moment)
    deadlines = {calendar_of(part.manifest, part.folder).deadline for part in later if part.edition.is_living}
    for when in sorted({datetime.min.replace(tzinfo=moment.tzinfo), *(day for day in deadlines if day <= moment)}):
        parts = _parts(root, when)
        corpora = [SearchedCorpus(*named, _corpus(root, *named)) for named in corpora_named(parts)]
        if key_of(parts, corpora) == account.made_from:
            return parts, corpora
    return None


def _parts(root: Path, moment: datetime) -> list[PublishedPart]:
    parts = []
    workspace = Workspace(root)
    for edition, name, split in places(workspace):
        folder = workspace.release(edition, name, split)
        manifest, sha256 = read_manifest(folder), sha256_file(folder / MANIFEST)
        if (manifest.task, manifest.edition, str(manifest.split)) != (name, str(edition), split):
            what = f"it says {manifest.task} {manifest.edition}"
            raise ReleaseError(
                what, where=str(folder), expected="the task and edition of its folder", code="bad-folder"
            )
        phase = Phase.REVEALED
        if not manifest.has_labels:
            phase = Phase.CLOSED if moment >= calendar_of(manifest, folder).deadline else Phase.OPEN
        parts.append(PublishedPart(get_task(name), edition, split == PROSPECTIVE, folder, manifest, sha256, phase))
    return sorted(parts, key=lambda part: (part.edition, part.task.name, part.prospective))


def _corpus(root: Path, name: str, sha256: str) -> RetrievalCorpus | None:
    path = root / SearchedCorpus(name, sha256, None).table.with_name(ABOUT_CORPUS)
    if not path.is_file():
        return None
    manifest = read_model(path, CorpusManifest)
    return RetrievalCorpus(path.parent, manifest) if (manifest.name, manifest.sha256) == (name, sha256) else None


def _foreign(root: Path, parts: Iterable[PublishedPart], corpora: Iterable[SearchedCorpus]) -> Iterator[str]:
    """Files and folders that do not belong there, and files that are missing."""
    known = {ACCOUNT, "README.md", "croissant.json", "eval.yaml"}
    for part in parts:
        known |= {str(part.place / name) for name, _ in part.files()} | {str(part.table)}
        known |= {(part.place.parent / path.parent.name / path.name).as_posix() for path in part.ratings}
    known |= {str(path) for one in corpora for path in one.published}
    folders = {above.as_posix() for name in known for above in Path(name).parents}
    there = {
        path.relative_to(root).as_posix(): path.is_dir() and not path.is_symlink()
        for path in root.rglob("*")
        if path.relative_to(root).parts[0] not in OF_THE_HUB
    }
    for name in sorted(known.symmetric_difference(name for name, is_folder in there.items() if not is_folder)):
        yield f"{name!r} {'does not belong here' if name in there else 'is missing'}"
    yield from (
        f"the folder {name!r} does not belong here" for name in sorted(there) if there[name] and name not in folders
    )


def _differences(
    root: Path, account: PublishedAccount, parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus]
) -> Iterator[str]:
    passed_on = [one for one in corpora if one.is_published]
    for one in passed_on:
        named = None if one.corpus is None else one.corpus.manifest.files.get(one.table.name)
        if (root / one.table).is_file() and sha256_file(root / one.table) != named:
            yield f"{one.table} is not what its manifest names"
    with tempfile.TemporaryDirectory() as name:
        # made once more, so that whatever differs is a fault; nothing is parsed that others wrote
        new, rows = Path(name), {}
        for part in parts:
            rows[part.place] = write_table(new / part.table, part.columns, part.rows())
            yield from _table_faults(root / part.table, new / part.table, str(part.table))
        tables = [*(part.table for part in parts), *(one.table for one in passed_on)]
        there = [ListedFile.of(root, root / table) for table in tables if (root / table).is_file()]
        write_json(new / "croissant.json", croissant(parts, passed_on, there))
        write_bytes(new / "README.md", card(parts, corpora, rows).encode())
        write_bytes(new / "eval.yaml", benchmark(parts).encode())
        listed = [
            ListedFile.of(root, path)
            for path in sorted(root.rglob("*"))
            if path.is_file() and path.relative_to(root).parts[0] not in (*OF_THE_HUB, ACCOUNT)
        ]
        write_json(new / ACCOUNT, asdict(PublishedAccount(FORMAT, account.made_from, tuple(listed), account.code)))
        for made in ("README.md", "croissant.json", "eval.yaml", ACCOUNT):
            if (root / made).is_file():
                yield from _text_faults((root / made).read_bytes(), (new / made).read_bytes(), made)


def _text_faults(there: bytes, expected: bytes, name: str) -> Iterator[str]:
    pairs = enumerate(zip((*there.split(b"\n"), b""), (*expected.split(b"\n"), b""), strict=False), start=1)
    if there != expected:
        line, (said, wanted) = next(((n, pair) for n, pair in pairs if pair[0] != pair[1]), (0, (b"", b"")))
        shown = (text[:100].decode(errors="replace") for text in (said, wanted))
        yield f"{name} line {line} says {next(shown)!r}, and the releases give {next(shown)!r}"


def _table_faults(there: Path, expected: Path, name: str) -> Iterator[str]:
    """Differences of a table from the one that the releases give, beside those of the library's version."""
    if not there.is_file() or there.read_bytes() == expected.read_bytes():
        return
    try:
        theirs, ours = pl.read_parquet(there), pl.read_parquet(expected)
        footers = read_footer(there), read_footer(expected)
    except (pl.exceptions.PolarsError, OSError, ValueError, LookupError) as error:
        yield f"{name} cannot be read ({type(error).__name__})"
        return
    if theirs.schema != ours.schema or not theirs.equals(ours):
        yield f"{name} has other rows or columns than the releases give"
    if footers[0].said != footers[1].said:
        yield f"{name} has other metadata than its columns give"
    if not footers[0].is_full:
        yield f"{name} has bytes that belong to no column"
