"""Editions: the frozen sets of samples of a task. A quarter is living; a version of a data set is frozen at once.

Both kinds share an interface, so most code works with either:

- `is_living`: whether it has a calendar, escrowed labels, balance by period, and perhaps a prospective split;
- `has_public_labels`: whether its labels are public from the day it is published;
- `periods(kind)`: the periods that its samples may belong to;
- `title`: its name on pages;
- `sort_key`: quarters in order of time, then data sets by name and version.

`str(edition)` is its name in files, addresses and commands: `2023Q2`, `liar-new@588`. `quarter_of` gives the quarter
where code needs the calendar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import total_ordering
from typing import ClassVar, Self

from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import EditionKey, PeriodKind, Quarter, SortedEdition

ALL_ROWS = "all-rows"
"""The one period of a frozen data set."""
_MOST_CHARACTERS = 40
MAX_EDITION = 2 * _MOST_CHARACTERS + 1
"""Maximum characters of an edition's name."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_PARTS = re.compile(r"[0-9]+|[^0-9]+")
_NEARLY_QUARTER = re.compile(
    r"(?P<year>\d{4})[\W_]*[qQ]?(?P<number>[1-4])|[qQ]?(?P<first>[1-4])[\W_]*(?P<last>\d{4})", re.ASCII
)
_FORMS = "a quarter such as 2023Q2, or a version of a data set such as liar-new@588"
_FORM = (
    f"NAME@VERSION of lower-case letters and digits, such as liar-new@588; parts are joined by '-', those of a version "
    f"also by '.'; each has at most {_MOST_CHARACTERS} characters"
)


class Split(StrEnum):
    """The splits of an edition: the samples that rank systems, and those that were undecided when drawn."""

    MAIN = "main"
    PROSPECTIVE = "prospective"


MAIN, PROSPECTIVE = Split.MAIN, Split.PROSPECTIVE


@total_ordering
@dataclass(frozen=True, slots=True)
class Frozen:
    """A version of a data set, written `liar-new@588`; its text is safe as the name of a folder.

    Attributes:
        name: of the data set.
        version: of its content; changed content needs a new version.
    """

    is_living: ClassVar[bool] = False
    has_public_labels: ClassVar[bool] = True

    name: str
    version: str

    def __post_init__(self) -> None:
        for pattern, text in ((_NAME, self.name), (_VERSION, self.version)):
            if len(text) > _MOST_CHARACTERS or not pattern.fullmatch(text):
                raise _bad(f"{self.name}@{self.version}", _FORM)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `liar-new@588`.

        Raises:
            UsageError: if the text has another form.
        """
        name, at, version = text.partition("@")
        if not at:
            raise _bad(text, _FORM)
        return cls(name, version)

    @property
    def title(self) -> str:
        """As pages name it."""
        return f"{self.name}, version {self.version}"

    @property
    def sort_key(self) -> EditionKey:
        """Sort after all quarters, by name, then by version with its numbers as numbers."""
        parts = _PARTS.findall(self.version)
        return 1, self.name, tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)

    def periods(self, kind: PeriodKind) -> list[str]:  # noqa: ARG002: a quarter needs the kind
        """Its one period: all rows are kept, without balancing by time."""
        return [ALL_ROWS]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def __lt__(self, other: SortedEdition) -> bool:
        return self.sort_key < other.sort_key


Edition = Quarter | Frozen


def parse_edition(text: str) -> Edition:
    """Read the name of an edition: `2023Q2` or `liar-new@588`.

    >>> str(parse_edition("2026Q2")), str(parse_edition("liar-new@588"))
    ('2026Q2', 'liar-new@588')

    Raises:
        UsageError: if the text has another form; the message lists the valid ones.
    """
    if "@" in text:
        return Frozen.parse(text)
    try:
        return Quarter.parse(text)
    except UsageError:
        raise _bad(text, _FORMS) from None


def is_edition(text: str) -> bool:
    """Whether a text, such as the name of a folder, is the name of an edition."""
    try:
        return str(parse_edition(text)) == text
    except UsageError:
        return False


def _bad(text: str, expected: str) -> UsageError:
    found = _NEARLY_QUARTER.fullmatch(text.strip())
    meant = f"{found['year'] or found['last']}Q{found['number'] or found['first']}" if found else ""
    fix = f"Did you mean {meant}?" if meant else ""
    return UsageError(f"not an edition: {text[:80]!r}", expected=expected, fix=fix, code="bad-edition")


def quarter_of(edition: Edition, what: str) -> Quarter:
    """The edition as a quarter.

    Args:
        edition: any edition.
        what: the feature that needs a quarter, such as `a prospective split`.

    Raises:
        UsageError: if it is a frozen data set.
    """
    if isinstance(edition, Quarter):
        return edition
    raise UsageError(
        f"{edition} has no {what.removeprefix('a ').removeprefix('an ')}",
        expected="a quarter such as 2023Q2; a frozen data set has no calendar, and its labels are public",
        code="not-a-quarter",
    )


def quarters_of(editions: Iterable[Edition]) -> list[Quarter]:
    """The quarters among editions, in the same order."""
    return [edition for edition in editions if isinstance(edition, Quarter)]


def benchmark_task(task: str, edition: str, split: str) -> str:
    """The id of a split among the tasks of `eval.yaml`, to which model results refer."""
    return f"{task}{'' if split == 'main' else f'-{split}'}-{split_name(edition)}"


def split_name(edition: str) -> str:
    """The name of an edition's split in published data: word characters only, as the hub requires."""
    return edition.replace("-", "_").replace("@", "_v_").replace(".", "_dot_")
