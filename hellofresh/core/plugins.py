"""Extensions of other packages (data sets, tasks, regimes, search providers), found by entry points."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from hellofresh.core.errors import UsageError


def entry_points_of(group: str, name: str | None = None) -> Iterator[EntryPoint]:
    """The entry points of a group, or those of one name; none with `HELLOFRESH_PLUGINS=none`.

    A package in the current folder counts only if PYTHONPATH names that folder in full.

    Raises:
        UsageError: if HELLOFRESH_PLUGINS has another value.
    """
    if (chosen := os.environ.get("HELLOFRESH_PLUGINS", "all")) != "all":
        if chosen != "none":
            raise UsageError(
                f"HELLOFRESH_PLUGINS is {chosen!r}", expected="'none', or 'all' as without it", code="bad-plugins"
            )
        return
    wanted = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for point in entry_points(group=group) if name is None else entry_points(group=group, name=name):
        # With `python -m`, a folder of metadata among anybody's files there would be a package.
        here = point.dist is not None and Path(str(point.dist.locate_file(""))).resolve() == Path.cwd()
        if not here or str(Path.cwd()) in wanted:
            yield point


def plugins(group: str, name: str | None = None) -> dict[str, Any]:
    """The objects of installed packages in a group of entry points, by name.

    Args:
        group: such as `hellofresh.regimes`.
        name: the only name to load; all if left out.

    Raises:
        UsageError: if one of them, which the message names, cannot be loaded.
    """
    found = {}
    for point in entry_points_of(group, name):
        try:
            found[point.name] = point.load()
        except Exception as error:
            raise UsageError(
                f"{point.name} cannot be loaded ({type(error).__name__}: {error})",
                where=f"{point.value}, an entry point of {group}",
                fix="Repair or remove the package that brings it.",
                code="bad-plugin",
            ) from error
    return found
