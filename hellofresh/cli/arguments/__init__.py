"""What every command accepts: names, options and help texts, without what carries the commands out.

A new command is a line in `NOUNS`, a function that declares its options, and a handler in a module of its own. Both are
imported on use: the list of commands needs this table alone, and `hellofresh NOUN --help` the declarations of one noun.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import NamedTuple

from hellofresh import __version__
from hellofresh.cli.arguments.parser import CommandParser


class Noun(NamedTuple):
    """The first word of a command: who needs it, what it is for, and `module:function` that declares its options."""

    group: str
    about: str
    declared: str


NOUNS = {
    "evaluate": Noun("evaluate", "evaluate a model on a released edition", "evaluating:add_evaluate"),
    "sweep": Noun("evaluate", "evaluate variants of a system and compare them", "evaluating:add_sweep"),
    "respond": Noun("evaluate", "respond to one post", "evaluating:add_respond"),
    "proxy": Noun("evaluate", "evaluate your own program through an endpoint", "evaluating:add_proxy"),
    "runs": Noun("evaluate", "show, resume and export runs", "evaluating:add_runs"),
    "score": Noun("evaluate", "score the runs and submissions of an edition", "evaluating:add_score"),
    "analyse": Noun("evaluate", "make tables and figures of a scored edition", "evaluating:add_analyse"),
    "board": Noun("evaluate", "build or export the leaderboard", "evaluating:add_board"),
    "models": Noun("evaluate", "list models, or try one", "evaluating:add_models"),
    "prompts": Noun("evaluate", "show or rephrase prompts", "evaluating:add_prompts"),
    "web": Noun("evaluate", "search the web or read a page as regimes do", "evaluating:add_web"),
    "submission": Noun("submit", "create, check, add and list submissions", "submissions:add_submission"),
    "hydrate": Noun("submit", "fill in texts that a release must leave out", "sources:add_hydrate"),
    "judge": Noun("judge", "have a model judge responses", "ratings:add_judge"),
    "rate": Noun("judge", "have people rate responses; report on ratings", "ratings:add_rate"),
    "corpus": Noun("retrieve and train", "import, show and compare corpora for retrieval", "retrieval:add_corpus"),
    "train": Noun("retrieve and train", "train rerankers, reward models and responders", "training:add_train"),
    "collect": Noun("maintain", "collect a quarter's candidates from a source", "sources:add_collect"),
    "archive": Noun("maintain", "download what a source publishes as files", "sources:add_archive"),
    "dataset": Noun("maintain", "show and import frozen data sets", "sources:add_dataset"),
    "release": Noun("maintain", "build, publish, verify and correct releases", "releases:add_release"),
    "quarter": Noun("maintain", "show the state of quarters, do what is due", "releases:add_quarter_status"),
    "sample": Noun("maintain", "write the bundled sample sources", "sources:add_sample"),
    "completion": Noun("maintain", "print the completion script of a shell", "shared:add_completion"),
}
"""Every noun, by name. The order is that of the help."""


def command_line(typed: str | None = None) -> CommandParser:
    """The command line; a parsed command has its handler's name in `run`.

    Args:
        typed: the noun whose commands are declared; of the others only the names are known. None declares all.
    """
    parser = _Root(prog="hellofresh")
    parser.add_argument("--version", action="version", version=f"hellofresh {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
    parser.set_defaults(lists=parser)
    for name, noun in NOUNS.items():
        if typed in (None, name):
            module, _, function = noun.declared.partition(":")
            getattr(import_module(f"hellofresh.cli.arguments.{module}"), function)(commands)
        else:
            commands.add_parser(name)
    return parser


def typed_noun(words: Sequence[str]) -> str:
    """The noun among what somebody typed: the first word that is not an option, empty without one."""
    return next((word for word in words if not word.startswith("-")), "")


def _anywhere() -> argparse.ArgumentParser:
    """Options that may stand anywhere in a command line, whatever the command."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--submissions", type=Path, default=argparse.SUPPRESS)
    return parser


class _Root(CommandParser):
    """The parser of the first word; its help shows the nouns by those who need them, on one screen."""

    def parse_known_args(  # type: ignore[override]  # argparse has overloads, all of which this is
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; what may stand anywhere is taken out first."""
        shared, words = _anywhere().parse_known_args(sys.argv[1:] if args is None else args)
        found, rest = super().parse_known_args(words, namespace)
        if "submissions" in shared and "submissions" not in found:
            self.error("this command reads no submissions: leave out --submissions")
        for name, value in vars(shared).items():
            setattr(found, name, value)
        return found, rest

    def format_help(self) -> str:
        """All nouns, with the group before the first of each."""
        width = min(get_terminal_size().columns - 2, 100)
        lines = [
            "usage: hellofresh [--version] COMMAND ...   (COMMAND --help: what it accepts)",
            "A living benchmark: language models predict fresh, real human decisions.",
            "",
        ]
        for group, nouns in groupby(NOUNS.items(), lambda item: item[1].group):
            for number, (name, noun) in enumerate(nouns):
                lines += wrap(
                    noun.about,
                    width,
                    initial_indent=f"{'' if number else group:20}{name:12}",
                    subsequent_indent=" " * 32,
                )
        epilog = (
            "Every command takes --json; those that read submissions --submissions DIR. Files: ./data, "
            "HELLOFRESH_DATA. Settings: hellofresh.toml, HELLOFRESH_CONFIG."
        )
        return "\n".join([*lines, "", *wrap(epilog, width), ""])
