"""All checks of releases, one after the other; each says what it looked at, every fault, and what it did not check."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from verifier.content import Content, read_content
from verifier.manifest import (
    COMMITMENTS,
    EDITION,
    LABELS,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    OUTCOMES,
    PREDICTIONS,
    PREVIOUS,
    PROSPECTIVE,
    SAMPLES,
    SCORES,
    TOMBSTONES,
    Manifest,
    file_faults,
    history,
    read_manifest,
    statement_faults,
    unlisted,
)
from verifier.reading import MOST_FAULTS, MOST_LINE_BYTES, strict_json
from verifier.scores import FigureName, Handover, ScoreCheck, VerifiedFigure


class NoReleaseError(ValueError):
    """A folder without a release in it or below it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one release.

    Attributes:
        release: edition and task, or the folder where these cannot be read.
        name: what was looked at, such as `files`.
        said: what was found in good order; a phrase.
        faults: everything that is wrong.
        figures: what was computed again.
        unchecked: what belongs here and was not checked; phrases.
    """

    release: str
    name: str
    said: str
    faults: tuple[str, ...] = ()
    figures: tuple[VerifiedFigure, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def find_releases(path: Path) -> list[Path]:
    """Folders of all releases at or below a folder, in order.

    Raises:
        NoReleaseError: if there is none.
    """
    found = sorted({manifest.parent for manifest in path.rglob(MANIFEST) if _is_release(manifest)})
    if not found:
        raise NoReleaseError(f"{path}: no release here; expected a folder with {MANIFEST} in it or below it")
    return found


def _is_release(manifest: Path) -> bool:
    """A board has a manifest too; it names quarters and no task. Beside the tasks of an edition only releases stand."""
    if manifest.parent.name == PREVIOUS:
        return False
    try:
        value = strict_json(manifest.read_bytes(), 16) if manifest.stat().st_size <= MAX_MANIFEST_BYTES else None
    except (ValueError, OSError):
        return True
    is_board = isinstance(value, dict) and "quarters" in value and "task" not in value
    return not is_board or EDITION.fullmatch(manifest.resolve().parents[1].name) is not None


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
        manifest = read_manifest(folder / MANIFEST)
    except ValueError as error:
        return [Check(folder.as_posix(), "manifest", "", (f"{MANIFEST}: {error}",))]
    name, files = manifest.name, manifest["files"]
    hashes, broken = history(folder, manifest)
    size = sum(entry["size"] for entry in files)
    said = f"{len(files)} files, {size:,} bytes, with the sizes, hashes and rows that the manifest lists"
    faults = [*_place_faults(folder, manifest, known, hashes), *statement_faults(manifest)]
    checks = [
        Check(
            name,
            "manifest",
            f"version {manifest['version']}, SHA-256 {manifest.sha256}",
            tuple(faults),
            unchecked=manifest.unchecked,
        ),
        Check(
            name,
            "files",
            said,
            tuple(file_faults(folder, manifest)),
            unchecked=() if listing else ("whether there are files that nothing lists",),
        ),
        Check(name, "history", f"{len(hashes)} earlier version(s), each named by the next", tuple(broken)),
    ]
    if listing:
        checks.append(
            Check(name, "listing", "no file that is not listed", tuple(unlisted(folder, manifest, len(hashes))))
        )
    content = read_content(folder, manifest)
    checks += _content_checks(content, manifest)
    return [*checks, *_score_checks(folder, manifest, content, figures, handed_in)]


def _place_faults(folder: Path, manifest: Manifest, known: str | None, hashes: Sequence[str]) -> Iterator[str]:
    above = folder.resolve().parents[0 if manifest.is_main else 1].name
    if EDITION.fullmatch(above) and above != manifest.edition:
        yield f"it says {manifest.edition}, and its folder says {above}"
    if known is not None and known not in {manifest.sha256, *hashes}:
        yield f"neither this manifest nor one before it has the SHA-256 {known[:64]}"


def _content_checks(content: Content, manifest: Manifest) -> Iterator[Check]:
    labelled = int((content.labels >= 0).sum())
    drawn = "as committed to, all labels as often in every period"
    said = {
        SAMPLES: ("samples", f"{len(content.places):,} samples, canonical, sorted, none twice"),
        COMMITMENTS: ("commitments", f"{content.committed:,}, one for each sample and each that was taken down"),
        TOMBSTONES: ("takedowns", f"{len(content.tombstones):,} taken down, no content left"),
        LABELS: (
            "labels",
            f"{labelled:,}, {'with the content hash of the manifest' if manifest.is_frozen else drawn}",
        ),
        OUTCOMES: ("outcomes", f"{labelled:,} decided since, {len(content.places) - labelled:,} not"),
        PREDICTIONS: ("predictions", f"of {len(content.entries):,} entries on the samples of the release"),
    }
    for file, (part, what) in said.items():
        if file in content.faults:
            yield Check(
                manifest.name, part, what, tuple(content.faults[file]), unchecked=tuple(content.unchecked.get(file, ()))
            )


def _score_checks(
    folder: Path,
    manifest: Manifest,
    content: Content,
    figures: Sequence[FigureName],
    handed_in: Mapping[str, Handover] | None,
) -> Iterator[Check]:
    """The scores, what others handed in, and the figures that were asked for."""
    scores = ScoreCheck(manifest, content)
    found: Mapping[str, list[VerifiedFigure]] = {}
    if SCORES in manifest.hashes:
        if content.has_labels:
            found = scores.check(folder, figures)
        else:
            scores.faults.append("cannot be computed: labels are missing")
        said = f"{scores.number:,}, with the counts, values and intervals that labels and predictions give"
        if not content.classes:
            said = f"{scores.number:,}, which rest on files outside the release and were not computed again"
        yield Check(manifest.name, "scores", said, tuple(scores.faults), unchecked=tuple(sorted(scores.unchecked)))
        if handed_in is not None:
            said = f"{len(handed_in):,} by others, as they were handed in before the deadline, and no more"
            yield Check(manifest.name, "receipts", said, tuple(scores.handed_in_faults(handed_in)))
    for wanted in figures:
        if wanted.may_be_of(manifest):
            missing = "no score is" if content.has_labels else "labels are not public yet for"
            yield _figure_check(manifest.name, found.get(wanted.text, ()), f"{missing} {wanted.text[:200]!r}")


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


def report_lines(checks: Sequence[Check]) -> Iterator[str]:
    """What was found: a line for each check and fault, and at last how many failed and what was not checked."""
    for check in checks:
        said = check.said if check.ok else f"{len(check.faults)} fault(s)"
        yield _plain(f"{'ok   ' if check.ok else 'WRONG'} {check.release} {check.name}: {said}")
        yield from (_plain(f"      - {fault}") for fault in check.faults)
    wrong = sum(1 for check in checks if not check.ok)
    unchecked = dict.fromkeys(what for check in checks for what in check.unchecked)
    outcome = f", {wrong} failed" if wrong else " passed" if unchecked else ", all passed"
    missing = f" Not checked: {'; '.join(unchecked)}." if unchecked else ""
    yield _plain(f"{len(checks)} checks{outcome}.{missing}")


def _plain(text: str) -> str:
    """A text of somebody else's making that a terminal can show and not obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def neighbours(folder: Path) -> set[Path]:
    """The releases beside one that lies in a folder of its edition."""
    above = (place.parent for place in folder.resolve().parents[:2] if EDITION.fullmatch(place.name))
    return {found for root in above for found in releases_in(root)}


def releases_in(root: Path) -> set[Path]:
    """The releases in a folder of editions."""
    patterns = (f"*/*/{MANIFEST}", f"*/*/{PROSPECTIVE}/{MANIFEST}")
    return {path.parent for pattern in patterns for path in root.resolve().glob(pattern)}


def repeat_checks(folders: Sequence[Path], every: Iterable[Path]) -> list[Check]:
    """Whether releases have samples that another one of quarter, task or split has, too, now or before a takedown.

    Files are read side by side in the order of ids, so that no more than a line of each is in memory.

    Args:
        folders: the releases that are checked.
        every: those that they are compared with.
    """
    checked = {folder.resolve(): folder for folder in folders}
    names: dict[Path, str] = {}
    frozen: set[str] = set()
    for folder in {*checked, *every}:
        try:
            manifest = read_manifest(folder / MANIFEST)
        except ValueError:  # named where that release is checked
            continue
        if manifest.is_frozen:  # versions of a data set have most of their samples in common
            frozen.add(manifest.edition)
        else:
            names[folder] = manifest.name
    found: dict[Path, list[str]] = {}
    streams = (_ids(folder, name) for folder in names for name in (SAMPLES, TOMBSTONES))
    for key, group in groupby(heapq.merge(*streams), key=lambda item: item[0]):
        places = {folder for _, folder in group}
        for folder in places if len(places) > 1 else ():
            others = sorted({names[other] for other in places} - {names[folder]})
            if others:
                found.setdefault(folder, []).append(f"{key[:80]!r} is a sample of {others[0]}, too")
    faults = [f"{checked[path].as_posix()}: {fault}" for path in checked for fault in _first_of(found.get(path, ()))]
    said = f"no sample of these is in another of {len(names)} releases of quarters at hand"
    apart = (f"samples that versions of data sets share ({', '.join(sorted(frozen))[:200]})",) if frozen else ()
    return [Check("all", "repeats", said, tuple(faults), unchecked=apart)]


def _first_of(faults: Sequence[str]) -> Sequence[str]:
    more = len(faults) - MOST_FAULTS
    return [*faults[:MOST_FAULTS], f"{more:,} more like these"] if more > 0 else faults


def _ids(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Ids as far as they can be read; whatever is wrong with a file is named where its release is checked."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as file:
        for line in iter(lambda: file.readline(MOST_LINE_BYTES), b""):
            try:
                key = json.loads(line)["id"]
            except (ValueError, TypeError, KeyError, RecursionError):
                return
            if isinstance(key, str):
                yield key, folder
