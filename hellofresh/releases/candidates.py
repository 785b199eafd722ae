"""Candidates, the Parquet file that a collector writes and a release reads, and the counts of rows that were dropped.

`candidates/<task>/<quarter>.parquet` has one row per candidate, sorted by id: `id`, `task`, `edition`, `period`,
`date` (ISO 8601, UTC), `group`, `license`, `label`, the task's label facts, its extra columns (not released), then the
sample's own fields (nested ones as structs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import polars as pl
from pydantic import ConfigDict

from hellofresh.core.errors import DataError
from hellofresh.core.files import canonical_json
from hellofresh.core.intake import Intake
from hellofresh.core.parquet import write_parquet
from hellofresh.core.texts import without_hidden
from hellofresh.tasks import Task
from hellofresh.tasks.samples import Candidate, Label, Sample, to_json

_Reason = TypeVar("_Reason", bound=str)
UNKNOWN_LABEL = -1
"""Key of counts over all labels together."""


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


def write_candidates(path: Path, task: Task, candidates: Iterable[Candidate]) -> None:
    """Write candidates sorted by id; raises DataError on a duplicate id."""
    rows = sorted((_row(task, item) for item in candidates), key=lambda row: row["id"])
    for before, after in pairwise(rows):
        if before["id"] == after["id"]:
            raise DataError(f"candidate {after['id']} is there twice", where=str(path), code="duplicate-id")
    write_parquet(path, pl.DataFrame(rows, infer_schema_length=None), mode=0o600)


def _row(task: Task, item: Candidate) -> dict[str, Any]:
    sample = without_hidden(to_json(item.sample))
    common = {name: sample.pop(name) for name in ("id", "task", "edition", "period", "date", "group", "license")}
    facts = {name: item.label.facts.get(name) for name in task.label_facts}
    extras = {name: item.extras.get(name) for name in task.extra_columns}
    return {**common, "label": item.label.label, **facts, **extras, **sample}


def read_candidates(path: Path, task: Task) -> list[Candidate]:
    """Read candidates; raises DataError if the file is missing, not Parquet, or of another task."""
    if not path.is_file():
        raise DataError("no candidates", where=str(path), code="missing-file", fix="Run 'hellofresh collect' first.")
    try:
        rows = pl.read_parquet(path).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", where=str(path), code="bad-parquet") from error
    found = []
    for row in rows:
        try:
            label = Label(row["id"], row.pop("label"), {name: row.pop(name, None) for name in task.label_facts})
            extras = {name: value for name in task.extra_columns if (value := row.pop(name, None)) is not None}
        except KeyError as error:
            raise DataError(
                f"no column {error.args[0]}",
                where=str(path),
                expected=f"candidates of {task.name}",
                fix="Run 'hellofresh collect' again.",
                code="missing-column",
            ) from None
        found.append(Candidate(task.parse_sample(canonical_json(row), where=f"{path}: {row['id']}"), label, extras))
    return found
