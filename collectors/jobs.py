"""Jobs of collectors: for the command line, for configured sources, and for the bundled sample.

A job lists the files and settings that determine its result, and collects when it is run. `NOTES`, `EDITS` and `CLAIMS`
are the functions that make the jobs of living tasks, as `collectors.LIVING` names them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import date
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, TypeVar

from collectors import LIVING, claims, notes, sample, wikipedia
from collectors.claims.feed import ADDRESS, daily_copies, feed_name, fetch_feed, fetch_reviews, reviews_name
from collectors.notes.bridging import TABLES, BridgingReport, collect_bridging
from collectors.notes.dump_files import find_shards
from collectors.notes.snapshot import PUBLIC_URL, newest_snapshot
from collectors.settings import NotesAsked, settings_from
from collectors.wikipedia.source import EditSampling, LiveSource, check_contact, read_titles
from hellofresh.config import PostsSettings, Settings, WikiSourceSettings
from hellofresh.core.clock import now
from hellofresh.core.errors import (
    ConfigError,
    HelloFreshError,
    SourceError,
    UnknownNameError,
    UsageError,
    missing_extra,
)
from hellofresh.core.executors import Pool, asked_pool, process_pool
from hellofresh.core.files import sha256_file
from hellofresh.core.makers import makers
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web.pictures import MediaPictures, open_pictures
from hellofresh.evidence.web.store import user_agent
from hellofresh.releases.candidates import Collection
from hellofresh.releases.collection import CollectionJob, stamp
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.tasks import TASKS

Progress = Callable[[str], None]
DUMP, API = "dump", "api"
_EDITS = TASKS["wikipedia-edits"]
_T = TypeVar("_T")
_PENDING: tuple[dict[str, bool], ...] = ({}, {"pending": True})
"""Additional parameters of a job, by whether it collects pending samples."""


class LivingJobs(NamedTuple):
    """How jobs of a task are made: `asked` by the options of a command, `configured` by the settings of sources."""

    asked: Callable[[Workspace, Settings, argparse.Namespace, Path | None, Progress], CollectionJob]
    configured: Callable[[Workspace, Settings, Quarter, str, bool], list[CollectionJob]]


def notes_job(
    workspace: Workspace,
    quarter: Quarter,
    source: notes.NotesSource,
    settings: notes.NotesSettings,
    *,
    kind: str = DUMP,
    workdir: Path | None = None,
    pending: bool = False,
    task: str = "x-notes",
    pictures: MediaPictures | None = None,
) -> CollectionJob:
    """Community Notes of a quarter, or posts with two of them, from a dump's folder and a file of posts.

    Unreadable lines are written to the quarter's folder of raw data, or to the temporary folder `workdir`.
    Pictures of posts are fetched only if a place for them is given.
    """
    kept = workspace.raw(task, str(quarter))
    aside, name = (kept, workspace.portable(kept)) if workdir is None else (workdir, "")
    gather: Callable[..., Collection] = partial(notes.collect, pending=pending, illustrated=task == "x-notes-media")
    gather = notes.collect_posts if task == "x-posts" else gather

    def collect(progress: Progress) -> Collection:
        found = gather(quarter, source, settings, workdir=aside, workdir_name=name, progress=progress)
        return found if pictures is None else notes.with_pictures(found, pictures, progress)

    fetched = {} if pictures is None else {"pictures": True}
    scores = notes.score_files(source, quarter) if task == "x-posts" else source.bridging_of(quarter)
    parameters = asdict(settings) | source.as_parameters() | _PENDING[pending] | fetched
    return CollectionJob(TASKS[task], quarter, kind, [*source.files(), *scores], parameters, collect)


def edits_job(
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: wikipedia.EditsSettings,
    *,
    kind: str = DUMP,
    jobs: int | None = None,
    pool: Pool | None = None,
    pending: bool = False,
) -> CollectionJob:
    """Paragraph edits of a quarter from dumps or folders of them; each file is read by a process, or in `pool`."""
    files = wikipedia.shards(dumps)
    workers = jobs if jobs is not None else min(len(files), os.cpu_count() or 1)

    def collect(progress: Progress) -> Collection:
        return wikipedia.collect(quarter, files, settings, jobs=workers, pool=pool, progress=progress, pending=pending)

    return CollectionJob(_EDITS, quarter, kind, files, asdict(settings) | _PENDING[pending], collect)


def claims_job(
    quarter: Quarter,
    feeds: Sequence[Path],
    settings: claims.ClaimsSettings,
    *,
    kind: str = DUMP,
    days: Mapping[Path, str] | None = None,
    pending: bool = False,
) -> CollectionJob:
    """Claims reviewed in a quarter, from feeds of reviews, some of them copies of known days."""

    def collect(progress: Progress) -> Collection:
        return claims.collect(quarter, feeds, settings, days=days, progress=progress, pending=pending)

    files = [*feeds, *([settings.verdicts] if settings.verdicts else [])]
    return CollectionJob(
        TASKS["claims"], quarter, kind, files, claims.claims_parameters(settings) | _PENDING[pending], collect
    )


def live_edits_job(
    workspace: Workspace,
    quarter: Quarter,
    source: LiveSource,
    settings: wikipedia.EditsSettings,
    *,
    refresh: bool = False,
    pending: bool = False,
) -> CollectionJob:
    """Paragraph edits of a quarter from a wiki's API; `refresh` repeats requests whose answers may have grown.

    Raises:
        UsageError: if required packages are not installed.
    """
    try:
        from collectors.wikipedia.live import collect_live  # an extra
    except ImportError as error:
        raise missing_extra("the live API", str(error.name), "live") from error
    folder = workspace.raw("wikipedia-edits", str(quarter)) / "api"
    collect = partial(collect_live, quarter, source, settings, folder=folder, refresh=refresh, pending=pending)
    parameters = {**asdict(settings), **source.parameters(), **_PENDING[pending]}
    return CollectionJob(_EDITS, quarter, API, [], parameters, lambda progress: collect(progress=progress))


class BundledFiles(NamedTuple):
    """The sources of the bundled sample: folder of notes, edits' histories, feed of claims."""

    dump: Path
    history: Path
    feed: Path


def bundled_files(workspace: Workspace) -> BundledFiles:
    """Write the sources of the bundled sample in the real formats, unless they are there."""
    dump, feed = workspace.raw("x-notes", "sample"), workspace.raw("claims", "sample") / "feed.json"
    history = workspace.raw("wikipedia-edits", "sample") / "history.xml.bz2"
    stage = Stage.of(workspace, "sample", [sha256_file(path) for path in sample.files()], makers(sample.__name__))
    if not stage.is_current():
        sample.write_notes_dump(dump)
        sample.write_history(history)
        sample.write_claims_feed(feed)
        stage.record([*dump.iterdir(), history, feed])
    return BundledFiles(dump, history, feed)


def bundled_jobs(workspace: Workspace) -> list[CollectionJob]:
    """The tasks of each quarter of the bundled sample; labels of notes have facts where ratings are fitted."""
    files, jobs = bundled_files(workspace), []
    source = notes.NotesSource(files.dump, bridging=tuple(workspace.bridgings()))
    for quarter in sample.QUARTERS:
        jobs.append(notes_job(workspace, quarter, source, notes.NotesSettings(), kind=BUNDLED))
        jobs.append(edits_job(quarter, [files.history], wikipedia.EditsSettings(), kind=BUNDLED))
        if quarter in sample.CLAIMS_QUARTERS:
            jobs.append(claims_job(quarter, [files.feed], claims.ClaimsSettings(), kind=BUNDLED))
    return jobs


def asked_job(
    workspace: Workspace, settings: Settings, options: argparse.Namespace, aside: Path | None, progress: Progress
) -> CollectionJob:
    """The job that `hellofresh collect` requests; fetches its sources first.

    Without output to the workspace, `aside` is a folder for temporary files.
    """
    made = LivingJobs(*resolve_name(LIVING[options.task].jobs))  # a pair is enough
    return made.asked(workspace, settings, options, aside, progress)


def configured_jobs(
    workspace: Workspace,
    settings: Settings,
    quarter: Quarter,
    *,
    afresh: bool,
    failed: Callable[[str, HelloFreshError], None] | None = None,
) -> list[CollectionJob]:
    """The jobs of a quarter for all living tasks whose sources are configured.

    Args:
        afresh: query daily changing sources again and, without a prospective split, only once the whole quarter is
            decided. Otherwise every call queries them, but only for what is not stored yet.
        failed: called for each failing source, and the others are collected; by default, the error is raised.
    """
    jobs: list[CollectionJob] = []
    for task, living in LIVING.items():
        made = LivingJobs(*resolve_name(living.jobs))
        try:
            jobs += made.configured(workspace, settings, quarter, task, afresh)
        except HelloFreshError as error:
            if failed is None:
                raise
            failed(f"collect {task} {quarter}", error)
    return jobs


def asked_notes(
    workspace: Workspace, settings: Settings, options: argparse.Namespace, aside: Path | None, _: Progress
) -> CollectionJob:
    """Community Notes, or posts with notes, from the options of a command."""
    task, pending, asked = options.task, options.pending, settings_from(NotesAsked, options)
    if pending and task == "x-posts":
        raise UsageError(
            "x-posts has no undecided samples",
            fix="Leave out --pending.",
            expected="--pending with other tasks",
            code="no-pending",
        )
    pictures = None
    if not options.explain and getattr(options, "pictures", False):
        pictures = open_pictures(workspace.pictures, user_agent=user_agent(settings.web.contact))
    chosen = settings_from(notes.NotesSettings, options)
    dump = _only(asked.dump, "--dump", "one folder of TSV files, or --download")
    source = notes_source(workspace, settings.posts, dump, asked.posts, asked.posts_from)
    if settings.sources.x_notes is not None:
        source = replace(source, columns=settings.sources.x_notes.columns)
    if options.explain and source.online is not None:
        source = replace(source, online=replace(source.online, ask=False))
    quarter = options.quarter
    return notes_job(workspace, quarter, source, chosen, workdir=aside, pending=pending, task=task, pictures=pictures)


def _only(given: Sequence[_T] | None, option: str, expected: str) -> _T:
    """Return the single value of an option that takes several for other tasks."""
    if given is None or len(given) != 1:
        what = f"no {option}" if given is None else f"several values after {option}"
        raise UsageError(what, expected=expected, code="no-source")
    return given[0]


def configured_notes(
    workspace: Workspace, settings: Settings, quarter: Quarter, task: str, _: bool
) -> list[CollectionJob]:
    """Community Notes, or posts with notes, from the configured dump or the newest snapshot."""
    source = configured_notes_source(workspace, settings) if task in settings.sources.tasks else None
    if source is None:
        return []
    # A post without two notes is not a sample yet, so x-posts has no undecided samples.
    pending = settings.release.prospective.enabled and task != "x-posts"
    partial_too = settings.sources.x_notes is not None and settings.sources.x_notes.accept_partial
    chosen = notes.NotesSettings(accept_partial=partial_too)
    return [notes_job(workspace, quarter, source, chosen, pending=pending, task=task)]


def configured_notes_source(workspace: Workspace, settings: Settings) -> notes.NotesSource | None:
    """The configured dump with its posts; None if not configured.

    Raises:
        ConfigError: if no dump is named and no snapshot was downloaded.
    """
    configured = settings.sources.x_notes
    if configured is None:
        return None
    folder, base_url = workspace.snapshots("x-notes"), configured.base_url or PUBLIC_URL
    dump = Path(configured.dump) if configured.dump is not None else newest_snapshot(folder, base_url)
    while dump is not None and configured.dump is None and fault_of_dump(dump, settings):
        dump = newest_snapshot(folder, base_url, before=date.fromisoformat(dump.name))
    if dump is None:
        raise ConfigError(
            f"[sources.x-notes] names no dump, and no whole snapshot from {base_url} is there",
            where=str(folder),
            expected="a folder named by its day, with the manifest of a finished download",
            fix="Take one first: hellofresh archive x-notes (with --ratings to count votes). Or name a folder as dump.",
            code="no-snapshot",
        )
    posts = Path(configured.posts) if configured.posts else None
    source = notes_source(workspace, settings.posts, dump, posts, configured.posts_from)
    return replace(source, columns=configured.columns)


def fault_of_dump(dump: Path, settings: Settings) -> HelloFreshError | None:
    """Why a dump's tables cannot be read, from their headers; None if they can."""
    configured = settings.sources.x_notes
    try:
        source = notes.NotesSource(dump, columns=configured.columns if configured is not None else {})
        source.check_columns(notes.NotesSettings())
    except SourceError as error:
        return error
    return None


def collect_ratings(workspace: Workspace, dump: Path, quarter: Quarter, **options: Any) -> BridgingReport:
    """Fit a dump's ratings into the workspace's table of a quarter; options as of `collect_bridging`."""
    return collect_bridging(
        dump,
        quarter,
        output=workspace.bridging(quarter),
        folder=workspace.root / "private" / "ratings",
        key=bytes.fromhex(Escrow.of_workspace(workspace).salt("participants")),
        **options,
    )


def configured_ratings(workspace: Workspace, settings: Settings, quarter: Quarter, progress: Progress) -> str:
    """Fit the ratings of the configured notes unless nothing has changed; returns a sentence on the outcome, or ''.

    Raises:
        HelloFreshError: if a file is broken.
    """
    source = configured_notes_source(workspace, settings)
    if source is None or settings.sources.x_notes is None:
        return ""
    shards = {table: find_shards(source.dump, table.stem, table.subfolder) for table in TABLES}
    if not shards[TABLES[-1]]:
        fix = "set ratings = true under [sources.x-notes], or run: hellofresh archive x-notes --ratings"
        return f"no voters are fitted for {quarter}: the dump has no ratings. To download them, {fix}"
    claimed = settings.sources.x_notes.claimed
    names = sorted(Path(claimed).glob("*.json")) if claimed else []
    files = [*(shard.path for found in shards.values() for shard in found), *names]
    inputs = [*(stamp(path) for path in files), *sorted(source.columns.items())]
    stage = Stage.of(workspace, f"ratings/{quarter}", inputs, makers(collect_bridging.__module__))
    if stage.is_current():
        return ""
    # Another process for a single shard takes longer to start than to read it.
    pool = process_pool(min(2, os.cpu_count() or 1)) if len(shards[TABLES[-1]]) > 1 else None
    more = {"claims": Path(claimed) if claimed else None, "aliases": source.aliases}
    try:
        found = collect_ratings(workspace, source.dump, quarter, pool=pool, progress=progress, **more)
    except SourceError as error:
        if error.code not in {"no-ratings", "too-few-ratings"}:
            raise
        return f"no voters are fitted for {quarter}: {error.what}"
    stage.record([workspace.bridging(quarter)])
    return f"{found.ratings:,} ratings fitted: {found.fitted:,} of {found.notes:,} notes of {quarter} have an intercept"


def notes_source(
    workspace: Workspace, settings: PostsSettings, dump: Path, posts: Path | None, posts_from: Sequence[str]
) -> notes.NotesSource:
    """A dump with its posts: a file, and the service to query for others.

    Raises:
        UnknownNameError: if a service is unknown.
        UsageError: if several are named.
    """
    for name in posts_from:
        if name not in notes.SERVICES:
            raise UnknownNameError("service of posts", name, notes.SERVICES)
    if len(posts_from) > 1:
        raise UsageError("several services of posts", where=",".join(posts_from), expected="one", code="many-services")
    online = None
    for name in posts_from:
        said = settings.service(name).model_dump(exclude_none=True)
        service = notes.SERVICES[name]
        manners = {field.name: said.pop(field.name) for field in fields(service.manners) if field.name in said}
        service = replace(service, **said, manners=replace(service.manners, **manners))
        cache = workspace.raw("x-notes", "posts") / "answers.sqlite"
        online = notes.Online(service, cache, settings.reask_gone_days)
    return notes.NotesSource(dump, posts, online, tuple(workspace.bridgings()))


def asked_edits(
    workspace: Workspace, settings: Settings, options: argparse.Namespace, _aside: Path | None, _: Progress
) -> CollectionJob:
    """Paragraph edits from the options of a command."""
    configured, dumps = settings.sources.wikipedia_edits, options.dump
    quarter, pending, rule = options.quarter, options.pending, settings_from(wikipedia.EditsSettings, options)
    said = vars(options) | {"api": None if options.api is None else _only(options.api, "--api", "one wiki's api.php")}
    if dumps is None and options.api is None and configured is not None and configured.dump is not None:
        dumps = [Path(name) for name in configured.dump]
    if dumps is None:
        source = live_source(configured, said, read_titles(options.pages))
        return live_edits_job(workspace, quarter, source, rule, refresh=options.force, pending=pending)
    if options.api is not None or options.pages:
        raise UsageError(
            "a dump and an API",
            expected="one of the two",
            fix="Leave out --dump, or --api and --pages.",
            code="two-sources",
        )
    return edits_job(quarter, dumps, rule, jobs=options.jobs, pool=asked_pool(options.cluster), pending=pending)


def configured_edits(
    workspace: Workspace, settings: Settings, quarter: Quarter, _: str, afresh: bool
) -> list[CollectionJob]:
    """Paragraph edits from the configured dumps, or from the configured wiki."""
    configured, pending = settings.sources.wikipedia_edits, settings.release.prospective.enabled
    if configured is None:
        return []
    if configured.dump is not None:
        dumps = [Path(name) for name in configured.dump]
        return [edits_job(quarter, dumps, wikipedia.EditsSettings(), pending=pending)]
    settled = now().date() >= settings.release.calendar.rule.settles(quarter)
    if afresh and not (settled or pending):
        return []
    job = live_edits_job(
        workspace, quarter, live_source(configured), wikipedia.EditsSettings(), refresh=afresh, pending=pending
    )
    # Collections made before all edits were decided are repeated.
    return [replace(job, parameters={**job.parameters, **({"settled": settled} if afresh else {})})]


_SAMPLING = {"draw_pages": "pages", "draw_seed": "seed", **{n: n for n in ("window_minutes", "per_window", "lookback")}}
_LIMITS = {"per_minute": "per_minute", "deadline_hours": "deadline_h"}


def live_source(
    configured: WikiSourceSettings | None, asked: Mapping[str, object] | None = None, titles: Iterable[str] = ()
) -> LiveSource:
    """The wiki to query: options that are asked for override the configuration.

    Raises:
        UsageError: if neither names a wiki, or neither gives a contact.
        ConfigError: if a number is too small.
    """
    said: dict[str, Any] = {}
    for values in ({} if configured is None else configured.model_dump(), asked or {}):
        said |= {name: value for name, value in values.items() if value is not None}
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
        titles=tuple(titles),
        sampling=EditSampling(**{field: said[name] for name, field in _SAMPLING.items() if name in said}),
        **{field: said[name] for name, field in _LIMITS.items() if name in said},
    )


def asked_claims(
    workspace: Workspace, _: Settings, options: argparse.Namespace, _aside: Path | None, progress: Progress
) -> CollectionJob:
    """Claims from the options of a command: from feeds and from the Fact Check Tools API."""
    if not options.feed and not options.api:
        raise UsageError(
            "no source of reviews",
            expected="--feed FILE or --api SITE",
            fix="docs/sources.md says where feeds are.",
            code="no-source",
        )
    folder = workspace.raw("claims", str(options.quarter))
    feeds = [
        *(fetch_feed(place, folder, progress=progress) for place in options.feed),
        *(fetch_reviews(site, options.quarter, folder, progress=progress) for site in options.api),
    ]
    return claims_job(options.quarter, feeds, settings_from(claims.ClaimsSettings, options), pending=options.pending)


def configured_claims(
    workspace: Workspace, settings: Settings, quarter: Quarter, _: str, afresh: bool
) -> list[CollectionJob]:
    """Claims from the configured feeds and publishers, which are fetched daily from a quarter's first day on.

    A feed may hold only the newest reviews, so each day's copy is kept, and all copies are collected.
    """
    configured, pending = settings.sources.claims, settings.release.prospective.enabled
    if configured is None:
        return []
    span = (quarter.start.date(), settings.release.calendar.rule.settles(quarter))
    fetched: dict[str, Callable[[Path], Path]] = {
        feed_name(place): partial(fetch_feed, place, progress=lambda _: None)
        for place in configured.feed
        if place.startswith(ADDRESS)
    }
    fetched |= {
        f"{quarter}/{reviews_name(site)}": partial(fetch_reviews, site, quarter, progress=lambda _: None)
        for site in configured.api
    }
    days: dict[Path, str] = {}
    for name, fetch in fetched.items():
        days |= daily_copies(workspace.raw("claims", "daily"), name, span, fetch, ask=afresh)
    if afresh and not (now().date() >= span[1] or pending):
        return []
    feeds = [*(Path(place) for place in configured.feed if not place.startswith(ADDRESS)), *days]
    chosen = claims.ClaimsSettings(tuple(configured.languages), configured.verdicts)
    return [claims_job(quarter, feeds, chosen, days=days, pending=pending)] if feeds else []


NOTES = LivingJobs(asked_notes, configured_notes)
EDITS = LivingJobs(asked_edits, configured_edits)
CLAIMS = LivingJobs(asked_claims, configured_claims)
