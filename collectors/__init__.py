"""Collectors: from what a source keeps to the candidates of a living task.

`LIVING` declares each living task once, with its options. `hellofresh collect` has a command for each, and
`release run` and `quarter run` collect those whose sources are configured, without naming any. Importing this
loads no collector: help and completion need it at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

LABEL_SOURCES = ("locked", "current")
KINDS = ("prose", "list", "table", "template", "file", "reference", "quote", "comment", "links")
DEFAULT_KINDS = ("prose", "list")
SERVICES = ("api-v2",)
"""As in the collectors, which help must not wait for; a test compares them."""


class Accept(Protocol):
    """Makes `collect` accept an option for a task; options of one name are one option, and are declared alike."""

    def __call__(self, flag: str, default: object = None, *, group: str = "", **words: Any) -> None:
        """Accept an option, with the title under which help shows it, and words as `add_argument` takes them."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_POSTS: dict[str, Any] = {
    "type": Path,
    "metavar": "FILE",
    "help": "JSONL of posts (default: posts.jsonl in the dump's folder)",
}
_POSTS_FROM: dict[str, Any] = {
    "type": _names,
    "metavar": "NAMES",
    "help": f"services to ask for posts, in order, separated by commas: {', '.join(SERVICES)}",
}
_DUMP: dict[str, Any] = {
    "type": Path,
    "nargs": "+",
    "metavar": "FILE|DIR",
    "help": "notes, posts and ratings: folder of the dump's TSV files, plain or zipped; wikipedia-edits: full-history "
    "XML (plain, gz, bz2, xz or 7z), or folders of it",
}
_API: dict[str, Any] = {
    "nargs": "+",
    "metavar": "URL|SITE",
    "help": "wikipedia-edits: a wiki's api.php, such as https://en.wikipedia.org/w/api.php; claims: ask the Fact Check "
    "Tools API for the reviews of these publishers, such as politifact.com",
}


def add_claims(accept: Accept) -> None:
    """Options of claims."""
    group = "claims"
    accept("--api", (), **_API)
    about = "feeds of reviews: JSON or JSON lines, plain or gzip"
    accept("--feed", (), group=group, nargs="+", metavar="FILE|URL", help=about)
    about = "languages of reviews (default: all)"
    accept("--languages", (), group=group, nargs="+", metavar="CODE", help=about)
    about = "your own table of verdicts by publisher (TOML)"
    accept("--verdicts", group=group, type=Path, metavar="FILE", help=about)


def add_notes(accept: Accept) -> None:
    """Options of x-notes."""
    group = "notes and posts"
    accept("--dump", **_DUMP)
    about = "download a dump first, as 'hellofresh archive' does"
    accept("--download", group=group, action="store_true", help=about)
    accept("--posts", group=group, **_POSTS)
    accept("--posts-from", (), group=group, **_POSTS_FROM)
    about = "status used as the label: the locked one (default), or the current one of old enough notes"
    accept("--label-source", LABEL_SOURCES[0], group=group, choices=LABEL_SOURCES, help=about)
    about = "with current statuses: minimum age of a note in days (14)"
    accept("--min-age-days", 14, group=group, type=int, metavar="D", help=about)
    about = "treat missing optional columns as empty"
    accept("--allow-missing-columns", group=group, action="store_true", help=about)
    about = "leave out notes by AI writers and collaborative ones"
    accept("--human-only", group=group, action="store_true", help=about)
    about = (
        "keep posts whose texts show words of a web page or that media are missing, from a file that does not mention "
        "media"
    )
    accept("--keep-incomplete", group=group, action="store_true", help=about)


def add_illustrated_notes(accept: Accept) -> None:
    """Options of tasks about posts with pictures."""
    add_notes(accept)
    about = "not x-notes: fetch the pictures of posts; they stay private in the workspace"
    accept("--pictures", group="notes and posts", action="store_true", help=about)


def add_edits(accept: Accept) -> None:
    """Options of wikipedia-edits."""
    accept("--dump", **_DUMP)
    accept("--api", **_API)
    group = "wikipedia-edits: the live API of a wiki (docs/sources.md says what your duties are)"
    accept("--contact", group=group, metavar="TEXT", help="your e-mail or web address, sent to the wiki")
    about = "read the whole histories of these pages; a file has one title per line"
    accept("--pages", (), group=group, nargs="+", metavar="FILE|TITLE", help=about)
    about = "draw edits of at most this many pages from the recent changes (2000)"
    accept("--draw-pages", group=group, type=int, metavar="N", help=about)
    group = "wikipedia-edits: which edits become samples"  # these are in the release's manifest
    about = f"kinds of paragraphs, of {', '.join(KINDS)} (default: {' '.join(DEFAULT_KINDS)})"
    accept("--kinds", DEFAULT_KINDS, group=group, nargs="+", choices=KINDS, metavar="KIND", help=about)
    flags = {
        "whole-paragraphs": "also whole paragraphs added or removed, not only changed ones",
        "keep-bots": "also edits by bots (users whose names end in bot)",
        "keep-restored": "also edits that restore an older text",
        "collapse-runs": "treat consecutive revisions by one user as one",
    }
    for name, about in flags.items():
        accept(f"--{name}", group=group, action="store_true", help=about)
    _add_reading(accept)


_READING = "how dumps are read: wikipedia-edits, ratings"


def _add_reading(accept: Accept) -> None:
    """Where files are read; these change nothing of what comes out."""
    accept(
        "--jobs",
        group=_READING,
        type=int,
        metavar="N",
        help="parallel files (default: one per processor; of ratings two)",
    )
    about = "a Dask scheduler, such as tcp://host:8786, whose workers see the same files under the same paths"
    accept("--cluster", "", group=_READING, metavar="ADDRESS", help=about)


def add_ratings(accept: Accept) -> None:
    """Options of ratings."""
    accept("--dump", **_DUMP)
    about = "ratings: folder of names that note writers claim, a JSON file each (docs/method.md)"
    accept("--claims", type=Path, metavar="DIR", help=about)
    _add_reading(accept)


def add_posts(parser: argparse.ArgumentParser, *, prefix: str = "") -> None:
    """Add `--posts FILE` and `--posts-from NAMES`."""
    parser.add_argument(f"--{prefix}posts", **_POSTS)
    parser.add_argument(f"--{prefix}posts-from", default=(), **_POSTS_FROM)


@dataclass(frozen=True, slots=True)
class LivingTask:
    """How the samples of a living task are collected; `collectors.jobs` makes the jobs.

    Attributes:
        about: one sentence for the help of `hellofresh collect`.
        options: what `collect` accepts for it.
        snapshots: the task whose dumps `hellofresh archive` downloads for it; empty where nothing is downloaded.
    """

    name: str
    about: str
    options: Callable[[Accept], None]
    snapshots: str = ""


_ABOUT_MEDIA = "Collect Community Notes on posts with photos or videos, which x-notes leaves out."
_ABOUT_POSTS = "Collect posts that got a helpful note and a second one, to be responded to."
_ABOUT_CLAIMS = "Collect claims that fact-checkers reviewed, from feeds of ClaimReview or the Fact Check Tools API."
_TASKS = (
    LivingTask("x-notes", "Collect Community Notes from a public dump.", add_notes, "x-notes"),
    LivingTask("x-notes-media", _ABOUT_MEDIA, add_illustrated_notes, "x-notes"),
    LivingTask("x-posts", _ABOUT_POSTS, add_illustrated_notes, "x-notes"),
    LivingTask("wikipedia-edits", "Collect paragraph edits from dumps or an API.", add_edits),
    LivingTask("claims", _ABOUT_CLAIMS, add_claims),
)
LIVING: dict[str, LivingTask] = {task.name: task for task in _TASKS}
