"""Compare systems from different quarters on one scale: the headline metric adjusted for each quarter's difficulty.

Baselines, controls and smoke tests are excluded: a rule that always gives one answer has the same score in easy and
hard quarters and would hide the difference. A system's adjusted score is given only where the data
identify it and its error: it took part in two quarters at least, and a chain of shared quarters links it to the other
systems. Limits are made on the logit, so that they stay between those of the metric.

A sample is of one quarter, and the systems of a quarter judge the same ones: an effect for each sample in place of each
quarter gives the same differences of systems in a mean over samples (a test holds it), and quarters count alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hellofresh.core.systems import SystemId
from hellofresh.results.split.panel import Panel, QuarterScore, short_names
from hellofresh.results.standings import fields_of
from hellofresh.stats.arrays import Ints
from hellofresh.stats.metrics import Metric
from hellofresh.stats.two_way import TwoWay, connected_parts, two_way

ONE_QUARTER = "one quarter only: the effects of quarter and system cannot be separated"
NOT_LINKED = "no chain of shared quarters links it to the others"
NO_FREEDOM = "too few systems share quarters to estimate how much scores vary"
BEYOND = "the model of system and quarter expects a value that the metric cannot have"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverQuartersRow(SystemId):
    """A system's headline metric on the scale of all quarters.

    Attributes:
        quarters, of_quarters: quarters it took part in, and quarters on the scale; 0 if not identified.
        latest: its latest quarter.
        score, low, high: the metric expected in the mean quarter, with its 95% interval; None if not identified.
        reason: the reason for missing scores, else empty.
        additivity_p: tail probability of differences between quarters as large as these, were they sampling alone.
    """

    quarters: int
    of_quarters: int
    latest: str
    score: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    additivity_p: float | None


@dataclass(frozen=True, slots=True)
class OverQuarters:
    """All systems over all quarters.

    Attributes:
        systems: the best first, then those without a score.
        effects: by how much the metric is higher in a quarter than in the mean of all; empty where nothing is
            identified.
        excess_p: as `OverQuartersRow.additivity_p`; None where it is not known.
        few: whether the limits rest on few quarters and are rough.
    """

    systems: Sequence[OverQuartersRow] = ()
    effects: Mapping[str, float] = field(default_factory=dict)
    excess_p: float | None = None
    few: bool = False


def quarter_scores(panel: Panel) -> list[QuarterScore]:
    """The scores of the systems that are ranked in a quarter, each on all that it answered, with its variance."""
    found, metric = [], panel.task.headline
    for system in fields_of(panel)[0].systems:
        value, made = panel.measured(system.headline, system.headline.asked)
        # A 95% interval is 2 x 1.96 standard errors wide; one without width must not outweigh all other quarters.
        variance = max(((made.high - made.low) / 3.92) ** 2, 1e-6 * metric.span**2)
        found.append(QuarterScore(str(panel.edition), system.plain, value, variance))
    return found


def over_quarters(scores: Sequence[QuarterScore], metric: Metric) -> OverQuarters:
    """Bring the systems of several quarters onto one scale.

    Args:
        scores: of the quarters of one task, see `quarter_scores`.
        metric: the task's headline.
    """
    of_system: dict[tuple[str, ...], list[QuarterScore]] = {}
    for score in sorted(scores, key=lambda item: item.edition):
        of_system.setdefault(score.key, []).append(score)
    several = {key: its for key, its in of_system.items() if len(its) > 1}
    linked = _largest_part(several)
    found: dict[tuple[str, ...], dict[str, Any]] = {
        key: {"reason": NOT_LINKED if key in several else ONE_QUARTER} for key in of_system.keys() - linked.keys()
    }
    kept = [score for its in linked.values() for score in its]
    quarters = sorted({score.edition for score in kept})
    fit, effects, excess = None, {}, None
    if linked and len(kept) > len(linked) + len(quarters) - 1:
        fit = two_way(
            np.array([score.value for score in kept]),
            *_numbers(linked),
            variances=np.array([score.variance for score in kept]),
        )
        effects = dict(zip(quarters, fit.quarter.tolist(), strict=True))
        excess = fit.excess_p_value if np.isfinite(fit.excess_p_value) else None
    found |= {key: _adjusted(fit, number, metric) for number, key in enumerate(linked)}
    return OverQuarters(
        _rows(of_system, found, metric, of_quarters=len(effects), additivity_p=excess),
        effects,
        excess,
        fit is not None and fit.few_quarters,
    )


def _rows(
    of_system: Mapping[tuple[str, ...], Sequence[QuarterScore]],
    found: Mapping[tuple[str, ...], Mapping[str, Any]],
    metric: Metric,
    *,
    of_quarters: int,
    additivity_p: float | None,
) -> list[OverQuartersRow]:
    """A row for each system, the best first and those without a score last."""
    latest = {key: its[-1] for key, its in of_system.items()}
    order = sorted(
        found,
        key=lambda key: ("score" not in found[key], -metric.sign * found[key].get("score", latest[key].value), key),
    )
    names = short_names([replace(latest[key].system, system=latest[key].system.label) for key in order])
    return [
        OverQuartersRow(
            **latest[key].system.identity | {"system": name},
            of_quarters=of_quarters,
            additivity_p=additivity_p,
            **found[key],
            quarters=len(of_system[key]),
            latest=latest[key].edition,
        )
        for key, name in zip(order, names, strict=True)
    ]


def _numbers(systems: Mapping[tuple[str, ...], Sequence[QuarterScore]]) -> tuple[Ints, Ints]:
    """System and quarter of every score, as numbers from 0."""
    where = np.array([number for number, its in enumerate(systems.values()) for _ in its], dtype=np.int64)
    names = [score.edition for its in systems.values() for score in its]
    return where, np.unique(names, return_inverse=True)[1].astype(np.int64)


def _largest_part(
    systems: Mapping[tuple[str, ...], Sequence[QuarterScore]],
) -> dict[tuple[str, ...], Sequence[QuarterScore]]:
    """Of the parts that no shared quarter links, the one with most systems; of equal ones the latest."""
    if not systems:
        return {}
    part = connected_parts(*_numbers(systems))
    parts: dict[int, dict[tuple[str, ...], Sequence[QuarterScore]]] = defaultdict(dict)
    for (key, its), number in zip(systems.items(), part.tolist(), strict=True):
        parts[number][key] = its
    latest = {number: max(its[-1].edition for its in some.values()) for number, some in parts.items()}
    return parts[max(parts, key=lambda number: (len(parts[number]), latest[number], number))]


def _adjusted(fit: TwoWay | None, number: int, metric: Metric) -> dict[str, Any]:
    """The score and limits of a linked system, or the reason for missing ones, as fields of its row."""
    if fit is None or not fit.system_error[number] > 1e-9:  # an exact fit leaves rounding alone, or nan
        return {"reason": NO_FREEDOM}
    score = float(fit.system[number])
    if not metric.limits[0] < score < metric.limits[1]:
        return {"reason": BEYOND}
    low, high = fit.limits_within(number, metric.limits)
    return {"score": score, "low": low, "high": high}
