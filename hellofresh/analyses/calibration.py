"""Whether stated probabilities are true."""

from __future__ import annotations

import numpy as np

from hellofresh.analyses._base import Analysis, Result, missing, table_of
from hellofresh.analyses._charts import grid_of, label_of
from hellofresh.analyses._measures import about, few_note, leading
from hellofresh.analyses._style import GREY, colour
from hellofresh.results.panel import Panel, Said, System
from hellofresh.stats import Bin, Calibration, calibrate

__all__ = ["ANALYSIS"]

_LEAST_SAMPLES = 10


def _run(panel: Panel) -> Result:
    rows, points, intervals = [], [], []
    drawn: dict[int, tuple[System, Said, Calibration]] = {}
    for system in panel.systems:
        for said in system.said:
            stated = np.isfinite(said.confidences)
            if stated.sum() < _LEAST_SAMPLES:
                continue
            found = calibrate(panel.labels[stated], said.confidences[stated], panel.groups[stated])
            rows.append({**about(system, said), **_cells(found, int(stated.sum()))})
            intervals.append(found.ece_interval)
            if id(system) not in drawn:
                drawn[id(system)] = (system, said, found)
                points += [{**about(system, said), **_bin_cells(step)} for step in found.curve]
    if not drawn:
        return missing(f"No system has stated its confidence on {_LEAST_SAMPLES} samples or more.")
    shown, notes = leading(panel, [system for system, _, _ in drawn.values()])
    figure, panels = grid_of(
        len(shown), "stated probability of label 1", "share with label 1, 95% interval", row_inches=2.5
    )
    for system, axes in zip(shown, panels, strict=True):
        _, said, found = drawn[id(system)]
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=0)
        x = [step.confidence for step in found.curve]
        axes.vlines(x, [b.interval.low for b in found.curve], [b.interval.high for b in found.curve], color=colour(0))
        sizes = [18 + 90 * step.count / found.ece_interval.n for step in found.curve]
        axes.plot(x, [step.share for step in found.curve], color=colour(0), linewidth=1)
        axes.scatter(x, [step.share for step in found.curve], s=sizes, color=colour(0), edgecolor="white", zorder=3)
        axes.set_title(label_of(f"{system.name}, {said.prompt}", 32))
        axes.text(
            0.03,
            0.97,
            f"ECE {found.ece:.2f}\nBrier {found.brier:.2f}",
            va="top",
            transform=axes.transAxes,
            fontsize=8.5,
        )
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
    return Result(table_of(rows), figure, [*notes, *few_note(intervals)], points=table_of(points))


def _bin_cells(step: Bin) -> dict[str, float | int]:
    return {"n": step.count, "confidence": step.confidence, "share": step.share, "low": step.interval.low,
            "high": step.interval.high}  # fmt: skip


def _cells(found: Calibration, n: int) -> dict[str, float | int | None]:
    cells: dict[str, float | int | None] = {"n": n, "clusters": found.ece_interval.clusters}
    for name in ("ece", "ece_mass", "brier", "auc"):
        value, made = getattr(found, name), getattr(found, f"{name}_interval")
        cells |= {name: None if np.isnan(value) else value, f"{name}_low": made.low, f"{name}_high": made.high}
    parts = ("reliability", "resolution", "uncertainty", "within")
    return cells | {f"brier_{name}": getattr(found, name) for name in parts}


ANALYSIS = Analysis(
    name="calibration",
    title="Calibration",
    question="When a system says 80%, is it so in 80 of 100 cases?",
    how_to_read=(
        "Samples are binned by the stated probability; each dot is the share of them with label 1, its "
        "size the number of "
        "samples. On the dashed line statements are true; a flat curve means that confidence says "
        "nothing. ECE is the mean "
        "distance from the line, Brier the mean squared error of the probabilities (0.25 for always saying 50%)."
    ),
    run=_run,
    version=2,
)
