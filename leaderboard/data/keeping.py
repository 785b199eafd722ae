"""Answers that are worked out once: a board in memory never changes, and all visitors share it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

__all__ = ["Keeper", "kept"]


class Keeper(Protocol):
    """Something with a place for its answers."""

    @property
    def known(self) -> dict[Hashable, Any]:
        """By method and arguments."""


_Self = TypeVar("_Self", bound=Keeper)
_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def kept(method: Callable[Concatenate[_Self, _Asked], _Answer]) -> Callable[Concatenate[_Self, _Asked], _Answer]:
    """A method whose answers are kept with its object; nobody may change them.

    Its arguments must be few, as on a board the splits are: nothing is forgotten before the object is.
    """

    def ask(self: _Self, /, *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        key = (method.__name__, args, tuple(sorted(named.items())))
        if key not in self.known:
            self.known[key] = method(self, *args, **named)
        found: _Answer = self.known[key]
        return found

    update_wrapper(ask, method)
    return ask
