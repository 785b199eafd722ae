"""The gate before a quarter opens: what is there must be fresh, enough, and of every class in every month."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from collectors import LIVING
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.memory import Memory, StepRecord
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest, write_manifest
from hellofresh.releases.life.record import is_waiting, record_opening, refuse_another, was_opened

_LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Opening:
    """A release that was never opened, with the last quarter's, if there was one, and the reasons against opening it.

    Attributes:
        due: whether its day has come and its deadline has not.
        waits: whether it is on record that it waits; others open by the calendar, such as those of `release build`.
    """

    quarter: Quarter
    task: str
    manifest: Manifest
    last: Manifest | None
    due: bool
    waits: bool
    faults: tuple[str, ...]

    @property
    def funnels(self) -> Iterator[tuple[str, int | str, int | str]]:
        """Rows of its funnel beside those of the last quarter."""
        mine, before = (_funnel(one) if one else {} for one in (self.manifest, self.last))
        for name in dict.fromkeys((*mine, *before)):
            yield name, mine.get(name, ""), before.get(name, "")


def _funnel(manifest: Manifest) -> dict[str, int]:
    funnel = manifest.collection.funnel
    drops = {f"- {drop.reason}": drop.count for drop in funnel.drops}
    return {f"{funnel.unit} found": funnel.rows_in, **drops, "= samples": _samples(manifest)}


def _samples(manifest: Manifest) -> int:
    return manifest.selection.samples if manifest.selection else 0


def openings(workspace: Workspace, settings: Settings) -> list[Opening]:
    """The releases from real sources that were never opened, in order."""
    found, memory = [], Memory.of(workspace)
    for edition, task in workspace.released():
        folder = workspace.release(edition, task)
        manifest = read_manifest(folder)
        if isinstance(edition, Quarter) and not manifest.bundled and not was_opened(workspace, folder, manifest):
            before = workspace.release(edition.previous(), task)
            last = read_manifest(before) if (before / MANIFEST).is_file() else None
            days = calendar_of(manifest, folder)
            faults = tuple(_faults(settings, manifest, last, memory))
            due, waits = days.opens <= now() < days.deadline, is_waiting(workspace, folder)
            found.append(Opening(edition, task, manifest, last, due, waits, faults))
    return found


def _faults(settings: Settings, manifest: Manifest, last: Manifest | None, memory: Memory) -> Iterator[str]:
    quarter, task = Quarter.parse(manifest.edition), manifest.task
    settles = settings.release.calendar.rule.settles(quarter)
    collect = f"collect and build {task} {quarter}"
    source = memory.steps.get(collect, StepRecord()).source
    if not source or date.fromisoformat(source) < settles:
        yield f"its source is of {source or 'an unknown day'}, and labels settle on {settles}"
    archive = f"archive {LIVING[task].snapshots}" if task in LIVING else ""
    for name in (archive, f"collect {task} {quarter}", collect):
        if (trouble := memory.troubles.get(name)) is not None:
            yield f"'{name}' has failed since {trouble.since[:10]}: {trouble.why}"
    count, before = _samples(manifest), _samples(last) if last else 0
    if count < settings.daily.least_samples:
        yield f"it has {count} samples, fewer than least_samples ({settings.daily.least_samples})"
    if 2 * count < before:
        yield f"it has {count} samples, the last quarter had {before}"
    periods = manifest.selection.periods if manifest.selection else {}
    full = {_month(name) for name, period in periods.items() if period.taken_per_class}
    months = [f"{quarter.year}-{month:02d}" for month in range(3 * quarter.number - 2, 3 * quarter.number + 1)]
    if empty := [month for month in months if month not in full]:
        yield f"{', '.join(empty)} has no samples of every class"


def _month(period: str) -> str:
    """The month of a period: of a week, that of its Thursday, which is in the week's own year."""
    if "-W" not in period:
        return period
    year, week = period.split("-W")
    return date.fromisocalendar(int(year), int(week), 4).isoformat()[:7]


def open_release(workspace: Workspace, quarter: Quarter, task: str) -> None:
    """Open a release: from now on it never changes. One that opens late says so in its calendar.

    Raises:
        UsageError: if its day has not come, or its deadline has passed.
    """
    folder, moment = workspace.release(quarter, task), now()
    refuse_another(workspace, folder)
    manifest = read_manifest(folder)
    days = calendar_of(manifest, folder)
    if moment < days.opens:
        raise UsageError(f"{task} {quarter} opens on {utc_text(days.opens)}", fix="Open it then.", code="not-open")
    if moment >= days.deadline:
        raise UsageError(
            f"the deadline of {task} {quarter} was {utc_text(days.deadline)}",
            fix=f'Name a later one in hellofresh.toml: [release.calendar.deadlines] "{quarter}" = ..., then run again.',
            code="closed",
        )
    if moment >= days.opens + _LATE:
        calendar = {**(manifest.calendar or {}), "opens": utc_text(moment)}
        written = write_manifest(folder, manifest.amended(calendar=calendar))
        Stage.amend(workspace, f"release/{quarter}/{task}", [written])
    record_opening(workspace, folder, moment)
