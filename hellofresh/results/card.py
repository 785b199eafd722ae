"""The card of a comparison: the ten fields that a leaderboard owes its readers (see `hellofresh.stats.card`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hellofresh import __version__
from hellofresh.core.clock import now
from hellofresh.core.errors import DataError
from hellofresh.results.comparison import ScoreComparison
from hellofresh.results.score_files import ItemScores
from hellofresh.stats.card import (
    CardError,
    Orders,
    check,
    count_orders,
    discordance,
    drift,
    established,
    height_and_width,
    pair_spread,
)
from hellofresh.stats.clusters import members
from hellofresh.stats.ranking import Differences, rank_systems

_TOP, _CLAIMS = 10, 3  # the pairs that anybody quotes: the leader against those behind it


@dataclass(frozen=True, slots=True)
class CardRow:
    """A field of the card: its number in the standard, what it is of, and its value in words."""

    field: str
    what: str
    value: str


def card_of(compared: ScoreComparison, command: str = "hellofresh compare") -> list[dict[str, str]]:
    """The card of a comparison, as rows of `field`, `what` and `value`.

    Args:
        compared: of all pairs, not with a baseline.
        command: how it was made.

    Raises:
        DataError: if it was made otherwise, or a check at the shape of its matrix fails.
    """
    if compared.scores is None or compared.found is None or compared.families is not None:
        fix = "Leave out --baseline."
        raise DataError("a card covers all pairs", expected="a comparison of all pairs", fix=fix, code="no-card")
    return [asdict(row) for row in card_rows(compared.scores, compared.found, f"{now():%Y-%m-%d}, {command}")]


def card_rows(scores: ItemScores, found: Differences, command: str) -> list[CardRow]:
    """The fields, R1 to R10 and C7. Where people's labels correct a judge, drift and discordance are of its scores, and
    the spread of a pair is of the labels.

    Args:
        scores: the matrix.
        found: differences of the systems, in its order.
        command: how it was made.

    Raises:
        DataError: if a check at the shape of the matrix fails.
    """
    above = established(found.separable, found.ahead)
    try:
        check(above)
    except CardError as error:
        raise DataError(str(error), expected="checks that hold", code="card-check") from None
    values, systems = scores.values, len(scores.systems)
    order = np.argsort(-found.metric.sign * found.values, kind="stable")
    best, places = order[: min(_TOP, systems)], rank_systems(found)
    widths, decile = places.high - places.low + 1, order[: max(2, round(systems / 10))]
    levels, antichain = height_and_width(above)
    member = members(scores.clusters, len(scores.items))[0]
    moved = drift(values, member)
    kind = "binary" if np.isin(values[np.isfinite(values)], (0.0, 1.0)).all() else "continuous"
    share = float(above.sum()) / (systems * (systems - 1) / 2)
    of = "" if scores.labels is None else ", of the judge's scores"
    kind += "" if scores.labels is None else f", {int(np.isfinite(scores.labels).sum()):,} labels by people"
    rows = [
        ("R1", "shape", f"{systems} systems, {len(scores.items):,} items, {kind}, sha256 {_digest(scores)[:16]}"),
        ("R2", "simultaneous rank sets", f"median width {np.median(widths):g} of {systems} "
               f"({np.median(widths) / systems:.0%}); {int((places.low == 1).sum())} could be first"),
        ("R3", "entropy of the order", _bits(count_orders(above))),
        ("R4", f"the same of the first {len(best)}", _bits(count_orders(above[np.ix_(best, best)]))),
        ("R5", "pairs established", f"{share:.0%} ({int(above.sum()):,} of {systems * (systems - 1) // 2:,})"),
        ("R6", "tiers", f"{levels}; the largest set without a significant difference has {antichain}"),
        ("R7", f"drift, easy half against hard half{of}", f"{moved[0]:.3g} (random halves {moved[1]:.3g}); "
               f"pairs reversed {moved[2]:.0%} (random halves {moved[3]:.0%})"),
        ("R8", f"discordance{of}", f"{discordance(values[decile]):.1f} items among the best {len(decile)}, "
               f"{discordance(values):.1f} among all"),
        ("R9", "provenance", f"hellofresh {__version__}, seed 0, {command}"),
        *_claims(scores, found, order.tolist()),
    ]  # fmt: skip
    if scores.clusters is not None:
        rows.append(("C7", "clusters", f"rank sets are by {int(member.max()) + 1:,} clusters of items"))
    return [CardRow(*row) for row in rows]


def _claims(scores: ItemScores, found: Differences, order: Sequence[int]) -> list[tuple[str, str, str]]:
    """Of the leader against each of the next ones: the pair's own spread, its ratio to independence, and its test."""
    rows, one, values = [], order[0], scores.values if scores.labels is None else scores.labels
    for two in order[1 : 1 + _CLAIMS]:
        own, kappa = pair_spread(values[one], values[two])
        test = f"p {found.p_value[one, two]:.3g}, for all pairs {found.adjusted[one, two]:.3g}"
        claim = f"{scores.systems[one]} over {scores.systems[two]}"
        by = abs(float(found.difference[one, two]))
        spread = "fewer than two items labelled for both" if np.isnan(own) else f"SD of differences {own:.3g}"
        rows.append(("R10", claim, f"by {by:.3g}; {spread}, kappa {kappa:.2f}; {test}"))
    return rows


def _bits(orders: Orders) -> str:
    error = f" ± {1.96 * orders.error:.1f}" if orders.error else ""
    return f"{orders.bits:.1f}{error} of {orders.most:.1f} bits are undecided ({orders.share:.0%})"


def _digest(scores: ItemScores) -> str:
    """Hash of the matrix, with the names of its systems and items."""
    made = hashlib.sha256()
    for name in (*scores.systems, *scores.items):
        made.update(name.encode() + b"\0")
    for matrix in (scores.values, scores.labels):
        made.update(b"" if matrix is None else np.ascontiguousarray(matrix, dtype="<f8").tobytes())
    return made.hexdigest()
