"""All checks of a release, one after the other; each says what it looked at and every fault that it found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hellofresh.errors import UsageError
from hellofresh.releases.build.prospective import OUTCOMES
from hellofresh.releases.life.manifest import PREVIOUS, REVEALED
from hellofresh.releases.life.tombstones import TOMBSTONES
from hellofresh.releases.verify.content import Content, read_content
from hellofresh.releases.verify.figures import Figure, FigureName, figures_of, score_faults
from hellofresh.releases.verify.files import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    Manifest,
    Opened,
    file_faults,
    history,
    read_manifest,
    unlisted,
)

__all__ = ["Check", "find_releases", "verify_release"]


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
    figures: tuple[Figure, ...] = field(default=())

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
        value = json.loads(manifest.read_bytes()) if manifest.stat().st_size <= MAX_MANIFEST_BYTES else None
    except (ValueError, RecursionError, OSError):
        return True
    return not (isinstance(value, dict) and "quarters" in value and "task" not in value)


def verify_release(
    folder: Path, *, figures: Sequence[FigureName] = (), known: str | None = None, listing: bool = True
) -> list[Check]:
    """Check a release.

    Args:
        folder: with the release's files.
        figures: which figures to compute again.
        known: SHA-256 of a manifest that was noted earlier: this one's, or one's before it.
        listing: whether the folder shows all files there are; over the web nothing does.

    Returns:
        A check for each thing that was looked at; the first that makes the others impossible is the last.
    """
    try:
        opened = read_manifest(folder / MANIFEST)
    except ValueError as error:
        return [Check(folder.as_posix(), "manifest", "", (f"{MANIFEST}: {error}",))]
    manifest = opened.manifest
    name = f"{manifest.quarter[:20]}/{manifest.task[:80]}"
    content = read_content(folder, manifest)
    older, wrong = history(folder, opened)
    parts: list[tuple[str, str, list[str]]] = [
        (
            "manifest",
            f"version {manifest.version}, SHA-256 {opened.sha256}",
            list(_manifest_faults(opened, older, known)),
        ),
        ("files", _files_said(manifest), [fault for entry in manifest.files for fault in file_faults(folder, entry)]),
        ("history", f"{len(older)} earlier version(s), each named by the next", wrong),
    ]
    if listing:
        parts.append(("listing", "no file that is not listed", list(unlisted(folder, manifest, len(older)))))
    parts += _content_parts(content, manifest)
    checks = [Check(name, part, said, tuple(faults)) for part, said, faults in parts]
    return [*checks, *(_figure_check(name, wanted, content) for wanted in figures if _asked(wanted, manifest))]


def _files_said(manifest: Manifest) -> str:
    size = sum(entry.size for entry in manifest.files)
    return f"{len(manifest.files)} files, {size:,} bytes, with the sizes, hashes and rows that the manifest lists"


def _manifest_faults(opened: Opened, older: Sequence[Opened], known: str | None) -> Iterator[str]:
    manifest = opened.manifest
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
    if known is not None and known not in {opened.sha256, *(item.sha256 for item in older)}:
        yield f"neither this manifest nor one before it has the SHA-256 {known[:64]}"


def _content_parts(content: Content, manifest: Manifest) -> Iterator[tuple[str, str, list[str]]]:
    faults = content.faults
    yield "samples", f"{len(content.samples):,} samples, canonical, sorted, none twice", faults.get("samples.jsonl", [])
    if "commitments.jsonl" in faults:
        parts = ((content.commitments, "sample"), (content.tombstones, "takedown"))
        said = f"{len(content.commitments):,}, one for each sample and each that was taken down"
        everything = {*content.samples, *content.tombstones}
        missing = sorted(everything ^ content.commitments.keys())
        odd = [f"{key[:80]!r} has {_lack(key, content)}" for key in missing[:20]]
        odd += [f"{len(missing) - 20:,} more like these"] if len(missing) > 20 and parts else []
        yield "commitments", said, [*faults["commitments.jsonl"], *odd]
    if TOMBSTONES in faults:
        yield "takedowns", f"{len(content.tombstones):,} taken down, no content left", faults[TOMBSTONES]
    if manifest.revealed:
        said = f"{len(content.labels):,}, as committed to, both labels as often in every period"
        yield "labels", said, faults.get("labels.jsonl", [])
    if manifest.resolved is not None:
        said = f"{len(content.labels):,} decided since, {len(content.undecided):,} not"
        yield "outcomes", said, faults.get(OUTCOMES, [])
    if content.predictions or "predictions.jsonl" in faults:
        said = f"of {len(content.entries):,} entries on the samples of the release"
        yield "predictions", said, faults.get("predictions.jsonl", [])
    if "scores.jsonl" in faults:
        wrong = [
            *faults["scores.jsonl"],
            *_if_labelled(content, lambda: score_faults(content, manifest.quarter, manifest.task)),
        ]
        yield "scores", f"{len(content.scores):,}, with the counts and values that labels and predictions give", wrong


def _lack(key: str, content: Content) -> str:
    return "a commitment and is no sample" if key in content.commitments else "no commitment"


def _if_labelled(content: Content, check: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Faults of scores, where all labels are there to find them with."""
    if content.judged.keys() <= content.labels.keys():
        yield from check()
    else:
        yield "cannot be computed: labels are missing"


def _asked(wanted: FigureName, manifest: Manifest) -> bool:
    """Whether a figure may be one of this release."""
    here = {"quarter": manifest.quarter, "task": manifest.task}
    return all(wanted.wanted.get(name, value) == value for name, value in here.items())


def _figure_check(name: str, wanted: FigureName, content: Content) -> Check:
    labelled = content.judged.keys() <= content.labels.keys()
    found = figures_of(wanted, content) if labelled else []
    faults = [] if found else [f"no score is {wanted.text[:200]!r}" if labelled else "labels are not public yet"]
    faults += [
        f"{item.name}: computed {item.value:.6f} [{item.low:.6f}, {item.high:.6f}], stated "
        f"{item.stated[0]:.6f} [{item.stated[1]:.6f}, {item.stated[2]:.6f}]"
        for item in found
        if not item.agrees
    ]
    said = "; ".join(
        f"{item.name} = {item.value:.4f} [{item.low:.4f}, {item.high:.4f}], n = {item.n}" for item in found
    )
    return Check(name, "figure", said, tuple(faults), tuple(found))
