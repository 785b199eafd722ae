"""`hellofresh submission`: check predictions before handing them in."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._arguments import Subparsers, add_command, add_quarter
from hellofresh.cli._output import Output
from hellofresh.errors import ReleaseError
from hellofresh.quarters import Quarter
from hellofresh.releases import load_release
from hellofresh.samples import to_json
from hellofresh.submissions import check_submission
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    about = "Predictions of systems of your own."
    verbs = nouns.add_parser("submission", help="predictions of systems of your own", description=about)
    commands = verbs.add_subparsers(title="commands", metavar="COMMAND", required=True)
    parser = add_command(commands, "check", "Check a submission and name everything that is wrong with it.", _check)
    parser.add_argument("folder", type=Path, help="holds predictions.jsonl and system.toml")
    add_quarter(parser)


def released_ids(workspace: Workspace, quarter: Quarter) -> tuple[dict[str, list[str]], frozenset[str]]:
    """Ids of all released samples of a quarter, by task, and those of samples that were taken down.

    Raises:
        ReleaseError: if the quarter has no release.
    """
    names = [name for released, name in workspace.released() if released == quarter]
    if not names:
        raise ReleaseError(f"no release of {quarter}", where=str(workspace.root), code="no-release")
    releases = [load_release(workspace, quarter, get_task(name)) for name in names]
    ids = {release.task.name: [sample.id for sample in release.samples] for release in releases}
    return ids, frozenset(key for release in releases for key in release.taken_down)


def _check(options: argparse.Namespace, output: Output) -> int:
    ids, taken_down = released_ids(Workspace.from_environment(), options.quarter)
    submission, faults = check_submission(options.folder, options.quarter, ids, taken_down)
    output.result({"ok": submission is not None, "faults": [to_json(fault) for fault in faults]})
    for fault in faults:
        output.text(str(fault))
    if submission is None:
        output.text(f"{len(faults)} fault(s): this would not be scored.")
        return 1
    tasks = [name for name, known in ids.items() if set(known) & submission.labels.keys()]
    silent = sum(1 for label in submission.labels.values() if label is None)
    output.text(f"{submission.info.name} by {submission.info.team}: no fault.")
    output.text(f"It would be scored on {', '.join(tasks)}: {len(submission.labels)} samples, {silent} without answer.")
    output.text(f"SHA-256 of the content: {submission.sha256}")
    return 0
