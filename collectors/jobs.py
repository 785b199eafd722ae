"""Collectors made ready to run: from a source and settings to a job for one quarter.

A new task's collector comes in here: a function that gives its job, used by the commands in `hellofresh.cli`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from collectors import claims, notes, sample, wikipedia
from collectors.wikipedia.api.source import LiveSource
from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage, input_key
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.web.pictures import MediaPictures
from hellofresh.releases import BUNDLED
from hellofresh.releases.candidates.collection import CollectionJob
from hellofresh.releases.candidates.rows import Collection
from hellofresh.tasks import TASKS

__all__ = ["bundled_jobs", "claims_job", "edits_job", "live_edits_job", "notes_job"]

DUMP = "dump"
API = "api"
_PENDING: tuple[dict[str, bool], ...] = ({}, {"pending": True})
"""What the parameters of a job say: nothing where pending samples are not asked for."""


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
    """Community Notes of a quarter from a dump's folder and a file of posts.

    Lines that cannot be read are written to the quarter's folder of raw data, or to `workdir`, which is not kept.

    Args:
        workspace, quarter, source, settings, kind, workdir, pending: as the names say.
        task: `x-notes`, `x-notes-media` for the notes on posts with media, or `x-posts` for posts with two notes.
        pictures: where the posts' pictures are fetched to; None where they are not fetched.
    """
    kept = workspace.raw(task, str(quarter))
    aside, name = (kept, workspace.portable(kept)) if workdir is None else (workdir, "")

    def collect(progress: Callable[[str], None]) -> Collection:
        if task == "x-posts":
            found = notes.collect_posts(quarter, source, settings, workdir=aside, workdir_name=name, progress=progress)
        else:
            found = notes.collect(
                quarter, source, settings, workdir=aside, workdir_name=name, progress=progress, pending=pending,
                illustrated=task == "x-notes-media",
            )  # fmt: skip
        return found if pictures is None else notes.with_pictures(found, pictures, progress)

    fetched = {} if pictures is None else {"pictures": True}
    scores = notes.scores_file(source.dump) if task == "x-posts" else None
    return CollectionJob(
        task=TASKS[task],
        quarter=quarter,
        source=kind,
        files=[*source.files(), *([scores] if scores else [])],
        parameters=asdict(settings) | source.as_parameters() | _PENDING[pending] | fetched,
        collect=collect,
    )


def edits_job(
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: wikipedia.EditsSettings,
    *,
    kind: str = DUMP,
    jobs: int | None = None,
    cluster: str = "",
    pending: bool = False,
) -> CollectionJob:
    """Paragraph edits of a quarter from dumps or folders of them, a process a file or on a Dask cluster."""
    files = wikipedia.shards(dumps)
    workers = jobs if jobs is not None else min(len(files), os.cpu_count() or 1)
    return CollectionJob(
        task=TASKS["wikipedia-edits"],
        quarter=quarter,
        source=kind,
        files=files,
        parameters=asdict(settings) | _PENDING[pending],
        collect=lambda progress: wikipedia.collect(
            quarter, files, settings, jobs=workers, cluster=cluster, progress=progress, pending=pending
        ),
    )


def claims_job(
    quarter: Quarter,
    feeds: Sequence[Path],
    settings: claims.ClaimsSettings,
    *,
    kind: str = DUMP,
    pending: bool = False,
) -> CollectionJob:
    """Claims that were reviewed in a quarter, from feeds of reviews."""
    return CollectionJob(
        task=TASKS["claims"],
        quarter=quarter,
        source=kind,
        files=[*feeds, *([settings.verdicts] if settings.verdicts else [])],
        parameters=settings.as_parameters() | _PENDING[pending],
        collect=lambda progress: claims.collect(quarter, feeds, settings, progress=progress, pending=pending),
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
    """Paragraph edits of a quarter from a wiki's API; `refresh` asks again for what time may have added to.

    Raises:
        UsageError: if the packages that it needs are not installed.
    """
    try:
        from collectors.wikipedia.api.live import collect_live  # an extra
    except ImportError as error:
        raise UsageError(
            f"the live API needs a package that is not installed ({error.name})",
            fix="Install it with: pip install 'hellofresh[live]'",
            code="missing-extra",
        ) from error

    def collect(progress: Callable[[str], None]) -> Collection:
        folder = workspace.raw("wikipedia-edits", str(quarter)) / "api"
        return collect_live(
            quarter, source, settings, folder=folder, refresh=refresh, progress=progress, pending=pending
        )

    parameters = {**asdict(settings), **source.parameters(), **_PENDING[pending]}
    return CollectionJob(TASKS["wikipedia-edits"], quarter, API, [], parameters, collect)


def bundled_jobs(workspace: Workspace) -> list[CollectionJob]:
    """Both tasks for both quarters of the bundled sample sources, which are first written in the real formats."""
    dump = workspace.raw("x-notes", "sample")
    history = workspace.raw("wikipedia-edits", "sample") / "history.xml.bz2"
    stage = Stage(workspace, "sample", input_key([sha256_file(path) for path in sample.texts()]))
    if not stage.is_current():
        sample.write_notes_dump(dump)
        sample.write_history(history)
        stage.record([*dump.iterdir(), history])
    source, kind = notes.NotesSource(dump), BUNDLED
    jobs = []
    for quarter in sample.QUARTERS:
        jobs.append(notes_job(workspace, quarter, source, notes.NotesSettings(), kind=kind))
        jobs.append(edits_job(quarter, [history], wikipedia.EditsSettings(), kind=kind))
    return jobs
