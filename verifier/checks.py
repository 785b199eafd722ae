"""All checks of releases in order; each reports what it checked, every fault, and what it could not check."""

from __future__ import annotations

import heapq
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path

import numpy as np

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
    file_faults,
    history,
    read_manifest,
    statement_faults,
    stray,
    unlisted,
)
from verifier.ratings import CeilingCheck, PeopleCheck, StudyCheck
from verifier.reading import MOST_LINE_BYTES, Row, first_of, quoted, short, strict_json
from verifier.scores import FigureName, Handover, ScoreCheck, VerifiedFigure


class NoReleaseError(ValueError):
    """The folder contains no release, at any depth."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one release.

    Attributes:
        release: edition and task, or the folder if these are unreadable.
        name: the subject of the check, such as `files`.
        said: what passed; a phrase.
        faults: every fault that was found.
        figures: recomputed figures.
        unchecked: parts of the subject that could not be checked; phrases.
    """

    release: str
    name: str
    said: str
    faults: Sequence[str] = ()
    figures: Sequence[VerifiedFigure] = ()
    unchecked: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("faults", "figures", "unchecked"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults


def find_releases(path: Path) -> list[Path]:
    """Folders of all releases in a folder, itself included, in order.

    Raises:
        NoReleaseError: if there is none.
    """
    found = sorted({manifest.parent for manifest in path.rglob(MANIFEST) if _is_release(manifest)})
    if not found:
        raise NoReleaseError(f"{path}: no release here; expected a folder with {MANIFEST} in it or below it")
    return found


def _is_release(manifest: Path) -> bool:
    """Whether a manifest belongs to a release; a board's has quarters but no task, and editions contain no boards."""
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
        figures: which figures to show with their parts; every score is recomputed in any case.
        known: SHA-256 of a manifest noted earlier: the present one or an earlier version.
        listing: whether the folder can be listed completely; over the web it cannot.
        handed_in: the counted submissions as received, by entry, where available.

    Returns:
        One result for each check; a fault that makes later checks impossible comes last.
    """
    try:
        manifest = read_manifest(folder / MANIFEST)
    except ValueError as error:
        return [Check(folder.as_posix(), "manifest", "", (f"{MANIFEST}: {error}",))]
    name, files = manifest.name, manifest["files"]
    hashes, broken, former = history(folder, manifest)
    size = sum(entry["size"] for entry in files)
    said = f"{len(files)} files, {size:,} bytes, with the sizes, hashes and rows that the manifest lists"
    faults = [*statement_faults(manifest)]
    above = folder.resolve().parents[0 if manifest.is_main else 1].name
    if EDITION.fullmatch(above) and above != manifest.edition:
        faults.append(f"it says {manifest.edition}, and its folder says {above}")
    if known is not None and known not in {manifest.sha256, *hashes}:
        faults.append(f"neither this manifest nor one before it has the SHA-256 {short(known)}")
    version = f"version {manifest['version']}, SHA-256 {manifest.sha256}"
    unseen = [] if listing else ["whether there are unlisted files"]
    checks = [
        Check(name, "manifest", version, faults, unchecked=manifest.unchecked),
        Check(name, "files", said, list(file_faults(folder, manifest)), unchecked=unseen),
        Check(name, "history", f"{len(hashes)} earlier version(s), each named by the next", broken, unchecked=former),
    ]
    if listing:
        unknown = list(unlisted(folder, manifest, len(hashes)))
        checks.append(Check(name, "listing", "no unlisted files", unknown))
    content = read_content(folder, manifest)
    return [*checks, *_content_checks(content), *_score_checks(folder, content, figures, handed_in)]


def _content_checks(content: Content) -> Iterator[Check]:
    labelled, samples = int((content.labels >= 0).sum()), len(content.places)
    drawn = "as committed to, all labels equally often in every period"
    said = {
        SAMPLES: ("samples", f"{samples:,} samples, canonical, sorted, no duplicates"),
        COMMITMENTS: ("commitments", f"{content.committed:,}, one for each sample and each that was taken down"),
        TOMBSTONES: ("takedowns", f"{len(content.tombstones):,} taken down, no content left"),
        LABELS: (
            "labels",
            f"{labelled:,}, {'with the content hash of the manifest' if content.manifest.is_frozen else drawn}",
        ),
        OUTCOMES: ("outcomes", f"{labelled:,} decided since, {samples - labelled:,} not"),
        PREDICTIONS: ("predictions", f"of {len(content.entries):,} entries on the samples of the release"),
    }
    for file, (part, what) in said.items():
        if file in content.faults:
            unchecked = content.unchecked.get(file, ())
            yield Check(content.manifest.name, part, what, content.faults[file], unchecked=unchecked)


def _score_checks(
    folder: Path, content: Content, figures: Sequence[FigureName], handed_in: Mapping[str, Handover] | None
) -> Iterator[Check]:
    """Ratings, people, scores, submissions as received, and the requested figures."""
    manifest, scores = content.manifest, ScoreCheck(content)
    for part in (StudyCheck(content, folder), PeopleCheck(content, folder), CeilingCheck(content, folder)):
        if part.is_there:
            _survive(part.check, part.faults)
            yield Check(manifest.name, part.name, part.said, part.faults, unchecked=part.unchecked)
    found: dict[str, list[VerifiedFigure]] = {}
    if SCORES in manifest.hashes:
        if content.has_labels:
            _survive(lambda: found.update(scores.check(folder, figures)), scores.faults)
        else:
            scores.faults.append("cannot be computed: labels are missing")
        said = f"{scores.number:,}, with the counts, values and intervals that labels and predictions give"
        yield Check(manifest.name, "scores", said, scores.faults, unchecked=sorted(scores.unchecked))
        if handed_in is not None:
            said = f"{len(handed_in):,} by others, as submitted before the deadline, and no more"
            other: list[str] = []
            _survive(lambda: other.extend(scores.handed_in_faults(handed_in)), other)
            yield Check(manifest.name, "receipts", said, other, unchecked=sorted(scores.unrated))
    for wanted in figures:
        if wanted.may_be_of(manifest) and (content.has_labels or "edition" in wanted.wanted):
            missing = "no score is" if content.has_labels else "labels are not public yet for"
            yield _figure_check(manifest.name, found.get(wanted.text, ()), f"{missing} {quoted(wanted.text)}")


def _survive(work: Callable[[], object], faults: list[str]) -> None:
    """Run a check; an exception becomes a fault of the file it reads, and later checks still run."""
    try:
        work()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        faults.append(f"cannot be computed ({type(error).__name__}: {short(str(error))})")


def _figure_check(name: str, found: Sequence[VerifiedFigure], missing: str) -> Check:
    faults = [
        f"{item.name}: computed {item.value:.6f} [{item.low:.6f}, {item.high:.6f}], stated "
        f"{item.stated[0]:.6f} [{item.stated[1]:.6f}, {item.stated[2]:.6f}]"
        for item in found
        if item.stated is not None and not item.agrees
    ]
    said = (f"{item.name} = {item.value:.4f} [{item.low:.4f}, {item.high:.4f}], n = {item.n}" for item in found)
    return Check(name, "figure", "; ".join(said), faults if found else [missing], found)


def report_lines(checks: Sequence[Check]) -> Iterator[str]:
    """The report: a line for each check and fault, then the number of failures and of unchecked parts."""

    def plain(text: str) -> str:
        """Make an untrusted text safe to print on a terminal."""
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)

    for check in checks:
        said = check.said if check.ok else f"{len(check.faults)} fault(s)"
        yield plain(f"{'ok   ' if check.ok else 'WRONG'} {check.release} {check.name}: {said}")
        yield from (plain(f"      - {fault}") for fault in check.faults)
    wrong = sum(1 for check in checks if not check.ok)
    unchecked = dict.fromkeys(what for check in checks for what in check.unchecked)
    outcome = f", {wrong} failed" if wrong else " passed" if unchecked else ", all passed"
    missing = f" Not checked: {'; '.join(unchecked)}." if unchecked else ""
    yield plain(f"{len(checks)} checks{outcome}.{missing}")


def neighbours(folder: Path) -> set[Path]:
    """The other releases of an edition, given the folder of one."""
    above = (place.parent for place in folder.resolve().parents[:2] if EDITION.fullmatch(place.name))
    return {found for root in above for found in releases_in(root)}


def releases_in(root: Path) -> set[Path]:
    """The releases in a folder of editions."""
    patterns = (f"*/*/{MANIFEST}", f"*/*/{PROSPECTIVE}/{MANIFEST}")
    return {path.parent for pattern in patterns for path in root.resolve().glob(pattern)}


def beside_checks(folders: Sequence[Path]) -> list[Check]:
    """Check that the editions' folders contain only releases and published ratings."""
    places = {place for folder in folders for place in folder.resolve().parents[:2] if EDITION.fullmatch(place.name)}
    found = [what for edition in sorted(places) for what in stray(edition)]
    said = f"nothing but releases and their ratings in {len(places)} folders of editions"
    return [Check("all", "beside", said, found)] if places else []


def repeat_checks(folders: Sequence[Path], every: Iterable[Path]) -> list[Check]:
    """Find samples shared with other releases of quarters, tasks or splits, now or before a takedown, and pairs of
    samples that show states of one paragraph, within a release or across two.

    Versions of a data set may share samples. Files are read in parallel in the order of ids, so that memory holds only
    one line of each.

    Args:
        folders: the releases to check.
        every: the releases to compare them with.
    """
    checked = {folder.resolve(): folder for folder in folders}
    names: dict[Path, str] = {}
    for folder in {*checked, *every}:
        try:
            names[folder] = read_manifest(folder / MANIFEST).name
        except ValueError:  # reported by the check of that release
            continue
    found = _lineages_told(names)
    shared = Counter[tuple[str, str]]()
    streams = (_ids(folder, name) for folder in names for name in (SAMPLES, TOMBSTONES))
    for key, group in groupby(heapq.merge(*streams), key=lambda item: item[0]):
        places = {folder for _, folder in group}
        for one, two in combinations(sorted({names[folder] for folder in places}), 2) if len(places) > 1 else ():
            shared[one, two] += "@" in one and "@" in two
            for folder in places if not ("@" in one and "@" in two) else ():
                if names[folder] in {one, two}:
                    other = two if names[folder] == one else one
                    found.setdefault(folder, []).append(f"{quoted(key)} is a sample of {other}, too")
    faults = [f"{checked[path].as_posix()}: {fault}" for path in checked for fault in first_of(found.get(path, ()))]
    versions = (f"; {one} and {two} share {number:,}" for (one, two), number in sorted(shared.items()) if number)
    living = sum("@" not in name for name in names.values())
    said = f"no sample or lineage of these is in another of {living} releases of quarters here{''.join(versions)}"
    return [Check("all", "repeats", said, faults)]


def _lineages_told(names: Mapping[Path, str]) -> dict[Path, list[str]]:
    """Samples that share a lineage with another sample, by folder: each reveals something of the other."""
    seen = array("q")  # only hashes, so that memory hardly grows with the samples
    for folder in names:
        seen.extend(hash(name) for _, lineage in _lineages(folder) for name in lineage)
    kinds, times = np.unique(np.array(seen, np.int64), return_counts=True)
    twice = set(kinds[times > 1].tolist())
    places: dict[str, set[tuple[str, str]]] = {}  # releases and samples: a copy of a release tells nothing more
    for folder in names if twice else ():
        for key, name in ((key, name) for key, lineage in _lineages(folder) for name in lineage if hash(name) in twice):
            places.setdefault(name, set()).add((names[folder], key))
    faults: dict[str, list[str]] = {}
    for name, there in sorted(places.items()):
        for release, key in sorted(there) if len(there) > 1 else ():
            place, other = min(there - {(release, key)})
            what = f"{quoted(key)} is of the lineage {quoted(name)}, as is {quoted(other)} of {place}"
            faults.setdefault(release, []).append(what)
    return {folder: list(faults[name]) for folder, name in names.items() if name in faults}


def _lineages(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Ids of samples and the names of their lineages, for tasks that have lineages."""
    for row in _rows(folder / SAMPLES):
        if isinstance(lineage := row.get("lineage"), list):
            yield str(row.get("id")), {name for name in lineage if isinstance(name, str)}


def _ids(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    return ((row["id"], folder) for row in _rows(folder / name) if isinstance(row.get("id"), str))


def _rows(path: Path) -> Iterator[Row]:
    """The readable rows; faults of the file are reported by the check of its release."""
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as file:
        for line in iter(lambda: file.readline(MOST_LINE_BYTES), b""):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                return
            if not isinstance(row, dict):
                return
            yield row
