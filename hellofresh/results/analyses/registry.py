"""All analyses, in the order in which a reader wants them."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.core.errors import UnknownNameError
from hellofresh.results.analyses import (
    agreement,
    by_subgroup,
    calibration,
    category_gains,
    certainty,
    contamination,
    cost,
    deployment,
    parsing,
    placebo,
    precision_recall,
    prompt_sensitivity,
    ranking,
    search_gain,
    silence,
    slices,
    temporal_consistency,
    votes,
)
from hellofresh.results.analyses._base import Analysis

__all__ = ["ALL", "ANALYSES", "get_analyses"]

ALL = "all"
_MODULES = (
    ranking, temporal_consistency, search_gain, placebo, deployment, precision_recall, prompt_sensitivity,
    contamination, votes, slices, by_subgroup, category_gains, agreement, calibration, certainty, silence, parsing,
    cost,
)  # fmt: skip
ANALYSES = {module.ANALYSIS.name: module.ANALYSIS for module in _MODULES}
"""By name."""


def get_analyses(name: str) -> Sequence[Analysis]:
    """The analysis of this name, or all of them.

    Raises:
        UnknownNameError: if there is no such analysis.
    """
    if name == ALL:
        return list(ANALYSES.values())
    if name not in ANALYSES:
        raise UnknownNameError("analysis", name, [ALL, *ANALYSES])
    return [ANALYSES[name]]
