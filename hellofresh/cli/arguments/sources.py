"""Commands about sources: `collect`, `archive`, `dataset`, `hydrate` and `sample`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from collectors import LIVING
from collectors.options import add_posts, add_ratings
from hellofresh.cli.arguments.parser import Variants
from hellofresh.cli.arguments.shared import Subparsers, add_command, add_group, add_quarter, parse_day

NOTES_TASKS = ("x-notes", "x-notes-media", "x-posts")


def add_collect(nouns: Subparsers) -> None:
    """Add `collect`, with the living task as its first argument."""
    about = "Collect the candidates of a quarter from a source. "
    about += " ".join(f"{task.name}: {task.about.removeprefix('Collect ')}" for task in LIVING.values())
    about += (
        " ratings: of a Community Notes dump, fitted, so that notes which people who disagree find helpful stand out."
    )
    parser = add_command(nouns, "collect", about, "")
    handlers = dict.fromkeys(LIVING, "sources:collect") | {"ratings": "bridging:collect_ratings"}
    tasks = Variants(parser, "task", handlers, f"what is collected: {', '.join(handlers)}")
    add_quarter(parser)
    parser.add_argument("--force", action="store_true", help="collect again even if nothing has changed")
    of_tasks = dict.fromkeys(LIVING, False)
    about = "keep undecided samples too, for 'hellofresh release prospective'"
    tasks.add("--pending", of_tasks, action="store_true", help=about)
    about = "show what would be kept and dropped, and write nothing"
    tasks.add("--explain", of_tasks, action="store_true", help=about)
    for task in LIVING.values():
        accept = partial(tasks.accept, task.name)
        task.options(accept)
        if task.snapshots:
            _accept_snapshot(partial(accept, group="notes and posts"))
    add_ratings(partial(tasks.accept, "ratings"))


def add_archive(nouns: Subparsers) -> None:
    """Add `archive`, with a command for each source that publishes dumps."""
    about = "Download a dump of Community Notes, which the source keeps for only days, or the history of a wiki."
    verbs = add_group(nouns, "archive", about, kind="task")
    about = "Download the Community Notes dump of a day."
    _accept_snapshot(add_command(verbs, "x-notes", about, "sources:archive_notes").add_argument)
    about = "Download a content export of a wiki: every article with its history."
    parser = add_command(verbs, "wikipedia-edits", about, "sources:archive_edits")
    parser.add_argument("--wiki", required=True, metavar="NAME", help="name of the wiki, such as simplewiki or enwiki")
    about = "day of the export, such as 2026-10-01 (default: the newest that is finished)"
    parser.add_argument("--date", type=parse_day, metavar="D", help=about)
    about = "where the exports are (default: Wikimedia's own server; mirrors have the same folders)"
    parser.add_argument("--url", metavar="URL", help=about)
    parser.add_argument("--contact", metavar="TEXT", help="your e-mail or web address, sent to the server")


def _accept_snapshot(accept: Callable[..., object]) -> None:
    """Which dump is fetched."""
    about = "day of the dump, such as 2026-07-23 (default: the newest of the last 14 days)"
    accept("--date", type=parse_day, metavar="D", help=about)
    accept("--ratings", action="store_true", help="also download the ratings (11 GB), to count votes")


def add_hydrate(nouns: Subparsers) -> None:
    """Add `hydrate`."""
    about = "Fill in the texts of released notes or posts from a dump and a source of posts, and check them."
    parser = add_command(nouns, "hydrate", about, "sources:hydrate_release")
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
        verbs, "write", "Write the sample sources in the real formats: TSV shards and XML.", "sources:write_sample"
    )
    parser.add_argument("folder", type=Path, help="where to write x-notes/ and wikipedia-edits/")


def add_dataset(nouns: Subparsers) -> None:
    """Add `dataset`."""
    verbs = add_group(
        nouns, "dataset", "Import frozen data sets of statements and ratings of publishers, or show them."
    )
    about = "List the data sets that can be imported; or show one: files, licence, tasks and imported versions."
    shown = add_command(verbs, "show", about, "dataset:show")
    shown.add_argument("name", nargs="?", metavar="NAME", help="name of the data set, such as liar-new (default: list)")
    about = (
        "Import a data set from a copy of its files, or download it where a public copy with a known hash exists. "
        "muse: a study that others have rated (232 posts, four systems, ten experts), then: hellofresh rate report. "
        "publishers: ratings of publishers by domain, in place of those imported before."
    )
    _import_arguments(add_command(verbs, "import", about, "dataset:import_one"))


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the data set, such as liar-new; muse; or publishers")
    about = "a file or folder of the authors' files, or packed (muse); for publishers, a CSV file or JSON lines"
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help=about)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="labels=binary",
        help="two classes instead of all (some data sets)",
    )
    parser.add_argument(
        "--language", default="", metavar="CODE", help="language of the statements, such as fr for liar-new"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="draw N samples instead of taking all rows")
    parser.add_argument("--seed", default="hellofresh", metavar="TEXT", help="seed of the draw (hellofresh)")
    parser.add_argument("--part", action="store_true", help="accept files whose rows differ from the original's")
    parser.add_argument(
        "--version", default="", metavar="TEXT", help="name of the version (default: the number of samples)"
    )
    group = parser.add_argument_group("publishers")
    about = "what the file calls domain, bias, factuality, quality or category, as in quality=pc1 (repeat it for each)"
    group.add_argument("--column", action="append", default=[], metavar="NAME=COLUMN", help=about)
    for name in ("high", "medium", "low"):
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=f"domains of {name} priority, one a line")
