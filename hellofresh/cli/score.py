"""`hellofresh score`: judge what models and submissions said about a quarter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_scored
from hellofresh.core.editions import Edition
from hellofresh.core.workspace import Workspace
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import ScoredSplit, score_quarter
from hellofresh.tasks.samples import PROSPECTIVE


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if options.split == "prospective":
        run_score_prospective(output, workspace, options.edition, options.submissions, options.change)
        return 0
    folder, changes = options.submissions, options.change
    run_score(output, workspace, options.edition, folder, changes, private=options.private)
    return 0


def run_score(
    output: CommandOutput,
    workspace: Workspace,
    edition: Edition,
    submissions: Path,
    changes: Sequence[str] = (),
    *,
    private: bool = False,
) -> None:
    """Score a quarter; once it is revealed, show the scores and publish them with the predictions.

    Before that only who was scored is shown, unless in private.
    """
    _show_and_publish(
        output, workspace, score_quarter(workspace, edition, submissions, changes=changes), private=private
    )


def run_score_prospective(
    output: CommandOutput, workspace: Workspace, edition: Edition, submissions: Path, changes: Sequence[str] = ()
) -> None:
    """The same for the prospective splits of a quarter that are resolved."""
    _show_and_publish(
        output, workspace, score_quarter(workspace, edition, submissions, split=PROSPECTIVE, changes=changes)
    )


def _show_and_publish(
    output: CommandOutput, workspace: Workspace, scored: ScoredSplit, *, private: bool = False
) -> None:
    show_scored(output, scored, private=private)
    for done in publish_results(workspace, scored):
        which = "" if done.split == "main" else f", {done.split}"
        output.say(
            f"{done.task} {done.edition}{which}: {done.predictions:,} predictions and {done.scores:,} scores are "
            f"public now (version {done.version} of the manifest)."
        )
