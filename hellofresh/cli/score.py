"""`hellofresh score`: judge what models and submissions answered in an edition."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_scored
from hellofresh.core.editions import Edition
from hellofresh.core.workspace import Workspace
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import score_quarter
from hellofresh.tasks.samples import MAIN, Split


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, split = Workspace.from_environment(), Split(options.split)
    how = {"changes": options.change, "private": options.private}
    run_score(output, workspace, options.edition, options.submissions, split, **how)
    return 0


def run_score(
    output: CommandOutput,
    workspace: Workspace,
    edition: Edition,
    submissions: Path,
    split: Split = MAIN,
    *,
    changes: Sequence[str] = (),
    private: bool = False,
) -> None:
    """Score a split; once it is revealed, show the scores and publish them with the predictions.

    Before that only who was scored is shown, unless in private.
    """
    scored = score_quarter(workspace, edition, submissions, split=split, changes=changes)
    show_scored(output, scored, private=private)
    for done in publish_results(workspace, scored):
        which = "" if done.split == MAIN else f", {done.split}"
        output.say(
            f"{done.task} {done.edition}{which}: {done.predictions:,} predictions and {done.scores:,} scores are "
            f"public now (version {done.version} of the manifest)."
        )
