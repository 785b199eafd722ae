"""Jobs of collectors: for the command line, for configured sources, and for the bundled sample.

A job lists the files and settings that determine its result, and collects when it is run. `notes_jobs` and `edits_jobs`
answer a `JobRequest` for the living tasks, as `collectors.LIVING` names them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

from collectors import LIVING, notes, sample, wikipedia
from collectors.notes.snapshot import PUBLIC_URL, newest_snapshot
from collectors.settings import NotesAsked, defaults_of, settings_from
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
from hellofresh.core.executors import Pool, asked_pool
from hellofresh.core.files import sha256_file
from hellofresh.core.makers import makers
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web.pictures import MediaPictures, open_pictures
from hellofresh.evidence.web.store import user_agent
from hellofresh.releases.candidates import Collection
from hellofresh.releases.collection import CollectionJob
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.tasks import TASKS

Progress = Callable[[str], None]
DUMP, API = "dump", "api"
_EDITS = TASKS["wikipedia-edits"]
_T = TypeVar("_T")
# Additional parameters of a job, by whether it collects pending samples.
_PENDING: tuple[dict[str, bool], ...] = ({}, {"pending": True})


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What to collect: by the options of `hellofresh collect`, or from the configured sources.

    Attributes:
        workspace, settings: where to collect, and the configured sources.
        options: of the command, with its task and quarter; for configured sources the task's defaults instead.
        asked: whether a command asks: its options override the configured sources.
        aside: a folder for temporary files; None if output goes to the workspace.
        progress: called with lines on what is fetched.
    """

    workspace: Workspace
    settings: Settings
    options: argparse.Namespace
    asked: bool
    aside: Path | None = None
    progress: Progress = lambda _: None

    def jobs(self) -> list[CollectionJob]:
        """The jobs, one for a command; fetches their sources first. None if the task has no configured source."""
        made: Callable[[JobRequest], list[CollectionJob]] = resolve_name(LIVING[self.options.task].jobs)
        return made(self)


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


def bundled_files(workspace: Workspace) -> tuple[Path, Path, Path]:
    """The bundled sample in the real formats, written if missing: folder of notes, history of edits, feed of claims."""
    dump, feed = workspace.raw("x-notes", "sample"), workspace.raw("claims", "sample") / "feed.json"
    history = workspace.raw("wikipedia-edits", "sample") / "history.xml.bz2"
    stage = Stage.of(workspace, "sample", [sha256_file(path) for path in sample.files()], makers(sample.__name__))
    if not stage.is_current():
        sample.write_notes_dump(dump)
        sample.write_history(history)
        sample.write_claims_feed(feed)
        stage.record([*dump.iterdir(), history, feed])
    return dump, history, feed


def bundled_jobs(workspace: Workspace) -> list[CollectionJob]:
    """The tasks of the bundled samples, by quarter; labels of notes have facts where ratings are fitted."""
    (dump, history, _), jobs = bundled_files(workspace), []
    source = notes.NotesSource(dump, bridging=tuple(workspace.bridgings()))
    for quarter in sample.QUARTERS:
        jobs.append(notes_job(workspace, quarter, source, notes.NotesSettings(), kind=BUNDLED))
        jobs.append(edits_job(quarter, [history], wikipedia.EditsSettings(), kind=BUNDLED))
    for living in LIVING.values():
        if living.bundled:
            jobs += resolve_name(living.bundled)(workspace)
    return sorted(jobs, key=lambda job: job.quarter)


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
    pending = settings.release.prospective.enabled
    for task, living in LIVING.items():
        defaults = {name: value for kind in living.settings for name, value in defaults_of(kind).items()}
        own = {"task": task, "quarter": quarter, "pending": pending, "force": afresh, "explain": False}
        try:
            jobs += JobRequest(workspace, settings, argparse.Namespace(**defaults | own), asked=False).jobs()
        except HelloFreshError as error:
            if failed is None:
                raise
            failed(f"collect {task} {quarter}", error)
    return jobs


def notes_jobs(request: JobRequest) -> list[CollectionJob]:
    """Community Notes, or posts with notes: from the dump of a command, the configured one, or the newest snapshot."""
    workspace, settings, options = request.workspace, request.settings, request.options
    task, pending, configured, pictures = options.task, options.pending, settings.sources.x_notes, None
    chosen = settings_from(notes.NotesSettings, options)
    if request.asked:
        if pending and task == "x-posts":
            raise UsageError(
                "x-posts has no undecided samples",
                fix="Leave out --pending.",
                expected="--pending with other tasks",
                code="no-pending",
            )
        if not options.explain and getattr(options, "pictures", False):
            pictures = open_pictures(workspace.pictures, user_agent=user_agent(settings.web.contact))
        source = _asked_notes_source(request)
    else:
        found = configured_notes_source(workspace, settings) if task in settings.sources.tasks else None
        if found is None or configured is None:
            return []
        # A post without two notes is not a sample yet, so x-posts has no undecided samples.
        source, pending = found, pending and task != "x-posts"
        chosen = replace(chosen, accept_partial=configured.accept_partial)
    made = partial(notes_job, workspace, options.quarter, source, chosen, workdir=request.aside)
    return [made(pending=pending, task=task, pictures=pictures)]


def _asked_notes_source(request: JobRequest) -> notes.NotesSource:
    """The dump that a command names, with its posts; `--explain` queries no service."""
    settings, asked = request.settings, settings_from(NotesAsked, request.options)
    dump = _only(asked.dump, "--dump", "one folder of TSV files, or --download")
    source = notes_source(request.workspace, settings.posts, dump, asked.posts, asked.posts_from)
    if settings.sources.x_notes is not None:
        source = replace(source, columns=settings.sources.x_notes.columns)
    if request.options.explain and source.online is not None:
        source = replace(source, online=replace(source.online, ask=False))
    return source


def _only(given: Sequence[_T] | None, option: str, expected: str) -> _T:
    """Return the single value of an option that takes several for other tasks."""
    if given is None or len(given) != 1:
        what = f"no {option}" if given is None else f"several values after {option}"
        raise UsageError(what, expected=expected, code="no-source")
    return given[0]


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
            f"[sources.x-notes] names no dump, and there is no complete snapshot from {base_url}",
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


def edits_jobs(request: JobRequest) -> list[CollectionJob]:
    """Paragraph edits from dumps or a wiki: those that a command names, else the configured ones."""
    settings, options = request.settings, request.options
    quarter, pending = options.quarter, options.pending
    configured, dumps, rule = (
        settings.sources.wikipedia_edits,
        options.dump,
        settings_from(wikipedia.EditsSettings, options),
    )
    if not request.asked and configured is None:
        return []
    if dumps is None and options.api is None and configured is not None and configured.dump is not None:
        dumps = [Path(name) for name in configured.dump]
    if dumps is not None:
        if options.api is not None or options.pages:
            raise UsageError(
                "a dump and an API",
                expected="one of the two",
                fix="Leave out --dump, or --api and --pages.",
                code="two-sources",
            )
        return [edits_job(quarter, dumps, rule, jobs=options.jobs, pool=asked_pool(options.cluster), pending=pending)]
    more = {}
    if options.force and not request.asked:
        settled = now().date() >= settings.release.calendar.rule.settles(quarter)
        if not (settled or pending):
            return []
        more = {"settled": settled}  # collections made before all edits were decided are repeated
    said = vars(options) | {"api": None if options.api is None else _only(options.api, "--api", "one wiki's api.php")}
    source = live_source(configured, said, read_titles(options.pages))
    job = live_edits_job(request.workspace, quarter, source, rule, refresh=options.force, pending=pending)
    return [replace(job, parameters={**job.parameters, **more})]


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
