"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from hellofresh.cli._output import Output
from hellofresh.errors import ReleaseError, UsageError
from hellofresh.quarters import Quarter
from hellofresh.tasks import TASKS, Task, get_task

__all__ = ["Command", "Subparsers", "add_command", "add_json", "add_quarter", "add_submissions", "ready_tasks"]

Command = Callable[[argparse.Namespace, Output], int]


class Subparsers(Protocol):
    """What argparse gives for adding commands."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,  # noqa: A002 - as argparse calls it
        description: str,
    ) -> argparse.ArgumentParser:
        """Add a command."""


def add_command(
    commands: Subparsers, name: str, about: str, run: Command, *, timed: bool = False
) -> argparse.ArgumentParser:
    """Add a command that prints results; one that is `timed` needs a clock that is not behind what is on record."""
    brief = about[0].lower() + about[1:].rstrip(".")
    parser = commands.add_parser(name, help=brief.replace("%", "%%"), description=about)
    parser.set_defaults(run=run, timed=timed)
    add_json(parser)
    return parser


def add_submissions(parser: argparse.ArgumentParser, *, belong: bool = True) -> None:
    """Add `--submissions DIR`.

    Args:
        parser: gets it.
        belong: whether only the workspace's own folder will do, because what is not in it would be lost.
    """
    about = "folder of what others handed in (default: the workspace's, see 'hellofresh submission folder')"
    parser.add_argument("--submissions", type=Path, metavar="DIR", help=about)
    parser.set_defaults(submissions_belong=belong)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print results as JSON")


def add_quarter(parser: argparse.ArgumentParser) -> None:
    """Add `--quarter Q`."""
    parser.add_argument("--quarter", required=True, metavar="Q", type=parse_quarter, help="such as 2023Q2")


def parse_quarter(text: str) -> Quarter:
    """A quarter for argparse, which turns a ValueError into its own message."""
    try:
        return Quarter.parse(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def ready_tasks(
    options: argparse.Namespace, place: Callable[[str, Quarter], Path], missing: ReleaseError
) -> list[Task]:
    """The task that `--task` names, or else all that have a file for the quarter.

    Args:
        options: with `task` and `quarter`.
        place: gives the file.
        missing: what to raise where no task has one.
    """
    names = [options.task] if options.task else [name for name in TASKS if place(name, options.quarter).is_file()]
    if not names:
        raise missing
    return [get_task(name) for name in names]
