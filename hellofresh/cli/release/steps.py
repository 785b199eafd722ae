"""What commands show of the pipeline: each step as the command of its own does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from hellofresh.cli._analyses import analyse_scored
from hellofresh.cli._output import CommandOutput, ProgressBar
from hellofresh.cli._show import show_built, summarise_collected
from hellofresh.cli.collect import run_job
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.score import run_score, run_score_prospective
from hellofresh.core.editions import Edition
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates.collection import CollectionJob
from hellofresh.releases.draw.release import Built
from hellofresh.releases.publish import Publication
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks.samples import MAIN


@dataclass(frozen=True, slots=True)
class ShownSteps:
    """The steps of `hellofresh.pipeline`, carried out and shown; see `hellofresh.pipeline.steps.Steps`."""

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
        score = run_score if split == MAIN else run_score_prospective
        score(self.output, self.workspace, edition, self.submissions)

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
