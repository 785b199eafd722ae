"""Which systems say the same."""

from __future__ import annotations

from math import isnan

from hellofresh.results.analyses._base import Analysis, AnalysisResult, Cell, missing, table_of
from hellofresh.results.analyses._measures import best_first, few_note, names_of
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.panel import Panel
from hellofresh.stats import AnswerAgreement, answer_agreement

__all__ = ["ANALYSIS"]


def _run(panel: Panel) -> AnalysisResult:
    systems = panel.systems
    if len(systems) < 2:
        return missing("Two systems are needed to compare their answers.")
    rows: list[dict[str, Cell]] = []
    intervals = []
    marks: list[Mark] = []
    for number, first in enumerate(systems):
        for second in systems[number + 1 :]:
            both = first.headline.asked & second.headline.asked
            if not both.any():
                continue
            one, two = (system.headline.answers[both] for system in (first, second))
            agreed = answer_agreement(one, two, panel.groups[both])
            marks += _marks(first.name, second.name, agreed)
            intervals.append(agreed.raw_interval)
            rows.append({
                "first": first.label, "first_regime": first.regime, "second": second.label,
                "second_regime": second.regime, "n": agreed.raw_interval.n, "clusters": agreed.raw_interval.clusters,
                "agreement": agreed.raw, "agreement_low": agreed.raw_interval.low,
                "agreement_high": agreed.raw_interval.high, "kappa": agreed.kappa,
                "kappa_low": agreed.kappa_interval.low, "kappa_high": agreed.kappa_interval.high,
            })  # fmt: skip
    if not rows:
        return missing("No two systems judged the same samples.")
    chart = Chart("pairs", Axis("Cohen's kappa", 0, 1))
    figure = Figure((chart,), names_of(best_first(panel, systems)))
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


def _marks(first: str, second: str, agreed: AnswerAgreement) -> list[Mark]:
    """Both halves of the square."""
    if isnan(agreed.kappa):
        return []
    n, limits = agreed.raw_interval.n, agreed.kappa_interval
    more = f"the same answer to {agreed.raw:.0%} of {n:,} samples"
    pairs = ((first, second), (second, first))
    return [Mark(one, "", agreed.kappa, limits.low, limits.high, n, more=more, other=two) for one, two in pairs]


ANALYSIS = Analysis(
    name="agreement",
    title="Agreement between systems",
    question="Do different systems give the same answers?",
    how_to_read=(
        "Cohen's kappa of each pair, on the samples that both judged, for their leaderboard rows; the best first. 1 "
        "is the same answer everywhere, 0 is what chance would give two systems with these shares of answers, "
        "below 0 is less than chance. None and blocked count as answers of their own here. The table also has the "
        "raw agreement, and intervals for both."
    ),
    run=_run,
)
