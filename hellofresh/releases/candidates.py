"""What a collector gives: candidates, its sources, and the counts of rows that were dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from pydantic import ConfigDict, JsonValue

from hellofresh.core.intake import Intake
from hellofresh.core.strict import Open
from hellofresh.tasks.samples import Candidate, Sample

_Reason = TypeVar("_Reason", bound=str)
UNKNOWN_LABEL = -1
"""Key of counts over all labels together."""
EXPOSED, LINEAGE, CROWDED = "exposed", "lineage", "same-group"
LEFT_OUT = {
    EXPOSED: "of a group that another release has, whose labels would reveal it",
    LINEAGE: "of a lineage that another candidate has: it would reveal the outcome",
    CROWDED: "of a group (a post or claim) that another sample has: most of a group have the same label",
}
"""Reasons, in the funnel, for candidates that a release leaves out, see `hellofresh.releases.exposure`."""


@dataclass(frozen=True, slots=True)
class Drop:
    """One filter: its short name, its meaning, and how many rows it dropped (0 is shown too)."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    reason: str
    meaning: str
    count: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """Counts of rows from the source to the candidates kept.

    Attributes:
        unit: what is counted, plural, such as `notes` or `paragraph edits`.
        rows_in: rows before the first filter.
        drops: the filters in the order in which they apply; a row counts at the first that drops it.
        kept: number of candidates as `kept[period][label]`; under `UNKNOWN_LABEL` while labels are secret.
        context: other counts worth knowing (pages read, revisions read, rows of a joined file).
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    unit: str
    rows_in: int
    drops: tuple[Drop, ...]
    kept: Mapping[str, Mapping[int, int]]
    context: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger()

    def ledger(self) -> Intake:
        """The counts without periods and labels, checked."""
        left_out = Counter[str]()
        for drop in self.drops:
            left_out[drop.reason] += drop.count
        return Intake(self.unit, self.rows_in, self.total_kept, dict(left_out))

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
        only_if_any: Container[str] = (),
    ) -> Self:
        """A funnel from counts of dropped rows by reason, in the order of `meanings`."""
        drops = tuple(
            Drop(str(reason), meaning, dropped.get(reason, 0))
            for reason, meaning in meanings.items()
            if reason not in only_if_any or dropped.get(reason, 0)
        )
        return cls(unit, rows_in, drops, cls.count_kept(candidates), context)

    @staticmethod
    def count_kept(candidates: Iterable[Candidate]) -> dict[str, dict[int, int]]:
        """Number of candidates by period, in order, and label; labels 0 and 1 are always present."""
        counts = Counter((item.sample.period, item.label.label) for item in candidates)
        labels = sorted({0, 1, *(label for _, label in counts)})
        return {
            period: {label: counts[period, label] for label in labels}
            for period in sorted({period for period, _ in counts})
        }


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a collection was made from: name without folder, size in bytes, SHA-256."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A collector's result for one quarter of a source.

    Attributes:
        candidates: in any order, ids unique.
        funnel: counts of rows kept and dropped.
        parameters: every setting that decided the outcome.
        sources: every file read.
        warnings: sentences for the person who runs it.
        pending: undecided samples, in any order, ids unique; None where they were not requested.
    """

    candidates: Sequence[Candidate]
    funnel: Funnel
    parameters: Mapping[str, Any]
    sources: Sequence[SourceFile]
    warnings: Sequence[str] = ()
    pending: Sequence[Sample] | None = None

    @classmethod
    def whole(cls, candidates: Sequence[Candidate], sources: Sequence[SourceFile], *, unit: str = "rows") -> Self:
        """A collection of all rows of a source."""
        kept = Funnel.count_kept(candidates)
        return cls(candidates, Funnel(unit, len(candidates), (), kept), {}, sources)


class CollectionFacts(Open):
    """Source files, settings and funnel of a collection."""

    sources: tuple[SourceFile, ...]
    parameters: dict[str, JsonValue]
    funnel: Funnel
    warnings: tuple[str, ...]
