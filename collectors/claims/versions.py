"""What became of a review from day to day: when it was in the feeds, corrections of its verdict, and its retraction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate

from collectors.claims.reviews import ClaimReview
from hellofresh.core.quarters import Quarter
from hellofresh.tasks.samples import Fact


@dataclass(slots=True)
class Versions:
    """A review with all that was seen of it.

    Attributes:
        review: the version of the last day that had it.
        first, last: the days on which feeds had it first and last, such as `2026-07-03`; empty where not known.
        corrections: each day on which its verdict had changed, with both verdicts.
        retracted: the day on which it was gone from a feed that still had most of the older reviews; empty where none.
    """

    review: ClaimReview
    first: str
    last: str
    corrections: list[str] = field(default_factory=list)
    retracted: str = ""

    def add(self, review: ClaimReview, day: str, quarter: Quarter) -> None:
        """Take in a later day's version; one that is dated after the quarter keeps the date that it had before."""
        before, self.last = self.review, day
        self.review = review if review.reviewed in quarter else replace(review, reviewed=before.reviewed)
        if before.rating != review.rating:
            old, new = (one.rating.words[:60] or str(one.rating.value) for one in (before, review))
            self.corrections.append(f"{day}: {old!r} became {new!r}")

    def facts(self) -> Mapping[str, Fact]:
        """As they go with labels."""
        return {
            "first_seen": self.first or None,
            "last_seen": self.last or None,
            "corrections": "; ".join(self.corrections) or None,
            "retracted": self.retracted if self.retracted > self.last else None,
        }


def gone_between(before: Mapping[Hashable, datetime], after: Mapping[Hashable, datetime]) -> Iterator[Hashable]:
    """The reviews that a publisher took out of a feed between two copies of it, given when each was published.

    A feed that keeps the newest reviews only drops its oldest: so a review is taken out only where more than half of
    those that are older than it are still there. Of the oldest one that cannot be known.
    """
    ordered = sorted(before.items(), key=lambda pair: pair[1])
    moments = [moment for _, moment in ordered]
    stayed = [0, *accumulate(name in after for name, _ in ordered)]
    for name, moment in ordered:
        older = bisect_left(moments, moment)
        if name not in after and 2 * stayed[older] > older:
            yield name
