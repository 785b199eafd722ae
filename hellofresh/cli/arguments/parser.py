"""The parser of commands: without a command it lists them, and a mistyped word gets a suggestion."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from hellofresh.cli.renamed import new_name


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors say what may have been meant."""

    _given: tuple[str, ...] = ()

    def parse_known_args(  # type: ignore[override]  # argparse has overloads, all of which this is
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; an option that this command does not know is told here, where its other options are known."""
        self._given = tuple(sys.argv[1:] if args is None else args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and what was probably meant; exit with 2."""
        renamed = new_name([*self.prog.split()[1:], *self._given])
        hints = [renamed] if renamed else [*self._mistyped()]
        if hints:
            self.exit(2, "".join(f"{self.prog}: error: {hint}\n" for hint in hints))
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {message}\n")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        choices = [str(choice) for choice in action.choices or ()]
        if not choices or str(value) in choices:
            return
        what = action.metavar.lower() if isinstance(action.metavar, str) else "value"
        close = _close(str(value), choices)
        known = f"Did you mean {close!r}?" if close else f"Known are: {', '.join(choices)}."
        raise argparse.ArgumentError(action if action.option_strings else None, f"no {what} {value!r}. {known}")

    def _mistyped(self) -> Iterable[str]:
        """Options that do not exist and look like one that does."""
        known = list(self._option_string_actions)
        for word in self._given:
            name = word.partition("=")[0]
            if name == "--":
                return
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                close = _close(name, known)
                if close:
                    yield f"no option {name}. Did you mean {close}?"


def _close(word: str, known: Sequence[str]) -> str:
    """The known word that is most like it, empty if none is."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), "")
