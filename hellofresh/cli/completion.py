"""Completion in shells: `hellofresh completion bash|zsh|fish` prints the script for the shell's startup.

argcomplete calls `hellofresh` with the line so far; it answers from names of files and from tables, without running a
command. The shell itself completes files.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterable
from importlib.resources import files

from argcomplete import autocomplete
from argcomplete.completers import BaseCompleter
from argcomplete.shell_integration import shellcode

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")
"""Only such names are offered, which a shell cannot take for more than a word."""


def print_script(options: argparse.Namespace, output: CommandOutput) -> int:
    """Print the script for a shell."""
    script = shellcode(["hellofresh"], shell=options.shell)
    output.result({"shell": options.shell, "script": script})
    output.raw(script)
    return 0


def answer_shell(parser: argparse.ArgumentParser) -> None:
    """Print the completions at the end of the shell's line, and end the process."""
    autocomplete(parser, default_completer=_Names())


class _Names(BaseCompleter):
    def __call__(self, *, prefix: str, action: argparse.Action, **_: object) -> list[str]:
        """The names with `prefix` for the argument's metavar."""
        try:
            return sorted(
                {name for name in _named(str(action.metavar)) if name.startswith(prefix) and _PLAIN.fullmatch(name)}
            )
        except (HelloFreshError, OSError):
            return []


def _editions() -> Iterable[str]:
    """This quarter, the previous one, and all editions with candidates or releases in the workspace."""
    this = Quarter.containing(now())
    root = Workspace.from_environment().root
    found = [path.name for path in (root / "releases").glob("*")]
    found += [path.stem for path in (root / "candidates").glob("*/*.parquet")]
    return [str(this), str(this.previous()), *found]


def _named(kind: str) -> Iterable[str]:
    """The possible values for a metavar; modules are imported only for the requested kind."""
    if kind in ("E", "Q"):
        return (name for name in _editions() if kind == "E" or "@" not in name)
    if kind in ("T", "TASK"):
        from hellofresh.tasks import TASKS

        return TASKS
    if kind in ("M", "MODEL[,MODEL]"):
        from hellofresh.models.catalogue import known_models

        return known_models()
    if kind == "RUN":
        return [path.parent.name for path in Workspace.from_environment().runs.glob("*/plan.json")]
    if kind not in ("R", "REGIME"):
        return ()
    # Regimes with prompts: importing the regimes themselves takes too long.
    tables = (path for path in files("hellofresh.runs.prompts").iterdir() if path.name.endswith(".toml"))
    return [name for path in tables for name in tomllib.loads(path.read_text(encoding="utf-8")).get("regimes", ())]
