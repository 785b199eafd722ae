"""Extensions of other packages (data sets, tasks, regimes, search providers), found by entry points."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from hellofresh.core.errors import UsageError

T = TypeVar("T")
_APART = "It imports what is just being loaded: move it to a module of its own that imports less."


def _left_out() -> bool:
    """Whether HELLOFRESH_PLUGINS is `none`; raises UsageError if it has an unknown value."""
    if (chosen := os.environ.get("HELLOFRESH_PLUGINS", "all")) not in ("all", "none"):
        what = f"HELLOFRESH_PLUGINS is {chosen!r}"
        raise UsageError(what, expected="'none', or 'all' as without it", code="bad-plugins")
    return chosen == "none"


def _counts(point: EntryPoint) -> bool:
    """Whether its package is installed; one in the current folder counts only if PYTHONPATH names that in full."""
    # With `python -m`, a folder of metadata among anybody's files there would be a package.
    here = point.dist is not None and Path(str(point.dist.locate_file(""))).resolve() == Path.cwd()
    return not here or str(Path.cwd()) in os.environ.get("PYTHONPATH", "").split(os.pathsep)


def entry_points_of(group: str, name: str | None = None) -> Iterator[EntryPoint]:
    """The entry points of a group, or those of one name; none with `HELLOFRESH_PLUGINS=none`.

    Raises:
        UsageError: if HELLOFRESH_PLUGINS has another value.
    """
    if not _left_out():
        yield from filter(_counts, entry_points(group=group) if name is None else entry_points(group=group, name=name))


def registered() -> dict[str, list[str]]:
    """What other packages add, by kind: each with its package and version, nothing of it loaded."""
    known, found = entry_points(), dict[str, list[str]]()
    for group in () if _left_out() else sorted(known.groups):
        package, _, kind = group.partition(".")
        if package == "hellofresh" and (its := sorted(map(_described, filter(_counts, known.select(group=group))))):
            found[kind] = its
    return found


def _described(point: EntryPoint) -> str:
    return f"{point.name} ({point.dist.name} {point.dist.version})" if point.dist is not None else point.name


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
        except Exception as error:  # code of others may raise anything on import
            raise UsageError(
                f"{point.name} cannot be loaded ({type(error).__name__}: {error})",
                where=f"{point.value}, an entry point of {group}",
                fix=_APART if "partially initialized" in str(error) else "Repair or remove the package that brings it.",
                code="bad-plugin",
            ) from error
    return found


def _anything(name: str, one: object, others: Iterable[object]) -> None:
    """Accept every object."""


class Registry(MutableMapping[str, T]):
    """Objects by name: this package's, then those of other packages.

    The latter are loaded when one that is not ours, or all, are first asked for: their modules import what defines the
    registry, and it takes time to read all entry points.

    Args:
        kind: what they are, in the singular.
        group: of the entry points.
        own: this package's.
        name_of: gives the name of an object from that of its entry point and itself.
        check: raises an error if an object conflicts with others.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        own: Iterable[tuple[str, T]],
        name_of: Callable[[str, T], str] = lambda name, one: name,
        check: Callable[[str, T, Iterable[T]], None] = _anything,
    ) -> None:
        self._kind, self._group, self._own, self._name_of, self._check = kind, group, dict(own), name_of, check

    @cached_property
    def _all(self) -> dict[str, T]:
        found = self.__dict__["_all"] = dict(self._own)  # what is being loaded may ask for ours
        try:
            for point, one in plugins(self._group).items():
                self.add(self._name_of(point, one), one)
        except BaseException:  # the next call tries again, and fails with the same words
            del self.__dict__["_all"]
            raise
        return found

    def add(self, name: str, one: T) -> None:
        """Add an object from outside; adding the same again has no effect.

        Raises:
            UsageError: if its name is taken, or it conflicts with others.
        """
        if self._all.get(name) is one:
            return
        self._check(name, one, self._all.values())
        if name in self._all:
            raise UsageError(
                f"the name of the {self._kind} {name!r} is taken",
                expected="another name",
                code=f"{self._kind.replace(' ', '')}-exists",
            )
        self._all[name] = one

    def __getitem__(self, name: str) -> T:
        is_ours = name in self._own and "_all" not in self.__dict__
        return self._own[name] if is_ours else self._all[name]

    def __setitem__(self, name: str, one: T) -> None:
        self._all[name] = one

    def __delitem__(self, name: str) -> None:
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
