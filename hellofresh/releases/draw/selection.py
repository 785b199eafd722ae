"""Which candidates a release takes: in every period the same number of each label, by the smallest hash.

What the choice gives away. Of the larger class only the smallest hashes are taken, of the smaller one all of them. Who
can compute the hashes therefore sees that a chosen sample with a large one belongs to the smaller class. So the hashes
are made with a key that stays secret until the labels are public (`Escrow.draw_key`). To everybody else they are
independent random numbers, and each class gives a uniformly random subset. Under a labelling with P and N candidates of
the two labels, k of each taken, the probability of a set is then 1 / (C(P, k) C(N, k)) if it has k of each, else 0: the
same for all labellings that balance the set. So a set says that it is balanced, and nothing about which of its
samples have which label, not even to somebody who knows all candidates.

No rule without a secret can do that. Of candidates a, b, c, one of them positive, one of each label is to be taken. If
the set were to stay the same whenever labels within it are exchanged, then with a positive it is, say, {a, b}, and with
b positive too; with c positive it is {a, c} or {b, c}, and so it is with a or with b positive, against the former.
Where both classes of a period are taken whole, the set is the same for every permutation of the period's labels.
With more classes the same holds: each gives a uniformly random subset of the same size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hellofresh.core.files import sha256_text
from hellofresh.tasks.samples import Candidate

__all__ = ["PeriodSelection", "Selection", "select"]


@dataclass(frozen=True, slots=True)
class PeriodSelection:
    """What a period had to offer, and how many of each label were taken."""

    offered: tuple[int, ...]
    taken_per_class: int

    @property
    def by_name(self) -> dict[str, int | tuple[int, ...]]:
        """What was offered, as `LabelCounts` names it; a task without classes has one label."""
        counts: dict[str, int | tuple[int, ...]] = {"negatives": self.offered[0]}
        if len(self.offered) > 1:
            counts["positives"] = self.offered[1]
        return counts | ({"others": self.offered[2:]} if len(self.offered) > 2 else {})


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidates, sorted by id, and the account of every period."""

    chosen: tuple[Candidate, ...]
    periods: Mapping[str, PeriodSelection]


def select(candidates: Iterable[Candidate], *, seed: str, cap: int, classes: int = 2) -> Selection:
    """Balance candidates by period.

    In a period, every class gives as many as the smallest one has, at most `cap`; within a class those with the
    smallest SHA-256 of `<seed>:<id>`. So whether a candidate is taken depends on seed, ids and labels of its period,
    and on nothing else: not on order, source files, or other periods.

    Args:
        candidates: in any order.
        seed: the key of the draw.
        cap: most samples a class and period.
        classes: how many there are.
    """
    by_class: dict[str, list[list[Candidate]]] = defaultdict(lambda: [[] for _ in range(classes)])
    for item in candidates:
        by_class[item.sample.period][item.label.label].append(item)
    chosen: list[Candidate] = []
    periods = {}
    for period in sorted(by_class):
        offered = tuple(map(len, by_class[period]))
        take = min(cap, *offered)
        periods[period] = PeriodSelection(offered, take)
        for members in by_class[period]:
            chosen += sorted(members, key=lambda item: sha256_text(f"{seed}:{item.sample.id}"))[:take]
    return Selection(tuple(sorted(chosen, key=lambda item: item.sample.id)), periods)
