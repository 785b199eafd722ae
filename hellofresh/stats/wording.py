"""How much of the spread of a score between prompts is the wording, and how much is the luck of the samples.

Prompts were asked the same samples, so part of the luck is common to all and moves no two of them apart. The joint
resamples of the samples give each prompt's sampling variance and how far the prompts' luck goes together:

- `sampling`: the mean over prompts of a score's sampling variance;
- expected spread by luck alone: that mean less the mean covariance of two prompts;
- `wording`: the variance of the scores over the prompts (divisor: prompts - 1) less that, at least 0;
- `share`: wording / (wording + sampling): of the variance of the score that one prompt out of all such prompts gets on
  one draw of samples, what the choice of the prompt makes up.

The prompts count as a draw from all that might have been written; the interval is over the samples alone. A resample
has the luck of the data and its own, so what is expected by luck is taken off twice from its spread.
Source: Searle, Casella and McCulloch, Variance Components (1992), section 3.6 (the estimator by mean squares).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hellofresh.stats.intervals import Interval
from hellofresh.stats.metrics import Metric, ratio
from hellofresh.stats.ranking import Draws

__all__ = ["WordingShare", "wording_share"]


@dataclass(frozen=True, slots=True)
class WordingShare:
    """Variance components of a score.

    Attributes:
        metric: which score.
        spread: variance of the scores over the prompts, luck and all.
        wording: what of it the wording makes up.
        sampling: mean sampling variance of one prompt's score.
        share: wording / (wording + sampling), 0 where both are 0.
        interval: of the share, over the samples.
    """

    metric: Metric
    spread: float
    wording: float
    sampling: float
    share: float
    interval: Interval


def wording_share(draws: Draws, metric: Metric, *, level: float = 0.95) -> WordingShare:
    """The share of a score's variance that is due to the wording.

    Args:
        draws: the prompts of one system as its "systems", from `draw_jointly`.
        metric: which score.
        level: nominal coverage.

    Raises:
        ValueError: if there are fewer than two prompts.
    """
    values, resampled = draws.value(metric), draws.of(metric)
    prompts = len(values)
    if prompts < 2:
        raise ValueError("two prompts or more are needed to tell the wording from the samples")
    covariance = np.cov(resampled)
    sampling = float(np.trace(covariance)) / prompts
    luck = sampling - float(covariance.sum() - np.trace(covariance)) / (prompts * (prompts - 1))
    spread = float(values.var(ddof=1))
    wording = max(0.0, spread - luck)
    drawn = np.maximum(0.0, resampled.var(axis=0, ddof=1) - 2 * luck)
    shares: NDArray[np.float64] = ratio(drawn, drawn + sampling)
    share = wording / (wording + sampling) if wording + sampling > 0 else 0.0
    return WordingShare(metric, spread, wording, sampling, share, draws.interval(shares, level))
