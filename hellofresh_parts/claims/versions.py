"""The history of a review from day to day: its days in the feeds, changes of its verdict, and its retraction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate

from hellofresh.core.quarters import Quarter
from hellofresh.tasks.samples import Fact
from hellofresh_parts.claims.reviews import ClaimReview


@dataclass(slots=True)
class Versions:
    """A review and its history.

    Attributes:
        review: the version of the last day that had it.
        first, last: the first and last days on which feeds had it, such as `2026-07-03`; empty if unknown.
        corrections: each day on which its verdict had changed, with both verdicts.
        retracted: the day on which a feed lacked it but still had most older reviews; empty if never.
    """

    review: ClaimReview
    first: str
    last: str
    corrections: list[str] = field(default_factory=list)
    retracted: str = ""

    def add(self, review: ClaimReview, day: str, quarter: Quarter) -> None:
        """Add a later day's version; a version redated to after the quarter keeps its earlier date."""
        before, self.last = self.review, day
        self.review = review if review.reviewed in quarter else replace(review, reviewed=before.reviewed)
        if before.rating != review.rating:
            old, new = (one.rating.words[:60] or str(one.rating.value) for one in (before, review))
            self.corrections.append(f"{day}: {old!r} became {new!r}")

    def facts(self) -> Mapping[str, Fact]:
        """Facts published with labels."""
        return {
            "first_seen": self.first or None,
            "last_seen": self.last or None,
            "corrections": "; ".join(self.corrections) or None,
            "retracted": self.retracted if self.retracted > self.last else None,
        }


def gone_between(before: Mapping[Hashable, datetime], after: Mapping[Hashable, datetime]) -> Iterator[Hashable]:
    """Reviews that a publisher removed between two copies of a feed, given the publication time of each review.

    A feed of only the newest reviews drops its oldest ones, so a review counts as removed only if more than half of
    the reviews older than it are still there. For the oldest review, this is undecidable.
    """
    ordered = sorted(before.items(), key=lambda pair: pair[1])
    moments = [moment for _, moment in ordered]
    stayed = [0, *accumulate(name in after for name, _ in ordered)]
    for name, moment in ordered:
        older = bisect_left(moments, moment)
        if name not in after and 2 * stayed[older] > older:
            yield name
