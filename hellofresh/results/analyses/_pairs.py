"""One system under two regimes, on the samples that it was asked under both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.results.panel import Panel, PromptOutputs, System
from hellofresh.stats import Comparison, compare

__all__ = ["RegimePair", "compare_regimes", "compare_said"]


@dataclass(frozen=True, slots=True)
class RegimePair:
    """A system's answers with one prompt under two regimes.

    Attributes:
        system, said: under the first regime.
        against: the name of the second regime.
        found: first minus second, adjusted for all pairs of the table.
    """

    system: System
    said: PromptOutputs
    against: str
    found: Comparison

    @property
    def cells(self) -> dict[str, str | float | int]:
        """For a row of a table."""
        made = self.found.interval
        return {
            "against": self.against, "n": made.n, "clusters": made.clusters,
            "effective_clusters": made.effective_clusters, "metric": self.found.metric.name, "value": self.found.first,
            "value_against": self.found.second, "difference": self.found.difference, "low": made.low,
            "high": made.high, "p_value": self.found.p_value, "p_adjusted": self.found.adjusted,
        }  # fmt: skip


def compare_regimes(panel: Panel, first: str, second: str) -> Sequence[RegimePair]:
    """Every system and prompt under both regimes, in the order of the panel."""
    asked: list[tuple[System, PromptOutputs, PromptOutputs]] = []
    for systems in panel.models:
        others = {said.prompt: said for system in systems if system.regime == second for said in system.said}
        ones = ((system, said) for system in systems if system.regime == first for said in system.said)
        asked += [(system, said, others[said.prompt]) for system, said in ones
                  if said.prompt in others and (said.asked & others[said.prompt].asked).any()]  # fmt: skip
    return [RegimePair(system, said, second, compare_said(panel, said, other, together=len(asked)))
            for system, said, other in asked]  # fmt: skip


def compare_said(panel: Panel, first: PromptOutputs, second: PromptOutputs, *, together: int = 1) -> Comparison:
    """Two rows of answers on the samples that both were asked.

    Args:
        panel: the panel.
        first, second: the answers; both were asked one sample at least.
        together: how many comparisons are shown together.
    """
    both = first.asked & second.asked
    one, two = panel.tables((first, second), both)
    return compare(one, two, panel.task.headline, together=together, n=int(both.sum()))
