"""What a leaderboard owes its readers: the fields of the Leaderboard Reporting Standard, from a matrix of scores.

Fields R1 to R10 of draft 0.2 (23 August 2026), LEADERBOARD_STANDARD.md of
https://github.com/ipezygj/swebench-rank-audit. The order that is established is the partial order of all pairs that
differ after adjustment for all pairs. Counting the total orders that agree with it is #P-hard (Brightwell and Winkler,
Order 8 (1991), 225-242): they are counted over its down-sets where these are few, else estimated by Knuth's sampling
(Mathematics of Computation 29 (1975), 121-136), with an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, sqrt

import numpy as np

from hellofresh.stats.arrays import Bools, Floats, Ints

# exact counts while they take seconds, else estimates with a known error
_MOST_SETS, _SAMPLES, _SPLITS = 20_000, 2_000, 200


class CardError(ValueError):
    """A check of the card failed: nothing may be printed."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The logarithm to base 2 of the number of total orders that agree with a partial one.

    Attributes:
        bits: the logarithm.
        error: its standard error; 0 if counted.
        most: that without any established pair, log2(J!).
    """

    bits: float
    error: float
    most: float

    @property
    def share(self) -> float:
        """The part of all bits that is open."""
        return self.bits / self.most if self.most else 0.0


def established(apart: Bools, ahead: Bools) -> Bools:
    """The transitive partial order of the pairs that differ: whether a row is better than a column."""
    above = apart & ahead
    for middle in range(len(above)):
        above |= np.outer(above[:, middle], above[middle])
    return above


def count_orders(above: Bools) -> Orders:
    """How many total orders agree with a partial order, as bits.

    >>> round(count_orders(np.zeros((3, 3), dtype=bool)).bits, 3)
    2.585
    """
    systems = len(above)
    most = lgamma(systems + 1) / log(2)
    found = _counted(above)
    if found is not None:
        return Orders(_log2(found), 0.0, most)
    logs = _sampled(above)
    weights = np.exp(logs - logs.max())
    bits = float(logs.max() + np.log(weights.mean())) / log(2)
    error = float(weights.std(ddof=1) / weights.mean() / sqrt(weights.size)) / log(2)
    return Orders(min(bits, most), error, most)


def _log2(number: int) -> float:
    shift = max(number.bit_length() - 1000, 0)
    return float(log(number >> shift) / log(2) + shift)


def _counted(above: Bools) -> int | None:
    """The number of orders, system by system from the best: ways to reach each set that is closed upwards."""
    needed = [sum(1 << better for better in np.flatnonzero(column).tolist()) for column in above.T]
    ways, seen = {0: 1}, 0
    for _ in needed:
        following: dict[int, int] = {}
        for placed, number in ways.items():
            for system, better in enumerate(needed):
                if not placed >> system & 1 and better & ~placed == 0:
                    one = placed | 1 << system
                    following[one] = following.get(one, 0) + number
        seen, ways = seen + len(following), following
        if seen > _MOST_SETS:
            return None
    return next(iter(ways.values()))


def _sampled(above: Bools) -> Floats:
    """Logarithms of Knuth's estimates: the product of the choices along a random order, each weighted by how many
    systems are still below it.
    """
    random, systems = np.random.default_rng(0), len(above)
    below, logs = 1.0 + above.sum(axis=1), np.zeros(_SAMPLES)
    waiting = np.tile(above.sum(axis=0), (_SAMPLES, 1)).astype(np.int64)
    rows = np.arange(_SAMPLES)
    for _ in range(systems):
        weights = np.where(waiting == 0, below, 0.0)
        sums = weights.cumsum(axis=1)
        chosen = (sums <= random.random((_SAMPLES, 1)) * sums[:, -1:]).sum(axis=1)
        logs += np.log(sums[:, -1] / weights[rows, chosen])
        waiting -= above[chosen]
        waiting[rows, chosen] = systems + 1
    return logs


def height_and_width(above: Bools) -> tuple[int, int]:
    """The number of levels of a partial order (its longest chain), and its largest antichain (Dilworth: systems less
    the largest matching of each to one below it).
    """
    systems, level = len(above), np.ones(len(above), dtype=np.int64)
    for one in np.argsort(-above.sum(axis=1), kind="stable").tolist():
        for other in np.flatnonzero(above[one]).tolist():
            level[other] = max(level[other], level[one] + 1)
    partner = [-1] * systems

    def matched(one: int, seen: set[int]) -> bool:
        for other in np.flatnonzero(above[one]).tolist():
            if other not in seen:
                seen.add(other)
                if partner[other] < 0 or matched(partner[other], seen):
                    partner[other] = one
                    return True
        return False

    return int(level.max()), systems - sum(matched(one, set()) for one in range(systems))


def discordance(values: Floats) -> float:
    """The expected number of items on which two random systems differ; a pair is compared where both have scores,
    and its share is scaled to all items.
    """
    systems, items = values.shape
    shares = []
    for one in range(systems - 1):
        both = np.isfinite(values[one]) & np.isfinite(values[one + 1 :])
        differ = (values[one] != values[one + 1 :]) & both
        shares += (differ.sum(axis=1) / np.maximum(both.sum(axis=1), 1)).tolist()
    return float(items * np.mean(shares))


def drift(values: Floats, member: Ints) -> tuple[float, float, float, float]:
    """How far systems move between the easy and the hard half of the items, beside random halves of the clusters.

    Returns:
        The standard deviation over systems of the difference of their centred means, and Kendall's distance (share of
        pairs whose order turns round), each followed by its mean over random halves.
    """
    easy = np.argsort(np.argsort(-np.nanmean(values, axis=0), kind="stable"), kind="stable") < values.shape[1] // 2
    random, clusters = np.random.default_rng(0), int(member.max()) + 1
    floors = [_moved(values, (random.permutation(clusters) < clusters // 2)[member]) for _ in range(_SPLITS)]
    known = [floor for floor in floors if np.isfinite(floor).all()]
    (metric, ordinal), floor = _moved(values, easy), np.mean(known, axis=0) if known else np.full(2, np.nan)
    return metric, float(floor[0]), ordinal, float(floor[1])


def _moved(values: Floats, half: Bools) -> tuple[float, float]:
    sides = []
    for part in (half, ~half):
        there = np.isfinite(values[:, part])
        count = there.sum(axis=1)
        if not count.all():
            return float("nan"), float("nan")
        sides.append(np.where(there, values[:, part], 0.0).sum(axis=1) / count)
    # one half may be easier for all, which moves no system past another
    apart = sides[0] - sides[0].mean() - sides[1] + sides[1].mean()
    signs = [np.sign(side[:, None] - side)[np.triu_indices(len(side), 1)] for side in sides]
    return float(apart.std(ddof=1)), float((signs[0] * signs[1] < 0).mean())


def pair_spread(one: Floats, two: Floats) -> tuple[float, float]:
    """The standard deviation of a pair's differences by item, and its ratio to what independent systems would have;
    nan without two items that both have.
    """
    both = np.isfinite(one) & np.isfinite(two)
    if both.sum() < 2:
        return float("nan"), float("nan")
    own = float((one[both] - two[both]).std(ddof=1))
    alone = sqrt(float(one[both].var(ddof=1) + two[both].var(ddof=1)))
    return own, own / alone if alone else float("nan")


def check(above: Bools) -> None:
    """Checks at the shape of the matrix, each of which can fail.

    Raises:
        CardError: if one does.
    """
    systems = len(above)
    chain, free = np.triu(np.ones((systems, systems), dtype=np.bool_), 1), np.zeros((systems, systems), dtype=np.bool_)
    closed = established(above.copy(), np.ones_like(above))
    logs = _sampled(free) / log(2)
    checks = {
        "a chain has one order": abs(count_orders(chain).bits) < 1e-9,
        "without a pair all orders are open": bool(np.allclose(logs, lgamma(systems + 1) / log(2))),
        "a chain has as many levels as systems": height_and_width(chain) == (systems, 1),
        "without a pair there is one level": height_and_width(free) == (1, systems),
        "the established order is transitive": bool((closed == above).all()),
        "no pair is established both ways": not bool((above & above.T).any()),
    }
    if failed := [name for name, holds in checks.items() if not holds]:
        raise CardError(f"checks of the card failed at {systems} systems: {'; '.join(failed)}")
