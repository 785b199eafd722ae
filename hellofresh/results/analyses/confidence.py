"""Whether the confidence that systems state is true."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses.base import AnalysisResult, Cell, Findings, Where, about, analysis, limited, missing
from hellofresh.results.calibration import CHOSEN, LEAST_STATED, stated_confidences
from hellofresh.results.figures.charts import Axis, Chart, Mark
from hellofresh.results.split.panel import Panel, System
from hellofresh.stats.calibration import BinnedError, Calibration, CalibrationGap, calibrate, compare_calibrations

_BINS = (10, 15)  # papers report calibration with either, and it depends on them
_BRIER = ("reliability", "resolution", "uncertainty")
_KINDS = {"ece": "equal width", "ece_mass": "equal mass"}
_Stated = tuple[NDArray[np.int8], NDArray[np.float64]]


def _curve(system: System, found: Calibration, title: str) -> list[Mark]:
    """The steps of a reliability curve."""
    panel = f"{system.name}\n{title}ECE {found.ece.value:.2f}, Brier {found.brier:.2f}"
    return [
        Mark(system.name, "", step.share, step.interval.low, step.interval.high, step.count, at=step.confidence,
             more=f"stated {step.confidence:.0%}", panel=panel)
        for step in found.curve
    ]  # fmt: skip


def _drawn(result: Findings, across: str, up: str) -> AnalysisResult:
    chart = Chart("curves", Axis(across, 0, 1, ticks=5, intervals=False), Axis(up, 0, 1, ticks=5))
    return result.drawn(chart, columns=3, by_system=True)


@analysis(
    "calibration",
    "Calibration",
    "When a system says 80%, is it right in 80 of 100 cases?",
    "Samples are binned by the stated probability; each dot is the share of them with label 1 (of several "
    "classes, of right answers), its size the number of samples. On the dashed line a system is well calibrated; "
    "a flat curve means that its confidence carries no information. ECE is the mean distance from the line. Chance "
    "pushes it up: the table has it minus its expected bias, with the p-value of a test of calibration. Brier "
    "is the mean squared error of the probabilities (0.25 for always saying 50%).",
)
def calibration(panel: Panel) -> AnalysisResult:
    """Whether stated probabilities are true."""
    two, result, drawn = len(panel.task.classes) == 2, Findings(panel), set()
    for stated in stated_confidences(panel):
        system, said, found = stated.system, stated.said, stated.found
        if found is None:
            continue
        several: dict[str, Cell] = {"of": stated.subject} if len(panel.task.classes) > 2 else {}
        cells: dict[str, Cell] = {"n": stated.n, "clusters": found.brier_interval.clusters}
        for name, error in (("ece", found.ece), ("ece_mass", found.ece_mass)):
            cells |= {name: error.value, f"{name}_debiased": error.debiased, f"{name}_p_value": _known(error.p_value)}
        for name in ("brier", "auc"):
            value = getattr(found, name)
            cells |= limited(name, _known(value), getattr(found, f"{name}_interval"))
        for name in _BRIER:
            cells |= limited(f"brier_{name}", getattr(found, name), getattr(found, f"{name}_interval"))
        cells |= {"brier_within": found.within}
        result.rows.append({**about(system, said), **several, **cells})
        result.intervals.append(found.brier_interval)
        if system.name not in drawn and (two or stated.subject == CHOSEN):
            drawn.add(system.name)
            result.marks += _curve(system, found, f"{said.prompt}: ")
    if not result.marks:
        return missing(f"No system has stated its confidence on {LEAST_STATED} samples or more.")
    what = ("probability of label 1", "with label 1") if two else ("chance of the answer", "right")
    return _drawn(result, f"stated {what[0]}", f"share {what[1]}")


@analysis(
    "certainty",
    "Certainty",
    "When a system is 80% certain of its answer, is it right in 80 of 100 cases?",
    "Answers are binned by the certainty that was stated for them; each dot is the share that is right, its size "
    "their number. Below the dashed line a system is overconfident. The table names the bins of each ECE, with a test "
    "of calibration where Brier scores have an interval; rows with a second system are paired differences on the "
    "samples that both answered: above 0 the second is better.",
)
def certainty(panel: Panel) -> AnalysisResult:
    """Whether systems know how certain they may be, and which of two systems of one model knows it better."""
    stating = [system for system in panel.systems if np.isfinite(_certainty(system)).sum() >= LEAST_STATED]
    if not stating:
        return missing(f"No system has stated its certainty on {LEAST_STATED} samples or more.")
    result = Findings(panel)
    for system in stating:
        where = np.isfinite(_certainty(system))
        stated, groups = _stated(panel, system, where), panel.groups[where]
        found = {bins: calibrate(*stated, groups, bins=bins) for bins in _BINS}
        own = sorted(_measures(found, int(where.sum())), key=lambda cells: cells["measure"] == "Brier")
        result.rows += [{**about(system), "against": None, **cells} for cells in own]
        result.intervals.append(found[_BINS[0]].brier_interval)
        result.marks += _curve(system, found[_BINS[0]], "")
    for one, two in combinations(stating, 2):
        where = np.isfinite(_certainty(one)) & np.isfinite(_certainty(two))
        if one.model == two.model and where.sum() >= LEAST_STATED:
            first, second = (_stated(panel, system, where) for system in (one, two))
            groups = panel.groups[where]
            gaps = {bins: compare_calibrations(first, second, groups, bins=bins) for bins in _BINS}
            result.rows += [{**about(one), "against": two.name, **cells} for cells in _measures(gaps, int(where.sum()))]
    return _drawn(result, "stated certainty", "share that is right")


def _certainty(system: System) -> NDArray[np.float64]:
    """Certainty of the headline's answers, for a vote that of its only prompt; nan where it is missing."""
    own = system.headline.certainty
    stated = own if np.isfinite(own).any() or len(system.prompts) != 1 else system.prompts[0].certainty
    return np.where(system.headline.answers >= 0, stated, np.nan)


def _stated(panel: Panel, system: System, where: Where) -> _Stated:
    """Whether each answer is right, and the certainty that it is."""
    right = (system.headline.answers[where] == panel.labels[where]).astype(np.int8)
    return right, _certainty(system)[where]


def _measures(found: Mapping[int, Calibration] | Mapping[int, CalibrationGap], n: int) -> list[dict[str, Cell]]:
    """Both ECEs by the number of bins; the Brier score, which has no bins, is in the first row."""
    cells: list[dict[str, Cell]] = []
    for bins, one in found.items():
        titles = {name: f"ECE, {bins} bins of {kind}" for name, kind in _KINDS.items()}
        titles |= {"brier": "Brier"} if bins == _BINS[0] else {}
        for name, title in titles.items():
            value, made = getattr(one, name), one.brier_interval if name == "brier" else None
            tested: dict[str, Cell] = {"debiased": None, "p_value": None}
            if isinstance(value, BinnedError):
                tested = {"debiased": value.debiased, "p_value": _known(value.p_value)}
                value = value.value
            cells.append({"measure": title, "n": n, **limited("value", value, made), **tested})
    return cells


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
