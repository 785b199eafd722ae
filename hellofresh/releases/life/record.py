"""What was opened and published: the workspace's record, and what folders that hold publications say.

A publication holds the manifests of its releases, all versions; `private/publications.json` keeps, for each target, the
hashes of those that were published there, which releases were opened, and which wait for their opening. Whether a
release may still change follows from these acts, not from the date. A release is named by its folder below
`releases`: `2024Q1/x-notes` or `2024Q1/x-notes/prospective`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import read_model, sha256_file, write_json
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest, read_version
from hellofresh.tasks.samples import Split

WITNESS = "witness"
"""The target of manifests whose hashes others noted."""
_WITNESS = re.compile(r"(?P<name>\w[\w@.-]*/[\w-]+(/prospective)?)=(?P<sha256>[0-9a-f]{64})", re.ASCII)
Chain = tuple[str, ...]
"""SHA-256 of the versions of a manifest, the newest first."""


@dataclass(frozen=True, slots=True)
class PublicationRecord:
    """Content of `private/publications.json`.

    Attributes:
        targets: by target, the chain of each release that was published there.
        opened: when each release was opened: its samples were published, or a submission was accepted (UTC).
        waiting: releases that wait for their opening, whatever the date.
    """

    format: int = 1
    targets: Mapping[str, Mapping[str, Chain]] = field(default_factory=dict)
    opened: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()


def _path(workspace: Workspace) -> Path:
    return workspace.root / "private" / "publications.json"


def read_record(workspace: Workspace) -> PublicationRecord:
    """The workspace's record; empty before the first entry. Raises DataError if it is damaged."""
    path = _path(workspace)
    return read_model(path, PublicationRecord) if path.is_file() else PublicationRecord()


def _write(workspace: Workspace, record: PublicationRecord) -> None:
    if record != read_record(workspace):
        write_json(_path(workspace), asdict(record), mode=0o600)


def name_of(workspace: Workspace, folder: Path) -> str:
    """The name of a release in the record."""
    return folder.relative_to(workspace.root / "releases").as_posix()


def chain_of(folder: Path) -> Chain:
    """The chain of the manifests in a release's folder."""
    hashes, previous = [sha256_file(folder / MANIFEST)], read_manifest(folder).previous
    while previous is not None:
        hashes.append(previous.sha256)
        previous = read_version(folder / previous.path).previous
    return tuple(hashes)


def record_opening(workspace: Workspace, folder: Path, moment: datetime) -> None:
    """Record that a release from real sources is open from now on; it never changes again but by new versions."""
    record, name = read_record(workspace), name_of(workspace, folder)
    if not read_manifest(folder).bundled:
        opened = {name: utc_text(moment), **record.opened}
        waiting = tuple(other for other in record.waiting if other != name)
        _write(workspace, replace(record, opened=opened, waiting=waiting))


def record_waiting(workspace: Workspace, folder: Path) -> None:
    """Record that a release that was never opened waits for `hellofresh quarter open`, also after its day."""
    manifest, record = read_manifest(folder), read_record(workspace)
    if not (manifest.bundled or was_opened(workspace, folder, manifest)):
        _write(workspace, replace(record, waiting=tuple(sorted({*record.waiting, name_of(workspace, folder)}))))


def record_publication(workspace: Workspace, target: str, folders: list[Path], moment: datetime) -> None:
    """Record what was published to a target: a folder, or `hub:OWNER/NAME`."""
    real = [folder for folder in folders if not read_manifest(folder).bundled]
    for folder in real:
        record_opening(workspace, folder, moment)
    record = read_record(workspace)
    chains = {name_of(workspace, folder): chain_of(folder) for folder in real}
    _write(workspace, replace(record, targets={**record.targets, target: chains}))


def record_witness(workspace: Workspace, named: str) -> str:
    """Record a manifest's hash that others noted, `RELEASE=SHA256`; gives the release's name.

    Raises:
        UsageError: if it is not of this form.
        ReleaseError: if the workspace lacks this version.
    """
    if (found := _WITNESS.fullmatch(named)) is None:
        expected = "RELEASE=SHA256, such as 2024Q1/x-notes=... with 64 hexadecimal digits"
        raise UsageError(f"not a witness: {named[:120]!r}", expected=expected, code="bad-witness")
    name, sha256 = found["name"], found["sha256"]
    record = read_record(workspace)
    known = {**record.targets.get(WITNESS, {}), name: (sha256,)}
    _write(workspace, replace(record, targets={**record.targets, WITNESS: known}))
    refuse_another(workspace, workspace.root / "releases" / name)
    return name


def target_name(workspace: Workspace, folder: Path) -> str:
    """How a folder is named in the record: below `data/`, so that workspaces can be moved, or as it is."""
    place, root = folder.absolute(), workspace.root.absolute()
    return f"data/{place.relative_to(root).as_posix()}" if place.is_relative_to(root) else str(place)


def publications_at_hand(workspace: Workspace, record: PublicationRecord | None = None) -> Iterator[tuple[str, Path]]:
    """The targets that are folders on this machine, with their folders of releases; the record is read unless given."""
    published, record = target_name(workspace, workspace.published), record or read_record(workspace)
    for name in dict.fromkeys((published, *record.targets)):
        folder = Path(workspace.located(f" {name}").strip()) / "releases"
        if not name.startswith("hub:") and name != WITNESS and folder.is_dir():
            yield name, folder


def real_releases(workspace: Workspace) -> Iterator[str]:
    """The names of drawn releases from real sources, in the workspace and in publications on this machine."""
    for folder in (workspace.root / "releases", *(there for _, there in publications_at_hand(workspace))):
        for path in sorted(folder.glob("*/*/commitments.jsonl")):
            if _holds(path.parent):
                yield path.parent.relative_to(folder).as_posix()


def was_opened(workspace: Workspace, folder: Path, manifest: Manifest, record: PublicationRecord | None = None) -> bool:
    """Whether a release was opened: by the record, its own manifest, or a publication on this machine."""
    name, record = name_of(workspace, folder), record or read_record(workspace)
    if manifest.bundled or manifest.split is not Split.MAIN or manifest.dataset is not None:
        return not manifest.bundled
    known = manifest.revealed or name in record.opened or any(name in chains for chains in record.targets.values())
    return known or any(_holds(there / name) for _, there in publications_at_hand(workspace, record))


def _holds(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and not read_manifest(folder).bundled


def has_opened(workspace: Workspace, folder: Path, manifest: Manifest, moment: datetime) -> bool:
    """Whether samples are public at a moment: they were opened, or their day has come and they are not held back."""
    record = read_record(workspace)
    if manifest.dataset is not None or was_opened(workspace, folder, manifest, record):
        return True
    due = manifest.calendar is not None and moment >= calendar_of(manifest, folder).opens
    return due and name_of(workspace, folder) not in record.waiting


def is_waiting(workspace: Workspace, folder: Path) -> bool:
    """Whether a release waits for its opening."""
    return name_of(workspace, folder) in read_record(workspace).waiting


def refuse_another(workspace: Workspace, folder: Path) -> None:
    """Refuse to go on with a release that is not the published one, or an earlier version of it.

    Raises:
        ReleaseError: if a publication on this machine or the record has versions that the workspace lacks.
    """
    name = name_of(workspace, folder)
    mine = chain_of(folder) if (folder / MANIFEST).is_file() else ()
    if mine and read_manifest(folder).bundled:
        return
    at_hand = [(target, chain_of(there / name)) for target, there in publications_at_hand(workspace)
               if _holds(there / name)]  # fmt: skip
    recorded = [(target, chains[name]) for target, chains in read_record(workspace).targets.items() if name in chains]
    for target, chain in (*at_hand, *recorded):
        if chain[0] not in mine:
            raise another_published(name, target)


def refuse_others(workspace: Workspace) -> None:
    """Refuse to go on with a workspace that lacks a published release or has another one; raises ReleaseError."""
    names = {name for chains in read_record(workspace).targets.values() for name in chains}
    for _, there in publications_at_hand(workspace):
        found = (path.parent for path in there.glob(f"*/*/**/{MANIFEST}") if _holds(path.parent))
        names |= {folder.relative_to(there).as_posix() for folder in found}
    for name in sorted(names):
        refuse_another(workspace, workspace.root / "releases" / name)


def another_published(
    name: str, target: str, what: str = "it is not that one, or an earlier version of it"
) -> ReleaseError:
    """The error about a release that is published at a target and differs from the workspace's."""
    source = "TARGET" if target == WITNESS else target
    return ReleaseError(
        f"{name} is published already, and {what}",
        where=target,
        expected="the published samples and commitments, and a manifest that continues the published one",
        fix=f"If this workspace came from a backup: hellofresh quarter restore --from {source}",
        code="other-publication",
    )
