"""What other packages add: data sets, tasks, regimes, search providers, found by their entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from hellofresh.core.errors import UsageError


def plugins(group: str, name: str | None = None) -> dict[str, Any]:
    """The objects that installed packages name under a group of entry points, by name.

    Args:
        group: such as `hellofresh.regimes`.
        name: load only what has this name; all if left out.

    Raises:
        UsageError: if one of them cannot be loaded; it says which.
    """
    found = {}
    for point in entry_points(group=group) if name is None else entry_points(group=group, name=name):
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
