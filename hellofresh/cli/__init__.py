"""The command line: `hellofresh NOUN [VERB] ...`. Exit codes: 0 done, 1 a check or the data failed, 2 wrong use."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from hellofresh.cli._clone import find_training
from hellofresh.cli.arguments import command_line, typed_noun
from hellofresh.core.children import shadowing
from hellofresh.core.errors import HelloFreshError, WorkspaceError
from hellofresh.core.plugins import fault_of_plugin

if TYPE_CHECKING:
    import argparse

    from hellofresh.cli._output import CommandOutput


# Codes of errors about a file that is read and is not there.
_NOT_READ = frozenset({"missing-file", "missing-posts", "missing-source", "other-file"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    # Code that is imported stays, and data have few cycles: by default they are searched for too often.
    gc.set_threshold(50_000)
    if typed_noun(words) == "board":  # its matrices are small: more threads would only slow it down
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        options = command_line(typed_noun(words)).parse_args(words)
    except HelloFreshError as error:  # a package that adds commands
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - without rich, which may not be needed
        return error.exit_code
    if "run" not in options:  # a noun without its verb
        options.lists.print_help()
        return 0
    from hellofresh.cli._output import CommandOutput  # imports rich, which help does not need

    output = CommandOutput(as_json=options.json)
    if planted := shadowing():
        said = f"{', '.join(planted[:5])} in the current folder would run in place of installed modules"
        output.say(f"warning: {said}: run it from another folder, or without python -m")
    return _reported(options, output, words)


def _reported(options: argparse.Namespace, output: CommandOutput, words: Sequence[str]) -> int:
    """Run a command; an error is shown and determines the exit code."""
    try:
        return _carry_out(options, output)
    except HelloFreshError as error:
        output.error(error)
        for note in _absent(words, error):
            output.say(note)
        return error.exit_code
    except KeyboardInterrupt as error:
        output.say("Stopped. Finished work is kept; run the same command again to resume.")
        return 143 if isinstance(error, _Terminated) else 130
    except BrokenPipeError:
        # The reader of a pipe has closed it (`... | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # Unexpected system errors: a read-only folder, a full disk, a file that disappeared.
        what = f"the operating system reports: {error.strerror or error}"
        fix = "Check the folder's permissions and free space, or set HELLOFRESH_DATA to another folder."
        output.error(WorkspaceError(what, where=str(error.filename or ""), fix=fix, code="system"))
        return 2
    except Exception as error:
        if (fault := fault_of_plugin(error)) is None:
            raise  # a fault of ours, whose traceback a report needs
        output.error(fault)
        return fault.exit_code


def _absent(words: Sequence[str], error: HelloFreshError) -> list[str]:
    """A note that a typed path which an error names does not exist, with the nearest name: one rule for all readers."""
    path, typed = Path(error.where), {part for word in words for part in (word, *re.split("[=:]", word))}
    is_read = error.code in _NOT_READ or re.search("No such file|FileNotFound", str(error))
    if not error.where or error.where not in typed or not is_read or os.path.lexists(path):
        return []
    beside = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, beside, n=1)
    hint = f" Did you mean {path.parent / near[0]}?" if near else ""
    return [f"note: {path} does not exist; the current folder is {Path.cwd()}.{hint}"]


def _carry_out(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.timed or hasattr(options, "submissions_belong"):
        from hellofresh.cli._workspace import prepare

        prepare(options)
    # Output of an agent must not mix with the results, which other programs read.
    with _stopped_by_sigterm(), redirect_stdout(sys.stderr) if options.json else nullcontext():
        code: int = _handler(options.run)(options, output)
    output.flush()
    return code


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as schedulers send it; it ends a command like Ctrl+C."""


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    if current_thread() is not main_thread():  # only the main thread may handle signals
        yield
        return

    def stop(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _handler(name: str) -> Callable[..., int]:
    """The function of a command's `module:function`, imported only now."""
    module, _, function = name.partition(":")
    if module == "hellofresh.cli.train":
        find_training()
    handler: Callable[..., int] = getattr(import_module(module), function)
    return handler
