"""A metric of another package (docs/extending.md)."""

from collections.abc import Sequence

from hellofresh.stats.metrics import ClassCounts, Metric, ratio


def jaccard(classes: Sequence[str]) -> list[Metric]:
    """Of two classes: the share of right answers among the samples that have class 1 or for which it was chosen."""
    if len(classes) != 2:
        return []
    counts = ClassCounts(2)

    def value(sums):
        true, false, missed = (part[..., 1] for part in counts.by_class(sums))
        return ratio(true, true + false + missed)

    return [
        Metric("jaccard", counts, value, title="Jaccard", meaning="right answers of all that are or were said to be 1")
    ]
