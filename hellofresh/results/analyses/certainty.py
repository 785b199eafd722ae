"""Whether systems know how certain they may be, and which of two systems of one model knows it better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses._base import Analysis, AnalysisResult, Cell, missing, table_of
from hellofresh.results.analyses._measures import about, best_first, few_note, names_of
from hellofresh.results.calibration import LEAST_STATED
from hellofresh.results.figures.charts import Axis, Chart, Figure, Mark
from hellofresh.results.panel import Panel, System
from hellofresh.stats import Calibration, Interval, calibrate, compare_calibrations

__all__ = ["ANALYSIS"]

_BINS = (10, 15)
_RESAMPLES = 1_000
_KINDS = {"ece": "equal width", "ece_mass": "equal mass"}
_Stated = tuple[NDArray[np.int8], NDArray[np.float64]]


def _run(panel: Panel) -> AnalysisResult:
    stating = [system for system in panel.systems if _states(system).sum() >= LEAST_STATED]
    if not stating:
        return missing(f"No system has stated its certainty on {LEAST_STATED} samples or more.")
    rows: list[dict[str, Cell]] = []
    marks: list[Mark] = []
    intervals: list[Interval] = []
    for system in stating:
        where = _states(system)
        found = {bins: calibrate(*_stated(panel, system, where), panel.groups[where], bins=bins, resamples=_RESAMPLES)
                 for bins in _BINS}  # fmt: skip
        rows += [{**about(system), "against": None, **cells} for cells in _cells(found, int(where.sum()))]
        intervals.append(found[_BINS[0]].ece_interval)
        marks += _marks(system, found[_BINS[0]])
    rows += _differences(panel, stating)
    across = Axis("stated certainty", 0, 1, ticks=5, intervals=False)
    chart = Chart("curves", across, Axis("share that is right", 0, 1, ticks=5))
    figure = Figure((chart,), names_of(best_first(panel, stating)), columns=3, by_system=True)
    return AnalysisResult(table_of(rows), figure, few_note(intervals), marks=marks)


def _states(system: System) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isfinite(_certainty(system)) & (system.headline.answers >= 0)
    return found


def _certainty(system: System) -> NDArray[np.float64]:
    """Of the headline; of a vote that of its only prompt."""
    own = system.headline.certainty
    return own if np.isfinite(own).any() or len(system.prompts) != 1 else system.prompts[0].certainty


def _stated(panel: Panel, system: System, where: NDArray[np.bool_]) -> _Stated:
    """Whether each answer is right, and the certainty that it is."""
    right = (system.headline.answers[where] == panel.labels[where]).astype(np.int8)
    return right, _certainty(system)[where]


def _cells(found: dict[int, Calibration], n: int) -> Iterator[dict[str, Cell]]:
    for bins, calibration in found.items():
        for name, kind in _KINDS.items():
            made = getattr(calibration, f"{name}_interval")
            measure = f"ECE, {bins} bins of {kind}"
            yield {"measure": measure, "n": n, "value": getattr(calibration, name), "low": made.low, "high": made.high}
    first = next(iter(found.values()))
    made = first.brier_interval
    yield {"measure": "Brier", "n": n, "value": first.brier, "low": made.low, "high": made.high}


def _differences(panel: Panel, stating: Sequence[System]) -> Iterator[dict[str, Cell]]:
    """Of every two systems of one model, on the samples on which both are certain of something."""
    for one, two in combinations(stating, 2):
        where = _states(one) & _states(two)
        if one.model != two.model or where.sum() < LEAST_STATED:
            continue
        first, second = (_stated(panel, system, where) for system in (one, two))
        for bins in _BINS:
            gap = compare_calibrations(first, second, panel.groups[where], bins=bins, resamples=_RESAMPLES)
            names = {name: f"ECE, {bins} bins of {kind}" for name, kind in _KINDS.items()}
            names |= {"brier": "Brier"} if bins == _BINS[0] else {}
            for name, measure in names.items():
                made = getattr(gap, f"{name}_interval")
                yield {**about(one), "against": two.name, "measure": measure, "n": int(where.sum()),
                       "value": getattr(gap, name), "low": made.low, "high": made.high}  # fmt: skip


def _marks(system: System, found: Calibration) -> list[Mark]:
    panel = f"{system.name}\nECE {found.ece:.2f}, Brier {found.brier:.2f}"
    return [
        Mark(system.name, "", step.share, step.interval.low, step.interval.high, step.count, at=step.confidence,
             more=f"stated {step.confidence:.0%}", panel=panel)
        for step in found.curve
    ]  # fmt: skip


ANALYSIS = Analysis(
    name="certainty",
    title="Certainty",
    question="When a system says that its answer is right with 80%, is it right in 80 of 100 cases?",
    how_to_read=(
        "Answers are binned by the certainty that was stated for them; each dot is the share that is right, its size "
        "their number. Below the dashed line a system is too certain. The table names the bins of each ECE; rows "
        "with a second system are paired differences on the samples that both answered: above 0 the second is better."
    ),
    run=_run,
)
