"""Collectors: from what a source keeps to the candidates of a living task.

`LIVING` declares each living task once. `hellofresh collect` has a command for each, and `release run` and
`quarter run` collect those whose sources are configured, without naming any. Importing this
loads no collector: help and completion need it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hellofresh.collectors import options

__all__ = ["LIVING", "LivingTask"]


@dataclass(frozen=True, slots=True)
class LivingTask:
    """How the samples of a living task are collected; `hellofresh.collectors.jobs` makes the jobs.

    Attributes:
        about: one sentence for the help of `hellofresh collect`.
        options: what `collect` accepts for it, see `hellofresh.collectors.options`; imports nothing heavy.
        snapshots: the task whose dumps `hellofresh archive` downloads for it; empty where nothing is downloaded.
    """

    name: str
    about: str
    options: Callable[[options.Accept], None]
    snapshots: str = ""


_MEDIA = "Collect Community Notes on posts with photos or videos, which x-notes leaves out."
_POSTS = "Collect posts that got a helpful note and a second one, to be responded to."
_CLAIMS = "Collect claims that fact-checkers reviewed, from feeds of ClaimReview or the Fact Check Tools API."
_TASKS = (
    LivingTask("x-notes", "Collect Community Notes from a public dump.", options.add_notes, "x-notes"),
    LivingTask("x-notes-media", _MEDIA, options.add_illustrated_notes, "x-notes"),
    LivingTask("x-posts", _POSTS, options.add_illustrated_notes, "x-notes"),
    LivingTask("wikipedia-edits", "Collect paragraph edits from dumps or an API.", options.add_edits),
    LivingTask("claims", _CLAIMS, options.add_claims),
)
LIVING: dict[str, LivingTask] = {task.name: task for task in _TASKS}
