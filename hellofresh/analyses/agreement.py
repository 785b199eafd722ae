"""Which systems say the same."""

from __future__ import annotations

import numpy as np

from hellofresh.analyses._base import Analysis, Cell, Result, missing, table_of
from hellofresh.analyses._charts import matrix
from hellofresh.analyses._measures import few_note, leading
from hellofresh.results.panel import Panel
from hellofresh.stats import answer_agreement

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> Result:
    systems = panel.systems
    if len(systems) < 2:
        return missing("Two systems are needed to compare their answers.")
    rows: list[dict[str, Cell]] = []
    intervals = []
    found: dict[tuple[int, int], float] = {}
    for number, first in enumerate(systems):
        for second in systems[number + 1 :]:
            both = first.headline.asked & second.headline.asked
            if not both.any():
                continue
            one, two = (system.headline.verdicts[both] for system in (first, second))
            agreed = answer_agreement(one, two, panel.groups[both])
            found[id(first), id(second)] = found[id(second), id(first)] = agreed.kappa
            intervals.append(agreed.raw_interval)
            rows.append({
                "first": first.label, "first_regime": first.regime, "second": second.label,
                "second_regime": second.regime, "n": agreed.raw_interval.n, "clusters": agreed.raw_interval.clusters,
                "agreement": agreed.raw, "agreement_low": agreed.raw_interval.low,
                "agreement_high": agreed.raw_interval.high, "kappa": agreed.kappa,
                "kappa_low": agreed.kappa_interval.low, "kappa_high": agreed.kappa_interval.high,
            })  # fmt: skip
    if not rows:
        return missing("No two systems were asked the same samples.")
    shown, notes = leading(panel, systems)
    values = np.array([[found.get((id(row), id(column)), np.nan) for column in shown] for row in shown])
    figure = matrix(values, [system.name for system in shown], "Cohen's kappa", 0.0, 1.0)
    return Result(table_of(rows), figure, [*notes, *few_note(intervals)])


ANALYSIS = Analysis(
    name="agreement",
    title="Agreement between systems",
    question="Do different systems give the same answers?",
    how_to_read=(
        "Cohen's kappa of each pair, on the samples that both were asked, by the rows that stand for "
        "them; best F1 first. "
        "1 is the same answer everywhere, 0 what chance would give to systems that say yes and no as "
        "often, below 0 less "
        "than that. No answer and blocked are answers of their own here. The table also has the raw agreement, and "
        "intervals for both."
    ),
    run=_run,
)
