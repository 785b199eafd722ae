"""Shared parts of the pipeline: its workspace and output, and the steps that are also commands."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from hellofresh.config import Settings
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.life.state import labels_are_public
from hellofresh.results.analyses import ANALYSES
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.figures.image import need_converter
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.runner import Tally
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import MAIN, Split


class ProgressLine(Protocol):
    """Shows the current work and the progress of a run."""

    def line(self, text: str) -> None: ...
    def tally(self, tally: Tally) -> None: ...


class Show(Protocol):
    """Shows messages, progress and results of the steps (releases, scores, runs, publications).

    `step` says what a finished part of the whole path did; `last` shows what is to be read in the end.
    """

    def say(self, line: str) -> None: ...
    def progress(self, what: str) -> AbstractContextManager[ProgressLine]: ...
    def published(self, made: object) -> None: ...
    def step(self, what: str, seconds: float) -> None: ...
    def last(self, line: str) -> None: ...


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


def answer(workspace: Workspace, evaluation: Evaluation, show: Show) -> EvaluationReport:
    """Evaluate, and report in one line what was judged, and in another what failed."""
    with show.progress(evaluation.title) as bar:
        evaluated = evaluate(workspace, evaluation, bar.tally, lambda note: show.say(f"note: {note}"))
    tally = evaluated.tally
    show.published(evaluated)
    show.say(
        f"{evaluation.title}: {evaluated.judged} of {evaluated.of} samples judged; {tally.asked} answers asked for, "
        f"{tally.recalled} already stored{_taken(evaluated)}"
    )
    if evaluated.failed:
        show.say(
            f"{evaluated.failed} samples could not be judged (repetitions count apart): see "
            f"{evaluated.folder / 'errors.jsonl'}. The same command asks again, which helps after passing faults only."
        )
        if evaluated.failed_for_good:
            finished = ": the run is finished." if evaluated.failed_for_good == evaluated.failed else "."
            show.say(f"{evaluated.failed_for_good} of them cannot be judged by this system at all{finished}")
    if evaluated.copies:
        *first, last = map(str, evaluated.copies)
        listed = f"repetitions {', '.join(first)} and {last} gave" if first else f"repetition {last} gave"
        show.say(
            f"note: {listed} the same answers as an earlier repetition, word by word. Copies count "
            f"once in scores: the model may ignore seeds and temperature."
        )
    if evaluated.unsearched:
        show.say(
            f"note: for {evaluated.unsearched} samples (repetitions count apart) a search failed, and they were judged "
            f"without what it would have found: see {evaluated.folder / 'transcripts.jsonl'}."
        )
    return evaluated


def _taken(evaluated: EvaluationReport) -> str:
    """Tokens and cost of the whole run, if any."""
    if evaluated.tokens_in is None or evaluated.tokens_out is None:
        tokens = "tokens unknown"
    elif evaluated.tokens_in + evaluated.tokens_out == 0:
        return ""
    else:
        tokens = f"{evaluated.tokens_in:,} tokens in, {evaluated.tokens_out:,} out"
    return f"; {tokens}, " + ("cost unknown" if evaluated.cost_usd is None else f"{evaluated.cost_usd:.4f} USD")


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
