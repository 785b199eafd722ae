"""Shared parts of the pipeline: its workspace, and the steps that are also commands."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from hellofresh.config import Settings
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.answering import Show
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.figures.image import need_converter
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import MAIN, Split


@dataclass(frozen=True, slots=True)
class Steps:
    """The workspace, folder of submissions, and output of the steps."""

    workspace: Workspace
    submissions: Path
    show: Show
    day: date | None = None

    @property
    def witness(self) -> Witness:
        return Witness.of(self.workspace, self.submissions, Settings.load(), self.day)


def score(steps: Steps, edition: Edition, split: str = MAIN, changes: Sequence[str] = ()) -> None:
    """Score a split; once it is revealed, publish the scores with the predictions."""
    scored = score_quarter(steps.workspace, edition, steps.submissions, split=Split(split), changes=changes)
    steps.show.published(scored)
    for done in publish_results(steps.workspace, scored):
        which = "" if done.split == MAIN else f", {done.split}"
        steps.show.say(
            f"{done.task} {done.edition}{which}: {done.predictions:,} predictions and {done.scores:,} scores are "
            f"public now (version {done.version} of the manifest)."
        )


def analyse_scored(steps: Steps) -> None:
    """Make the board's analyses, without PNG, of every scored quarter and task with public labels.

    Results, skipped and failed analyses are reported; no error is raised.
    """
    workspace, say = steps.workspace, steps.show.say
    try:
        need_converter()
    except UsageError as error:
        say(f"note: the board has no analyses: {error}")
        return
    for edition, task in workspace.released():
        if workspace.is_scored(edition):
            try:
                if not labels_are_public(workspace, edition, task):
                    # Analyses show labels, so delete them if labels are not public.
                    shutil.rmtree(workspace.analyses(edition, task), ignore_errors=True)
                    say(f"note: no analyses of {task} {edition} yet: its labels are not revealed.")
                    continue
                _analyse(steps, edition, task)
            except HelloFreshError as error:
                say(f"note: no analyses of {task} {edition}: {error}")


def _analyse(steps: Steps, edition: Edition, task: str) -> None:
    with steps.show.progress(f"analyse {task} {edition}"):
        panel = build_panel(steps.workspace, edition, get_task(task), steps.submissions)
        made = make_analyses(steps.workspace, panel, list(ANALYSES.values()), png=False, survive=True)
    for one in made:
        if one.problem:
            steps.show.say(
                f"note: the analysis {one.name} of {task} {edition} failed ({one.problem}). "
                f"To see where: hellofresh analyse {one.name} --edition {edition} --task {task}"
            )
    sound = [one for one in made if not one.problem]
    figures = sum(not one.missing for one in sound)
    state = "unchanged, skipped" if all(one.skipped for one in sound) else "written"
    steps.show.say(f"Analyses of {task} {edition}: {len(sound)}, {figures} of them with a figure: {state}.")
