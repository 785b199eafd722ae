"""`hellofresh quarter run`: what is due today, step by step. It may be run every day; what is done is not done again.

A step that fails is named and leaves the others as they are; only what rests on it is left out. So one broken provider
keeps no quarter from being revealed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import partial
from pathlib import Path

from collectors.notes.dump.download import PUBLIC_URL, DumpRequest, download
from collectors.notes.dump.snapshot import newest_snapshot
from hellofresh.board.build import build_board
from hellofresh.cli._analyses import analyse_scored
from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.quarter.hook import post_summary
from hellofresh.cli.release import pipeline
from hellofresh.cli.release.prospective import run_lane
from hellofresh.cli.score import run_score
from hellofresh.clock import now
from hellofresh.config import Settings
from hellofresh.editions import Edition
from hellofresh.errors import HelloFreshError
from hellofresh.files import write_bytes
from hellofresh.net.lock import locked
from hellofresh.quarters import Quarter, utc_text
from hellofresh.releases import Phase, reveal, state_of
from hellofresh.runs.evaluate import Evaluation, foresee
from hellofresh.runs.record import read_record
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["run"]


class StepState(StrEnum):
    """What became of a step."""

    DONE = "done"
    FAILED = "failed"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step and what became of it; `detail` says why it failed or was left out."""

    name: str
    state: StepState
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.name}{f' ({self.detail})' if self.detail else ''}"


@dataclass(slots=True)
class _Day:
    """One run of all that is due.

    Attributes:
        workspace, settings, submissions: where, and how.
        output: told about every step.
        results: in order.
    """

    workspace: Workspace
    settings: Settings
    submissions: Path
    output: CommandOutput
    results: list[StepResult] = field(default_factory=list)

    def attempt(self, name: str, work: Callable[[], object], *, after: bool = True) -> bool:
        """Do one step; whether it is done.

        Args:
            name: what the step is called.
            work: does it.
            after: whether what it rests on is done.
        """
        if not after:
            self._record(StepResult(name, StepState.LEFT_OUT, "what it rests on failed"))
            return False
        try:
            work()
        except (HelloFreshError, OSError) as error:
            self._record(StepResult(name, StepState.FAILED, str(error)))
            return False
        self._record(StepResult(name, StepState.DONE))
        return True

    def _record(self, result: StepResult) -> None:
        self.results.append(result)
        if result.state is not StepState.DONE:
            self.output.say(str(result))

    def all_steps(self) -> None:
        """Everything that is due, in order."""
        sources = self._archive() if self._archives else True
        self._releases(after=sources)
        self._reveals()
        self.attempt("take down samples whose posts are gone", lambda: pipeline.drop_gone(self.workspace, self.output))
        for evaluation in due_evaluations(self.workspace, self.settings):
            name = f"evaluate {evaluation.model} on {evaluation.task.name} {evaluation.edition}, {evaluation.regime}"
            self.attempt(name, partial(self._evaluate, evaluation))
        editions = sorted({edition for edition, _ in self.workspace.released()})
        for edition in editions:
            self.attempt(f"score {edition}", partial(self._score, edition))
        models = tuple(self.settings.evaluate.models)
        self.attempt("prospective splits", lambda: run_lane(self.workspace, models, self.submissions, self.output))
        self.attempt("analyses", lambda: analyse_scored(self.workspace, self.submissions, self.output))
        board = self.attempt("board", lambda: build_board(self.workspace))
        self.attempt("publish", lambda: pipeline.publish_opened(self.workspace, self.output))
        if self.settings.daily.export is not None:
            self.attempt("export", self._export, after=board)

    @property
    def _archives(self) -> bool:
        notes = self.settings.sources.x_notes
        return notes is not None and notes.dump is None

    def _archive(self) -> bool:
        """Take a snapshot of a source that keeps its dumps for days only, unless one is there that is new enough."""
        notes = self.settings.sources.x_notes
        url = (notes.base_url if notes else None) or PUBLIC_URL
        folder, today = self.workspace.snapshots("x-notes"), now().date()

        def take() -> None:
            newest = newest_snapshot(folder, url)
            days = self.settings.daily.archive_days
            if newest is None or (today - _day(newest)).days >= days:
                with self.output.progress("download x-notes") as bar:
                    download(folder, DumpRequest(None, False, url), today=today, progress=bar.line)

        return self.attempt("archive x-notes", take) or newest_snapshot(folder, url) is not None

    def _releases(self, *, after: bool) -> None:
        request = pipeline.PathRequest((), None, None, (), (), (), None, self.submissions)
        try:
            jobs = pipeline.collection_jobs(self.workspace, self.settings, request) if after else []
        except HelloFreshError as error:
            self._record(StepResult("collect", StepState.FAILED, str(error)))
            return
        for job in jobs:
            self.attempt(
                f"collect and build {job.task.name} {job.quarter}",
                partial(pipeline.collect_and_build, self.workspace, self.settings, job, self.output, named=False),
            )

    def _reveals(self) -> None:
        for quarter, name in pipeline.living(self.workspace):
            if _is_due(self.workspace, quarter, name):
                task = get_task(name)
                self.attempt(
                    f"reveal {name} {quarter}",
                    partial(reveal, self.workspace, quarter, task, now()),
                )

    def _evaluate(self, evaluation: Evaluation) -> None:
        try:
            run_evaluation(self.output, self.workspace, evaluation)
        except HelloFreshError as error:
            if error.code not in pipeline.LEAVES_OUT:
                raise
            self.output.say(f"note: {evaluation.model} is left out on {evaluation.task.name}: {error.what}")

    def _score(self, edition: Edition) -> None:
        try:
            run_score(self.output, self.workspace, edition, self.submissions)
        except HelloFreshError as error:
            if error.code != "nothing-to-score":
                raise

    def _export(self) -> None:
        # Only this step needs the site's parts.
        from leaderboard.export import export_board

        assert self.settings.daily.export is not None
        export_board(self.workspace.board, Path(self.settings.daily.export), space=False, progress=lambda _: None)


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load()
    if options.dry_run:
        _show_plan(workspace, settings, output)
        return 0
    # Results of the steps are of no use here: each says in a line what it did.
    day = _Day(workspace, settings, options.submissions, CommandOutput(as_json=True))
    with locked(workspace.root / "locks" / "quarter-run.lock", what="running 'hellofresh quarter run'"):
        day.all_steps()
    failed = [result for result in day.results if result.state is not StepState.DONE]
    summary = _summary(workspace, day.results)
    output.result([{"step": one.name, "state": str(one.state), "detail": one.detail} for one in day.results])
    output.text(summary)
    if options.summary is not None:
        write_bytes(options.summary, f"{summary}\n".encode())
    variable = settings.daily.hook_variable
    if variable is not None and (failed or not settings.daily.hook_on_failure):
        post_summary(variable, summary)
    return 1 if failed else 0


def due_evaluations(workspace: Workspace, settings: Settings) -> Iterator[Evaluation]:
    """Every configured model and regime, on the quarters that are open or closed and the newest that is revealed.

    With a budget, a run may cost what the other runs on its quarter have left of it.
    """
    for quarter, name in _current(workspace):
        for regime in settings.evaluate.regimes:
            for model in settings.evaluate.models:
                evaluation = Evaluation(quarter, get_task(name), model, regime, limit=settings.evaluate.limit)
                budget = settings.evaluate.budget_usd
                left = None if budget is None else max(0.0, budget - _spent(workspace, evaluation))
                yield replace(evaluation, budget_usd=left)


def _current(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """Released quarters that have opened, without those before the newest that is revealed."""
    moment, found = now(), pipeline.living(workspace)
    phases = {which: state_of(workspace, which[0], get_task(which[1]), moment).phase for which in found}
    revealed = max((quarter for (quarter, _), phase in phases.items() if phase is Phase.REVEALED), default=None)
    opened = [which for which, phase in phases.items() if phase is not Phase.COLLECTING]
    return sorted(which for which in opened if revealed is None or which[0] >= revealed)


def _spent(workspace: Workspace, evaluation: Evaluation) -> float:
    """What the other runs on the quarter have cost, in USD."""
    total = 0.0
    for folder in workspace.runs.glob("*"):
        record = read_record(folder)
        if record is None or record.edition != str(evaluation.edition):
            continue
        same = (evaluation.task.name, evaluation.model, evaluation.regime)
        if (record.task, record.model.name, record.regime.name) != same:
            total += record.cost_usd or 0.0
    return total


def _is_due(workspace: Workspace, quarter: Quarter, task: str) -> bool:
    state = state_of(workspace, quarter, get_task(task), now())
    return state.phase is Phase.CLOSED and state.calendar.reveals <= now()


def _show_plan(workspace: Workspace, settings: Settings, output: CommandOutput) -> None:
    """What is due, and what it may cost; nothing is written."""
    due = [(f"reveal {name} {quarter}", "", "") for quarter, name in pipeline.living(workspace)
           if _is_due(workspace, quarter, name)]  # fmt: skip
    for evaluation in due_evaluations(workspace, settings):
        name = f"evaluate {evaluation.model} on {evaluation.task.name} {evaluation.edition}, {evaluation.regime}"
        try:
            ahead = foresee(workspace, evaluation)
        except HelloFreshError as error:
            due.append((name, f"cannot begin: {error.what}", ""))
            continue
        if ahead.calls:
            due.append((name, f"{ahead.calls:,} requests", f"{_usd(ahead.cost_usd)}, at most {_usd(ahead.most_usd)}"))
    output.result([{"step": step, "requests": requests, "cost": cost} for step, requests, cost in due])
    output.table(f"Due at {utc_text(now())}", ("step", "requests", "cost"), due)
    output.text("Collecting, scoring, board and publishing are repeated where their inputs have changed.")


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.2f} USD"


def _summary(workspace: Workspace, results: list[StepResult]) -> str:
    """A few lines for a mail or a chat: what failed first, then where each quarter stands."""
    failed = [str(result) for result in results if result.state is not StepState.DONE]
    done = len(results) - len(failed)
    head = f"HelloFresh, {utc_text(now())}: {done} of {len(results)} steps done."
    states = (state_of(workspace, quarter, get_task(name), now()) for quarter, name in _current(workspace))
    return "\n".join([head, *failed, *(f"{state.task} {state.quarter} {state.next_step}" for state in states)])


def _day(snapshot: Path) -> date:
    return date.fromisoformat(snapshot.name)
