"""The samples that a quarter expects, read from its release in a workspace, a downloaded folder, or at an address.

Labels are never read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError, SourceError
from hellofresh.core.executors import completed
from hellofresh.core.net.below import BelowError, files_below
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Published
from hellofresh.releases.life.manifest import MANIFEST, TOMBSTONES, read_tombstones
from hellofresh.releases.life.record import is_waiting, record_opening
from hellofresh.submissions.check import Due
from hellofresh.submissions.receipts import Receipt
from hellofresh.tasks import TASKS, EvidenceQuery, get_task
from hellofresh.tasks.samples import MAIN, Split

_MOST_BYTES = 200_000_000
_TIMEOUT_S, _QUIET_S = 600.0, 60.0  # in all, and without a byte


def due_in(source: Workspace | Path, edition: Edition, split: Split = MAIN) -> Due:
    """The expected samples of a split, from a workspace, a folder named `releases`, or a folder that contains one.

    Raises:
        ReleaseError: if the quarter has no such release there, or its files are inconsistent.
    """
    if isinstance(source, Path):
        holder = source.name == "releases" and not (source / "releases").is_dir()
        source = Workspace(source.parent if holder else source)
    workspace = source
    names = [name for name in TASKS if (workspace.release(edition, name, split) / MANIFEST).is_file()]
    if not names:
        raise ReleaseError(
            f"no {'' if split is MAIN else 'prospective '}release of {edition}",
            where=str(workspace.root),
            fix="Name the folder or address of its public samples with --samples, or run: hellofresh release run",
            code="no-release",
        )
    found = [Published.open(workspace, edition, name, split) for name in names]
    return due_of(found, {one.task for one in found if is_waiting(workspace, one.folder)})


def record_accepted(workspace: Workspace, receipt: Receipt, split: Split) -> None:
    """Record that a submission was accepted: its releases are open from then on, and never change."""
    for task in receipt.tasks if receipt.edition.is_living else ():
        folder = workspace.release(receipt.edition, task, split)
        if task in TASKS and (folder / MANIFEST).is_file():
            record_opening(workspace, folder, receipt.received)


def due_of(published: Sequence[Published], waiting: Collection[str] = ()) -> Due:
    """The expected samples of published splits of one edition, all of them main or all prospective.

    Raises:
        ReleaseError: if files are inconsistent.
    """
    ids: dict[str, tuple[str, ...]] = {}
    taken_down: set[str] = set()
    corpora: dict[str, tuple[str, str]] = {}
    for one in published:
        samples = one.samples(get_task(one.task))
        ids[one.task] = tuple(sample.id for sample in samples)
        if samples and isinstance(samples[0], EvidenceQuery):
            corpora[one.task] = (samples[0].corpus, samples[0].corpus_sha256)
        taken_down |= {item.id for item in read_tombstones(one.folder)}
    calendars = {one.task: calendar for one in published if (calendar := one.calendar) is not None}
    revealed = frozenset(one.task for one in published if one.manifest.has_labels)
    edition, split = published[0].edition, Split(published[0].split)
    return Due(edition, ids, calendars, frozenset(taken_down), split, revealed, corpora, frozenset(waiting))


def edition_with(workspace: Workspace, ids: Collection[str], split: Split = MAIN) -> Edition | None:
    """The released edition that has more than half of these ids, else None."""
    for edition in dict.fromkeys(edition for edition, _ in workspace.released()):
        try:
            due = due_in(workspace, edition, split)
        except ReleaseError:  # without this split, or damaged: not a match
            continue
        if len(due.taken_down.union(*due.ids.values()).intersection(ids)) * 2 > len(ids):
            return edition
    return None


def fetch_due(address: str, edition: Edition, split: Split = MAIN) -> Due:
    """The expected samples of a quarter, from the manifests and samples at an address.

    Args:
        address: an http(s) address under which `<quarter>/<task>/manifest.json` and `samples.jsonl` lie.
        split: the split; the prospective one lies in a subfolder of that name.

    Raises:
        SourceError: if the address cannot be read.
        ReleaseError: if the quarter has no release there, or its files are inconsistent.
    """
    if not address.startswith(("https://", "http://")):
        raise SourceError("not an http(s) address", where=address[:200], code="bad-address")
    with TemporaryDirectory(prefix="hellofresh-") as temporary:
        folder = Path(temporary) / "releases"
        try:
            completed(_fetch(f"{address.rstrip('/')}/", folder, edition, split))
        except BelowError as error:
            raise SourceError(f"cannot be read ({error})", where=error.url, code="cannot-fetch") from error
        return due_in(folder, edition, split)


async def _fetch(base: str, folder: Path, edition: Edition, split: Split) -> None:
    async with files_below(base, most_bytes=_MOST_BYTES, timeout_s=_TIMEOUT_S, quiet_s=_QUIET_S) as files:
        for task in TASKS:
            place = f"{edition}/{task}" if split is MAIN else f"{edition}/{task}/{split}"
            if await files.take(f"{place}/manifest.json", folder / place / "manifest.json", most_bytes=_MOST_BYTES):
                for name in ("samples.jsonl", TOMBSTONES):
                    await files.take(f"{place}/{name}", folder / place / name, most_bytes=_MOST_BYTES)
