"""Commands about sources: `collect`, `archive`, `hydrate` and `sample`."""

from __future__ import annotations

import argparse
from pathlib import Path

from collectors import LIVING
from collectors.options import add_posts
from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, add_quarter, parse_day

NOTES_TASKS = ("x-notes", "x-notes-media", "x-posts")


def add_collect(nouns: Subparsers) -> None:
    """Add `collect`, with a command for each living task."""
    verbs = add_group(nouns, "collect", "Collect the candidates of a quarter from a source.", kind="task")
    for task in LIVING.values():
        parser = add_command(verbs, task.name, task.about, "collect:collect")
        parser.set_defaults(task=task.name)
        add_quarter(parser)
        parser.add_argument("--force", action="store_true", help="collect again even if nothing has changed")
        parser.add_argument(
            "--pending", action="store_true", help="keep undecided samples too, for 'hellofresh release prospective'"
        )
        parser.add_argument(
            "--explain", action="store_true", help="show what would be kept and dropped, and write nothing"
        )
        task.options(parser)
        if task.snapshots:
            _snapshot_arguments(parser)


def add_archive(nouns: Subparsers) -> None:
    """Add `archive`, with a command for each source that forgets."""
    about = "Download a snapshot of a source that keeps its dumps for only a few days."
    verbs = add_group(nouns, "archive", about, kind="task")
    about = "Download the Community Notes dump of a day."
    _snapshot_arguments(add_command(verbs, "x-notes", about, "archive:archive_notes"))


def _snapshot_arguments(parser: argparse.ArgumentParser) -> None:
    """Which dump is fetched."""
    about = "day of the dump, such as 2026-07-23 (default: the newest of four days)"
    parser.add_argument("--date", type=parse_day, metavar="D", help=about)
    parser.add_argument("--ratings", action="store_true", help="also download the ratings (11 GB), to count votes")


def add_hydrate(nouns: Subparsers) -> None:
    """Add `hydrate`."""
    about = "Fill in the texts of released notes or posts from a dump and a source of posts, and check them."
    parser = add_command(nouns, "hydrate", about, "hydrate:run")
    add_quarter(parser)
    parser.add_argument("--task", choices=NOTES_TASKS, default=NOTES_TASKS[0], help="whose texts (x-notes)")
    parser.add_argument(
        "--dump", type=Path, required=True, metavar="DIR", help="folder of the dump's TSV files, plain or zipped"
    )
    add_posts(parser)


def add_sample(nouns: Subparsers) -> None:
    """Add `sample`."""
    about = "The bundled sample sources, written for this project; they demonstrate the pipeline and rank no systems."
    verbs = add_group(nouns, "sample", about)
    parser = add_command(
        verbs, "write", "Write the sample sources in the real formats: TSV shards and XML.", "sample:write"
    )
    parser.add_argument("folder", type=Path, help="where to write x-notes/ and wikipedia-edits/")
