"""Where samples come from: what the command line names, else what the settings name; and who collects which task.

A living task says in `Task.source` what it is collected from; `_COLLECTORS` has the function that makes its jobs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from collectors import claims, notes, wikipedia
from collectors.claims.api import fetch_reviews
from collectors.claims.download import fetch_feed
from collectors.jobs import bundled_jobs, claims_job, edits_job, live_edits_job, notes_job
from collectors.notes import SERVICES, NotesSource, Online
from collectors.notes.dump.download import PUBLIC_URL
from collectors.notes.dump.snapshot import newest_snapshot
from collectors.wikipedia.api.source import EditSampling, LiveSource, check_contact, read_titles
from hellofresh.config import NotesSourceSettings, PostsSettings, Settings, WikiSourceSettings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.errors import ConfigError, HelloFreshError, UnknownNameError, UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates.collection import CollectionJob
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Sample

DAYS_WAITED = 3
"""Days for which a dump is waited for; then the newest takes its place."""


def snapshot_day(today: date, rule: CalendarRule, every: int) -> date:
    """The newest day up to today whose dump is wanted.

    Days are counted back from the last one before each opening, and none follows until the quarter has opened. So the
    dumps that releases are made of follow from the calendar alone, and not from which day the machine was down or the
    source late.

    Args:
        today: the day.
        rule: the calendar.
        every: days from one snapshot to the next.
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


def fill_texts(
    workspace: Workspace,
    task: Task,
    source: NotesSource,
    samples: Sequence[Sample],
    *,
    progress: Callable[[str], None],
    warn: Callable[[str], None],
) -> Mapping[str, Sample | str]:
    """The texts of samples from X, by id, or why one cannot be had; see `collectors.notes`."""
    if task.output is Response:  # a post without a note
        return notes.fill_posts(samples, source, progress=progress, warn=warn)
    workdir = workspace.raw(task.name, "hydrate")
    return notes.fill_notes(samples, source, workdir=workdir, progress=progress, warn=warn)


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """Sources that are named on the command line; where none is, the configured ones are used.

    Attributes:
        quarters: empty for the current and the previous one.
        notes_dump, notes_posts, notes_posts_from, wiki_dumps: with any dump, the configured sources are not used.
        settled: whether a wiki is asked about a quarter once all of it is decided, and afresh; else whenever it is run,
            and what was asked before is not asked again.
    """

    quarters: tuple[Quarter, ...] = ()
    notes_dump: Path | None = None
    notes_posts: Path | None = None
    notes_posts_from: tuple[str, ...] = ()
    wiki_dumps: tuple[Path, ...] = ()
    settled: bool = False

    @property
    def names_sources(self) -> bool:
        """Whether the command line names any, so that the settings do not count."""
        return self.notes_dump is not None or bool(self.wiki_dumps)


@dataclass(frozen=True)
class Sources:
    """All sources that there are for a request."""

    workspace: Workspace
    settings: Settings
    request: SourceRequest

    @cached_property
    def notes(self) -> NotesSource | None:
        """The dump of Community Notes, with its posts.

        Raises:
            ConfigError: if snapshots are configured, and none is there.
        """
        asked, how = self.request, self.settings.posts
        if asked.notes_dump is not None:
            return notes_source(self.workspace, how, asked.notes_dump, asked.notes_posts, asked.notes_posts_from)
        configured = self.settings.sources.x_notes
        if asked.names_sources or configured is None:
            return None
        posts = Path(configured.posts) if configured.posts else None
        return notes_source(self.workspace, how, _dump(self.workspace, configured), posts, configured.posts_from)

    @property
    def wiki_dumps(self) -> list[Path]:
        """Dumps of revision histories."""
        edits = self.settings.sources.wikipedia_edits
        if self.request.names_sources or edits is None:
            return list(self.request.wiki_dumps)
        return [Path(name) for name in edits.dump or ()]

    @property
    def wiki(self) -> LiveSource | None:
        """The configured wiki's API."""
        edits = self.settings.sources.wikipedia_edits
        return None if self.request.names_sources or edits is None or edits.api is None else live_source(edits)

    @property
    def pending(self) -> bool:
        """Whether undecided samples are collected, too."""
        return self.settings.release.prospective.enabled

    def jobs(self, failed: Callable[[str, HelloFreshError], None] | None = None) -> list[CollectionJob]:
        """What is to be collected, quarter by quarter; of the bundled sample where there is no source.

        Args:
            failed: is told of a source that fails, so that the others are collected; by default that ends it.

        Raises:
            UsageError: if the bundled sample does not have a quarter that is named.
            HelloFreshError: if a source cannot be had, and nobody is to be told of it.
        """
        quarters = self.request.quarters
        if not self.request.names_sources and not self.settings.sources.any:
            jobs = bundled_jobs(self.workspace)
            known = sorted({job.quarter for job in jobs})
            for quarter in quarters:
                if quarter not in known:
                    raise UsageError(
                        f"the bundled sample has no {quarter}",
                        expected=" or ".join(str(item) for item in known),
                        fix="Name a source: NOTES_DUMP=DIR or WIKI_DUMP=FILE with make, or hellofresh.toml.",
                        code="no-source",
                    )
            return [job for job in jobs if job.quarter in (quarters or known)]
        current = Quarter.containing(now())
        found: list[CollectionJob] = []
        for quarter, task in product(quarters or (current.previous(), current), self.tasks):
            try:
                found += _COLLECTORS[task.source](self, task, quarter)
            except HelloFreshError as error:
                if failed is None:
                    raise
                failed(f"collect {task.name} {quarter}", error)
        return found

    @property
    def tasks(self) -> list[Task]:
        """The living tasks that a source is named for, in the order of all tasks."""
        request, configured = self.request, self.settings.sources
        named = {"x-notes": request.notes_dump is not None, "wikipedia-edits": bool(request.wiki_dumps)}
        return [
            task
            for task in TASKS.values()
            if task.is_living
            and task.source in _COLLECTORS
            and (named.get(task.name) if request.names_sources else configured.collects(task.name, task.source))
        ]


def _collect_notes(sources: Sources, task: Task, quarter: Quarter) -> Iterator[CollectionJob]:
    source = sources.notes
    assert source is not None
    undecided = sources.pending and task.name != "x-posts"  # a post without two notes is no sample
    yield notes_job(sources.workspace, quarter, source, notes.NotesSettings(), pending=undecided, task=task.name)


def _collect_edits(sources: Sources, _: Task, quarter: Quarter) -> Iterator[CollectionJob]:
    request, settings = sources.request, wikipedia.EditsSettings()
    if dumps := sources.wiki_dumps:
        yield edits_job(quarter, dumps, settings, pending=sources.pending)
    settled = now().date() >= sources.settings.release.calendar.rule.settles(quarter)
    if (wiki := sources.wiki) is not None and (settled or sources.pending or not request.settled):
        job = live_edits_job(
            sources.workspace, quarter, wiki, settings, refresh=request.settled, pending=sources.pending
        )
        # What was collected before all was decided is collected again.
        more = {"settled": settled} if request.settled else {}
        yield replace(job, parameters={**job.parameters, **more})


def _collect_claims(sources: Sources, _: Task, quarter: Quarter) -> Iterator[CollectionJob]:
    configured, settings = sources.settings.sources.claims, sources.settings
    assert configured is not None
    # What was fetched stays, so that a collection can be repeated; a feed that grows is fetched anew now and then.
    day = snapshot_day(now().date(), settings.release.calendar.rule, settings.daily.archive_days)
    folder = sources.workspace.raw("claims", str(quarter)) / str(day)
    feeds = [fetch_feed(place, folder, progress=_silent) for place in configured.feeds]
    feeds += [fetch_reviews(site, quarter, folder, progress=_silent) for site in configured.api]
    yield claims_job(quarter, feeds, claims.ClaimsSettings(tuple(configured.languages)), pending=sources.pending)


def _silent(_: str) -> None:
    """Fetching shows no progress of its own."""


_COLLECTORS: Mapping[str, Callable[[Sources, Task, Quarter], Iterator[CollectionJob]]] = {
    "x-notes": _collect_notes,
    "wikipedia-edits": _collect_edits,
    "claims": _collect_claims,
}


def _dump(workspace: Workspace, configured: NotesSourceSettings) -> Path:
    """The configured folder, or the newest snapshot from the configured address."""
    if configured.dump is not None:
        return Path(configured.dump)
    folder, base_url = workspace.snapshots("x-notes"), configured.base_url or PUBLIC_URL
    found = newest_snapshot(folder, base_url)
    if found is None:
        raise ConfigError(
            f"[sources.x-notes] names no dump, and no whole snapshot from {base_url} is there",
            where=str(folder),
            expected="a folder named by its day, with the manifest of a finished download",
            fix="Take one first: hellofresh archive x-notes (with --ratings to count votes). Or name a folder as dump.",
            code="no-snapshot",
        )
    return found


def notes_source(
    workspace: Workspace, settings: PostsSettings, dump: Path, posts: Path | None, posts_from: Sequence[str]
) -> NotesSource:
    """A dump with its posts.

    Raises:
        UnknownNameError: if a service is not known.
        UsageError: if one is named twice.
    """
    return NotesSource(dump, posts, _online(workspace, settings, posts_from) if posts_from else None)


def _online(workspace: Workspace, settings: PostsSettings, names: Sequence[str]) -> Online:
    for name in names:
        if name not in SERVICES:
            raise UnknownNameError("service of posts", name, SERVICES)
    if len(set(names)) < len(names):
        raise UsageError("a service of posts is named twice", where=",".join(names), code="service-twice")
    services = []
    for name in names:
        said = settings.service(name).model_dump(exclude_none=True)
        service = SERVICES[name]
        manners = {field.name: said.pop(field.name) for field in fields(service.manners) if field.name in said}
        services.append(replace(service, **said, manners=replace(service.manners, **manners)))
    return Online(
        services=tuple(services),
        cache=workspace.raw("x-notes", "posts") / "answers.sqlite",
        reask_gone_days=settings.reask_gone_days,
        known=SERVICES,
    )


_SAMPLING = {
    "draw_pages": "pages",
    "window_minutes": "window_minutes",
    "per_window": "per_window",
    "lookback": "lookback",
    "draw_seed": "seed",
}
_LIMITS = {"per_minute": "per_minute", "deadline_hours": "deadline_h"}
_OPTIONS = ("api", "contact", *_SAMPLING, *_LIMITS)


def live_source(configured: WikiSourceSettings | None, options: argparse.Namespace | None = None) -> LiveSource:
    """The wiki to ask.

    Args:
        configured: what the settings say.
        options: what the command line says, which goes before; None where it has no such options.

    Raises:
        UsageError: if neither names a wiki, or there is no contact.
        ConfigError: if a number is too small.
    """
    said: dict[str, Any] = {}
    for place in (configured, options):
        values = {name: getattr(place, name, None) for name in _OPTIONS}
        said.update({name: value for name, value in values.items() if value is not None})
    if "api" not in said:
        raise UsageError(
            "no source of revision histories",
            expected="--dump FILE ..., or --api URL with --contact",
            fix="Name one, or configure it under [sources.wikipedia-edits] in hellofresh.toml.",
            code="no-source",
        )
    return LiveSource(
        api=said["api"],
        contact=check_contact(said.get("contact")),
        titles=tuple(read_titles(options.pages)) if options is not None else (),
        sampling=EditSampling(**{field: said[name] for name, field in _SAMPLING.items() if name in said}),
        **{field: said[name] for name, field in _LIMITS.items() if name in said},
    )
