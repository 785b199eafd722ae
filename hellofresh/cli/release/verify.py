"""`hellofresh release verify`: check released files as a stranger does."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.verify import (
    Check,
    FigureName,
    Handover,
    fetch_release,
    find_releases,
    neighbours,
    read_manifest,
    releases_in,
    repeat_checks,
    verify_release,
)
from hellofresh.submissions import MAIN, PROSPECTIVE_SPLIT, EntryOutcome, Submission, standings
from hellofresh.submissions.intake.released import due_in
from hellofresh.tasks.samples import to_json

__all__ = ["verify"]


def verify(options: argparse.Namespace, output: CommandOutput) -> int:
    figures = [FigureName.parse(text) for text in options.figure]
    if options.known is not None and not re.fullmatch(r"[0-9a-f]{64}", options.known):
        raise UsageError("not a SHA-256", where="--known", expected="64 hexadecimal digits", code="bad-hash")
    checks: list[Check] = []
    where = options.where or str(Workspace.from_environment().root / "releases")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", where):
        if options.submissions is not None:
            raise UsageError("submissions are compared with releases in a folder", where="--submissions",
                             fix="Download the quarter's releases first.", code="bad-submissions")  # fmt: skip
        checks = _fetched(where, figures, options.known)
    else:
        folders = find_releases(Path(where))
        if options.known is not None and len(folders) > 1:
            raise UsageError("a hash belongs to one release", where="--known", expected="its folder", code="bad-hash")
        checks = [
            check for folder in folders for check in _checked(folder, figures, options.known, options.submissions)
        ]
        checks += _repeats(folders)
    _nowhere(figures, checks)
    _show(output, checks)
    return 0 if all(check.ok for check in checks) else 1


def _checked(
    folder: Path, figures: Sequence[FigureName], known: str | None, submissions: Path | None
) -> Iterator[Check]:
    handed_in: Mapping[str, Handover] | None = None
    if submissions is not None:
        try:
            handed_in = _handed_in(folder, submissions)
        except (HelloFreshError, ValueError) as error:
            yield Check(folder.as_posix(), "receipts", "", (f"cannot be compared: {error}",))
    yield from verify_release(folder, figures=figures, known=known, handed_in=handed_in)


def _handed_in(folder: Path, submissions: Path) -> Mapping[str, Handover]:
    """The submissions that count in a release by their receipts.

    Raises:
        ValueError: if the release's manifest cannot be read.
        HelloFreshError: if the quarter's releases cannot be read.
    """
    manifest = read_manifest(folder / "manifest.json").manifest
    split = MAIN if manifest.split == MAIN.name else PROSPECTIVE_SPLIT
    root = folder.resolve().parents[1 if split is MAIN else 2]
    due = due_in(root, parse_edition(manifest.edition), split)
    return {
        item.origin: _handover(item.submission)
        for item in standings(submissions, due, now()).entries
        if item.submission is not None and item.tasks.get(manifest.task) is EntryOutcome.COUNTS
    }


def _handover(submission: Submission) -> Handover:
    info = submission.info
    cutoff = str(info.knowledge_cutoff)
    return Handover(info.name, info.team, info.regime, cutoff, info.notes.strip(), submission.labels)


def _fetched(url: str, figures: Sequence[FigureName], known: str | None) -> list[Check]:
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as temporary:
        folder = Path(temporary)
        fetch_release(url, folder)
        return [*verify_release(folder, figures=figures, known=known, listing=False), *_repeats([folder])]


def _repeats(folders: Sequence[Path]) -> list[Check]:
    """Whether releases share samples with each other, with those beside them, or with those of the workspace."""
    mine = releases_in(Workspace.from_environment().root / "releases")
    return repeat_checks(folders, mine.union(*(neighbours(folder) for folder in folders)))


def _nowhere(figures: Sequence[FigureName], checks: Sequence[Check]) -> None:
    """Refuse figures of releases that are not here."""
    looked = sum(1 for check in checks if check.name == "figure")
    if figures and not looked and all(check.ok for check in checks):
        raise UsageError(
            f"no release here has {figures[0].text[:200]!r}",
            expected=f"one of {', '.join(sorted({check.release for check in checks if check.name != 'repeats'}))}",
            code="bad-figure",
        )


def _show(output: CommandOutput, checks: Sequence[Check]) -> None:
    output.result([to_json(check) | {"ok": check.ok} for check in checks])
    for check in checks:
        output.text(_plain(f"{'ok   ' if check.ok else 'WRONG'} {check.release} {check.name}: {_said(check)}"))
        for fault in check.faults:
            output.text(_plain(f"      - {fault}"))
    wrong = sum(1 for check in checks if not check.ok)
    output.text(f"{len(checks)} checks, {wrong} failed." if wrong else f"{len(checks)} checks, all passed.")


def _said(check: Check) -> str:
    return check.said if check.ok else f"{len(check.faults)} fault(s)"


def _plain(text: str) -> str:
    """A text of somebody else's making that a terminal can show and not obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
