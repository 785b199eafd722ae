"""Bring a workspace that came from a backup together with a publication that is ahead of it, or holds another draw.

The published files are taken over. What is secret of an open quarter follows from the escrow key: a label is the one
whose commitment is published. Facts of labels and texts come from the candidates, as far as these are there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, ReleaseError, UsageError
from hellofresh.core.files import read_jsonl, sha256_file, write_bytes, write_json, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import read_candidates
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.exposure import Place, places_in, record, sketch_released
from hellofresh.releases.life.load import Published, load_labels
from hellofresh.releases.life.manifest import COUNTS, DRAW_KEY, MANIFEST, PREVIOUS, read_manifest
from hellofresh.releases.life.record import chain_of, record_publication, target_name
from hellofresh.releases.publish._parts import released_files
from hellofresh.releases.publish.folder import copy_file
from hellofresh.releases.publish.hub import Hub, download_releases
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.samples import MAIN, Candidate, Label, to_json

HUB = "hub:"


@dataclass(frozen=True, slots=True)
class Restored:
    """A release that was taken over.

    Attributes:
        set_aside: where the workspace's own version is now; None if it had none.
        labels: recovered labels of a quarter that is not revealed.
        without_texts: samples whose texts are neither published nor among the candidates.
    """

    task: str
    edition: Edition
    split: str
    set_aside: Path | None
    labels: int
    without_texts: int


def restore_from(workspace: Workspace, target: str, moment: datetime) -> list[Restored]:
    """Take over the releases of a publication that the workspace lacks, or has in another or an earlier version.

    Args:
        workspace: where they go; what they replace is set aside below `private/set-aside`.
        target: a folder that `release publish` wrote, or `hub:OWNER/NAME`.
        moment: the time on record.

    Raises:
        UsageError: if the folder holds no publication.
        ReleaseError: if the publication is damaged, or labels cannot be recovered with this escrow key; releases taken
            over before stay.
    """
    with _releases_of(workspace, target) as there:
        found = [_restore(workspace, there, place) for place in places_in(there) if _is_ahead(workspace, there, place)]
        folders = [workspace.release(*place) for place in places_in(there)]
    name = target if target.startswith(HUB) else target_name(workspace, Path(target).absolute())
    record_publication(workspace, name, [folder for folder in folders if (folder / MANIFEST).is_file()], moment)
    record(workspace)
    return found


@contextmanager
def _releases_of(workspace: Workspace, target: str) -> Iterator[Path]:
    """The folder of a publication's releases; a hub's are downloaded."""
    if not target.startswith(HUB):
        folder = Path(target)
        folder = workspace.published if workspace.portable(workspace.published) == target else folder
        if not (folder / "releases").is_dir():
            what = "no folder that 'release publish' wrote"
            raise UsageError(what, where=target, expected="one with 'releases' in it", code="no-publication")
        yield folder / "releases"
        return
    with tempfile.TemporaryDirectory(prefix="hellofresh-restore-") as name:
        download_releases(Hub.from_environment(target.removeprefix(HUB)), Path(name))
        yield Path(name) / "releases"


def _is_ahead(workspace: Workspace, there: Path, place: Place) -> bool:
    """Whether a published release is not the workspace's own or an earlier version of it, or the own one is damaged."""
    mine, published = workspace.release(*place), _folder(workspace, there, place)
    if read_manifest(published).bundled:
        return False
    try:
        manifest, mine_too = read_manifest(mine), chain_of(published)[0] in chain_of(mine)
        if isinstance(place[0], Quarter) and place[2] == MAIN and not manifest.revealed:
            load_labels(workspace, place[0], get_task(place[1]))
        return not mine_too or not all(entry.is_in(mine) for entry in manifest.files)
    except (HelloFreshError, OSError):
        return True


def _folder(workspace: Workspace, there: Path, place: Place) -> Path:
    return there / workspace.release(*place).relative_to(workspace.root / "releases")


def _restore(workspace: Workspace, there: Path, place: Place) -> Restored:
    edition, name, split = place
    task, new = get_task(name), _folder(workspace, there, place)
    published = Published(edition, name, split, new, read_manifest(new))
    candidates = _candidates(workspace, edition, task)
    open_quarter = isinstance(edition, Quarter) and split == MAIN and not published.manifest.revealed
    labels = _labels(workspace, published, task, candidates) if open_quarter else []
    with tempfile.TemporaryDirectory(prefix="hellofresh-restore-") as checked:  # nothing changes if a file is damaged
        for name_below, sha256 in released_files(new, published.manifest):
            copy_file(new / name_below, sha256, Path(checked) / name_below)
        aside = _set_aside(workspace, place)
        found = [file for file in Path(checked).rglob("*") if file.is_file()]
        for file in sorted(found, key=lambda file: file.name == MANIFEST):
            write_bytes(workspace.release(*place) / file.relative_to(checked), file.read_bytes())
    for path in sorted((there / str(edition) / "ratings").glob(f"{name}.*")):
        if not (copy := workspace.root / "releases" / str(edition) / "ratings" / path.name).exists():
            write_bytes(copy, path.read_bytes())
    kept = [item.sample for item in candidates.values() if split == MAIN]
    public = {sample.id: sample for sample in published.samples(task)}
    full = [sample for sample in kept if task.public(sample) == public.get(sample.id)]
    if published.manifest.withheld:
        write_jsonl(workspace.private(*place) / "samples.jsonl", map(to_json, full), mode=0o600)
    if isinstance(edition, Quarter):
        sketch_released(workspace, place, full, {})
    if open_quarter:
        _write_secrets(workspace, published, task, labels)
    missing = len(public) - len(full) if published.manifest.withheld else 0
    return Restored(name, edition, str(split), aside, len(labels), missing)


def _set_aside(workspace: Workspace, place: Place) -> Path | None:
    """Move the workspace's version of a release, public and private, out of the way; returns where it is."""
    mine, secret = workspace.release(*place), workspace.private(*place)
    if not (mine / MANIFEST).is_file():
        return None
    aside = workspace.root / "private" / "set-aside" / sha256_file(mine / MANIFEST)[:12]
    for folder, part in ((mine, "public"), (secret, "private")):
        for path in [path for path in sorted(folder.glob("*")) if path.is_file() or path.name == PREVIOUS]:
            copy = aside / part / path.name
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.rmtree(copy, ignore_errors=True)
            shutil.move(path, copy)
    return aside


def _candidates(workspace: Workspace, edition: Edition, task: Task) -> dict[str, Candidate]:
    path = workspace.candidates(task.name, edition)
    return {item.sample.id: item for item in read_candidates(path, task)} if path.is_file() else {}


def _labels(
    workspace: Workspace, published: Published, task: Task, candidates: dict[str, Candidate]
) -> list[dict[str, object]]:
    """The rows of labels that were committed to, with their salts.

    Raises:
        ReleaseError: if the escrow key is not the one of the commitments.
    """
    rows, escrow = list[dict[str, object]](), Escrow.of_workspace(workspace)
    for row in read_jsonl(published.folder / "commitments.jsonl"):
        guesses = (Label(str(row["id"]), label, {}) for label in range(max(1, len(task.classes))))
        label = next((guess for guess in guesses if escrow.commitment(guess) == row["commitment"]), None)
        if label is None:
            raise ReleaseError(
                f"the label of {row['id']} was not committed to with this escrow key",
                where=str(workspace.escrow_key),
                fix="Put the key of the workspace that published it there, then run this again.",
                code="other-escrow-key",
            )
        known = candidates.get(label.id)
        same = known is not None and known.label.label == label.label
        facts = dict(known.label.facts) if known and same else dict.fromkeys(task.label_facts)
        rows.append({"id": label.id, "label": label.label, "salt": escrow.salt(label.id), **facts})
    return rows


def _write_secrets(workspace: Workspace, published: Published, task: Task, labels: list[dict[str, object]]) -> None:
    """Write the labels and the key of the draw; the numbers of candidates by label are not known any more."""
    folder, manifest = workspace.private(published.edition, task.name), published.manifest
    write_jsonl(folder / "labels.jsonl", labels, mode=0o600)
    quarter, seed = Quarter.parse(str(published.edition)), manifest.selection.seed if manifest.selection else ""
    key = Escrow.of_workspace(workspace).draw_key(quarter, task.name, seed)
    write_bytes(folder / DRAW_KEY, f"{key}\n".encode(), mode=0o600)
    write_json(folder / COUNTS, None, mode=0o600)
    load_labels(workspace, quarter, task)  # checks them
