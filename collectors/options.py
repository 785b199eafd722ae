"""The options of `hellofresh collect`, by source; nothing here imports a collector."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Protocol

LABEL_SOURCES = ("locked", "current")
KINDS = ("prose", "list", "table", "template", "file", "reference", "quote", "comment", "links")
DEFAULT_KINDS = ("prose", "list")
SERVICES = ("embed", "api-v2")
"""As in the collectors, which help must not wait for; a test compares them."""


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Options of claims."""
    parser.add_argument(
        "--feed", nargs="+", default=(), metavar="FILE|URL", help="feeds of reviews: JSON or JSON lines, plain or gzip"
    )
    parser.add_argument(
        "--api",
        nargs="+",
        default=(),
        metavar="SITE",
        help="ask the Fact Check Tools API for the reviews of these publishers, such as politifact.com",
    )
    parser.add_argument(
        "--languages", nargs="+", default=(), metavar="CODE", help="languages of reviews (default: all)"
    )
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="your own table of verdicts by publisher (TOML)")


def add_notes(parser: argparse.ArgumentParser) -> None:
    """Options of x-notes."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dump", type=Path, metavar="DIR", help="folder of the dump's TSV files, plain or zipped")
    source.add_argument("--download", action="store_true", help="download a dump first, as 'hellofresh archive' does")
    add_posts(parser)
    parser.add_argument(
        "--label-source",
        choices=LABEL_SOURCES,
        default=LABEL_SOURCES[0],
        help="status used as the label: the locked one (default), or the current one of old enough notes",
    )
    parser.add_argument(
        "--min-age-days",
        type=int,
        default=14,
        metavar="D",
        help="with current statuses: minimum age of a note in days (14)",
    )
    parser.add_argument("--allow-missing-columns", action="store_true", help="treat missing optional columns as empty")
    parser.add_argument(
        "--human-only", action="store_true", help="leave out notes by AI writers and collaborative ones"
    )
    parser.add_argument(
        "--keep-incomplete",
        action="store_true",
        help="keep posts whose texts show words of a web page or that media are missing, from a file that says nothing "
        "of media",
    )


def add_illustrated_notes(parser: argparse.ArgumentParser) -> None:
    """Options of tasks about posts with pictures."""
    add_notes(parser)
    parser.add_argument(
        "--pictures", action="store_true", help="fetch the pictures of posts; they stay private in the workspace"
    )


def add_edits(parser: argparse.ArgumentParser) -> None:
    """Options of wikipedia-edits."""
    parser.add_argument(
        "--dump",
        type=Path,
        nargs="+",
        metavar="FILE|DIR",
        help="full-history XML (plain, gz, bz2, xz or 7z), or folders of it",
    )
    _live_arguments(parser.add_argument_group("the live API of a wiki (docs/sources.md says what your duties are)"))
    _rule_arguments(parser.add_argument_group("which edits become samples"))
    _worker_arguments(parser.add_argument_group("how dumps are read"))


class _Arguments(Protocol):
    def add_argument(self, *names: str, **options: Any) -> object: ...


def _live_arguments(group: _Arguments) -> None:
    group.add_argument("--api", metavar="URL", help="a wiki's api.php, such as https://en.wikipedia.org/w/api.php")
    group.add_argument("--contact", metavar="TEXT", help="your e-mail or web address, sent to the wiki")
    group.add_argument(
        "--pages",
        nargs="+",
        default=(),
        metavar="FILE|TITLE",
        help="read the whole histories of these pages; a file has one title per line",
    )
    numbers = {
        "draw_pages": ("N", int, "draw edits of at most this many pages from the recent changes (2000)"),
        "window_minutes": ("M", int, "length of the windows they are drawn from (60)"),
        "per_window": ("N", int, "maximum pages per window, reverted and not (20 each)"),
        "lookback": (
            "N",
            int,
            "detect a drawn edit that restores the text of one of this many earlier revisions (500)",
        ),
        "per_minute": ("N", int, "maximum requests per minute (200)"),
        "deadline_hours": ("H", float, "give up after this many hours (12); fetched data is kept"),
    }
    for name, (metavar, kind, what) in numbers.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=what)
    group.add_argument("--draw-seed", metavar="TEXT", help="seed of the draw (hellofresh)")


def _rule_arguments(group: _Arguments) -> None:
    """Options that are in the release's manifest."""
    group.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=DEFAULT_KINDS,
        metavar="KIND",
        help=f"kinds of paragraphs, of {', '.join(KINDS)} (default: {' '.join(DEFAULT_KINDS)})",
    )
    group.add_argument(
        "--whole-paragraphs",
        action="store_true",
        help="also whole paragraphs added or removed, not only changed ones",
    )
    group.add_argument("--keep-bots", action="store_true", help="also edits by bots (users whose names end in bot)")
    group.add_argument("--keep-restored", action="store_true", help="also edits that restore an older text")
    group.add_argument("--collapse-runs", action="store_true", help="treat consecutive revisions by one user as one")


def _worker_arguments(group: _Arguments) -> None:
    """Options that change nothing of what comes out."""
    group.add_argument("--jobs", type=int, metavar="N", help="parallel files (default: one per processor)")
    group.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="a Dask scheduler, such as tcp://host:8786, whose workers see the same files under the same paths",
    )


def add_posts(parser: argparse.ArgumentParser, *, prefix: str = "") -> None:
    """Add `--posts FILE` and `--posts-from NAMES`."""
    parser.add_argument(
        f"--{prefix}posts", type=Path, metavar="FILE", help="JSONL of posts (default: posts.jsonl in the dump's folder)"
    )
    parser.add_argument(
        f"--{prefix}posts-from",
        type=_names,
        default=(),
        metavar="NAMES",
        help=f"services to ask for posts, in order, separated by commas: {', '.join(SERVICES)}",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
