"""Where one page points at another: the live site and its static copy have addresses of their own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

from leaderboard.data.tables import MAIN, SplitKey

__all__ = ["Links", "SiteLinks"]


class Links(Hashable, Protocol):
    """Addresses of pages about something, relative to the page that they stand on; None where there is no such page."""

    def board(self, split: SplitKey) -> str | None:
        """The leaderboard of a split."""

    def system(self, split: SplitKey, origin: str) -> str | None:
        """All about one entry."""

    def compare(self, split: SplitKey, one: str, two: str) -> str | None:
        """Two entries side by side."""

    def wrong_samples(self, split: SplitKey, origin: str) -> str | None:
        """The samples on which an entry was wrong."""

    def sample(self, split: SplitKey, sample: str) -> str | None:
        """One sample."""


@dataclass(frozen=True, slots=True)
class SiteLinks:
    """Addresses on the live site, whose pages lie side by side."""

    def board(self, split: SplitKey) -> str:
        """See `Links`."""
        return _address("", split)

    def system(self, split: SplitKey, origin: str) -> str:
        """See `Links`."""
        return _address("system", split, system=origin)

    def compare(self, split: SplitKey, one: str, two: str) -> str:
        """See `Links`."""
        return _address("compare", split, one=one, two=two)

    def wrong_samples(self, split: SplitKey, origin: str) -> str:
        """See `Links`."""
        return _address("samples", split, wrong=origin)

    def sample(self, split: SplitKey, sample: str) -> str:
        """See `Links`."""
        return _address("samples", split, sample=sample)

    def data(self, split: SplitKey) -> str:
        """Where a split's samples come from, and its files."""
        return _address("data", split)

    def analysis(self, split: SplitKey, name: str) -> str:
        """One of the analyses."""
        return _address("analyses", split, analysis=name)


def _address(page: str, split: SplitKey, **more: str) -> str:
    lane = {} if split.kind == MAIN else {"lane": split.kind}
    return f"./{page}?{urlencode({'task': split.task, 'edition': split.edition, **lane, **more})}"
