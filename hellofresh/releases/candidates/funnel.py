"""How many rows each filter of a collection dropped: a count that must add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from hellofresh.core.errors import DataError
from hellofresh.tasks.samples import Candidate

_Reason = TypeVar("_Reason", bound=str)
UNTOLD = -1
"""Stands for both labels together."""


@dataclass(frozen=True, slots=True)
class Drop:
    """One filter: its short name, what it means, and how many rows it dropped (0 is worth showing)."""

    reason: str
    meaning: str
    count: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """From rows in to candidates kept.

    Attributes:
        unit: what is counted, plural, such as `notes` or `paragraph edits`.
        rows_in: rows before the first filter.
        drops: the filters in the order in which they apply; a row counts at the first that drops it.
        kept: candidates by period and label, as `kept[period][label]`; under `UNTOLD` where labels are not public.
        context: other counts worth knowing (pages read, revisions read, rows of a joined file).
    """

    unit: str
    rows_in: int
    drops: tuple[Drop, ...]
    kept: Mapping[str, Mapping[int, int]]
    context: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rows_in != self.dropped + self.total_kept:
            raise DataError(
                f"the funnel does not add up: {self.rows_in} {self.unit} in, {self.dropped} dropped, "
                f"{self.total_kept} kept",
                code="funnel",
                fix="This is a fault of the collector, please report it.",
            )

    @property
    def dropped(self) -> int:
        """Rows dropped by all filters."""
        return sum(drop.count for drop in self.drops)

    @property
    def total_kept(self) -> int:
        """Candidates kept."""
        return sum(count for labels in self.kept.values() for count in labels.values())

    @classmethod
    def of(
        cls,
        unit: str,
        rows_in: int,
        dropped: Mapping[_Reason, int],
        meanings: Mapping[_Reason, str],
        *,
        candidates: Iterable[Candidate],
        context: Mapping[str, int],
        only_if_any: Collection[str] = (),
    ) -> Self:
        """A funnel of rows dropped by reason; reasons in the order of their meanings, some only where they occurred."""
        drops = tuple(
            Drop(str(reason), meaning, dropped.get(reason, 0))
            for reason, meaning in meanings.items()
            if reason not in only_if_any or dropped.get(reason, 0)
        )
        return cls(unit, rows_in, drops, cls.count_kept(candidates), context)

    @staticmethod
    def count_kept(candidates: Iterable[Candidate]) -> dict[str, dict[int, int]]:
        """Candidates by period and label, labels 0 and 1 always there, periods in order."""
        counts = Counter((item.sample.period, item.label.label) for item in candidates)
        labels = sorted({0, 1, *(label for _, label in counts)})
        return {
            period: {label: counts[period, label] for label in labels}
            for period in sorted({period for period, _ in counts})
        }
