"""All checks of a release, one after the other; each says what it looked at and every fault that it found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hellofresh.core.errors import UsageError
from hellofresh.core.files import strict_json
from hellofresh.releases.draw.prospective import OUTCOMES
from hellofresh.releases.life.manifest import PREVIOUS, REVEALED
from hellofresh.releases.life.tombstones import TOMBSTONES
from hellofresh.releases.verify.content import Content, read_content, score_rows
from hellofresh.releases.verify.entries import Handover, vote_faults
from hellofresh.releases.verify.figures import FigureName, ScoreCheck, ScoreReport, VerifiedFigure
from hellofresh.releases.verify.files import (
    EDITION,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    CheckedManifest,
    History,
    ManifestFile,
    file_faults,
    history,
    read_manifest,
    unlisted,
)
from hellofresh.releases.verify.repeats import repeat_faults

__all__ = ["Check", "find_releases", "repeat_checks", "verify_release"]

_EDITION = re.compile(EDITION)


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one release.

    Attributes:
        release: quarter and task, or the folder where these cannot be read.
        name: what was looked at, such as `files`.
        said: what was found in good order; a phrase.
        faults: everything that is wrong.
        figures: what was computed again.
    """

    release: str
    name: str
    said: str
    faults: tuple[str, ...] = ()
    figures: tuple[VerifiedFigure, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def find_releases(path: Path) -> list[Path]:
    """Folders of all releases at or below a folder, in order.

    Raises:
        UsageError: if there is none.
    """
    found = {manifest.parent for manifest in path.rglob(MANIFEST) if _is_release(manifest)}
    if not found:
        raise UsageError(
            "no release here",
            where=str(path),
            expected=f"a folder with {MANIFEST} in it or below it, such as data/releases",
            code="no-release",
        )
    return sorted(found)


def _is_release(manifest: Path) -> bool:
    """A board has a manifest too; it names quarters and no task."""
    if manifest.parent.name == PREVIOUS:
        return False
    try:
        value = strict_json(manifest.read_bytes()) if manifest.stat().st_size <= MAX_MANIFEST_BYTES else None
    except (ValueError, OSError):
        return True
    return not (isinstance(value, dict) and "quarters" in value and "task" not in value)


def verify_release(
    folder: Path,
    *,
    figures: Sequence[FigureName] = (),
    known: str | None = None,
    listing: bool = True,
    handed_in: Mapping[str, Handover] | None = None,
) -> list[Check]:
    """Check a release.

    Args:
        folder: with the release's files.
        figures: which figures to show with their parts; every score is computed again in any case.
        known: SHA-256 of a manifest that was noted earlier: this one's, or one's before it.
        listing: whether the folder shows all files there are; over the web nothing does.
        handed_in: what others handed in and counts, by entry, where that is at hand.

    Returns:
        A check for each thing that was looked at; the first that makes the others impossible is the last.
    """
    try:
        opened = read_manifest(folder / MANIFEST)
    except ValueError as error:
        return [Check(folder.as_posix(), "manifest", "", (f"{MANIFEST}: {error}",))]
    manifest = opened.manifest
    older = history(folder, opened)
    files = [fault for entry in manifest.files for fault in file_faults(folder, entry)]
    checks = [
        Check(manifest.name, "manifest", f"version {manifest.version}, SHA-256 {opened.sha256}",
              tuple(_manifest_faults(folder, opened, older, known))),
        Check(manifest.name, "files", _files_said(manifest), tuple(files)),
        Check(manifest.name, "history", f"{len(older.hashes)} earlier version(s), each named by the next",
              older.faults),
    ]  # fmt: skip
    if listing:
        others = tuple(unlisted(folder, manifest, len(older.hashes)))
        checks.append(Check(manifest.name, "listing", "no file that is not listed", others))
    content = read_content(folder, manifest)
    checks += (
        Check(manifest.name, part, said, tuple(faults)) for part, said, faults in _content_parts(content, manifest)
    )
    return [*checks, *_score_checks(folder, manifest, content, figures, handed_in)]


def repeat_checks(folders: Sequence[Path], every: Iterable[Path]) -> list[Check]:
    """Whether releases have samples that another one of quarter, task or split has, too.

    Args:
        folders: the releases that are checked.
        every: those that they are compared with.
    """
    checked = {folder.resolve(): folder for folder in folders}
    found = repeat_faults({*checked, *every})
    faults = tuple(f"{checked[path].as_posix()}: {fault}" for path in checked for fault in found.get(path, ()))
    compared = len({*checked, *every})
    return [Check("all", "repeats", f"no sample of these is in another of {compared} releases at hand", faults)]


def _files_said(manifest: CheckedManifest) -> str:
    size = sum(entry.size for entry in manifest.files)
    return f"{len(manifest.files)} files, {size:,} bytes, with the sizes, hashes and rows that the manifest lists"


def _manifest_faults(folder: Path, opened: ManifestFile, older: History, known: str | None) -> Iterator[str]:
    manifest = opened.manifest
    yield from manifest.statement_faults()
    above = folder.resolve().parents[0 if manifest.split == "main" else 1].name
    if _EDITION.fullmatch(above) and above != manifest.edition:
        yield f"it says {manifest.edition}, and its folder says {above}"
    paths = [entry.path for entry in manifest.files]
    if len(set(paths)) < len(paths):
        yield "a file is listed twice"
    yield from (f"{name} is not listed" for name in ("samples.jsonl",) if name not in paths)
    for name in REVEALED:
        if name in paths and not (manifest.revealed or (manifest.resolved and name != "labels.jsonl")):
            yield f"{name} is listed before the reveal"
    if manifest.revealed and "labels.jsonl" not in paths:
        yield "revealed, and labels.jsonl is not listed"
    if ("predictions.jsonl" in paths) != ("scores.jsonl" in paths):
        yield "predictions and scores belong together, and one is not listed"
    if manifest.draw is not None and manifest.draw.key is not None and not manifest.revealed:
        yield "the key of the draw is there before the reveal"
    if known is not None and known not in {opened.sha256, *older.hashes}:
        yield f"neither this manifest nor one before it has the SHA-256 {known[:64]}"


def _content_parts(content: Content, manifest: CheckedManifest) -> Iterator[tuple[str, str, list[str]]]:
    faults = content.faults
    yield "samples", f"{len(content.places):,} samples, canonical, sorted, none twice", faults.get("samples.jsonl", [])
    if "commitments.jsonl" in faults:
        said = f"{content.committed:,}, one for each sample and each that was taken down"
        yield "commitments", said, faults["commitments.jsonl"]
    if TOMBSTONES in faults:
        yield "takedowns", f"{len(content.tombstones):,} taken down, no content left", faults[TOMBSTONES]
    labelled = int((content.labels >= 0).sum())
    if manifest.revealed:
        drawn = "as committed to, all labels as often in every period"
        said = f"{labelled:,}, {'with the content hash of the manifest' if manifest.is_frozen else drawn}"
        yield "labels", said, faults.get("labels.jsonl", [])
    if manifest.resolved is not None:
        said = f"{labelled:,} decided since, {len(content.places) - labelled:,} not"
        yield "outcomes", said, faults.get(OUTCOMES, [])
    if "predictions.jsonl" in faults:
        said = f"of {len(content.entries):,} entries on the samples of the release"
        yield "predictions", said, [*faults["predictions.jsonl"], *vote_faults(content)]


def _score_checks(
    folder: Path,
    manifest: CheckedManifest,
    content: Content,
    figures: Sequence[FigureName],
    handed_in: Mapping[str, Handover] | None,
) -> Iterator[Check]:
    """The scores, what others handed in, and the figures that were asked for."""
    judge, scores = ScoreCheck(manifest, content), ScoreReport()
    faults: list[str] = []
    listed = "scores.jsonl" in manifest.hashes()
    if listed and not content.has_labels:
        faults.append("cannot be computed: labels are missing")
    elif listed:
        scores = judge.check(score_rows(folder, faults), figures)
    if listed:
        said = f"{scores.number:,}, with the counts, values and intervals that labels and predictions give"
        if not judge.rests_on_files:
            said = f"{scores.number:,}, which rest on files outside the release and were not computed again"
        yield Check(manifest.name, "scores", said, (*faults, *scores.faults))
    if listed and handed_in is not None:
        said = f"{len(handed_in):,} by others, as they were handed in before the deadline, and no more"
        yield Check(manifest.name, "receipts", said, judge.handed_in(handed_in))
    for wanted in figures:
        if _asked(wanted, manifest):
            missing = "no score is" if content.has_labels else "labels are not public yet for"
            yield _figure_check(manifest.name, scores.figures.get(wanted.text, ()), f"{missing} {wanted.text[:200]!r}")


def _asked(wanted: FigureName, manifest: CheckedManifest) -> bool:
    """Whether a figure may be one of this release."""
    here = {"edition": manifest.edition, "task": manifest.task}
    return all(wanted.wanted.get(name, value) == value for name, value in here.items())


def _figure_check(name: str, found: Sequence[VerifiedFigure], missing: str) -> Check:
    faults = [
        f"{item.name}: computed {item.value:.6f} [{item.low:.6f}, {item.high:.6f}], stated "
        f"{item.stated[0]:.6f} [{item.stated[1]:.6f}, {item.stated[2]:.6f}]"
        for item in found
        if item.stated is not None and not item.agrees
    ]
    said = "; ".join(
        f"{item.name} = {item.value:.4f} [{item.low:.4f}, {item.high:.4f}], n = {item.n}" for item in found
    )
    return Check(name, "figure", said, tuple(faults if found else [missing]), tuple(found))
