"""Where the copy's files lie, and how one page points at another; no name from outside becomes a path as it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_text
from hellofresh.tasks import TASKS
from leaderboard.components.labels import EVERY
from leaderboard.data.tables import MAIN, PROSPECTIVE, BoardEntry, SplitKey

__all__ = ["ABOUT", "HOME", "CopyLayout", "StaticLinks", "file_names", "folder_of", "relative"]

HOME = "index.html"
ABOUT = "about.html"

_UNSAFE = re.compile(r"[^a-z0-9]+")
_MOST_CHARACTERS = 40


def relative(here: str, there: str) -> str:
    """The address of one file on the page of another; both paths start at the copy's folder."""
    address = posixpath.relpath(there, posixpath.dirname(here) or ".")
    return address if address.startswith("../") else f"./{address}"


def folder_of(split: SplitKey) -> str:
    """The folder of a split's pages."""
    kind = (
        ""
        if split.kind == MAIN
        else "-prospective"
        if split.kind == PROSPECTIVE
        else f"-{_slug(split.kind, split.kind, 8)}"
    )
    return f"{_task_folder(split.task)}/{_quarter_folder(split.edition)}{kind}"


def _task_folder(task: str) -> str:
    return task if task in TASKS else _slug(task, task, 8)


def _quarter_folder(edition: str) -> str:
    if edition == EVERY:
        return edition
    try:
        return str(parse_edition(edition))
    except UsageError:
        return _slug(edition, edition, 8)


def file_names(entries: Iterable[BoardEntry]) -> dict[str, str]:
    """A file's name, without ending, for each origin: what is safe of the system's name, and a hash of the origin.

    All are different, also where a file system takes capitals and small letters for the same.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for entry in entries:
        if entry.origin not in names:
            options = (_slug(entry.system, entry.origin, length) for length in (8, 16, 64))
            names[entry.origin] = next(name for name in options if name not in taken)
            taken.add(names[entry.origin])
    return names


def _slug(name: str, origin: str, length: int) -> str:
    safe = _UNSAFE.sub("-", name[:200].lower()).strip("-")[:_MOST_CHARACTERS].strip("-")
    return f"{safe or 'x'}-{sha256_text(origin)[:length]}"


@dataclass(frozen=True, slots=True)
class CopyLayout:
    """The pages of the copy; paths start at its folder.

    Attributes:
        systems: file names by split and origin.
        leads: of a split, the two entries that its comparison shows.
        analyses: splits that have any.
    """

    systems: Mapping[SplitKey, Mapping[str, str]]
    leads: Mapping[SplitKey, tuple[str, str]]
    analyses: Sequence[SplitKey]

    @property
    def splits(self) -> Sequence[SplitKey]:
        """All splits that have pages, the newest quarter first, main samples before prospective ones."""
        return list(self.systems)

    def board(self, split: SplitKey) -> str:
        """The leaderboard of a split, or of all quarters."""
        return f"{folder_of(split)}/index.html"

    def system(self, split: SplitKey, origin: str) -> str | None:
        """The page of an entry."""
        name = self.systems.get(split, {}).get(origin)
        return f"{folder_of(split)}/systems/{name}.html" if name else None

    def lead(self, split: SplitKey) -> str:
        """The page that compares the first with the second."""
        return f"{folder_of(split)}/lead.html"

    def data(self, split: SplitKey) -> str:
        """The page on a split's data."""
        return f"{folder_of(split)}/data.html"

    def responses(self, split: SplitKey) -> str:
        """The page on a split's rated responses."""
        return f"{folder_of(split)}/responses.html"

    def judges(self, split: SplitKey) -> str:
        """The page on those who judged a split's responses."""
        return f"{folder_of(split)}/judges.html"

    def retrieval(self, split: SplitKey) -> str:
        """The page on who found a split's evidence."""
        return f"{folder_of(split)}/retrieval.html"

    def analysis(self, split: SplitKey, name: str = "index.html") -> str:
        """The page of a split's analyses, or a file beside it."""
        return f"{folder_of(split)}/analyses/{name}"

    def released(self, split: SplitKey, name: str) -> str:
        """A released file."""
        return f"{folder_of(split)}/released/{name}"

    def download(self, split: SplitKey, ending: str) -> str:
        """A table as a file."""
        return f"{folder_of(split)}/leaderboard.{ending}"


@dataclass(frozen=True, slots=True, eq=False)
class StaticLinks:
    """Addresses on one page of the copy, see `leaderboard.components.links.Links`; samples are not part of the copy."""

    layout: CopyLayout
    here: str

    def to(self, there: str) -> str:
        """The address of another file of the copy."""
        return relative(self.here, there)

    def board(self, split: SplitKey) -> str | None:
        """See `Links`."""
        return self.to(self.layout.board(split)) if split in self.layout.systems else None

    def system(self, split: SplitKey, origin: str) -> str | None:
        """See `Links`."""
        path = self.layout.system(split, origin)
        return self.to(path) if path else None

    def compare(self, split: SplitKey, one: str, two: str) -> str | None:
        """See `Links`."""
        return self.to(self.layout.lead(split)) if self._leads(split, (one, two)) else None

    def wrong_samples(self, split: SplitKey, origin: str) -> None:
        """See `Links`."""

    def sample(self, split: SplitKey, sample: str) -> None:
        """See `Links`."""

    def _leads(self, split: SplitKey, both: Sequence[str]) -> bool:
        return self.layout.leads.get(split) == tuple(both)
