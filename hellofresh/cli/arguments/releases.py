"""Commands about releases: `release` and `quarter`."""

from __future__ import annotations

import argparse
from pathlib import Path

from collectors.options import add_posts
from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_quarter,
    edition_option,
    parse_quarter,
    takes_submissions,
)


def add_release(nouns: Subparsers) -> None:
    """Add `release`."""
    verbs = add_group(nouns, "release", "Build, publish, verify and correct frozen quarterly releases.")
    about = "Build the releases of a quarter from its candidates."
    build = add_command(verbs, "build", about, "release.commands:build", timed=True)
    add_quarter(build)
    build.add_argument("--task", metavar="T", help="only this task (default: all that have candidates)")
    _publish_arguments(verbs)
    _prospective_arguments(verbs)
    about = "Run the whole pipeline: collect, build, evaluate, score, analyse, board."
    _run_arguments(add_command(verbs, "run", about, "release.commands:run", timed=True))
    _verify_arguments(verbs)
    _takedown_arguments(verbs)
    _export_arguments(verbs)


def _run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--quarter", type=parse_quarter, nargs="+", metavar="Q", help="default: this quarter and the last one"
    )
    run.add_argument("--notes-dump", type=Path, metavar="DIR", help="folder of a Community Notes dump")
    add_posts(run, prefix="notes-")
    run.add_argument("--wiki-dump", type=Path, nargs="+", metavar="FILE", help="full-history XML dumps")
    run.add_argument("--datasets", nargs="+", metavar="NAME", help="imported data sets, besides the quarters")
    _sample_argument(run, "with --datasets")
    run.add_argument("--models", nargs="+", metavar="M", help="models to evaluate (default: as configured)")
    run.add_argument(
        "--limit", type=int, metavar="N", help="samples per task and quarter (default: the model's own limit)"
    )
    run.add_argument("--no-analyses", action="store_true", help="do not recompute the board's analyses")
    takes_submissions(run)


def _sample_argument(parser: argparse.ArgumentParser, when: str) -> None:
    about = f"{when}, use the bundled sample if no source is named or configured"
    parser.add_argument("--sample", action="store_true", help=about)


def _publish_arguments(verbs: Subparsers) -> None:
    about = "Publish the opened quarters as a Hugging Face dataset."
    publish = add_command(verbs, "publish", about, "release.commands:publish", timed=True)
    publish.add_argument(
        "--to", metavar="DIR|hub:OWNER/NAME", help="a folder (default: data/published), or a repository, with HF_TOKEN"
    )
    edition_option(publish, "only these (default: all that have opened)", several=True)


def _prospective_arguments(verbs: Subparsers) -> None:
    about = "Publish samples that are still undecided, predictions are due within days; or label them later."
    parser = add_command(verbs, "prospective", about, "release.commands:prospective", timed=True)
    add_quarter(parser)
    parser.add_argument("--task", metavar="T", help="only this task (default: all that have any)")
    parser.add_argument("--resolve", action="store_true", help="label the samples from a later collection")
    about = "with --resolve: drop samples that may still be decided"
    parser.add_argument("--final", action="store_true", help=about)


def _export_arguments(verbs: Subparsers) -> None:
    about = "Write a revealed edition as a folder of tasks for another harness: zero-shot, with every prompt."
    parser = add_command(verbs, "export", about, "release.commands:export")
    add_edition(parser)
    parser.add_argument("--task", required=True, metavar="T", help="a task with classes")
    parser.add_argument(
        "--lm-eval", required=True, type=Path, metavar="DIR", help="the folder, for lm_eval --include_path DIR"
    )


def _verify_arguments(verbs: Subparsers) -> None:
    about = "Check released files: hashes, history, commitments, labels, scores; and recompute figures of the board."
    parser = add_command(verbs, "verify", about, "release.verify:verify")
    parser.add_argument(
        "where",
        nargs="?",
        metavar="PATH|URL",
        help="a release's folder, one above several, or its address (default: data/releases)",
    )
    parser.add_argument(
        "--figure",
        action="append",
        default=[],
        metavar="F",
        help="recompute a figure: EDITION/TASK/SYSTEM/REGIME/PROMPT/PERIOD/METRIC, or system=NAME,metric=f1,period=all",
    )
    parser.add_argument(
        "--known", metavar="SHA256", help="hash of a manifest that you noted earlier; it must be in the history"
    )
    parser.add_argument(
        "--submissions",
        type=Path,
        metavar="DIR",
        help="folder of submissions: check that all with valid receipts are published as submitted",
    )
    about = "a folder that 'release export' wrote: check that it is what the release gives"
    parser.add_argument("--exported", type=Path, metavar="DIR", help=about)


def _takedown_arguments(verbs: Subparsers) -> None:
    about = "Take samples out of a release: a tombstone stays, and the quarter is scored again."
    parser = add_command(verbs, "takedown", about, "release.takedown:takedown", timed=True)
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids of samples")
    parser.add_argument("--reason", metavar="TEXT", help="the reason; it is public, so do not name anybody")
    edition_option(parser, "only in this edition")
    parser.add_argument(
        "--gone",
        action="store_true",
        help="all samples whose post was deleted, suspended or protected when 'hellofresh hydrate' last looked",
    )
    about = "erase the texts from everything in the workspace, and take down the other samples that hold them"
    parser.add_argument("--everywhere", action="store_true", help=about)
    about = "search this folder too, such as an export (repeat it for each)"
    parser.add_argument("--also", action="append", type=Path, default=[], metavar="DIR", help=about)
    takes_submissions(parser)


def add_quarter_status(nouns: Subparsers) -> None:
    """Add `quarter`."""
    verbs = add_group(nouns, "quarter", "Show the state of quarters, and do what is due.")
    about = "Show the state of each quarter, and what happens next; exit code 1 if one is late."
    status = add_command(verbs, "status", about, "quarter:status")
    status.add_argument(
        "--quarter",
        type=parse_quarter,
        nargs="+",
        metavar="Q",
        help="default: all that are released or should be, and the current one",
    )
    about = "Do all that is due today, step by step; a step that fails leaves the others as they are."
    daily = add_command(verbs, "run", about, "quarter:run", timed=True)
    daily.add_argument("--dry-run", action="store_true", help="show what is due and what it may cost; write nothing")
    _sample_argument(daily, "for a demonstration")
    daily.add_argument("--summary", type=Path, metavar="FILE", help="write the summary to this file too")
    takes_submissions(daily)
