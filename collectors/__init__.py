"""Collectors: they turn stored sources into candidates of living tasks.

`LIVING` declares each living task once, with the settings whose options `hellofresh collect` accepts for it; those of
other packages are named by entry points of the group `hellofresh.collectors`.
`release run` and `quarter run` collect every task whose sources are configured. Importing this package loads no
collector, since help and completion must start quickly.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectors.settings import (
    ClaimsAsked,
    ClaimsSettings,
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
    """

    name: str
    about: str
    jobs: str
    settings: tuple[type, ...]
    snapshots: str = ""


_ABOUT_MEDIA = "Collect Community Notes on posts with photos or videos, which x-notes leaves out."
_ABOUT_POSTS = "Collect posts that got a helpful note and a second one, to be responded to."
_ABOUT_CLAIMS = "Collect claims that fact-checkers reviewed, from feeds of ClaimReview or the Fact Check Tools API."
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
    LivingTask("claims", _ABOUT_CLAIMS, "collectors.jobs:claims_jobs", (ClaimsAsked, ClaimsSettings)),
)
LIVING: Registry[LivingTask] = Registry("living task", "hellofresh.collectors", _TASKS)
