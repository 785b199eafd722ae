"""Collectors: they turn stored sources into candidates of living tasks.

`LIVING` declares each living task once, with the settings whose options `hellofresh collect` accepts for it; those of
other packages are named by entry points of the group `hellofresh.collectors`. `FITS` declares what is learnt from a
dump of notes before they are collected (group `hellofresh.fits`).
`release run` and `quarter run` collect every task whose sources are configured. Importing this package loads no
collector, since help and completion must start quickly.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectors.settings import (
    EditsAsked,
    EditsSettings,
    NotesAsked,
    NotesSettings,
    PicturesAsked,
    ReadingAsked,
)
from hellofresh.core.plugins import Registry


@dataclass(frozen=True, slots=True)
class LivingTask:
    """How the samples of a living task are collected.

    Attributes:
        about: one sentence for the help of `hellofresh collect`.
        jobs: `module:name` of the function that makes its jobs from a `collectors.jobs.JobRequest`.
        settings: classes of settings whose options `collect` accepts for it.
        snapshots: the task whose dumps `hellofresh archive` downloads for it; empty if nothing is downloaded.
        bundled: `module:name` of the function that makes the jobs of its bundled sample in a workspace, for a release
            without sources; empty if it has no sample, or `collectors.jobs.bundled_jobs` makes its jobs.
    """

    name: str
    about: str
    jobs: str
    settings: tuple[type, ...]
    snapshots: str = ""
    bundled: str = ""


_ABOUT_MEDIA = "Collect Community Notes on posts with photos or videos, which x-notes leaves out."
_ABOUT_POSTS = "Collect posts that got a helpful note and a second one, to be responded to."
_NOTES, _NOTES_JOBS = (NotesAsked, NotesSettings), "collectors.jobs:notes_jobs"
_TASKS = (
    LivingTask("x-notes", "Collect Community Notes from a public dump.", _NOTES_JOBS, _NOTES, "x-notes"),
    LivingTask("x-notes-media", _ABOUT_MEDIA, _NOTES_JOBS, (*_NOTES, PicturesAsked), "x-notes"),
    LivingTask("x-posts", _ABOUT_POSTS, _NOTES_JOBS, (*_NOTES, PicturesAsked), "x-notes"),
    LivingTask(
        "wikipedia-edits",
        "Collect paragraph edits from dumps or an API.",
        "collectors.jobs:edits_jobs",
        (EditsAsked, EditsSettings, ReadingAsked),
    ),
)
LIVING: Registry[LivingTask] = Registry("living task", "hellofresh.collectors", _TASKS)


@dataclass(frozen=True, slots=True)
class NotesFit:
    """What is learnt from a dump of Community Notes before its notes are collected, such as facts on their labels.

    Attributes:
        name: `hellofresh collect NAME` does it for a named dump.
        about: one sentence for the help of `hellofresh collect`.
        command: `module:name` of that command.
        settings: classes of settings whose options it accepts.
        configured: `module:name` of the function that does it for a quarter of the configured notes, unless nothing has
            changed: given workspace, settings, quarter and progress, it returns a sentence on the outcome, or "".
    """

    name: str
    about: str
    command: str
    settings: tuple[type, ...]
    configured: str


FITS: Registry[NotesFit] = Registry("fit of notes", "hellofresh.fits", ())
