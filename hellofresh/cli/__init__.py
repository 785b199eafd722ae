"""The command line: `hellofresh NOUN [VERB] ...`. Exit codes: 0 done, 1 a check or the data failed, 2 wrong use."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from hellofresh import __version__
from hellofresh.cli import (
    analyse,
    archive,
    board,
    evaluate,
    hydrate,
    models,
    prompts,
    quarter,
    report,
    runs,
    sample,
    score,
    web,
)
from hellofresh.cli._output import Output
from hellofresh.cli.collect import commands as collect
from hellofresh.cli.release import commands as release
from hellofresh.cli.submission import commands as submission
from hellofresh.errors import HelloFreshError, WorkspaceError

__all__ = ["main"]

_NOUNS = (
    collect,
    archive,
    release,
    quarter,
    hydrate,
    evaluate,
    runs,
    score,
    analyse,
    report,
    board,
    submission,
    models,
    prompts,
    sample,
    web,
)
"""Every noun is one module with `register(subparsers)`; a new one is a file in this folder and a name here."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hellofresh",
        description="A living benchmark: language models predict fresh, real decisions of people.",
        epilog="Files live in ./data, or where HELLOFRESH_DATA says. Settings: hellofresh.toml, or HELLOFRESH_CONFIG.",
    )
    parser.add_argument("--version", action="version", version=f"hellofresh {__version__}")
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for noun in _NOUNS:
        noun.register(nouns)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    output = Output(as_json=getattr(options, "json", False))
    try:
        code: int = options.run(options, output)
        output.flush()
    except HelloFreshError as error:
        output.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.say("Stopped. What was finished is kept; run the same command again to go on.")
        return 130
    except BrokenPipeError:
        # The reader of a pipe has gone (`... | head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # What a stage did not foresee: a read-only folder, a full disk, a file that went away.
        output.error(_of_system(error))
        return 2
    return code


def _of_system(error: OSError) -> WorkspaceError:
    what = f"the operating system refuses: {error.strerror or error}"
    fix = "Check the folder's permissions and free space, or set HELLOFRESH_DATA to another folder."
    return WorkspaceError(what, where=str(error.filename or ""), fix=fix, code="system")
