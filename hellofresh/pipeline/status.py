"""What a maintainer has to know today, in at most ten lines: what needs them, what fails, what is open and next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hellofresh.config import Settings
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_model
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.study import StudyFiles
from hellofresh.pipeline.memory import Memory
from hellofresh.pipeline.opening import openings
from hellofresh.pipeline.sources import DAYS_WAITED, living
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.draw.prospective import prospective_splits
from hellofresh.releases.life.manifest import calendar_of, read_manifest
from hellofresh.releases.life.phases import Phase
from hellofresh.releases.life.record import publications_at_hand, real_releases, refuse_others
from hellofresh.releases.life.state import QuarterState
from hellofresh.releases.publish._parts import ACCOUNT, PublishedAccount
from hellofresh.submissions.receipts import find_submissions, read_receipt
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import PROSPECTIVE

MOST_LINES = 10
# How long a failing step may heal by itself, as a late dump does, before a person is needed.
_PATIENCE = timedelta(days=DAYS_WAITED)


@dataclass(frozen=True, slots=True)
class StatusLine:
    """A line, and whether a person has to do what it says."""

    text: str
    needs_person: bool = False

    def __str__(self) -> str:
        return f"{'! ' if self.needs_person else ''}{self.text}"


def status_lines(
    workspace: Workspace, settings: Settings, states: Sequence[QuarterState], moment: datetime, *, everything: bool
) -> list[StatusLine]:
    """The status, what needs a person first.

    Args:
        workspace, settings: the workspace and its settings.
        states: of its quarters, from `quarter_states`.
        moment: the current time.
        everything: whether to give more than ten lines where there are more.
    """
    found = [
        *_secrets(workspace),
        *_waiting(workspace, settings),
        *_late(workspace, states),
        *_failing(workspace, moment),
        *_ratings(workspace, states),
        *_open(states),
        *_prospective(workspace, moment),
        *_next(states, moment),
        *_collected(workspace),
    ]
    found.sort(key=lambda line: not line.needs_person)
    if len(found) > MOST_LINES and not everything:
        rest = found[MOST_LINES - 1 :]
        more = f"{len(rest)} more lines: hellofresh quarter status --all"
        found[MOST_LINES - 1 :] = [StatusLine(more, any(line.needs_person for line in rest))]
    return found


def _secrets(workspace: Workspace) -> Iterator[StatusLine]:
    """What was lost or changed: the escrow key, and publications that are not this workspace's."""
    try:
        refuse_others(workspace)
        if any(real_releases(workspace)):
            Escrow.of_workspace(workspace)
    except HelloFreshError as error:
        yield StatusLine(str(error), needs_person=True)
    for target, releases in publications_at_hand(workspace):
        with suppress(HelloFreshError):
            listed = read_model(releases.parent / ACCOUNT, PublishedAccount).files
            if edited := [entry.path for entry in listed if not entry.is_in(releases.parent)]:
                text = (
                    f"{target} was edited by hand ({', '.join(edited[:3])}): hellofresh release publish --to {target}"
                )
                yield StatusLine(text, needs_person=True)


def _waiting(workspace: Workspace, settings: Settings) -> Iterator[StatusLine]:
    by_quarter: dict[Quarter, list[str]] = defaultdict(list)
    for one in openings(workspace, settings):
        if one.due and one.waits and (one.faults or settings.daily.opens == "when asked"):
            by_quarter[one.quarter].append(f"{one.task} ({'; '.join(one.faults) or 'no warnings'})")
    for quarter, tasks in by_quarter.items():
        yield StatusLine(f"waits for you: hellofresh quarter open {quarter}: {', '.join(tasks)}", needs_person=True)


def _late(workspace: Workspace, states: Sequence[QuarterState]) -> Iterator[StatusLine]:
    """Quarters that were to open and are not built, of tasks that had one before."""
    first = {task: quarter for quarter, task in reversed(living(workspace))}
    for state in states:
        if state.late and state.task in first and state.quarter > first[state.task]:
            what = f"{state.task} {state.quarter} should have opened on {utc_text(state.calendar.opens)}: not built"
            yield StatusLine(f"{what}: hellofresh quarter run", needs_person=True)


def _failing(workspace: Workspace, moment: datetime) -> Iterator[StatusLine]:
    memory = Memory.of(workspace)
    if memory.ran and not timedelta() <= moment - parse_utc(memory.ran) <= _PATIENCE:
        yield StatusLine(f"'quarter run' last finished on {memory.ran[:10]}: hellofresh quarter run", needs_person=True)
    for name, trouble in memory.troubles.items():
        if not name.startswith("open "):
            long = moment - parse_utc(trouble.since) >= _PATIENCE
            yield StatusLine(f"fails since {trouble.since[:10]}: {name}: {trouble.why}", needs_person=long)


def _ratings(workspace: Workspace, states: Sequence[QuarterState]) -> Iterator[StatusLine]:
    """Responses that were submitted for a quarter without a study of them."""
    for state in states:
        task, quarter = get_task(state.task), state.quarter
        study = StudyFiles(workspace, quarter, task.name)
        asked = study.private.is_dir() or study.ratings.is_file()
        if task.output is Response and state.phase is Phase.CLOSED and not asked:
            folders = find_submissions(workspace.submissions(), quarter)
            if entries := [folder for folder in folders if _takes_part(folder, task.name)]:
                command = f"hellofresh rate assign --edition {quarter} --task {task.name} --prepare study"
                yield StatusLine(f"{task.name} {quarter} has {len(entries)} submissions but no raters: {command}")


def _takes_part(folder: Path, task: str) -> bool:
    receipt = read_receipt(folder, [])
    return receipt is not None and task in receipt.tasks


def _open(states: Sequence[QuarterState]) -> Iterator[StatusLine]:
    groups: dict[str, list[str]] = defaultdict(list)
    for state in states:
        if state.phase in (Phase.OPEN, Phase.CLOSED) and not state.late:
            groups[f"{state.quarter} {state.next_step}"].append(f"{state.task} {state.samples}")
    for text, tasks in groups.items():
        yield StatusLine(f"{text} {', '.join(tasks)} samples")


def _prospective(workspace: Workspace, moment: datetime) -> Iterator[StatusLine]:
    for quarter, name in prospective_splits(workspace):
        folder = workspace.release(quarter, name, PROSPECTIVE)
        manifest = read_manifest(folder)
        days, drawn = calendar_of(manifest, folder), manifest.file("samples.jsonl")
        if manifest.resolved is None:
            until = f"predictions until {utc_text(days.deadline)}; " if moment < days.deadline else ""
            until += f"resolved by {utc_text(days.reveals)}"
            yield StatusLine(f"{quarter} {name}, prospective, {drawn.rows if drawn else 0} samples: {until}")


def _next(states: Sequence[QuarterState], moment: datetime) -> Iterator[StatusLine]:
    verbs = {"opens": "opens", "deadline": "closes", "reveals": "is revealed"}
    days = [
        (getattr(state.calendar, name), f"{state.quarter} {verb}") for state in states for name, verb in verbs.items()
    ]
    if coming := [item for item in days if item[0] > moment]:
        day, what = min(coming)
        yield StatusLine(f"next: {what} on {utc_text(day)}")


def _collected(workspace: Workspace) -> Iterator[StatusLine]:
    newest: dict[str, str] = {}
    for name, step in Memory.of(workspace).steps.items():
        if name.startswith("collect and build ") and step.done:
            task = name.split()[3]
            newest[task] = max(newest.get(task, ""), step.done[:10])
    if newest:
        yield StatusLine(f"last collected: {', '.join(f'{task} {day}' for task, day in sorted(newest.items()))}")
