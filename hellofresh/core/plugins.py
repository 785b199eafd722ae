"""Extensions of other packages (data sets, tasks, regimes, search providers), found by entry points."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import walk_tb
from typing import Any, Protocol, TypeVar

from hellofresh.core.errors import UsageError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)
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


def plugins(group: str, name: str | None = None, of: Any = object) -> dict[str, Any]:
    """The objects of installed packages in a group of entry points, by name.

    Args:
        group: such as `hellofresh.regimes`.
        name: the only name to load; all if left out.
        of: their type.

    Raises:
        UsageError: if one of them, which the message names, cannot be loaded, or is not of the type; if two share a
            name.
    """
    found: dict[str, Any] = {}
    for point in entry_points_of(group, name):
        where = f"{point.value}, an entry point of {group}"
        try:
            one = point.load()
        except Exception as error:  # code of others may raise anything on import
            fix = _APART if "partially initialized" in str(error) else _repair(point)
            what = f"{point.name} cannot be loaded ({type(error).__name__}: {error})"
            raise UsageError(what, where=where, fix=fix, code="bad-plugin") from error
        if point.name in found or not isinstance(one, of):
            what = f"{point.name} is {'brought twice' if point.name in found else f'of the type {type(one).__name__}'}"
            raise UsageError(what, where=where, expected=f"one {of.__name__}", fix=_repair(point), code="bad-plugin")
        found[point.name] = one
    return found


def _repair(point: EntryPoint) -> str:
    return f"Repair or remove {_described(point)}; HELLOFRESH_PLUGINS=none leaves out all packages."


def refuse_taken(kind: str, name: str, others: Container[str], form: str = "") -> None:
    """Refuse a name of something that another package brings; raises UsageError if it is taken or not of this form."""
    if name in others or (form and not re.fullmatch(form, name)):
        what, code = f"the {kind} of another package cannot be called {name!r}", f"{kind.replace(' ', '')}-exists"
        raise UsageError(what, expected=f"a name that is not taken{form and f', of the form {form}'}", code=code)


def fault_of_plugin(error: BaseException) -> UsageError | None:
    """The error as one of another package, where its code is on the way to it; else None."""
    groups = (group for group in entry_points().groups if group.startswith("hellofresh."))
    brought = {point.module.partition(".")[0]: point for group in groups for point in entry_points_of(group)}
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in brought and package != "hellofresh_parts":
            what, where = f"{type(error).__name__}: {error}", f"{frame.f_code.co_filename}, line {line}"
            return UsageError(what, where=where, fix=_repair(brought[package]), code="bad-plugin")
    return None


class Registry(MutableMapping[str, T]):
    """Objects by their own names: this package's, then those of other packages.

    The latter are loaded when one that is not ours, or all, are first asked for: their modules import what defines the
    registry, and it takes time to read all entry points.

    Args:
        kind: what they are, in the singular.
        group: of the entry points.
        own: this package's.
        check: raises an error if an object conflicts with others.
    """

    def __init__(
        self, kind: str, group: str, own: Iterable[T], check: Callable[[T, Iterable[T]], None] = lambda *_: None
    ) -> None:
        self._kind, self._group, self._check = kind, group, check
        self._own = {one.name: one for one in own}

    @cached_property
    def _all(self) -> dict[str, T]:
        found = self.__dict__["_all"] = dict(self._own)  # what is being loaded may ask for ours
        try:
            common = set[type].intersection(*([{*type(one).__mro__} for one in self._own.values()] or [{object}]))
            for one in plugins(self._group, of=max(common, key=lambda kind: len(kind.__mro__))).values():
                self.add(one)
        except BaseException:  # the next call tries again, and fails with the same words
            del self.__dict__["_all"]
            raise
        return found

    def add(self, one: T) -> None:
        """Add an object from outside; adding the same again has no effect.

        Raises:
            UsageError: if its name is taken, or it conflicts with others.
        """
        if self._all.get(one.name) is one:
            return
        self._check(one, self._all.values())
        refuse_taken(self._kind, one.name, self._all)
        self._all[one.name] = one

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
