"""The command `submission`, for predictions of systems of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli.arguments.shared import (
    Subparsers,
    add_command,
    add_edition,
    add_group,
    add_private,
    edition_option,
    takes_submissions,
)

SPLITS = ("main", "prospective")
REGIMES = ("zero-shot", "web-search", "agent", "other")
INBOX_VARIABLE = "HELLOFRESH_INBOX"
"""As in `hellofresh.submissions`, which help must not wait for; a test compares them."""


def add_submission(nouns: Subparsers) -> None:
    """Add `submission`."""
    commands = add_group(nouns, "submission", "Submit predictions of your own system.")

    def command(name: str, about: str, handler: str, *, timed: bool = False) -> argparse.ArgumentParser:
        return add_command(commands, name, about, f"submission.commands:{handler}", timed=timed)

    about = "Start a submission: write its two files, with every sample to predict."
    new = add_command(commands, "new", about, "submission.new:new")
    _new_arguments(new)
    about = "Check a submission, a file of predictions, or all that has changed in a folder of submissions."
    check = command("check", about, "check")
    check.add_argument(
        "path", type=Path, metavar="FILE|DIR", help="a submission's folder, a file of predictions, or all submissions"
    )
    _check_arguments(check)
    about = "Accept a submission, or what was uploaded on the site: check it, copy it, and write its receipt."
    add = command("add", about, "add", timed=True)
    add.add_argument(
        "folder", type=Path, nargs="?", metavar="TEAM/SYSTEM", help="folder with predictions and system.toml"
    )
    _add_arguments(add)
    for parser in (check, add):
        edition_option(parser, "edition (default: read from the folder above the team's; of an inbox, all)")
    about = "List the submissions of an edition: receipts, flags, and which ones count."
    listing = command("list", about, "list_entries")
    edition_option(listing, "a quarter such as 2023Q2, or a data set such as liar-new@588")
    listing.add_argument(
        "--folder", dest="record", nargs="?", type=Path, const=Path(), metavar="DIR",
        help="show the workspace's folder of submissions instead, or record DIR for all commands of the workspace",
    )  # fmt: skip
    withdraw = command("withdraw", "Withdraw a submission before the deadline.", "withdraw", timed=True)
    withdraw.add_argument("team", help="the team's folder")
    withdraw.add_argument("system", help="the system's folder")
    add_edition(withdraw)
    for parser in (check, add, listing, withdraw):
        about = "prospective: samples that were undecided when released (default: main, or the folder's split)"
        parser.add_argument("--split", choices=SPLITS, help=about)
    for parser in (new, check, add, listing, withdraw):
        about = "where the public samples are: a folder of releases, or an address (default: the workspace)"
        parser.add_argument("--samples", metavar="PATH|URL", help=about)
        takes_submissions(parser, belong=False)


def _new_arguments(parser: argparse.ArgumentParser) -> None:
    """An option for everything that a submission says of itself."""
    edition_option(parser, "a quarter such as 2023Q2, or a data set such as liar-new@588")
    parser.add_argument("--task", action="append", metavar="T", help="only this task (repeat it for each)")
    parser.add_argument(
        "--from-inspect", type=Path, metavar="LOG",
        help="take edition, task and choices from a log of inspect_ai on one of our tasks (extra inspect)",
    )  # fmt: skip
    parser.add_argument("--name", help="name of the system")
    parser.add_argument("--team", help="name of the team")
    parser.add_argument("--contact", help="where the maintainers can reach you")
    parser.add_argument("--regime", help=", ".join(REGIMES))
    parser.add_argument(
        "--model", action="append", metavar="M", help="a model that the system uses (repeat it for each)"
    )
    parser.add_argument("--knowledge-cutoff", metavar="DATE", help="such as 2026-01-31, or unknown")
    parser.add_argument("--url", help="page about it (http or https)")
    parser.add_argument("--notes", help="shown on the board")
    parser.add_argument("--team-folder", metavar="F", help="default: derived from the team's name")
    parser.add_argument("--system-folder", metavar="F", help="default: derived from the system's name")
    parser.add_argument("--yes", action="store_true", help="do not prompt; use defaults for options not given")


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--against", type=Path, metavar="BASE",
        help="DIR is all submissions: check what has changed since BASE, a copy of them as they were before",
    )  # fmt: skip
    parser.add_argument(
        "--author", default="", metavar="A", help="with --against: account that made the change, see TEAMS.toml"
    )
    parser.add_argument("--score", action="store_true", help="also score it, once the labels are revealed")
    add_private(parser)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from-git", action="store_true",
        help="for a folder already in place: use the time of the merge as its time of receipt",
    )  # fmt: skip
    parser.add_argument(
        "--inbox", nargs="?", type=Path, const=Path(), metavar="DIR",
        help=f"accept what visitors of the site uploaded (default: what {INBOX_VARIABLE} names)",
    )  # fmt: skip
    parser.add_argument(
        "--list", action="store_true", help="with --inbox: show what would happen to each arrival, and change nothing"
    )
    about = "with --inbox: accept the arrival with this hash although the team already exists (repeat it for each)"
    parser.add_argument("--accept", action="append", default=[], metavar="HASH", help=about)
    parser.add_argument("--clear", action="store_true", help="with --inbox: delete arrivals that have been accepted")
