"""Every error that HelloFresh raises on purpose.

    HelloFreshError                 base; not raised itself
    |-- UsageError                  the request cannot be carried out as asked          exit code 2
    |   |-- UnknownNameError        a model, task, regime, prompt, quarter ... not known
    |   |-- ConfigError             hellofresh.toml is wrong
    |   `-- WorkspaceError          a folder or file that must be read or written is not there or not ours
    `-- DataError                   the request is fine, the data are not               exit code 1
        |-- SourceError             a dump: columns, rows, archives, XML
        |-- ReleaseError            a release's files do not hold together
        |-- SubmissionError         submitted predictions or metadata
        |-- PromptError             a prompt set that cannot be filled
        `-- RunError                an evaluation that cannot go on
            `-- CallError           one request to a model that brought no answer (in hellofresh.models)

A message says what is wrong, where, what was expected and what to do. The command line prints it in one block,
without a traceback, and ends with the error's exit code.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

DISTRIBUTION = "fresh-decisions"
"""The name of the distribution to install; the package to import is `hellofresh`."""


class HelloFreshError(Exception):
    """An error with its cause, place, expectation and fix.

    Args:
        what: what is wrong, a phrase without a full stop.
        where: the file, line, field or name where it was found.
        expected: what should have been there.
        fix: what to do now, a whole sentence.
        code: a short, stable name for programs, such as `missing-columns`.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", expected: str = "", fix: str = "", code: str = "error") -> None:
        self.what, self.where, self.expected, self.fix, self.code = what, where, expected, fix, code
        head = f"{where}: {what}" if where else what
        if expected:
            head += f", expected {expected}"
        super().__init__(f"{head}. {fix}" if fix else f"{head}.")

    def __reduce__(self) -> tuple[object, ...]:
        # Errors raised in other processes are pickled and must keep their text.
        parts = {"where": self.where, "expected": self.expected, "fix": self.fix, "code": self.code}
        return _rebuilt, (type(self), self.what, parts)


def _rebuilt(kind: type[HelloFreshError], what: str, parts: Mapping[str, str]) -> HelloFreshError:
    error = kind.__new__(kind)
    HelloFreshError.__init__(error, what, **parts)
    return error


class UsageError(HelloFreshError):
    """The request cannot be carried out as asked."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not in the list of known names; suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, fix: str = "") -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else ""
        super().__init__(
            f"unknown {kind} {name!r}",
            expected=f"one of {', '.join(names)}" if names else "",
            fix=" ".join(filter(None, (hint, fix))) or ("" if names else f"There is no {kind}: leave it out."),
            code="unknown-name",
        )


class ConfigError(UsageError):
    """hellofresh.toml is wrong."""


class WorkspaceError(UsageError):
    """A folder or file that must be read or written is missing, locked or not writable."""


class DataError(HelloFreshError):
    """The request is fine, the data are not."""


class SourceError(DataError):
    """A source file (dump, archive, XML, TSV, JSONL) that cannot be read as what it claims to be."""


class ReleaseError(DataError):
    """A release whose files do not hold together, or that cannot be built."""


class SubmissionError(DataError):
    """Submitted predictions or metadata that break a rule."""


class PromptError(DataError):
    """A prompt set that is malformed or cannot be filled from a sample."""


class RunError(DataError):
    """An evaluation run that cannot go on."""


def how_to_install(extra: str) -> str:
    """The command that installs an extra, by package names so that it works for any kind of installation."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import and rarely needed

    try:
        needed = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return f"the packages of the extra {extra!r} in pyproject.toml"
    packages = [name.partition(";")[0].strip() for name in needed if f'extra == "{extra}"' in name.replace("'", '"')]
    return f"python -m pip install {shlex.join(packages)}"


def missing_extra(what: str, package: str, extra: str, *, where: str = "", instead: str = "") -> UsageError:
    """The error for a package that is not installed; `instead` is a sentence on how to do without it."""
    return UsageError(
        f"{what} needs {package}, which is not installed",
        where=where,
        fix=f"Install it: {how_to_install(extra)}{instead and f'. {instead}'}",
        code="missing-extra",
    )


def missing_file(path: Path | str, *, fix: str = "") -> DataError:
    """The error for a missing file of this project."""
    return DataError("no such file", where=str(path), fix=fix, code="missing-file")


def unwritable(
    path: Path | str, error: OSError, *, instead: str = "set HELLOFRESH_DATA to another folder"
) -> WorkspaceError:
    """The error for a file or folder that cannot be written; `instead` names an alternative."""
    return WorkspaceError(
        f"cannot write: {error.strerror or error}",
        where=str(path),
        fix=f"Check the folder's permissions and free space, or {instead}.",
        code="unwritable",
    )
