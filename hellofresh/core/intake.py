"""The ledger of a door: records that came in, those that went on, and those left out, by named reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hellofresh.core.errors import DataError


@dataclass(frozen=True, slots=True)
class Intake:
    """What became of the records that came in at a door; making one checks that none is unaccounted for.

    Attributes:
        unit: what is counted, plural, such as `rows`.
        came_in: records before the first check.
        went_on: records that the next stage gets.
        left_out: number of the others by reason, such as `no-class`.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = {"strict": False, "extra": "forbid"}
    unit: str
    came_in: int
    went_on: int
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (
            self.came_in != self.went_on + sum(self.left_out.values())
            or min((self.went_on, *self.left_out.values())) < 0
        ):
            raise DataError(
                f"the counts do not add up: {self}",
                expected="as many as went on and were left out together",
                fix="This is a fault of the program, please report it.",
                code="ledger",
            )

    def __str__(self) -> str:
        most = sorted(self.left_out.items(), key=lambda item: -item[1])
        named = ", ".join(f"{count:,} {reason}" for reason, count in most if count)
        out = f"{sum(self.left_out.values()):,} left out"
        return f"{self.came_in:,} {self.unit}: {self.went_on:,} went on, {out}{f' ({named})' if named else ''}"
