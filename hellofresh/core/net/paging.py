"""Paging whose end a foreign server decides, bounded by progress."""

from __future__ import annotations

from collections.abc import Hashable

from hellofresh.core.errors import SourceError

NO_PROGRESS = "no-progress"


class Paging:
    """Refuses a page that brings nothing new: from it on, the server would be asked for ever.

    Args:
        where: address of the service, for the message.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._seen: set[Hashable] = set()

    def is_new(self, *marks: Hashable) -> bool:
        """Whether none of the marks, of a page's content and of its continuation, was on an earlier page."""
        return self._seen.isdisjoint(marks)

    def step(self, *marks: Hashable) -> None:
        """Go on to a page; raises SourceError if one of its marks was on an earlier page."""
        if not self.is_new(*marks):
            raise SourceError(
                "the server sends the same page again, or points back to an earlier one",
                where=self._where,
                expected="another page after each page, until the last",
                fix="It was not kept. Run the same command again later; if it persists, tell the server's operator.",
                code=NO_PROGRESS,
            )
        self._seen.update(marks)
