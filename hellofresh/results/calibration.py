"""Whether the probabilities that systems state are true: computed here for the board and for the analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hellofresh.results.panel import Panel, PromptOutputs, System
from hellofresh.stats import Calibration, calibrate, few_clusters

__all__ = ["LEAST_STATED", "StatedConfidence", "stated_confidences"]

LEAST_STATED = 10
"""Fewer stated probabilities say nothing about how true they are."""
_RESAMPLES, _MANY, _FEWER_RESAMPLES = 1_000, 50, 300
"""From so many curves on, fewer resamples are drawn."""


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """A system's stated probabilities with one prompt.

    Attributes:
        system, said: whose, and with which prompt.
        headline: whether this prompt stands for the system.
        n, clusters: samples with a stated probability, and groups of them.
        few_clusters: whether these are too few for intervals that hold what they promise.
        found: how true they are; None where there are fewer than `LEAST_STATED`.
    """

    system: System
    said: PromptOutputs
    headline: bool
    n: int
    clusters: int
    few_clusters: bool
    found: Calibration | None


def stated_confidences(panel: Panel) -> Iterator[StatedConfidence]:
    """Every system and prompt with stated probabilities, in the order of the panel."""
    stating = [(system, said, number == 0) for system in panel.systems for number, said in enumerate(system.said)
               if np.isfinite(said.confidences).any()]  # fmt: skip
    resamples = _RESAMPLES if len(stating) < _MANY else _FEWER_RESAMPLES
    for system, said, headline in stating:
        stated = np.isfinite(said.confidences)
        groups, n = panel.groups[stated], int(stated.sum())
        clusters = int(np.unique(groups).size)
        if n < LEAST_STATED:
            yield StatedConfidence(system, said, headline, n, clusters, few_clusters=True, found=None)
            continue
        found = calibrate(panel.labels[stated], said.confidences[stated], groups, resamples=resamples)
        few = few_clusters(clusters, found.ece_interval.effective_clusters)
        yield StatedConfidence(system, said, headline, n, clusters, few, found)
