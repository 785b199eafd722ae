"""The steps of `quarter run` that are due today. It may run every day; finished steps are not repeated.

A failed step is reported and only the steps that depend on it are skipped, so that one broken provider
does not delay the reveal of a quarter.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import aiohttp

from collectors import LIVING
from collectors.jobs import configured_notes_source, fault_of_dump
from collectors.notes import fill_texts
from collectors.notes.snapshot import PUBLIC_URL, DumpRequest, download, newest_snapshot
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.errors import ConfigError, HelloFreshError, ReleaseError, RunError, SourceError
from hellofresh.core.executors import completed
from hellofresh.core.files import read_model, sha256_file, write_json
from hellofresh.core.net import may_carry_key
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.memory import Memory, source_day
from hellofresh.pipeline.opening import Opening, open_release, openings
from hellofresh.pipeline.release import (
    LEAVES_OUT,
    ask,
    collect_and_build,
    confirm_publication,
    drop_gone,
    fit_voters,
    publish_opened,
    reveal_if_due,
    run_lane,
    score_if_any,
    within_budget,
)
from hellofresh.pipeline.sources import (
    DAYS_WAITED,
    SourceRequest,
    collected_quarters,
    collection_jobs,
    living,
    missed_quarters,
    snapshot_day,
)
from hellofresh.pipeline.steps import Steps, analyse_scored
from hellofresh.pipeline.witness import LastTime
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.exposure import waits
from hellofresh.releases.life.load import hydrate
from hellofresh.releases.life.manifest import MANIFEST, read_manifest
from hellofresh.releases.life.phases import Phase, phase_of
from hellofresh.releases.life.record import record_waiting, refuse_others
from hellofresh.releases.life.state import state_of
from hellofresh.releases.publish.hub import TOKEN, Hub, ask_hub, publish_to_hub
from hellofresh.results.board.build import build_board
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.regimes.registry import REGIMES, regimes_for
from hellofresh.runs.runner import RunStopped
from hellofresh.submissions.inbox import VARIABLE, Inbox, collect_inbox
from hellofresh.submissions.released import due_in, record_accepted
from hellofresh.tasks import Task, get_task

_HOOK_TIMEOUT_S = 30.0  # a hook only takes a note of what was done
_Item = TypeVar("_Item")


class StepState(StrEnum):
    """The outcome of a step."""

    DONE = "done"
    FAILED = "failed"
    LEFT_OUT = "left out"
    WAITS = "waits for you"


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step and its outcome; `detail` says why it failed or was skipped."""

    name: str
    state: StepState
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.name}{f' ({self.detail})' if self.detail else ''}"


@dataclass(slots=True)
class Day:
    """One run of all due steps.

    Attributes:
        steps, settings: the workspace and output, and the settings.
        sample: whether to use the bundled sample if no source is configured.
        results: the outcomes in order.
    """

    steps: Steps
    settings: Settings
    sample: bool = False
    results: list[StepResult] = field(default_factory=list)
    _sources: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> list[StepResult]:
        """The steps that failed, or were left out since another one did."""
        return [one for one in self.results if one.state in (StepState.FAILED, StepState.LEFT_OUT)]

    @property
    def news(self) -> bool:
        """Whether a person should hear of this day: a step failed, or began to wait for them."""
        day, troubles = utc_text(now()), Memory.of(self.workspace).troubles
        waits = [one.name for one in self.results if one.state is StepState.WAITS]
        return bool(self.failed) or any(troubles[name].since == day for name in waits if name in troubles)

    def attempt(self, name: str, work: Callable[[], str | object], *, after: bool = True, listed: bool = True) -> bool:
        """Run one step; returns whether it succeeded.

        Args:
            name: name of the step.
            work: runs it; a text that it returns becomes part of the summary.
            after: whether the steps that it depends on succeeded.
            listed: whether to list it among the results on success.
        """
        if not after:
            self._record(StepResult(name, StepState.LEFT_OUT, "a step that it needs failed"))
            return False
        try:
            said = work()
        except RunStopped:  # by Ctrl+C or SIGTERM, which end the whole day
            raise
        except (HelloFreshError, OSError) as error:
            self._record(StepResult(name, StepState.FAILED, str(error)))
            return False
        except Exception as error:  # a failed step must not stop other quarters
            traceback.print_exc(file=sys.stderr)
            self._record(StepResult(name, StepState.FAILED, f"a fault of the program, {type(error).__name__}: {error}"))
            return False
        if listed:
            self._record(StepResult(name, StepState.DONE, said if isinstance(said, str) else ""))
        return True

    def due(self, name: str, look: Callable[[], Iterable[_Item]]) -> list[_Item]:
        """The due items of a kind; a failure to find them counts as a failed step without items."""
        found: list[_Item] = []
        return found if self.attempt(name, lambda: found.extend(look()), listed=False) else []

    def _record(self, result: StepResult) -> None:
        self.results.append(result)
        if result.state is not StepState.DONE:
            self.steps.show.say(str(result))
        if result.state is not StepState.LEFT_OUT:
            why = None if result.state is StepState.DONE else result.detail
            memory, source = Memory.of(self.workspace), self._sources.get(result.name, "")
            memory.after(result.name, utc_text(now()), why=why, source=source).write(self.workspace)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the steps."""
        return self.steps.workspace

    def all_steps(self) -> None:
        """Run all due steps in order."""
        # What is drawn, paid or revealed by another workspace than the published one would be lost.
        if self.attempt("ask what was published", self._ask_targets):
            self._quarters()
            self._results()

    def _quarters(self) -> None:
        """From the sources to revealed labels."""
        notes = self.settings.sources.x_notes
        if notes is None or notes.dump is not None or self._archive(notes.base_url or PUBLIC_URL):
            self._releases()
        for opening in self.due("look for quarters to open", lambda: openings(self.workspace, self.settings)):
            self._open(opening)
        for quarter, name in self.due("look for posts", lambda: due_hydrations(self.workspace, self.settings)):
            self.attempt(f"hydrate {name} {quarter}", partial(self._hydrate, quarter, get_task(name)))
        # Submissions from before the deadline count, and none is accepted after the reveal.
        if os.environ.get(VARIABLE):
            self.attempt("collect the inbox", self._inbox)
        for quarter, name in living(self.workspace):
            self._reveal(quarter, name)
        self.attempt("take down samples whose posts are gone", lambda: drop_gone(self.steps))

    def _results(self) -> None:
        """From answers to the publication."""
        daily = self.settings.daily
        for evaluation in self.due("look for evaluations", lambda: due_evaluations(self.workspace, self.settings)):
            self.attempt(f"evaluate {evaluation.title}", partial(self._evaluate, evaluation))
        editions = sorted({edition for edition, _ in self.workspace.released()})
        for edition in editions:
            self.attempt(f"score {edition}", partial(score_if_any, self.steps, edition))
        asked = self.settings.evaluate
        self.attempt("prospective splits", lambda: run_lane(self.steps, asked, asked.models))
        if daily.analyses:
            self.attempt("analyses", partial(analyse_scored, self.steps))
        scored = any(self.workspace.is_scored(edition) for edition in editions)
        board = scored and self.attempt("board", lambda: build_board(self.workspace))
        published = self.attempt("publish", lambda: publish_opened(self.steps))
        if (hub := daily.hub) is not None:
            self.attempt(f"publish to hub:{hub}", partial(self._publish_to, hub), after=published)
        if scored and daily.export is not None:
            self.attempt("export", partial(self._export, Path(daily.export)), after=board)

    def _ask_targets(self) -> None:
        refuse_others(self.workspace)
        if self.settings.daily.export is not None:
            self._ask_copy(Path(self.settings.daily.export))
        if self.settings.daily.hub is not None and os.environ.get(TOKEN):
            try:
                ask_hub(self.workspace, Hub.from_environment(self.settings.daily.hub))
            except ReleaseError as error:
                if error.code == "other-publication":
                    raise
                self.steps.show.say(f"note: the hub could not be asked what it holds: {error}")

    def _ask_copy(self, folder: Path) -> None:
        """Refuse to go on if the static copy shows other commitments or labels than this workspace has."""
        from leaderboard.export.folder import MARKER, read_listing  # as in `_export`

        if (folder / MARKER).is_file():
            listing = read_listing(folder)
            mine = {
                path: self.workspace.root / "releases" / path.removeprefix("released/") for path in listing.releases
            }
            there = {path: sha256_file(file) for path, file in mine.items() if file.is_file()}
            listing.refuse_other_releases(there, folder)

    def _publish_to(self, hub: str) -> None:
        confirm_publication(self.steps.witness)
        publish_to_hub(self.workspace, Hub.from_environment(hub), now())

    def _reveal(self, quarter: Quarter, name: str) -> None:
        what = f"reveal {name} {quarter}"
        if any(self.due(what, lambda: [reveal_if_due(self.steps, quarter, name)])):
            self._record(StepResult(what, StepState.DONE))

    def _archive(self, url: str) -> bool:
        """Take a snapshot of a source that keeps its dumps only for days, unless there is a recent one."""
        folder, today = self.workspace.snapshots("x-notes"), now().date()
        configured = self.settings.sources.x_notes
        ratings = configured is not None and configured.ratings

        def take() -> None:
            if wanted := _wanted_snapshot(self.workspace, self.settings, url):
                day = wanted if (today - wanted).days <= DAYS_WAITED else None
                with self.steps.show.progress("download x-notes") as bar:
                    download(folder, DumpRequest(day, ratings, url), today=today, progress=bar.line)
            # Looked at each day, so that it fails until somebody has looked; the last good dump is used meanwhile.
            newest = newest_snapshot(folder, url)
            if newest is not None and (fault := fault_of_dump(newest, self.settings)) is not None:
                raise fault

        return self.attempt("archive x-notes", take) or newest_snapshot(folder, url) is not None

    def _releases(self) -> None:
        def failed(what: str, error: HelloFreshError) -> None:
            self._record(StepResult(what, StepState.FAILED, str(error)))

        request = SourceRequest(settled=True, sample=self.sample)
        if self.settings.sources.x_notes is not None:
            for quarter in collected_quarters(self.workspace, self.settings, request):
                self.attempt(f"collect ratings {quarter}", partial(fit_voters, self.steps, self.settings, quarter))
        try:
            jobs = collection_jobs(self.workspace, self.settings, request, failed)
        except HelloFreshError as error:
            failed("collect", error)
            return
        for job in jobs:
            what = f"collect and build {job.task.name} {job.quarter}"
            self._sources[what] = source_day(job, now().date())
            self.attempt(what, partial(self._collect_and_build, job))

    def _collect_and_build(self, job: CollectionJob) -> None:
        name, quarter = job.task.name, job.quarter
        built = collect_and_build(self.steps, self.settings, job)
        if built is not None:
            record_waiting(self.workspace, self.workspace.release(quarter, name))
        elif (self.workspace.release(quarter, name) / MANIFEST).is_file():
            raise SourceError(
                f"the source has no candidates of {name} {quarter} any more; the last build is kept",
                fix="Check whether its format has changed: docs/trouble.md",
                code="no-candidates",
            )

    def _open(self, opening: Opening) -> None:
        """Open a quarter whose day has come, or say once that it waits, and for what."""
        quarter, name = opening.quarter, opening.task
        record_waiting(self.workspace, self.workspace.release(quarter, name))
        what = f"open {name} {quarter}"
        if opening.due and self.settings.daily.opens == "by itself" and not opening.faults:
            self.attempt(what, partial(self._open_now, quarter, name))
        elif opening.due:
            why = "; ".join(opening.faults) or "no warnings"
            self._record(StepResult(what, StepState.WAITS, f"hellofresh quarter open {quarter}: {why}"))

    def _open_now(self, quarter: Quarter, name: str) -> None:
        self.steps.witness.confirm("the opening")
        open_release(self.workspace, quarter, name)

    def _hydrate(self, quarter: Quarter, task: Task) -> str:
        """Fill in texts that the release withholds, and find out which posts are gone."""
        source = configured_notes_source(self.workspace, self.settings)
        assert source is not None  # the step is due only with a source
        workdir, quiet = self.workspace.raw(task.name, "hydrate"), lambda _: None
        fill = partial(fill_texts, source=source, workdir=workdir, progress=quiet, warn=self.steps.show.say)
        done = hydrate(self.workspace, quarter, task, fill)
        record_hydration(self.workspace, quarter, task.name)
        return f"{len(done.gone)} posts are gone, {len(done.changed)} changed" if done.gone or done.changed else ""

    def _inbox(self) -> str:
        """Accept submissions from the site's inbox; refused ones stay there for a person to check."""
        inbox, due = Inbox(Path(os.environ[VARIABLE])), cache(partial(due_in, self.workspace))
        found, faults = collect_inbox(inbox, due, self.steps.submissions)
        for item in found:
            if item.state in ("added", "replaced"):
                record_accepted(self.workspace, item.arrival.receipt, item.arrival.split)
        counts = Counter(item.state for item in found)
        said = [f"{counts[state]} {state}" for state in ("added", "replaced", "refused") if counts[state]]
        said += [f"{len(faults)} cannot be read"] if faults else []
        return f"{', '.join(said)}; see hellofresh submission add --inbox --list" if said else ""

    def _evaluate(self, evaluation: Evaluation) -> None:
        report = ask(self.steps, evaluation, LEAVES_OUT, again=False)
        if report is not None and report.failed:
            what = f"{report.failed} of {report.judged + report.failed} samples could not be answered"
            raise RunError(what, where=str(report.folder / "errors.jsonl"), code="failed-samples")

    def _export(self, folder: Path) -> None:
        # Only this step needs the site's modules.
        from leaderboard.export import export_board, is_exported

        if not is_exported(self.workspace.board, folder):
            export_board(self.workspace.board, folder)


def _wanted_snapshot(workspace: Workspace, settings: Settings, url: str) -> date | None:
    """The day of the due dump; None if there is a recent snapshot."""
    newest = newest_snapshot(workspace.snapshots("x-notes"), url)
    wanted = snapshot_day(now().date(), settings.release.calendar.rule, settings.daily.archive_days)
    return wanted if newest is None or date.fromisoformat(newest.name) < wanted else None


def steps_due(workspace: Workspace, settings: Settings) -> Iterator[str]:
    """The steps that are due by the calendar, in order."""
    notes = settings.sources.x_notes
    url = notes.base_url or PUBLIC_URL if notes is not None and notes.dump is None else ""
    if url and (wanted := _wanted_snapshot(workspace, settings, url)):
        yield f"archive x-notes of {wanted}"
    if settings.sources.any:
        current, released = Quarter.containing(now()), set(living(workspace))
        due = {*missed_quarters(workspace, settings, now()), *((current, name) for name in settings.sources.tasks)}
        yield from (f"collect and build {name} {quarter}" for quarter, name in sorted(due - released))
    yield from (f"hydrate {name} {quarter}" for quarter, name in due_hydrations(workspace, settings))
    if os.environ.get(VARIABLE):
        arrivals, _ = Inbox(Path(os.environ[VARIABLE])).arrivals()
        yield f"collect the inbox: {len(arrivals)} arrivals"
    for quarter, name in living(workspace):
        if is_reveal_due(workspace, quarter, name):
            yield f"reveal {name} {quarter}"


def summary_of(workspace: Workspace, results: list[StepResult]) -> str:
    """A summary for a mail or a chat: failed steps first, then the state of each quarter."""
    order = list(StepState)
    others = sorted(
        (one for one in results if one.state is not StepState.DONE), key=lambda one: -order.index(one.state)
    )
    failed = [str(result) for result in others]
    said = [f"{result.name}: {result.detail}" for result in results if result.state is StepState.DONE and result.detail]
    done = len(results) - len(failed)
    head = f"HelloFresh, {utc_text(now())}: {done} of {len(results)} steps done."
    next_steps = []
    with suppress(HelloFreshError):  # an unreadable state has already failed a step
        for quarter, name in current_quarters(workspace):
            next_steps.append(f"{name} {quarter} {state_of(workspace, quarter, get_task(name), now()).next_step}")
    return "\n".join([head, *failed, *said, *next_steps])


def due_hydrations(workspace: Workspace, settings: Settings) -> Iterator[tuple[Quarter, str]]:
    """The current quarters and tasks with withheld posts on X that were last looked up too long ago."""
    notes, wait = settings.sources.x_notes, timedelta(days=settings.daily.hydrate_days)
    if notes is None or not (notes.posts or notes.posts_from):
        return
    for quarter, name in current_quarters(workspace):
        if name not in LIVING or LIVING[name].snapshots != "x-notes":
            continue  # of another source, or its collector is not installed
        if read_manifest(workspace.release(quarter, name)).withheld:
            record = _record_of(workspace, quarter, name)
            if not record.is_file() or parse_utc(read_model(record, LastTime).at) + wait <= now():
                yield quarter, name


def record_hydration(workspace: Workspace, quarter: Quarter, task: str) -> None:
    """Record that a release's posts were looked up now."""
    write_json(_record_of(workspace, quarter, task), asdict(LastTime(utc_text(now()))))


def _record_of(workspace: Workspace, quarter: Quarter, task: str) -> Path:
    return workspace.hydrated(quarter, task).with_name("hydrated.json")


def due_evaluations(workspace: Workspace, settings: Settings) -> Iterator[Evaluation]:
    """Evaluations of every configured model and regime on open and closed quarters and the newest revealed one.

    With a budget, a run may spend what the other runs on its quarter left.
    """
    for quarter, name in current_quarters(workspace):
        others = REGIMES.keys() - set(regimes_for(get_task(name)))  # their outputs do not fit the task
        for regime in (regime for regime in settings.evaluate.regimes if regime not in others):
            for model in settings.evaluate.models:
                evaluation = Evaluation(quarter, get_task(name), model, regime, limit=settings.evaluate.limit)
                yield within_budget(workspace, evaluation, settings.evaluate.budget_usd)


def current_quarters(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """Released quarters that have opened, from the newest revealed one on."""
    moment, found = now(), living(workspace)
    phases = {(quarter, name): phase_of(workspace, quarter, get_task(name), moment) for quarter, name in found}
    revealed = max((quarter for (quarter, _), phase in phases.items() if phase is Phase.REVEALED), default=None)
    opened = [which for which, phase in phases.items() if phase is not Phase.COLLECTING]
    return sorted(which for which in opened if revealed is None or which[0] >= revealed)


def is_reveal_due(workspace: Workspace, quarter: Quarter, task: str) -> bool:
    """Whether labels may be published now; not if the quarter must wait for others, even after its day."""
    if phase_of(workspace, quarter, get_task(task), now()) is not Phase.CLOSED:
        return False
    until = waits(workspace, quarter, task)
    return until is not None and until <= now()


def post_summary(variable: str, summary: str) -> None:
    """Post `{"text": SUMMARY}` to the address that an environment variable holds; the address is a secret.

    Raises:
        ConfigError: if the variable does not hold an address that is safe for a secret.
        SourceError: if the hook refuses the post.
    """
    address = os.environ.get(variable, "")
    if not may_carry_key(address):
        raise ConfigError(
            "no address for the summary",
            where=variable,
            expected="an https address in this environment variable",
            code="bad-hook",
        )

    async def post() -> str:
        client = HttpClient("hook", {"Content-Type": "application/json"}, timeout_s=_HOOK_TIMEOUT_S)
        try:
            reply = await client.send("POST", address, json.dumps({"text": summary}).encode())
        except (UnusableReplyError, aiohttp.ClientError, TimeoutError, OSError) as error:
            return type(error).__name__  # its text may contain the address
        finally:
            await client.close()
        return "" if reply.status < 300 else f"HTTP {reply.status}"

    if problem := completed(post()):
        raise SourceError(f"the hook did not accept the summary ({problem})", where=variable, code="hook-failed")
