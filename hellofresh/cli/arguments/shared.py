"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import re
from datetime import date
from typing import Protocol

from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter


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


def add_group(commands: Subparsers, name: str, about: str, *, kind: str = "command") -> Subparsers:
    """Add a noun that has commands, or tasks, of its own."""
    group = commands.add_parser(name, help=_brief(about), description=about)
    group.set_defaults(lists=group)
    return group.add_subparsers(title=f"{kind}s", metavar=kind.upper())


def add_command(
    commands: Subparsers, name: str, about: str, run: str, *, timed: bool = False
) -> argparse.ArgumentParser:
    """Add a command that prints results.

    Args:
        commands: where to.
        name: what it is called.
        about: one sentence.
        run: its handler as `module:function`, below `hellofresh.cli`; imported when the command runs.
        timed: whether it needs a clock that is not behind what is on record.
    """
    parser = commands.add_parser(name, help=_brief(about).replace("%", "%%"), description=about)
    parser.set_defaults(run=run, timed=timed)
    return parser


def _brief(about: str) -> str:
    return about[0].lower() + about[1:].rstrip(".")


def add_edition(parser: argparse.ArgumentParser) -> None:
    """Add `--edition E`, which `--quarter` names too."""
    edition_option(parser, "a quarter such as 2023Q2, or a data set such as liar-new@588", required=True)


def edition_option(
    parser: argparse.ArgumentParser, about: str, *, required: bool = False, several: bool = False
) -> None:
    """Add `--edition E` with a help text of its own."""
    parser.add_argument(
        "--edition", "--quarter", required=required, metavar="E", type=_parse_edition, nargs="+" if several else None,
        help=about,
    )  # fmt: skip


def add_quarter(parser: argparse.ArgumentParser) -> None:
    """Add `--quarter Q`, for what only quarters have."""
    parser.add_argument("--quarter", required=True, metavar="Q", type=parse_quarter, help="quarter, such as 2023Q2")


def add_completion(nouns: Subparsers) -> None:
    """Add `completion`."""
    about = "Print the completion script of a shell."
    parser = add_command(nouns, "completion", about, "completion:print_script")
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    parser.epilog = 'Example: put this into ~/.bashrc: eval "$(hellofresh completion bash)"'


def add_private(parser: argparse.ArgumentParser) -> None:
    """Add `--private`."""
    parser.add_argument(
        "--private",
        action="store_true",
        help="for maintainers: use labels before they are revealed; keep the results private",
    )


def takes_submissions(parser: argparse.ArgumentParser, *, belong: bool = True) -> None:
    """Have a command accept `--submissions DIR`, which stands for all commands in `ANYWHERE`.

    Args:
        parser: of the command.
        belong: whether only the workspace's own folder will do, because what is not in it would be lost.
    """
    parser.set_defaults(submissions=None, submissions_belong=belong)


def parse_quarter(text: str) -> Quarter:
    """A quarter for argparse, which turns a ValueError into its own message."""
    try:
        return Quarter.parse(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse_edition(text: str) -> Edition:
    try:
        return parse_edition(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_day(text: str) -> date:
    """A day for argparse."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a day; expected one such as 2023-04-03")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def parse_pairs(text: str) -> dict[str, str]:
    """NAME=VALUE pairs with commas between them, for argparse."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    if not pairs or not all(name and equals and value for name, equals, value in pairs):
        raise argparse.ArgumentTypeError(f"{text!r}; expected NAME=VALUE,NAME=VALUE")
    return {name: value for name, _, value in pairs}
