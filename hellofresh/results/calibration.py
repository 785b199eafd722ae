"""Calibration of systems' stated probabilities, for the board and the analysis.

With two classes, the probability of label 1 is judged. With more, the probability of each class separately, and that of
the chosen class (top label): is it right as often as stated? A stated certainty is a probability of the chosen class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hellofresh.results.split.panel import Panel, PromptOutputs, System
from hellofresh.stats.arrays import Bools, Floats
from hellofresh.stats.calibration import Calibration, calibrate
from hellofresh.stats.intervals import few_clusters

LEAST_STATED = 10
"""Fewest stated probabilities for an estimate of calibration."""
CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """A system's stated probabilities with one prompt.

    Attributes:
        system, said: whose, and with which prompt.
        headline: whether this prompt stands for the system.
        subject: the class whose probability is judged, by its name, or `chosen` for that of the chosen class.
        n, clusters: samples with a stated probability, and groups of them.
        few_clusters: whether these are too few for intervals with nominal coverage.
        found: their calibration; None with fewer than `LEAST_STATED`.
    """

    system: System
    said: PromptOutputs
    headline: bool
    subject: str
    n: int
    clusters: int
    few_clusters: bool
    found: Calibration | None


def stated_confidences(panel: Panel) -> Iterator[StatedConfidence]:
    """Every system and prompt with stated probabilities, in the order of the panel, each subject for itself."""
    for system in panel.systems:
        for number, said in enumerate(system.said):
            for name, hits, chances in _subjects(panel, said):
                stated = np.isfinite(chances)
                groups, n, few, found = panel.groups[stated], int(stated.sum()), True, None
                clusters = int(np.unique(groups).size)
                if n >= LEAST_STATED:
                    found = calibrate(hits[stated].astype(np.int8), chances[stated], groups)
                    few = few_clusters(clusters, found.brier_interval.effective_clusters)
                yield StatedConfidence(system, said, number == 0, name, n, clusters, few, found)


def _subjects(panel: Panel, said: PromptOutputs) -> Iterator[tuple[str, Bools, Floats]]:
    """What is judged: its name, where it is true, and the stated chance that it is; only what is stated somewhere."""
    classes = panel.task.classes
    found = [(name, panel.labels == label, said.probabilities[:, label]) for label, name in enumerate(classes)]
    right = panel.labels == said.answers
    if len(classes) == 2:
        found = found[1:]
    elif classes:
        rows, chosen = np.arange(right.size), np.maximum(said.answers, 0)
        own = np.where(said.answers >= 0, said.probabilities[rows, chosen], np.nan)
        found.append((CHOSEN, right, np.where(np.isfinite(said.certainty), said.certainty, own)))
    if len(classes) == 2 and not np.isfinite(found[0][2]).any():
        found = [(CHOSEN, right, said.certainty)]
    yield from (subject for subject in found if np.isfinite(subject[2]).any())
