"""Collectors: from what a source keeps to the candidates of a living task.

`LIVING` declares each living task once. `hellofresh collect` has a command for each, and `release run` and
`quarter run` collect those whose sources are configured, without naming any. Importing this
loads no collector: help and completion need it at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from collectors import options

__all__ = ["LIVING", "LivingTask"]


@dataclass(frozen=True, slots=True)
class LivingTask:
    """How the samples of a living task are collected.

    Attributes:
        name: of the task.
        about: one sentence for the help of `hellofresh collect`.
        options: adds the options of its own to the command; imports nothing heavy.
        asked: makes the job that a command asks for, see `collectors.jobs.asked_job`; as `module:function`.
        configured: makes the job of a configured source, see `collectors.jobs.configured_jobs`; as `module:function`.
        snapshots: the task whose dumps `hellofresh archive` downloads for it; empty where nothing is downloaded.
    """

    name: str
    about: str
    options: Callable[[argparse.ArgumentParser], None]
    asked: str
    configured: str
    snapshots: str = ""


_NOTES = partial(
    LivingTask, asked="collectors.jobs:asked_notes", configured="collectors.jobs:configured_notes", snapshots="x-notes"
)
_TASKS = (
    _NOTES("x-notes", "Collect Community Notes from a public dump.", options.add_notes),
    _NOTES(
        "x-notes-media",
        "Collect Community Notes on posts with photos or videos, which x-notes leaves out.",
        options.add_illustrated_notes,
    ),
    _NOTES(
        "x-posts",
        "Collect posts that got a helpful note and a second one, to be responded to.",
        options.add_illustrated_notes,
    ),
    LivingTask(
        "wikipedia-edits",
        "Collect paragraph edits from dumps or an API.",
        options.add_edits,
        asked="collectors.jobs:asked_edits",
        configured="collectors.jobs:configured_edits",
    ),
    LivingTask(
        "claims",
        "Collect claims that fact-checkers reviewed, from feeds of ClaimReview or the Fact Check Tools API.",
        options.add_claims,
        asked="collectors.jobs:asked_claims",
        configured="collectors.jobs:configured_claims",
    ),
)
LIVING: dict[str, LivingTask] = {task.name: task for task in _TASKS}
