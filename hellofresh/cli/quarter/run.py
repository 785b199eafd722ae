"""`hellofresh quarter run`: what is due today, step by step. It may be run every day; what is done is not done again.

A step that fails is named and leaves the others as they are; only what rests on it is left out. So one broken provider
keeps no quarter from being revealed.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache, partial
from pathlib import Path

from collectors import notes
from collectors.notes.dump.download import PUBLIC_URL, DumpRequest, download
from collectors.notes.dump.snapshot import newest_snapshot
from hellofresh.cli._analyses import analyse_scored
from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import run_evaluation
from hellofresh.cli.quarter.due import (
    DAYS_WAITED,
    current_quarters,
    due_evaluations,
    due_hydrations,
    is_reveal_due,
    record_hydration,
    snapshot_day,
)
from hellofresh.cli.quarter.hook import post_summary
from hellofresh.cli.release import pipeline
from hellofresh.cli.release.prospective import run_lane
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import HelloFreshError, RunError
from hellofresh.core.files import sweep_leftovers, write_bytes
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases import hydrate, reveal, state_of
from hellofresh.releases.publish import Hub, publish_to_hub
from hellofresh.results.board.build import build_board
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import Evaluation, foresee, is_finished
from hellofresh.runs.web_access import with_web
from hellofresh.submissions.inbox.accept import collect_inbox
from hellofresh.submissions.inbox.arrivals import VARIABLE, Inbox
from hellofresh.submissions.intake.released import due_in
from hellofresh.tasks import get_task

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

    def attempt(self, name: str, work: Callable[[], str | object], *, after: bool = True) -> bool:
        """Do one step; whether it is done.

        Args:
            name: what the step is called.
            work: does it; a text that it gives back is told in the summary.
            after: whether what it rests on is done.
        """
        if not after:
            self._record(StepResult(name, StepState.LEFT_OUT, "what it rests on failed"))
            return False
        try:
            said = work()
        except (HelloFreshError, OSError) as error:
            self._record(StepResult(name, StepState.FAILED, str(error)))
            return False
        except Exception as error:  # a fault of one step keeps no other quarter from its day
            traceback.print_exc(file=sys.stderr)
            self._record(StepResult(name, StepState.FAILED, f"a fault of the program, {type(error).__name__}: {error}"))
            return False
        self._record(StepResult(name, StepState.DONE, said if isinstance(said, str) else ""))
        return True

    def _record(self, result: StepResult) -> None:
        self.results.append(result)
        if result.state is not StepState.DONE:
            self.output.say(str(result))

    def all_steps(self) -> None:
        """Everything that is due, in order."""
        sources = self._archive() if self._archives else True
        self._releases(after=sources)
        for quarter in due_hydrations(self.workspace, self.settings):
            self.attempt(f"hydrate x-notes {quarter}", partial(self._hydrate, quarter))
        # What came in before the deadline counts, and after the reveal nothing is taken.
        if os.environ.get(VARIABLE):
            self.attempt("collect the inbox", self._inbox)
        self._reveals()
        self.attempt("take down samples whose posts are gone", lambda: pipeline.drop_gone(self.workspace, self.output))
        for evaluation in due_evaluations(self.workspace, self.settings):
            self.attempt(_named(evaluation), partial(self._evaluate, evaluation))
        editions = sorted({edition for edition, _ in self.workspace.released()})
        for edition in editions:
            self.attempt(f"score {edition}", partial(self._score, edition))
        models = tuple(self.settings.evaluate.models)
        self.attempt("prospective splits", lambda: run_lane(self.workspace, models, self.submissions, self.output))
        if self.settings.daily.analyses:
            self.attempt("analyses", lambda: analyse_scored(self.workspace, self.submissions, self.output))
        scored = any(self.workspace.is_scored(edition) for edition in editions)
        board = scored and self.attempt("board", lambda: build_board(self.workspace))
        published = self.attempt("publish", lambda: pipeline.publish_opened(self.workspace, self.output))
        if self.settings.daily.hub is not None:
            self.attempt(f"publish to hub:{self.settings.daily.hub}", self._publish_to_hub, after=published)
        if scored and self.settings.daily.export is not None:
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

        wanted = snapshot_day(today, self.settings.release.calendar.rule, self.settings.daily.archive_days)

        def take() -> None:
            newest = newest_snapshot(folder, url)
            if newest is None or _day(newest) < wanted:
                day = wanted if (today - wanted).days <= DAYS_WAITED else None
                with self.output.progress("download x-notes") as bar:
                    download(folder, DumpRequest(day, False, url), today=today, progress=bar.line)

        return self.attempt("archive x-notes", take) or newest_snapshot(folder, url) is not None

    def _releases(self, *, after: bool) -> None:
        try:
            jobs = pipeline.collection_jobs(self.workspace, self.settings, self._request) if after else []
        except HelloFreshError as error:
            self._record(StepResult("collect", StepState.FAILED, str(error)))
            return
        for job in jobs:
            self.attempt(
                f"collect and build {job.task.name} {job.quarter}",
                partial(pipeline.collect_and_build, self.workspace, self.settings, job, self.output, named=False),
            )

    @property
    def _request(self) -> pipeline.PathRequest:
        """Nothing named: all that is configured."""
        return pipeline.PathRequest((), None, None, (), (), (), None, self.submissions, settled=True)

    def _hydrate(self, quarter: Quarter) -> str:
        """Fill in texts that the release withholds, and learn which posts are gone."""
        source, _ = pipeline.sources_of(self.workspace, self.settings, self._request)
        assert source is not None  # else it were not due
        task, workdir = get_task("x-notes"), self.workspace.raw("x-notes", "hydrate")
        done = hydrate(
            self.workspace,
            quarter,
            task,
            lambda samples: notes.fill_notes(
                samples, source, workdir=workdir, progress=lambda _: None, warn=self.output.say
            ),
        )
        record_hydration(self.workspace, quarter)
        return f"{len(done.gone)} posts are gone, {len(done.changed)} changed" if done.gone or done.changed else ""

    def _inbox(self) -> str:
        """Accept what came in by the site; what is refused is for a person to look at, and stays in the inbox."""
        found, faults = collect_inbox(
            Inbox(Path(os.environ[VARIABLE])), cache(partial(due_in, self.workspace)), self.submissions
        )
        counts = Counter(item.state for item in found)
        said = [f"{counts[state]} {state}" for state in ("added", "replaced", "refused") if counts[state]]
        said += [f"{len(faults)} cannot be read"] if faults else []
        return f"{', '.join(said)}; see hellofresh submission collect --list" if said else ""

    def _publish_to_hub(self) -> None:
        assert self.settings.daily.hub is not None
        publish_to_hub(self.workspace, Hub.from_environment(self.settings.daily.hub), now())

    def _reveals(self) -> None:
        for quarter, name in pipeline.living(self.workspace):
            if is_reveal_due(self.workspace, quarter, name):
                task = get_task(name)
                self.attempt(
                    f"reveal {name} {quarter}",
                    partial(reveal, self.workspace, quarter, task, now()),
                )

    def _evaluate(self, evaluation: Evaluation) -> None:
        try:
            if is_finished(self.workspace, with_web(evaluation)):
                return
            report = run_evaluation(self.output, self.workspace, evaluation)
            if report.failed:
                what = f"{report.failed} of {report.judged + report.failed} samples could not be judged"
                raise RunError(what, where=str(report.folder / "errors.jsonl"), code="failed-samples")
        except HelloFreshError as error:
            if error.code not in pipeline.LEAVES_OUT:
                raise
            self.output.say(f"note: {evaluation.model} is left out on {evaluation.task.name}: {error.what}")

    def _score(self, edition: Edition) -> None:
        try:
            scored = score_quarter(self.workspace, edition, self.submissions)
            for note in scored.notes:
                self.output.say(f"note: {note}")
            publish_results(self.workspace, scored)
        except HelloFreshError as error:
            if error.code != "nothing-to-score":
                raise

    def _export(self) -> None:
        # Only this step needs the site's parts.
        from leaderboard.export import export_board, is_exported

        assert self.settings.daily.export is not None
        folder = Path(self.settings.daily.export)
        if not is_exported(self.workspace.board, folder):
            export_board(self.workspace.board, folder)


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load()
    if options.dry_run:
        _show_plan(workspace, settings, output)
        return 0
    # Results of the steps are of no use here: each says in a line what it did.
    day = _Day(workspace, settings, options.submissions, CommandOutput(as_json=True))
    with locked(workspace.root / "locks" / "quarter-run.lock", what="running 'hellofresh quarter run'"):
        sweep_leftovers(workspace.root)
        if settings.daily.export is not None:
            sweep_leftovers(Path(settings.daily.export).resolve().parent, deep=False)
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


def _show_plan(workspace: Workspace, settings: Settings, output: CommandOutput) -> None:
    """What is due, and what it may cost; nothing is written."""
    due = [(step, "", "") for step in _steps_due(workspace, settings)]
    for evaluation in due_evaluations(workspace, settings):
        name = _named(evaluation)
        try:
            ahead = foresee(workspace, with_web(evaluation))
        except HelloFreshError as error:
            due.append((name, f"cannot begin: {error.what}", ""))
            continue
        if ahead.calls:
            due.append((name, f"{ahead.calls:,} requests", f"{_usd(ahead.cost_usd)}, at most {_usd(ahead.most_usd)}"))
    output.result([{"step": step, "requests": requests, "cost": cost} for step, requests, cost in due])
    output.table(f"Due at {utc_text(now())}", ("step", "requests", "cost"), due)
    output.text("Collecting, scoring, board and publishing are repeated where their inputs have changed.")


def _steps_due(workspace: Workspace, settings: Settings) -> Iterator[str]:
    """The steps that are due for the calendar's sake, in order."""
    notes_source = settings.sources.x_notes
    if notes_source is not None and notes_source.dump is None:
        newest = newest_snapshot(workspace.snapshots("x-notes"), notes_source.base_url or PUBLIC_URL)
        wanted = snapshot_day(now().date(), settings.release.calendar.rule, settings.daily.archive_days)
        if newest is None or _day(newest) < wanted:
            yield f"archive x-notes of {wanted}"
    released = set(pipeline.living(workspace))
    for quarter in (Quarter.containing(now()).previous(), Quarter.containing(now())):
        for name in ("x-notes", "wikipedia-edits") if settings.sources.any else ():
            if (quarter, name) not in released:
                yield f"collect and build {name} {quarter}"
    yield from (f"hydrate x-notes {quarter}" for quarter in due_hydrations(workspace, settings))
    if os.environ.get(VARIABLE):
        arrivals, _ = Inbox(Path(os.environ[VARIABLE])).arrivals()
        yield f"collect the inbox: {len(arrivals)} arrivals"
    for quarter, name in pipeline.living(workspace):
        if is_reveal_due(workspace, quarter, name):
            yield f"reveal {name} {quarter}"


def _named(evaluation: Evaluation) -> str:
    return f"evaluate {evaluation.model} on {evaluation.task.name} {evaluation.edition}, {evaluation.regime}"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.2f} USD"


def _summary(workspace: Workspace, results: list[StepResult]) -> str:
    """A few lines for a mail or a chat: what failed first, then where each quarter stands."""
    failed = [str(result) for result in results if result.state is not StepState.DONE]
    told = [f"{result.name}: {result.detail}" for result in results if result.state is StepState.DONE and result.detail]
    done = len(results) - len(failed)
    head = f"HelloFresh, {utc_text(now())}: {done} of {len(results)} steps done."
    states = (state_of(workspace, quarter, get_task(name), now()) for quarter, name in current_quarters(workspace))
    return "\n".join([head, *failed, *told, *(f"{state.task} {state.quarter} {state.next_step}" for state in states)])


def _day(snapshot: Path) -> date:
    return date.fromisoformat(snapshot.name)
