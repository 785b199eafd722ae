"""Samples divided by what is known of them: the values of a fact, or of a field such as the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.panel import Panel

__all__ = ["LEAST_SAMPLES", "Subgroup", "subgroups"]

LEAST_SAMPLES = 20
"""A bin with fewer samples is left out."""
_MOST_BINS = 12


@dataclass(frozen=True, slots=True)
class Subgroup:
    """The samples with one value of one fact; `where` has shape (n,)."""

    factor: str
    name: str
    where: NDArray[np.bool_]

    @property
    def row(self) -> str:
        """As figures name it."""
        return f"{self.name} (n = {int(self.where.sum())})"


def subgroups(panel: Panel) -> tuple[Sequence[Subgroup], Sequence[str]]:
    """The bins of every factor that has two or more, the largest first, and sentences on those left out."""
    found: list[Subgroup] = []
    notes = []
    for factor in panel.task.subgroups:
        values = _values(panel, factor)
        counts = Counter(value for value in values if value)
        large = sorted((value for value in counts if counts[value] >= LEAST_SAMPLES), key=lambda v: (-counts[v], v))
        small = [counts[value] for value in counts if counts[value] < LEAST_SAMPLES]
        if small:
            notes.append(
                f"{factor}: {len(small)} bins of fewer than {LEAST_SAMPLES} samples ({sum(small)} in all) are left out."
            )
        if len(large) > _MOST_BINS:
            notes.append(f"{factor}: the {_MOST_BINS} largest of {len(large)} bins are shown.")
        if len(large) > 1:
            shown = large[:_MOST_BINS]
            found += [Subgroup(factor, name, np.array([v == name for v in values], dtype=np.bool_)) for name in shown]
    return found, notes


def _values(panel: Panel, factor: str) -> list[str]:
    pairs = zip(panel.facts, panel.samples, strict=True)
    return [_text(facts.get(factor, getattr(sample, factor, None))) for facts, sample in pairs]


def _text(value: object) -> str:
    """Empty where nothing is known."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value or "")
