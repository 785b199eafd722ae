"""One system under two regimes, on the samples that it was asked under both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.results.panel import Panel, Said, System
from hellofresh.stats import Comparison, compare, holm

__all__ = ["RegimePair", "compare_regimes", "compare_said"]


@dataclass(frozen=True, slots=True)
class RegimePair:
    """A system's answers with one prompt under two regimes.

    Attributes:
        system, said: under the first regime.
        against: the name of the second regime.
        found: first minus second.
        adjusted: the p-value adjusted for all pairs of the table.
    """

    system: System
    said: Said
    against: str
    found: Comparison
    adjusted: float

    @property
    def cells(self) -> dict[str, str | float | int]:
        """For a row of a table."""
        made = self.found.interval
        return {
            "against": self.against, "n": made.n, "clusters": made.clusters,
            "effective_clusters": made.effective_clusters, "metric": self.found.metric, "value": self.found.first,
            "value_against": self.found.second, "difference": self.found.difference, "low": made.low,
            "high": made.high, "p_value": self.found.p_value, "p_adjusted": self.adjusted,
        }  # fmt: skip


def compare_regimes(panel: Panel, first: str, second: str) -> Sequence[RegimePair]:
    """Every system and prompt under both regimes, in the order of the panel."""
    found = []
    for systems in panel.models:
        ones = [system for system in systems if system.regime == first]
        others = {said.prompt: said for system in systems if system.regime == second for said in system.said}
        for system in ones:
            for said in system.said:
                compared = compare_said(panel, said, others[said.prompt]) if said.prompt in others else None
                if compared is not None:
                    found.append((system, said, compared))
    adjusted = holm([compared.p_value for _, _, compared in found]).tolist() if found else []
    return [RegimePair(*item, adjusted=p) for item, p in _with_regime(found, second, adjusted)]


def _with_regime(
    found: Sequence[tuple[System, Said, Comparison]], second: str, adjusted: Sequence[float]
) -> list[tuple[tuple[System, Said, str, Comparison], float]]:
    return [((system, said, second, compared), p) for (system, said, compared), p in zip(found, adjusted, strict=True)]


def compare_said(panel: Panel, first: Said, second: Said, metric: str = "f1") -> Comparison | None:
    """Two rows of answers on the samples that both were asked; None where there is none."""
    both = first.asked & second.asked
    if not both.any():
        return None
    return compare(
        panel.labels[both], first.predictions(both), second.predictions(both), panel.groups[both], metric=metric
    )
