"""`hellofresh release verify`: check released files with public data only."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.files import canonical_json, read_json, read_jsonl, sha256_file
from hellofresh.core.folders import foreign_files
from hellofresh.core.systems import MODEL_FACTS
from hellofresh.core.workspace import Workspace
from hellofresh.releases.fetch import fetch_release
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.releases.publish.check import check_publication
from hellofresh.results.board.manifest import BoardFiles
from hellofresh.submissions.check import Submission
from hellofresh.submissions.released import due_in
from hellofresh.submissions.standings import EntryOutcome, standings
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Choice, Ranking
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, to_json
from verifier.checks import (
    Check,
    NoReleaseError,
    beside_checks,
    find_releases,
    neighbours,
    releases_in,
    repeat_checks,
    report_lines,
    verify_release,
)
from verifier.manifest import read_manifest
from verifier.publication import publication_checks, publications_above
from verifier.scores import BadFigureError, FigureName, Handover


def verify(options: argparse.Namespace, output: CommandOutput) -> int:
    """Check releases in a folder, or one over the web; returns 1 if a check fails."""
    try:
        figures = [FigureName.parse(text) for text in options.figure]
    except BadFigureError as error:
        raise UsageError(str(error), code="bad-figure") from None
    if options.known is not None and not re.fullmatch(r"[0-9a-f]{64}", options.known):
        raise UsageError("not a SHA-256", where="--known", expected="64 hexadecimal digits", code="bad-hash")
    where = options.where or str(Workspace.from_environment().root / "releases")
    is_address = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", where)
    checks = (_check_fetched if is_address else _check_folders)(where, figures, options.known, options.submissions)
    _refuse_figures_of_other_releases(figures, checks)
    output.result([to_json(check) | {"ok": check.ok} for check in checks])
    for line in report_lines(checks):
        output.text(line)
    return 0 if all(check.ok for check in checks) else 1


def _check_fetched(
    address: str, figures: Sequence[FigureName], known: str | None, submissions: Path | None
) -> list[Check]:
    if submissions is not None:
        raise UsageError(
            "submissions are compared with releases in a folder",
            where="--submissions",
            fix="Download the quarter's releases first.",
            code="bad-submissions",
        )
    with tempfile.TemporaryDirectory(prefix="hellofresh-") as temporary:
        folder = Path(temporary)
        fetch_release(address, folder)
        return verify_release(folder, figures=figures, known=known, listing=False) + _repeats([folder])


def _check_folders(
    where: str, figures: Sequence[FigureName], known: str | None, submissions: Path | None
) -> list[Check]:
    if (Path(where) / MANIFEST).is_file() and "quarters" in read_json(Path(where) / MANIFEST):
        return _board_checks(Path(where))
    try:
        folders = find_releases(Path(where))
    except NoReleaseError:
        expected = "a folder with manifest.json in it or below it, such as data/releases"
        raise UsageError("no release here", where=where, expected=expected, code="no-release") from None
    if known is not None and len(folders) > 1:
        raise UsageError("a hash fits one release only", where="--known", expected="its folder", code="bad-hash")
    checks = [check for folder in folders for check in _checked(folder, figures, known, submissions)]
    checks += beside_checks(folders) + _repeats(folders)
    return checks + [check for root in publications_above(folders) for check in published_checks(root)]


def _board_checks(folder: Path) -> list[Check]:
    """Check that a board's files are those of its manifest, and its scores those of the releases beside it."""
    name, board = folder.as_posix(), BoardFiles.at(folder)
    listed = {path: sha256 for path, sha256 in board.manifest.hashes.items() if (folder / path).is_file()}
    other = [path for path, sha256 in listed.items() if sha256_file(folder / path) != sha256]
    faults = [f"{path!r} differs" for path in other]
    faults += [f"{path!r} is missing" for path in sorted(board.manifest.hashes.keys() - listed.keys())]
    faults += [f"{path!r} does not belong here" for path in foreign_files(folder, {*board.manifest.hashes, MANIFEST})]
    checks = [Check(name, "board", f"{len(listed)} files as its manifest lists them", faults)]
    differ, unchecked = list[str](), ["standings, pairs and every other table of the board"]
    keys, there = ["edition", "task", "split"], set[str]()
    scores = {} if faults else board.read("scores").partition_by(keys, as_dict=True)
    for (edition, task, split), table in sorted(scores.items()):
        release = folder.absolute().parent / "releases" / edition / task / ("" if split == MAIN else split)
        if not (release / "scores.jsonl").is_file():
            unchecked.append(f"scores of {task} {edition}: no release with scores is beside the board")
            continue
        there.add(str(release))
        rows = {canonical_json(row) for row in read_jsonl(release / "scores.jsonl")}
        names = next(read_jsonl(release / "scores.jsonl")).keys()
        mine = [canonical_json({name: row[name] for name in names}) for row in table.to_dicts()]
        differ += [f"{task} {edition}: {row[:200]}" for row in sorted(rows.symmetric_difference(mine))[:5]]
    said = f"those of {len(there)} releases beside it"
    return [*checks, Check(name, "scores of the board", said, differ, unchecked=unchecked),
            *(check for release in sorted(there) for check in verify_release(Path(release)))]  # fmt: skip


def published_checks(root: Path) -> list[Check]:
    """The verifier's checks of a publication, and what the releases in it give again."""
    made = check_publication(root, now())
    again = Check(root.as_posix(), "made again", made.said, made.faults, unchecked=made.unchecked)
    return [*publication_checks(root, prose=""), again]


def _checked(folder: Path, figures: Sequence[FigureName], known: str | None, submissions: Path | None) -> list[Check]:
    handed_in: Mapping[str, Handover] | None = None
    missing = []
    if submissions is not None:
        try:
            handed_in = _handed_in(folder, submissions)
        except (HelloFreshError, ValueError) as error:
            missing = [Check(folder.as_posix(), "receipts", "", (f"cannot be compared: {error}",))]
    return [*missing, *verify_release(folder, figures=figures, known=known, handed_in=handed_in)]


def _handed_in(folder: Path, submissions: Path) -> Mapping[str, Handover]:
    """The submissions whose receipts make them count in a release.

    Raises:
        ValueError: if the release's manifest cannot be read.
        HelloFreshError: if the quarter's releases cannot be read.
    """
    manifest = read_manifest(folder / "manifest.json")
    split = MAIN if manifest.is_main else PROSPECTIVE
    root = folder.resolve().parents[1 if manifest.is_main else 2]
    due = due_in(root, parse_edition(manifest.edition), split)
    found = {}
    for item in standings(submissions, due, now()).entries:
        if item.submission is not None and item.tasks.get(manifest["task"]) is EntryOutcome.COUNTS:
            info, labels = item.submission.info, _answers(item.submission, get_task(manifest["task"]))
            cutoff, facts = str(info.knowledge_cutoff), info.model_dump(include=set(MODEL_FACTS))
            found[item.origin] = Handover(info.name, info.team, info.regime, cutoff, facts, info.notes.strip(), labels)
    return found


def _answers(submission: Submission, task: Task) -> Mapping[str, int | str | None]:
    """The first answer of a submission to each sample: a label, a text, or documents as JSON."""
    if task.output is Choice:
        return submission.labels
    found: dict[str, int | str | None] = {}
    for one in submission.predictions:
        said = canonical_json(list(one.documents or ())) if task.output is Ranking else one.text or ""
        found.setdefault(one.id, said)
    return found


def _repeats(folders: Sequence[Path]) -> list[Check]:
    """Check whether releases share samples with each other, with neighbouring ones, or with the workspace's."""
    mine = releases_in(Workspace.from_environment().root / "releases")
    return repeat_checks(folders, mine.union(*(neighbours(folder) for folder in folders)))


def _refuse_figures_of_other_releases(figures: Sequence[FigureName], checks: Sequence[Check]) -> None:
    looked = any(check.name == "figure" for check in checks)
    if figures and not looked and all(check.ok for check in checks):
        raise UsageError(
            f"no release here has the figure {figures[0].text[:200]!r}",
            expected=f"one of {', '.join(sorted({check.release for check in checks if check.name != 'repeats'}))}",
            code="bad-figure",
        )
