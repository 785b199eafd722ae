"""Declaration of commands: their options, and options shared by several commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from collectors.settings import NotesAsked, defaults_of, options_of
from hellofresh.cli.arguments.parser import REQUIRED, CommandParser, Variants
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import Quarter
from hellofresh.runs.evaluation import OPTIONS, Option

_Value = TypeVar("_Value")
KINDS: dict[str, Callable[[str], object]] = {}
"""Converters of values by their metavar in the help; other values are texts."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a command: names and keywords for `add_argument`.

    Attributes:
        names: names of the option or positional argument.
        words: further keywords.
        group: its title in the help, if not the general one.
        one_of: name of a set of exclusive options; exactly one is required if the name ends with `!`.
    """

    names: tuple[str, ...]
    words: Mapping[str, Any]
    group: str = ""
    one_of: str = ""


def option(
    names: str,
    about: str,
    kind: Callable[[str], object] | None = None,
    *,
    many: bool = False,
    group: str = "",
    one_of: str = "",
    **more: object,
) -> Argument:
    """An option such as `--port N`, a switch such as `--board`, or an argument such as `folder DIR`.

    Args:
        names: its names and, at the end, the metavar of its value; a switch has none.
        about: the help text.
        kind: converter of the value; by default that of the metavar, see `KINDS`.
        many: whether it may be repeated; the default is an empty list.
        group, one_of: as in `Argument`.
        more: further keywords of `add_argument`.
    """
    flags = tuple(word for word in names.split() if word.startswith("--"))
    others = [word for word in names.split() if word not in flags]
    words: dict[str, Any] = {"help": about, **more}
    metavar = others[-1:] if flags else others[1:]
    if metavar:
        words["metavar"] = metavar[0]
    elif flags and "choices" not in words:
        return Argument(flags, {"action": "store_true", **words}, group, one_of)
    words["type"] = kind or KINDS.get(metavar[0] if metavar else "", str)
    if many:
        words = {"action": "append", "default": [], **words, "help": f"{about} (repeat it for each)"}
    return Argument(flags or (others[0],), words, group, one_of)


def fields(*names: str, required: Collection[str] = ("task", "model"), **changed: str) -> tuple[Argument, ...]:
    """The options for fields of `Evaluation`; `changed` has help texts specific to a command."""
    found = []
    for name in names:
        field = OPTIONS[name]
        words: dict[str, Any] = {"dest": name, "help": changed.get(name, field.help), "default": argparse.SUPPRESS}
        words |= words_of(field)
        if words["action"] != "store_true":
            words["required"] = name in required
        found.append(Argument((field.flag_of(name),), words))
    return tuple(found)


def grouped(title: str, *options: Argument) -> tuple[Argument, ...]:
    """The options under their own title in the help."""
    return tuple(replace(one, group=title) for one in options)


def words_of(field: Option) -> dict[str, Any]:
    """The keywords of a field's option for `add_argument`, except its name, help and default."""
    if not field.metavar and not field.choices:
        return {"action": "store_true"}
    words: dict[str, Any] = {"type": field.parse, "action": "append" if field.many else "store"}
    words |= {"metavar": field.metavar} if field.metavar else {}
    words |= {"choices": field.choices} if field.choices else {}
    return words | ({"nargs": "+"} if field.several else {})


def add_settings(variants: Variants, name: str, *kinds: type) -> None:
    """Add to a variant of a command an option for each field of its settings that declares one."""
    for kind in kinds:
        defaults = defaults_of(kind)
        for field, chosen in options_of(kind).items():
            default = REQUIRED if defaults[field] is MISSING else defaults[field]
            words = {**words_of(chosen), "dest": field, "help": chosen.help, "group": chosen.group}
            variants.add(chosen.flag_of(field), {name: default}, **words)


def posts_options(prefix: str = "") -> tuple[Argument, ...]:
    """The options `--posts FILE` and `--posts-from NAMES` of `collect`."""
    return tuple(
        Argument(
            (f"--{prefix}{name.replace('_', '-')}",),
            {**words_of(field), "help": field.help, "default": defaults_of(NotesAsked)[name]},
        )
        for name, field in options_of(NotesAsked).items()
        if name in ("posts", "posts_from")
    )


@dataclass(frozen=True, slots=True)
class Command:
    """A command that prints results.

    Attributes:
        name: the noun, or noun and verb.
        about: its description in one sentence.
        run: its handler as `module:function`, imported when the command runs.
        options: its arguments.
        timed: whether it needs a clock that is not behind the records.
        submissions: whether it accepts `--submissions DIR`: `own` if only the workspace's own folder is allowed,
            because submissions elsewhere would be lost, or `any`.
        epilog: an example.
        more: declares arguments that depend on the first one.
    """

    name: str
    about: str
    run: str
    options: tuple[Argument, ...]
    timed: bool = False
    submissions: str = ""
    epilog: str = ""
    more: Callable[[argparse.ArgumentParser], object] = lambda parser: None

    def declare(self, parser: argparse.ArgumentParser, home: str = "") -> None:
        """Add the command's arguments to a parser; `home` is the package of its handler, with a dot at its end."""
        parser.set_defaults(run=f"{home}{self.run}", timed=self.timed)
        parser.epilog = self.epilog
        if self.submissions:
            parser.set_defaults(submissions=None, submissions_belong=self.submissions == "own")
        groups: dict[str, argparse._ArgumentGroup] = {}
        for one in self.options:
            place: argparse._ActionsContainer = parser
            if one.group:
                place = groups.get(one.group) or groups.setdefault(one.group, parser.add_argument_group(one.group))
            elif one.one_of:
                required = one.one_of.endswith("!")
                place = groups.get(one.one_of) or groups.setdefault(
                    one.one_of, parser.add_mutually_exclusive_group(required=required)
                )
            place.add_argument(*one.names, **one.words)
        self.more(parser)
        if isinstance(parser, CommandParser) and (several := parser.variants) is not None:
            several.handlers = {name: f"{home}{run}" for name, run in several.handlers.items()}


def command(name: str, about: str, run: str, *options: Argument, **more: Any) -> Command:
    """Make a `Command`."""
    return Command(name, about, run, options, **more)


def _checked(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """A converter for argparse, which shows only the message of its own error type."""

    def read(text: str) -> _Value:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


to_edition, to_quarter = _checked(parse_edition), _checked(Quarter.parse)


def to_day(text: str) -> date:
    """Convert an argument to a day."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a day; expected one such as 2023-04-03")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def to_pairs(text: str) -> dict[str, str]:
    """Convert an argument of NAME=VALUE pairs separated by commas."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    if not pairs or not all(name and equals and value for name, equals, value in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of pairs; expected NAME=VALUE,NAME=VALUE")
    return {name: value for name, _, value in pairs}


KINDS |= {"N": int, "USD": float, "Q": to_quarter, "E": to_edition, "DAY": to_day}
KINDS |= dict.fromkeys(("FILE", "DIR", "PATH", "FILE|DIR", "DIR|FILE"), Path)


def edition(
    about: str = "a quarter such as 2023Q2, or a data set such as liar-new@588",
    *,
    required: bool = False,
    nargs: str | None = None,
) -> Argument:
    """The option `--edition E`, with the alias `--quarter`."""
    return option("--edition --quarter E", about, required=required, nargs=nargs)


EDITION = edition(required=True)
QUARTER = option("--quarter Q", "quarter, such as 2023Q2", required=True)
BASE_URL = option("--base-url URL", "the endpoint of openai:NAME (default: OPENAI_BASE_URL)")
DRY_RUN = option("--dry-run", "estimate requests, cost and time (expected and maximum); send and write nothing")
PRIVATE = option("--private", "for maintainers: use labels before they are revealed; keep the results private")
SPLIT = ("main", "prospective")
