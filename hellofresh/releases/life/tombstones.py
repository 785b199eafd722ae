"""What stays of a sample that was taken down: its id, the reason and the day, in `tombstones.jsonl`; no content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl

__all__ = ["TOMBSTONES", "Tombstone", "read_tombstones", "to_rows"]

TOMBSTONES = "tombstones.jsonl"


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    id: str = Field(min_length=1, max_length=80)
    reason: str = Field(min_length=1, max_length=500)
    date: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A sample that was taken down: its id, why, and when (UTC, ISO 8601)."""

    id: str
    reason: str
    date: str


def read_tombstones(folder: Path) -> list[Tombstone]:
    """The tombstones in a release's folder, sorted by id; none where there is no such file.

    Raises:
        ReleaseError: if a line is no tombstone.
        DataError: if a line is no JSON.
    """
    path = folder / TOMBSTONES
    if not path.is_file():
        return []
    found = []
    for number, line in enumerate(read_jsonl(path), start=1):
        try:
            row = _Row.model_validate(line)
        except ValidationError:
            raise ReleaseError(
                "not a tombstone",
                where=f"{path} line {number}",
                expected="id, reason and date",
                code="damaged-release",
            ) from None
        found.append(Tombstone(row.id, row.reason, row.date))
    return sorted(found, key=lambda item: item.id)


def to_rows(tombstones: Iterable[Tombstone]) -> list[dict[str, object]]:
    """The rows of `tombstones.jsonl`, sorted by id."""
    ordered = sorted(tombstones, key=lambda item: item.id)
    return [{"id": item.id, "reason": item.reason, "date": item.date} for item in ordered]
