"""`hellofresh release verify`: check released files as a stranger does."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output
from hellofresh.errors import UsageError
from hellofresh.releases.verify import Check, FigureName, fetch_release, find_releases, verify_release
from hellofresh.samples import to_json
from hellofresh.workspace import Workspace

__all__ = ["register_verify"]


def register_verify(verbs: Subparsers) -> None:
    """Add the command."""
    about = (
        "Check released files: hashes, history, commitments, labels, scores; and compute figures of the board again."
    )
    parser = add_command(verbs, "verify", about, _verify)
    parser.add_argument(
        "where",
        nargs="?",
        metavar="PATH|URL",
        help="a release's folder, one above several, or its address (default: data/releases)",
    )
    parser.add_argument(
        "--figure",
        action="append",
        default=[],
        metavar="F",
        help="compute it again: QUARTER/TASK/SYSTEM/REGIME/PROMPT/PERIOD/METRIC, or system=NAME,metric=f1,period=all",
    )
    parser.add_argument(
        "--known", metavar="SHA256", help="hash of a manifest that you noted earlier; it must be in the history"
    )


def _verify(options: argparse.Namespace, output: Output) -> int:
    figures = [FigureName.parse(text) for text in options.figure]
    if options.known is not None and not re.fullmatch(r"[0-9a-f]{64}", options.known):
        raise UsageError("not a SHA-256", where="--known", expected="64 hexadecimal digits", code="bad-hash")
    where = options.where or str(Workspace.from_environment().root / "releases")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", where):
        checks = _fetched(where, figures, options.known)
    else:
        folders = find_releases(Path(where))
        if options.known is not None and len(folders) > 1:
            raise UsageError("a hash belongs to one release", where="--known", expected="its folder", code="bad-hash")
        checks = [check for folder in folders for check in verify_release(folder, figures=figures, known=options.known)]
    _nowhere(figures, checks)
    _show(output, checks)
    return 0 if all(check.ok for check in checks) else 1


def _fetched(url: str, figures: Sequence[FigureName], known: str | None) -> list[Check]:
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as folder:
        fetch_release(url, Path(folder))
        return verify_release(Path(folder), figures=figures, known=known, listing=False)


def _nowhere(figures: Sequence[FigureName], checks: Sequence[Check]) -> None:
    """Refuse figures of releases that are not here."""
    looked = sum(1 for check in checks if check.name == "figure")
    if figures and not looked and all(check.ok for check in checks):
        raise UsageError(
            f"no release here has {figures[0].text[:200]!r}",
            expected=f"one of {', '.join(sorted({check.release for check in checks}))}",
            code="bad-figure",
        )


def _show(output: Output, checks: Sequence[Check]) -> None:
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
