"""What every sample of every task has in common, its label, and a sample with its label and its facts (a candidate)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field as JsonField

from hellofresh.core.editions import MAIN, PROSPECTIVE, Split
from hellofresh.core.quarters import utc_text

__all__ = ["MAIN", "PROSPECTIVE", "Split"]

SplitName = Annotated[Split, JsonField(strict=False)]
"""The field of a file that names a split; a strict model takes its text."""

Fact = int | float | str | None
"""What may be known about a label: a count, a duration in seconds, a number, an ISO time, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A question without its answer.

    Attributes:
        id: task prefix and source id, such as `xn-1576064315068715008`; unique over all editions.
        task: name of the task.
        edition: such as `2023Q2` or `liar-new@588`.
        period: the month (`2023-04`) or ISO week (`2023-W14`) within a quarter; a data set has one, `ALL_ROWS`.
        date: when people wrote what is judged, UTC.
        group: samples of one group are not independent (same post, same article): the cluster for statistics.
        license: SPDX name or a phrase that says what holds for the sample's texts.
    """

    id: str
    task: str
    edition: str
    period: str
    date: datetime
    group: str
    license: str


@dataclass(frozen=True, slots=True)
class Label:
    """What people decided, and what is known of how they did.

    Attributes:
        id: the sample's id.
        label: 1 helpful or accepted, 0 not.
        facts: the task's label-side facts by name, see `hellofresh.tasks.Task.label_facts`.
    """

    id: str
    label: int
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sample that a collector found, with its label; a release takes a balanced part of them.

    Attributes:
        sample: the question.
        label: the answer and what is known of it.
        extras: what is kept beside both, see `hellofresh.tasks.Task.extra_columns`; no release has it.
    """

    sample: Sample
    label: Label
    extras: Mapping[str, Fact] = field(default_factory=dict)


def to_json(value: object) -> Any:
    """A dataclass as JSON-ready values: times become UTC texts, tuples become lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def common_fields(sample: Sample, kind: type[Sample] = Sample) -> dict[str, Any]:
    """The fields that a sample shares with a kind of samples, by name."""
    return {item.name: getattr(sample, item.name) for item in fields(kind)}
