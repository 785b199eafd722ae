"""Sources of samples, from the command line or else the settings, and the days of the dumps they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from collectors.jobs import bundled_files, bundled_jobs, configured_jobs
from collectors.sample import QUARTERS
from hellofresh.config import Settings, SourceSettings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.releases.life.state import QuarterState, state_of
from hellofresh.tasks import TASKS, get_task

DAYS_WAITED = 3
"""Days to wait for a dump before the newest one replaces it."""


def snapshot_day(today: date, rule: CalendarRule, every: int) -> date:
    """The newest day up to today whose dump is needed.

    Days are counted back from the last one before each opening, and the next follows after the quarter opened. So the
    dumps of releases depend on the calendar alone, and not on days when the machine was down or the
    source late.

    Args:
        today: the day.
        rule: the calendar.
        every: days between snapshots.
    """
    quarter = Quarter.containing(datetime.combine(today, time(), UTC))
    nearby = (quarter.previous().previous().previous(), quarter.previous().previous(), quarter.previous(), quarter)
    before, opened, following = date.min, date.min, date.max
    for one in nearby:
        last = rule.settles(one)
        if last >= today:
            following = min(following, last)
        else:
            before, opened = last, rule.of(one).opens.date()
    periods = -(-(following - today).days // every)
    wanted = following - timedelta(days=periods * every)
    return wanted if wanted >= opened else before


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """The quarters and sources to collect.

    Attributes:
        quarters: empty for the current, the previous and the missed ones.
        named: sources that replace the configured ones.
        settled: whether to query a wiki about a quarter only once it is decided, and from scratch; else at every run,
            without repeating earlier queries.
        sample: whether to use the bundled sample if no source is named or configured.
    """

    quarters: tuple[Quarter, ...] = ()
    named: SourceSettings | None = None
    settled: bool = False
    sample: bool = False


def collection_jobs(
    workspace: Workspace,
    settings: Settings,
    request: SourceRequest,
    failed: Callable[[str, HelloFreshError], None] | None = None,
) -> list[CollectionJob]:
    """The collections to run, by quarter; empty if no source is named or configured.

    Unless named, the quarters are the current and the previous one, and older ones that were missed.

    Args:
        workspace, settings: the workspace and the configured sources.
        request: the named sources, which precede the configured ones, and the quarters.
        failed: called with a source that fails, so that the others continue; by default its error is raised.

    Raises:
        UsageError: if the bundled sample does not have a named quarter.
    """
    settings = settings.model_copy(update={"sources": request.named or settings.sources})
    if not settings.sources.any and not request.sample:
        return []
    if not settings.sources.any:
        jobs = bundled_jobs(workspace)
        known = sorted({job.quarter for job in jobs})
        for quarter in request.quarters:
            if quarter not in known:
                raise UsageError(
                    f"the bundled sample has no {quarter}",
                    expected=" or ".join(str(item) for item in known),
                    fix="Name a source: NOTES_DUMP=DIR or WIKI_DUMP=FILE with make, or hellofresh.toml.",
                    code="no-source",
                )
        return [job for job in jobs if job.quarter in (request.quarters or known)]
    current, jobs = Quarter.containing(now()), []
    for quarter in collected_quarters(workspace, settings, request):
        found = configured_jobs(workspace, settings, quarter, afresh=request.settled, failed=failed)
        recent = bool(request.quarters) or quarter >= current.previous()
        for job in found:
            if recent or not (workspace.release(quarter, job.task.name) / MANIFEST).is_file():
                jobs.append(job)
    return jobs


def collected_quarters(workspace: Workspace, settings: Settings, request: SourceRequest) -> Sequence[Quarter]:
    """The quarters to collect: the named ones, else the current, the previous and the missed ones."""
    current, missed = Quarter.containing(now()), missed_quarters(workspace, settings, now())
    return request.quarters or sorted({*(quarter for quarter, _ in missed), current.previous(), current})


def rated_quarters(
    workspace: Workspace, settings: Settings, request: SourceRequest
) -> tuple[Settings, Sequence[Quarter]]:
    """The quarters whose ratings are fitted, with the settings that name their source; none without notes.

    Of the bundled sample, those that are due to be revealed: ratings of notes tell their labels.
    """
    sources, quarters = request.named or settings.sources, list[Quarter]()
    if not sources.any and request.sample:
        sources = SourceSettings.model_validate({"x-notes": {"dump": str(bundled_files(workspace)[0])}})
        known = [quarter for quarter in QUARTERS if quarter in (request.quarters or QUARTERS)]
        quarters = [one for one in known if settings.release.calendar.of(one).reveals <= now()]
    elif sources.x_notes is not None:
        quarters = [*collected_quarters(workspace, settings, request)]
    return settings.model_copy(update={"sources": sources}), quarters


def living(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """The released quarters, without frozen data sets, which have no calendar."""
    return [(edition, name) for edition, name in workspace.released() if isinstance(edition, Quarter)]


def quarter_states(
    workspace: Workspace, settings: Settings, moment: datetime, quarters: Sequence[Quarter] = ()
) -> list[QuarterState]:
    """The state of each quarter and task, late ones first.

    Args:
        workspace, settings: the workspace and its settings.
        moment: the current time.
        quarters: the quarters; empty for all that are released or should be, and the current one.
    """
    released = set(living(workspace))
    tasks = expected_tasks(workspace, settings) or [task.name for task in TASKS.values() if task.is_living]
    current = quarters or (Quarter.containing(moment),)
    listed = {*released, *missed_quarters(workspace, settings, moment), *((q, name) for q in current for name in tasks)}
    rule = settings.release.calendar.rule
    states = [
        state_of(workspace, quarter, get_task(name), moment, rule)
        for quarter, name in sorted(listed)
        if not quarters or quarter in quarters
    ]
    return sorted(states, key=lambda state: not state.late)


def expected_tasks(workspace: Workspace, settings: Settings) -> Sequence[str]:
    """The tasks whose sources are configured; without sources, the released ones."""
    return settings.sources.tasks or sorted({name for _, name in living(workspace)})


def missed_quarters(workspace: Workspace, settings: Settings, moment: datetime) -> list[tuple[Quarter, str]]:
    """The ended quarters without a release, with the tasks to release, in order.

    Each task has a release for every quarter from its first one on; the last quarter is always due.
    """
    released = set(living(workspace))
    last, missed = Quarter.containing(moment).previous(), []
    for name in expected_tasks(workspace, settings):
        quarter = min([last, *(quarter for quarter, task in released if task == name)])
        while quarter <= last:
            if (quarter, name) not in released:
                missed.append((quarter, name))
            quarter = quarter.next()
    return sorted(missed)
