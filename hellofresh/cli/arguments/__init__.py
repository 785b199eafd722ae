"""Declarations of all commands: names, options and help texts, without their implementation.

A new command is a `Command` in the table of its noun's module, and a handler in its own module. Both are imported
on use: the list of commands needs only `NOUNS`, and `hellofresh NOUN --help` only one table. Other packages add
nouns by entry points of the group `hellofresh.commands`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from hellofresh import __version__
from hellofresh.cli.arguments.parser import CommandParser
from hellofresh.core.plugins import plugins, refuse_taken, registered

if TYPE_CHECKING:
    from hellofresh.cli.arguments.declare import Command


class Noun(NamedTuple):
    """The first word of a command: its users, its purpose, and the module with `COMMANDS`, the table of its commands.

    Modules of `NOUNS` are named without `hellofresh.cli.arguments`, and their handlers without `hellofresh.cli`.
    """

    group: str
    about: str
    table: str


_HOME = "hellofresh.cli."
NOUNS = {
    "evaluate": Noun("evaluate", "evaluate a model on a released edition", "evaluating"),
    "respond": Noun("evaluate", "respond to one post", "evaluating"),
    "runs": Noun("evaluate", "show, resume and export runs", "evaluating"),
    "score": Noun("evaluate", "score the runs and submissions of an edition", "evaluating"),
    "compare": Noun("evaluate", "is first place real? compare systems in any table of scores", "evaluating"),
    "analyse": Noun("evaluate", "make tables and figures of a scored edition", "evaluating"),
    "board": Noun("evaluate", "build, open or export the leaderboard", "evaluating"),
    "models": Noun("evaluate", "list models, or try one", "evaluating"),
    "prompts": Noun("evaluate", "show or rephrase prompts", "evaluating"),
    "web": Noun("evaluate", "search the web or read a page as regimes do", "evaluating"),
    "submission": Noun("submit", "create, check, add and list submissions", "submitting"),
    "hydrate": Noun("submit", "fill in texts that a release may not contain", "submitting"),
    "judge": Noun("judge", "have a model judge responses", "judging"),
    "rate": Noun("judge", "have people rate responses; report their ratings", "judging"),
    "corpus": Noun("retrieve and train", "import, show and compare corpora for retrieval", "training"),
    "train": Noun("retrieve and train", "train rerankers, reward models and responders", "training"),
    "collect": Noun("maintain", "collect a quarter's candidates from a source", "maintaining"),
    "archive": Noun("maintain", "download a source's dump, or write the bundled sample", "maintaining"),
    "dataset": Noun("maintain", "show and import frozen data sets", "maintaining"),
    "release": Noun("maintain", "build, publish, verify and correct releases", "maintaining"),
    "quarter": Noun("maintain", "show the state of quarters; do what is due", "maintaining"),
}
"""The nouns of this package by name, in the order of the help."""


def all_nouns() -> Mapping[str, Noun]:
    """All nouns by name, in the order of the help, those of other packages last in their groups.

    Raises:
        UsageError: if another package has a noun of this one, or cannot be loaded.
    """
    added: dict[str, Noun] = plugins("hellofresh.commands", of=Noun)
    for name in added:
        refuse_taken("command", name, NOUNS)
    groups = list(dict.fromkeys(noun.group for noun in (*NOUNS.values(), *added.values())))
    return dict(sorted({**NOUNS, **added}.items(), key=lambda item: groups.index(item[1].group)))


def command_line(typed: str | None = None) -> CommandParser:
    """The parser of the command line; a parsed command has its handler's name in `run`.

    Args:
        typed: the noun whose commands to declare; the others get only their names. None declares all.
    """
    parser = _Root(prog="hellofresh")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and what other packages add")
    nouns = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
    parser.set_defaults(lists=parser)
    known = NOUNS if typed in {"", *NOUNS} else all_nouns()  # entry points take time to read
    for name, noun in known.items():
        home = _HOME if name in NOUNS else ""
        if typed not in (None, name):
            nouns.add_parser(name)
            continue
        commands = [command for command in table_of(name, noun) if command.name.split()[0] == name]
        if commands[0].name == name:
            commands[0].declare(nouns.add_parser(name, description=commands[0].about), home)
            continue
        about = f"{noun.about[0].upper()}{noun.about[1:]}."
        group = nouns.add_parser(name, description=about)
        group.set_defaults(lists=group)
        verbs = group.add_subparsers(title="commands", metavar="COMMAND")
        for command in commands:
            brief = (command.about[0].lower() + command.about[1:].rstrip(".")).replace("%", "%%")
            command.declare(verbs.add_parser(command.name.split()[1], help=brief, description=command.about), home)
    return parser


def table_of(name: str, noun: Noun) -> Sequence[Command]:
    """The table of a noun, which others may share."""
    place = f"{_HOME}arguments.{noun.table}" if name in NOUNS else noun.table
    found: Sequence[Command] = import_module(place).COMMANDS
    return found


def typed_noun(words: Sequence[str]) -> str:
    """The noun among typed words: the first word that is not an option, or ''."""
    return next((word for word in words if not word.startswith("-")), "")


class _Version(argparse.Action):
    """Prints the version, and what installed packages add, by group."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        lines = [f"hellofresh {__version__}", *(f"{group}: {', '.join(its)}" for group, its in registered().items())]
        sys.stdout.write("\n".join([*lines, ""]))
        parser.exit()


class _Root(CommandParser):
    """The parser of the first word; its help shows the nouns by group of users, on one screen."""

    def parse_known_args(  # type: ignore[override]  # argparse declares overloads, which this covers
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, after taking out options that may be anywhere in a command line."""
        anywhere = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        anywhere.add_argument("--json", action="store_true")
        anywhere.add_argument("--submissions", type=Path, default=argparse.SUPPRESS)
        shared, words = anywhere.parse_known_args(sys.argv[1:] if args is None else args)
        at = next((place for place, word in enumerate(words) if word in NOUNS), 0)
        if at and words[0].startswith("-"):
            self.error(f"options follow the command: hellofresh {shlex.join([*words[at:], *words[:at]])}")
        found, rest = super().parse_known_args(words, namespace)
        if "submissions" in shared and "submissions" not in found:
            self.error("this command reads no submissions; leave out --submissions")
        for name, value in vars(shared).items():
            setattr(found, name, value)
        return found, rest

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse an unknown noun; if it is the second word of commands, name these commands in full."""
        if value not in NOUNS and value not in (nouns := all_nouns()):
            commands = {one.name: one for item in nouns.items() for one in table_of(*item)}
            whole = [f"'{name}'" for name in commands if name.split()[1:] == [value]]
            if whole:
                raise argparse.ArgumentError(None, f"no command {value!r}. Did you mean {' or '.join(whole)}?")
        super()._check_value(action, value)

    def format_help(self) -> str:
        """All nouns, with the group before the first of each."""
        width = min(get_terminal_size().columns - 2, 100)
        lines = [
            "usage: hellofresh [--version] COMMAND ...   (COMMAND --help: its options)",
            "A living benchmark: language models predict fresh, real human decisions.",
            "",
        ]
        for group, nouns in groupby(all_nouns().items(), lambda item: item[1].group):
            for number, (name, noun) in enumerate(nouns):
                indent = f"{'' if number else group:20}{name:12}"
                lines += wrap(noun.about, width, initial_indent=indent, subsequent_indent=" " * 32)
        epilog = (
            "Every command takes --json; commands that read submissions take --submissions DIR. Files: ./data, or "
            "HELLOFRESH_DATA. Settings: ./hellofresh.toml, or HELLOFRESH_CONFIG."
        )
        return "\n".join([*lines, "", *wrap(epilog, width), ""])
