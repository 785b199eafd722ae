"""Which candidates a release takes: in every period the same number of both labels, by the smallest hash."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hellofresh.files import sha256_text
from hellofresh.samples import Candidate

__all__ = ["PeriodSelection", "Selection", "select"]


@dataclass(frozen=True, slots=True)
class PeriodSelection:
    """What a period had to offer, and how many of each label were taken."""

    positives: int
    negatives: int
    taken_per_class: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidates, sorted by id, and the account of every period."""

    chosen: tuple[Candidate, ...]
    periods: Mapping[str, PeriodSelection]


def select(candidates: Iterable[Candidate], *, seed: str, cap: int) -> Selection:
    """Balance candidates by period.

    In a period, both classes give as many as the smaller one has, at most `cap`; within a class those with the smallest
    SHA-256 of `<seed>:<id>`. So whether a candidate is taken depends on seed, ids and labels of its period, and on
    nothing else: not on order, source files, or other periods.
    """
    by_class: dict[str, dict[int, list[Candidate]]] = defaultdict(lambda: {0: [], 1: []})
    for item in candidates:
        by_class[item.sample.period][item.label.label].append(item)
    chosen: list[Candidate] = []
    periods = {}
    for period in sorted(by_class):
        classes = by_class[period]
        take = min(cap, len(classes[0]), len(classes[1]))
        periods[period] = PeriodSelection(len(classes[1]), len(classes[0]), take)
        for members in classes.values():
            chosen += sorted(members, key=lambda item: sha256_text(f"{seed}:{item.sample.id}"))[:take]
    return Selection(tuple(sorted(chosen, key=lambda item: item.sample.id)), periods)
