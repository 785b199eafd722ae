"""The parser of commands, which lists them if none is given and suggests fixes for mistyped words."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

# Patterns of argparse's messages, with their replacements.
_REPORTS = {
    r"the following arguments are required: (?P<names>.*)": "missing: {names}",
    r"the following arguments are required with (?P<chosen>\S+): (?P<names>.*)": "missing with {chosen}: {names}",
    r"argument (?P<names>\S+): expected (?:one|at least one) argument": "a value is missing: {names}",
    r"argument (?P<names>\S+): invalid int value: (?P<value>.*)": "{value} is not a whole number: {names}",
    r"argument (?P<names>\S+): invalid float value: (?P<value>.*)": "{value} is not a number: {names}",
    r"one of the arguments (?P<several>.*) is required": "missing: one of {several}",
    r"unrecognized arguments: (?P<rest>.*)": "unrecognized arguments: {rest}",
}
REQUIRED = object()
"""Marks an option that must be given."""
_ELSEWHERE = {"reveal": "'hellofresh release run' reveals what is due."}  # words that users type for another command
# One option with two names, whichever of them a command declares.
_SAME = {"--edition": "--quarter", "--quarter": "--edition"}
# Options that overrule a refusal: never proposed in place of a mistyped one.
_SAFEGUARDS = ("--accept-partial", "--allow-weak-reward", "--anyway", "--change", "--drop-damaged", "--yes-it-is")


class _Help(argparse.HelpFormatter):
    """Wraps each line of the text around the options separately, so that examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(super(_Help, self)._fill_text(line, width, indent) for line in text.splitlines())


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors suggest the probable meaning."""

    def __init__(self, **words: Any) -> None:
        # An abbreviation would let `--chan X` change what was published.
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **words})

    _given: tuple[str, ...] = ()
    variants: Variants | None = None
    """Variants of the command by its first argument, if any."""

    def parse_known_args(  # type: ignore[override]  # argparse has overloads, all of which this is
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse and report unknown options here, where the command's options are known."""
        self._given = tuple(map(self._own, sys.argv[1:] if args is None else args))
        if self.variants is not None and {"-h", "--help"} & {*self._given} and self._given[0] in self.variants.handlers:
            self.variants.show_only(self._given[0])
        found, rest = super().parse_known_args(self._given, namespace)
        # argparse takes `NAME PATH --part`, not `NAME --part PATH`, for an argument that may be left out.
        for action in self._get_positional_actions():
            if rest and not rest[0].startswith("-") and action.nargs == "?" and getattr(found, action.dest, 0) is None:
                setattr(found, action.dest, self._get_values(action, [rest.pop(0)]))
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if self.variants is not None:
            fault = self.variants.settle(found)
            if fault:
                self.error(fault)
        return found, rest

    def _own(self, word: str) -> str:
        """The word, or the name that this command has for the same option."""
        name, equals, value = word.partition("=")
        other = _SAME.get(name)
        known = self._option_string_actions
        return f"{other}{equals}{value}" if other in known and name not in known else word

    def error(self, message: str) -> NoReturn:
        """Print the fault and the probable meaning, and exit with 2."""
        hints = [] if message.startswith("no command ") else [*self._mistyped()]  # whose options are unknown
        if hints:
            self.exit(2, "".join(f"{self.prog}: error: {hint}\n" for hint in hints))
        said = self._in_words(message)
        self.exit(2, f"{self.prog}: error: {said}{'' if said.endswith('?') else '.'} See: {self.prog} --help\n")

    def _in_words(self, message: str) -> str:
        """A message of argparse, with the meaning of each argument."""
        for pattern, words in _REPORTS.items():
            if found := re.fullmatch(pattern, message):
                parts = [self._described(part) for part in found["names"].split(", ")] if "names" in words else []
                return words.format(**found.groupdict() | {"names": "; ".join(parts)})
        return message.rstrip(".")

    def _described(self, name: str) -> str:
        """An argument as in the help, with its meaning."""
        for action in self._actions:
            own = "/".join(action.option_strings) or action.metavar or action.dest
            if name == own:
                flag = action.option_strings[0] if action.option_strings else ""
                meaning = (action.help or "").split(" (default")[0]
                return f"{flag} {action.metavar or ''}".strip() + (f" ({meaning})" if meaning else "")
        return name

    def _check_value(self, action: argparse.Action, value: object) -> None:
        choices = [str(choice) for choice in action.choices or ()]
        if not choices or str(value) in choices:
            return
        what = action.metavar.lower() if isinstance(action.metavar, str) else "value"
        close = _close(str(value), choices)
        known = f"Did you mean {close!r}?" if close else f"Known are: {', '.join(choices)}."
        known = _ELSEWHERE.get(str(value), known)
        raise argparse.ArgumentError(action if action.option_strings else None, f"no {what} {value!r}. {known}")

    def _mistyped(self) -> Iterable[str]:
        """Unknown options that resemble a known one."""
        known = [*self._option_string_actions, "--json", "--submissions"]
        offered = [option for option in known if option not in _SAFEGUARDS]
        for word in self._given:
            name = word.partition("=")[0]
            if name == "--":
                return
            if name.startswith("--") and name not in known:
                begun = [option for option in offered if option.startswith(name)]
                close = " or ".join(begun) or _close(name, offered, 0.8)
                if close:
                    yield f"no option {name}. Did you mean {close}?"


class Variants:
    """A command whose first argument selects its handler and options.

    Args:
        parser: the command's.
        name: of the first argument.
        handlers: `module:function` of each of its values.
        about: help text of the first argument.
    """

    def __init__(self, parser: argparse.ArgumentParser, name: str, handlers: Mapping[str, str], about: str) -> None:
        self._parser, self._name, self.handlers = parser, name, handlers
        self._defaults: dict[str, tuple[str, dict[str, object]]] = {}
        self._groups: dict[str, argparse._ArgumentGroup] = {}
        parser.add_argument(name, metavar=name.upper(), choices=tuple(handlers), help=about)
        assert isinstance(parser, CommandParser)
        parser.variants = self

    def add(self, flag: str, of: Mapping[str, object], *, group: str = "", **words: object) -> None:
        """Add an option; if it exists, only further values that accept it, and what its help says of them.

        Args:
            flag: its name.
            of: its default, or `REQUIRED`, for each value of the first argument that accepts it.
            group: its title in the help, if not the general one.
            words: keywords of `add_argument`.
        """
        if known := next((known for one, known in self._defaults.values() if one == flag), None):
            known.update(of)
            action = self._parser._option_string_actions[flag]
            action.help = _joined(action.help, words.get("help"), "; ")
            if isinstance(action.metavar, str):
                action.metavar = _joined(action.metavar, words.get("metavar"), "|")
            return
        if group and group not in self._groups:
            self._groups[group] = self._parser.add_argument_group(group)
        add = (self._groups[group] if group else self._parser).add_argument
        action = add(flag, default=argparse.SUPPRESS, **words)  # type: ignore[arg-type]  # passed on as they are
        self._defaults[action.dest] = (flag, dict(of))

    def show_only(self, chosen: str) -> None:
        """Hide from the help the options that a value of the first argument does not accept."""
        for action in self._parser._actions:
            if action.dest in self._defaults and chosen not in self._defaults[action.dest][1]:
                action.help = argparse.SUPPRESS

    def settle(self, found: argparse.Namespace) -> str:
        """Fill in the handler and the defaults; returns the fault, or ''."""
        chosen = getattr(found, self._name)
        found.run = self.handlers[chosen]
        missing = []
        for name, (flag, of) in self._defaults.items():
            given = hasattr(found, name)
            if given and chosen not in of:
                return f"{flag} is an option of {', '.join(of)}, not of {chosen}"
            if not given:
                if of.get(chosen) is REQUIRED:
                    missing.append(flag)
                setattr(found, name, of.get(chosen))
        return f"the following arguments are required with {chosen}: {', '.join(missing)}" if missing else ""


def _joined(known: str | None, more: object, mark: str) -> str:
    """A text with another one behind it, unless it is there already."""
    return f"{known}{mark}{more}" if known and more and str(more) not in known else known or str(more or "")


def _close(word: str, known: Sequence[str], likeness: float = 0.6) -> str:
    """The most similar known word, if their likeness by difflib (0 to 1) is enough, or ''."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1, cutoff=likeness)), "")
