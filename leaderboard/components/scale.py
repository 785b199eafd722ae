"""Names and drawing of a task's scores, also of a task that this version does not know."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hellofresh.results.board.release_rows import LabelCount
from hellofresh.stats.metrics import Metric
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.data.board import Board, MetricValue, SplitKey, kept

_OF_A_CLASS = ":"  # separates metric and class in the names of metrics of a single class


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of a task's scores.

    Attributes:
        title: of the headline metric, such as `Macro F1`.
        others: names and titles of the further metrics, without those of single classes.
        by_class: names and titles of the metrics of single classes.
        low, high: the lowest and the highest value of the headline metric.
        rising: whether the highest value is the best.
        classes: the meaning of each label; empty if the task has no classes.
        reference: the headline metric of the best constant answer; None if absent.
        answer: this constant answer; without classes what the reference is.
        meanings: of the headline metric and the further ones, by title, where documented.
        people, ceiling: the score of one person, and of an oracle of the voters, with intervals, drawn behind all bars;
            None if unknown.
    """

    title: str = "Score"
    others: tuple[tuple[str, str], ...] = ()
    by_class: tuple[tuple[str, str], ...] = ()
    low: float = 0.0
    high: float = 1.0
    rising: bool = True
    classes: tuple[str, ...] = ()
    reference: float | None = None
    answer: str = ""
    meanings: tuple[tuple[str, str], ...] = ()
    people: MetricValue | None = None
    ceiling: MetricValue | None = None

    def share(self, value: float) -> float:
        """Position of a value of the headline metric between its limits, 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def order(self, value: float) -> float:
        """Sort key: best values first."""
        return -value if self.rising else value

    def zoomed(self, shown: Iterable[MetricValue]) -> Scale:
        """The part of the scale around intervals and lines, between round numbers."""
        drawn = [*shown, *(line for line in (self.people, self.ceiling) if line is not None)]
        values = [end for _, *ends in drawn for end in ends if end is not None and math.isfinite(end)]
        values += [] if self.reference is None else [self.reference]
        if not values:
            return self
        least, most = max(min(values), self.low), min(max(values), self.high)
        step = 10.0 ** math.floor(math.log10(max(most - least, 1e-3 * (self.high - self.low))))
        step *= 1 if most - least > 2 * step else 0.5
        low = max(self.low, round(math.floor(least / step) * step, 9))
        high = min(self.high, round(math.ceil(most / step) * step, 9))
        return replace(self, low=low, high=high) if low < high else self

    @property
    def marks(self) -> Sequence[tuple[float, str]]:
        """The ends and the middle of the scale, by their position."""
        return [(at, f"{self.low + at * (self.high - self.low):g}") for at in (0.0, 0.5, 1.0)]

    @property
    def best(self) -> str:
        """Text for the best value."""
        return "highest" if self.rising else "lowest"

    @property
    def constant(self) -> str:
        """Meaning of the dashed line; empty if absent."""
        if self.reference is None:
            return ""
        return f"always answering “{self.answer}”" if self.answer in self.classes else self.answer


def plain_scale(task: str, split: str = MAIN) -> Scale:
    """The scale of a task on a split, without the line of a constant answer."""
    known = TASKS.get(task)
    return Scale() if known is None else _plain(known.on(split))


@lru_cache
def _plain(known: Task, added: tuple[Metric, ...] = ()) -> Scale:
    metrics = (*known.metrics, *added)
    named = [(metric.name, metric.title or metric.name) for metric in metrics[1:]]
    low, high = known.headline.limits
    overall = [metric for metric in metrics if _OF_A_CLASS not in metric.name]
    return Scale(
        known.headline.title or known.headline.name,
        tuple(part for part in named if _OF_A_CLASS not in part[0]),
        tuple(part for part in named if _OF_A_CLASS in part[0]),
        low,
        high,
        known.headline.higher_is_better,
        known.classes,
        meanings=tuple((metric.title or metric.name, metric.meaning) for metric in overall),
    )


@kept
def scale_of(board: Board, split: SplitKey) -> Scale:
    """The scale of a split, with the line of the best constant answer to its samples.

    If the number of samples by class is unknown, equal numbers are assumed: a quarter's main samples are
    balanced.
    """
    known = TASKS.get(split.task)
    if known is None:
        return Scale()
    scored = {metric.name for result in board.headlines(split) for metric in result.metrics}
    added = tuple(metric for metric in known.fact_metrics if metric.name in scored)
    return _with_reference(known.on(split.kind), tuple(row.samples for row in board.rows(LabelCount, split)), added)


@lru_cache(maxsize=256)
def _with_reference(known: Task, counts: tuple[int, ...], added: tuple[Metric, ...]) -> Scale:
    plain = _plain(known, added)
    if not known.classes:
        return plain
    counts = counts if len(counts) == len(known.classes) and any(counts) else (1,) * len(known.classes)
    if known.headline.of_forecasts:
        return replace(plain, reference=50.0, answer="always giving each class its share")
    label, value = constant_answer(known.headline, counts)
    return replace(plain, reference=value, answer=known.classes[label])


def figure(value: float, metric: str, decimals: int = 3) -> str:
    """A value of a metric, given by name or title, for display: on a scale up to 100 with one decimal.

    It has a minus sign, not a hyphen, if it is negative.

    Args:
        value: to display.
        metric: its name or title.
        decimals: for metrics from 0 to 1.
    """
    return f"{value:z.{1 if metric in _wide() else decimals}f}".replace("-", "\N{MINUS SIGN}")


def signed(value: float, metric: str = "", decimals: int = 3) -> str:
    """A difference with its sign, as `figure` writes it; zero has none."""
    text = figure(abs(value), metric, decimals)
    return text if float(text) == 0 else ("+" if value > 0 else "\N{MINUS SIGN}") + text


@lru_cache
def _wide() -> frozenset[str]:
    """Names and titles of metrics whose values have two or three digits before the decimal point."""
    known = (metric for task in TASKS.values() for kind in (MAIN, PROSPECTIVE) for metric in task.on(kind).metrics)
    return frozenset(name for metric in known if metric.span > 10 for name in (metric.name, metric.title))


def metric_titles() -> Mapping[str, str]:
    """Titles of the metrics of all tasks, by name."""
    every = (task.on(kind).every_metric for task in TASKS.values() for kind in (MAIN, PROSPECTIVE))
    return {metric.name: metric.title or metric.name for metrics in every for metric in metrics}


def constant_answer(metric: Metric, counts: Sequence[int]) -> tuple[int, float]:
    """The best constant answer, and its value of the metric.

    Args:
        metric: a metric of classes.
        counts: samples of each class.
    """
    labels = np.arange(len(counts))
    weights = np.asarray(counts, dtype=np.float64)[:, None]
    values = [
        float(metric.value((weights * metric.statistics(labels, np.full_like(labels, said))).sum(axis=0)))
        for said in labels
    ]
    best = max(range(len(values)), key=lambda label: (metric.sign * values[label], label))
    return best, values[best]


def class_names(task: str, classes: int = 2) -> Sequence[str]:
    """The meaning of each label; its number if the task is unknown or has no classes."""
    known = TASKS.get(task)
    return known.classes if known is not None and known.classes else [f"label {label}" for label in range(classes)]


def class_name(task: str, label: int) -> str:
    """The meaning of a label."""
    names = class_names(task)
    return names[label] if 0 <= label < len(names) else f"label {label}"
