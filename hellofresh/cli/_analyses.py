"""All analyses of all scored quarters, as `make release` makes them: a failure is a note and never ends the release."""

from __future__ import annotations

import shutil
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.state import labels_are_public
from hellofresh.tasks import get_task


def analyse_scored(workspace: Workspace, submissions: Path, output: CommandOutput) -> None:
    """Make the analyses of every scored quarter and task whose labels are public for the board, without PNG.

    Args:
        workspace: where scores are.
        submissions: folder of what others handed in.
        output: told what was made, skipped, or could not be made and why.
    """
    from hellofresh.results.figures.image import need_converter

    try:
        need_converter()
    except UsageError as error:
        output.say(f"note: the board has no analyses: {error}")
        return
    for edition, task in workspace.released():
        if workspace.is_scored(edition):
            try:
                if not labels_are_public(workspace, edition, task):
                    # Earlier versions made them of quarters that were not revealed.
                    shutil.rmtree(workspace.analyses(edition, task), ignore_errors=True)
                    output.say(f"note: no analyses of {task} {edition} yet: its labels are not revealed.")
                    continue
                _analyse(workspace, edition, task, submissions, output)
            except HelloFreshError as error:
                output.say(f"note: no analyses of {task} {edition}: {error}")


def _analyse(workspace: Workspace, edition: Edition, task: str, submissions: Path, output: CommandOutput) -> None:
    from hellofresh.results.analyses import ANALYSES, build_panel, make_analyses

    panel = build_panel(workspace, edition, get_task(task), submissions)
    made = make_analyses(workspace, panel, list(ANALYSES.values()), png=False, survive=True)
    for one in made:
        if one.problem:
            output.say(
                f"note: the analysis {one.name} of {task} {edition} failed ({one.problem}). "
                f"To see where: hellofresh analyse {one.name} --edition {edition} --task {task}"
            )
    sound = [one for one in made if not one.problem]
    figures = sum(not one.missing for one in sound)
    state = "unchanged, skipped" if all(one.skipped for one in sound) else "written"
    output.say(f"Analyses of {task} {edition}: {len(sound)}, {figures} of them with a figure: {state}.")
