"""What commands show of the pipeline: each step as the command of its own does."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from hellofresh.cli._output import CommandOutput, ProgressBar
from hellofresh.cli._show import show_built, summarise_collected
from hellofresh.cli.board import run_score
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.sources import run_job
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.draw.release import Built
from hellofresh.releases.life.state import labels_are_public
from hellofresh.releases.publish import Publication
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.build import build_panel
from hellofresh.results.figures.image import need_converter
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import MAIN, Split


@dataclass(frozen=True, slots=True)
class ShownSteps:
    """The steps of `hellofresh.pipeline`, carried out and shown; see `hellofresh.pipeline.release.Steps`."""

    workspace: Workspace
    submissions: Path
    output: CommandOutput

    def say(self, line: str) -> None:
        self.output.say(line)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return self.output.progress(what)

    def collect(self, job: CollectionJob) -> None:
        summarise_collected(self.output, run_job(self.workspace, job, self.output))

    def built(self, releases: Sequence[Built]) -> None:
        show_built(self.output, releases)

    def evaluate(self, evaluation: Evaluation) -> EvaluationReport:
        return run_evaluation(self.output, self.workspace, evaluation)

    def score(self, edition: Edition, split: str = MAIN) -> None:
        run_score(self.output, self.workspace, edition, self.submissions, Split(split))

    def analyse(self) -> None:
        analyse_scored(self.workspace, self.submissions, self.output)

    def published(self, publication: Publication) -> None:
        show_published(self.output, publication)


def show_published(output: CommandOutput, published: Publication) -> None:
    """What was published, in a line."""
    state = "unchanged, skipped" if published.skipped else "written"
    revision = f" (revision {published.revision[:12]})" if published.revision else ""
    output.say(
        f"Published {', '.join(str(edition) for edition in published.quarters)} to {published.target}{revision}: "
        f"{published.files} files, {published.size / 1e6:.1f} MB, {state}"
    )
    if published.bundled:
        output.say("note: the bundled sample is part of it; card and file names say so.")


def analyse_scored(workspace: Workspace, submissions: Path, output: CommandOutput) -> None:
    """Make the analyses of every scored quarter and task whose labels are public for the board, without PNG.

    Args:
        workspace: where scores are.
        submissions: folder of what others handed in.
        output: hears what was made, skipped, or could not be made and why.
    """
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
