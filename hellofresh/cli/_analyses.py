"""All analyses of all scored quarters, as `make release` makes them: a failure is a note and never ends the release."""

from __future__ import annotations

from pathlib import Path

from hellofresh.cli._output import Output
from hellofresh.clock import now
from hellofresh.errors import HelloFreshError, UsageError
from hellofresh.quarters import Quarter, utc_text
from hellofresh.releases import load_release
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["analyse_scored"]


def analyse_scored(workspace: Workspace, submissions: Path, output: Output) -> None:
    """Make the analyses of every scored quarter and task for the board, without PNG.

    A quarter that still takes predictions has none: scores by kinds of samples, set beside one another, would tell
    about labels. Those of the bundled sample are no secret.

    Args:
        workspace: where scores are.
        submissions: folder of what others handed in.
        output: told what was made, skipped, or could not be made and why.
    """
    from hellofresh.figures.image import need_converter

    try:
        need_converter()
    except UsageError as error:
        output.say(f"note: the board has no analyses: {error}")
        return
    for quarter, task in workspace.released():
        if workspace.scores(quarter).is_file():
            try:
                release = load_release(workspace, quarter, get_task(task))
                if not release.bundled and now() < release.calendar.deadline:
                    until = utc_text(release.calendar.deadline)
                    output.say(f"note: no analyses of {task} {quarter} yet: it takes predictions until {until}.")
                    continue
                _analyse(workspace, quarter, task, submissions, output)
            except HelloFreshError as error:
                output.say(f"note: no analyses of {task} {quarter}: {error}")


def _analyse(workspace: Workspace, quarter: Quarter, task: str, submissions: Path, output: Output) -> None:
    from hellofresh.analyses import ANALYSES, build_panel, make_analyses

    panel = build_panel(workspace, quarter, get_task(task), submissions)
    made = make_analyses(workspace, panel, list(ANALYSES.values()), png=False, survive=True)
    for one in made:
        if one.problem:
            output.say(
                f"note: the analysis {one.name} of {task} {quarter} failed ({one.problem}). "
                f"To see where: hellofresh analyse {one.name} --quarter {quarter} --task {task}"
            )
    sound = [one for one in made if not one.problem]
    figures = sum(not one.missing for one in sound)
    state = "unchanged, skipped" if all(one.skipped for one in sound) else "written"
    output.say(f"Analyses of {task} {quarter}: {len(sound)}, {figures} of them with a figure: {state}.")
