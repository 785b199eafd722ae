"""The base types of all tasks: a sample, its label, and a candidate (a sample with its label and extras)."""

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
"""A split as a field of a file; strict models accept it as text."""

Fact = int | float | str | None
"""A fact about a label: a count, a duration in seconds, a number, an ISO time, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A question without its answer.

    Attributes:
        id: task prefix and source id, such as `xn-1576064315068715008`; unique over all editions.
        task: name of the task.
        edition: such as `2023Q2` or `liar-new@588`.
        period: the month (`2023-04`) or ISO week (`2023-W14`) within a quarter; a data set has one, `ALL_ROWS`.
        date: when the judged text was written, UTC.
        group: samples of one group are dependent (same post, same article): the cluster for statistics.
        license: SPDX name, or a phrase that states the terms of the sample's texts.
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
    """People's decision, with facts about it.

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
        label: the answer and its facts.
        extras: values kept beside both and left out of releases, see `hellofresh.tasks.Task.extra_columns`.
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
    """The values of a sample's fields that another sample type also has, by name."""
    return {item.name: getattr(sample, item.name) for item in fields(kind)}
