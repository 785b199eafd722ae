"""Collect the claims of one quarter from a feed of reviews, and count every dropped review.

A claim belongs to the quarter in which it was reviewed. Its date is the day on which it was made or, if unknown, the
day before its first review, so that a search as of that date finds no review of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import combinations, groupby
from pathlib import Path

from hellofresh.core.files import canonical_json, sha256_file, sha256_text
from hellofresh.core.quarters import PeriodKind, Quarter, utc_text
from hellofresh.releases.candidates import Collection, Funnel, SourceFile
from hellofresh.releases.draw.duplicates import JACCARD, shared_part, shingle_hashes, signature_bands
from hellofresh.tasks import CLAIMS, Statement
from hellofresh.tasks.samples import Candidate, Label
from hellofresh_parts.claims.declared import ClaimsSettings
from hellofresh_parts.claims.feed import feed_items
from hellofresh_parts.claims.reviews import (
    ClaimReview,
    ReviewFields,
    UnusableReviewError,
    read_review,
    review_fields,
    review_moment,
)
from hellofresh_parts.claims.verdicts import Reading, VerdictTable
from hellofresh_parts.claims.versions import Versions, gone_between
from hellofresh_parts.claims.wording import Worded, chances_of_true

_Key = tuple[str, str]  # address of a review, and its claim
_MOST_LISTED = 100
_SURELY_TRUE = 0.9
_FEWEST_OF_PUBLISHER = 5  # fewer claims may share one verdict by chance; samples do not name their publisher
_REASONS: Mapping[str, str] = {
    "no-review": "element without a review",
    "not-an-object": "review that is not an object",
    "no-review-date": "review without a date that can be read",
    "other-quarter": "reviewed outside the quarter (UTC)",
    "no-claim": "review that does not say what was claimed",
    "short-claim": "claim of fewer than 3 words",
    "long-claim": "claim of more than 1,000 characters",
    "no-publisher": "review without an address, so its publisher is unknown",
    "other-language": "review in a language that was not requested",
    "repeated-review": "a later version of this review of the same claim exists",
    Reading.MISSING: "review without a verdict",
    Reading.UNKNOWN: "verdict in words that are not in the table",
    Reading.UNSCALED: "verdict as a number on an unknown scale",
    Reading.NO_TRUTH: "verdict that says nothing about truth, such as satire or unproven",
    Reading.CHECKING: "review still under way",
    "gives-away": "text that begins or ends with a verdict, or whose wording reveals the verdict with over 90%",
    "disagreement": "publishers of the same or a near-equal claim disagree",
    "repeated-claim": "an earlier review of the same claim exists",
    "one-class-publisher": "claim of a publisher all of whose claims (at least 5) have one verdict",
    "one-class-language": "claim in a language all of whose claims have one verdict, which would reveal the label",
}


def claims_parameters(settings: ClaimsSettings) -> dict[str, object]:
    """The settings, JSON-ready, for the manifest; a table of verdicts is represented by its hash."""
    table = sha256_file(settings.verdicts) if settings.verdicts else "the project's own"
    return {"languages": list(settings.languages), "verdicts": table}


@dataclass(frozen=True, slots=True)
class _Read:
    """A review with the meaning of its verdict and its history over the days."""

    review: ClaimReview
    key: str
    reading: Reading
    versions: Versions

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """Sort key: earlier reviews first, independent of the order of the feed."""
        return self.review.reviewed, self.review.site, self.review.url, self.review.claim


def collect(
    quarter: Quarter,
    feeds: Sequence[Path],
    settings: ClaimsSettings,
    *,
    days: Mapping[Path, str] | None = None,
    progress: Callable[[str], None] | None = None,
    pending: bool = False,
) -> Collection:
    """Collect the quarter's claims on which a publisher has given a verdict.

    Args:
        quarter: by the review's date, UTC.
        feeds: files of reviews, see `hellofresh_parts.claims.feed`.
        days: day (`2026-07-03`) of each copy of a feed, in order; files of one name are copies of one feed,
            and the reviews of all copies count.
        pending: also collect the claims that are still being checked.

    Raises:
        SourceError: if a feed cannot be read, or is not JSON.
        ConfigError: if the table of verdicts is damaged.
    """
    table = VerdictTable.load(settings.verdicts)
    gathering, known = _Gathering(quarter, settings, table), days or {}
    names = {feed: f"{known[feed]}/{feed.name}" if feed in known else feed.name for feed in feeds}
    for day, copies in groupby(sorted(feeds, key=lambda feed: known.get(feed, "")), lambda feed: known.get(feed, "")):
        for feed in copies:
            if progress:
                progress(f"reading {names[feed]}")
            gathering.add(feed, day)
        gathering.end_day(day)
    candidates, waiting = gathering.outcome()
    return Collection(
        candidates=candidates,
        funnel=gathering.funnel(candidates),
        parameters=claims_parameters(settings),
        sources=[SourceFile(names[feed], feed.stat().st_size, sha256_file(feed)) for feed in feeds],
        warnings=gathering.warnings(),
        pending=waiting if pending else None,
    )


class _Gathering:
    """The state of one collection: each step narrows the reviews and counts what it drops."""

    def __init__(self, quarter: Quarter, settings: ClaimsSettings, table: VerdictTable) -> None:
        self._quarter, self._settings, self._table = quarter, settings, table
        self._rows = 0
        self._drops: Counter[str] = Counter()
        self._unknown: Counter[tuple[str, str]] = Counter()
        self._one_class: list[str] = []
        self._elsewhere: set[Worded] = set()
        self._unweighed: list[str] = []
        self._weighed: Counter[str] = Counter()
        self._reviews: dict[_Key, Versions] = {}
        self._today: dict[_Key, ClaimReview] = {}
        self._read: dict[bytes, tuple[str, datetime | None, ClaimReview | None]] = {}
        self._last_copy: dict[str, dict[Hashable, datetime]] = {}

    def add(self, feed: Path, day: str) -> None:
        """Read a feed as of a day; reviews unchanged since an earlier day are not counted again."""
        present: dict[Hashable, datetime] = {}
        for item in feed_items(feed):
            text = sha256(canonical_json(item).encode("utf-8", "surrogatepass")).digest() if day else b""
            before, moment, review = self._read.get(text, (day, None, None))
            if before == day:
                moment, review = self._counted(item, day)
            if day:
                self._read[text] = (before, moment, review)
            if review is not None:
                key = _key_of(review)
                self._today[key] = max(self._today.get(key, review), review, key=_newness)
            if moment is not None:
                present[text if review is None else _key_of(review)] = moment
        if day:
            for gone in gone_between(self._last_copy.get(feed.name, {}), present):
                if gone in self._reviews:
                    self._reviews[gone].retracted = day
            self._last_copy[feed.name] = present

    def _counted(self, item: object, day: str) -> tuple[datetime | None, ClaimReview | None]:
        """The time of publication and the review; None for a dropped review, whose reason is counted."""
        self._rows += 1
        moment = None
        try:
            fields = review_fields(item)
            moment = review_moment(fields)
            review = self._of_quarter(fields, moment, day)
        except UnusableReviewError as fault:
            self._drops[fault.reason] += 1
            return moment, None
        self._drops["repeated-review"] += _key_of(review) in self._today or _key_of(review) in self._reviews
        return moment, review

    def end_day(self, day: str) -> None:
        """Apply one day's copies of all feeds."""
        for key, review in self._today.items():
            if (known := self._reviews.get(key)) is None:
                self._reviews[key] = Versions(review, day, day)
            else:
                known.add(review, day, self._quarter)
        self._today = {}

    def _of_quarter(self, fields: ReviewFields, moment: datetime, day: str) -> ClaimReview:
        """Return a review of the quarter, or a later version of one, which the publisher may have redated."""
        later = bool(day) and moment >= self._quarter.end
        if moment not in self._quarter and not later:
            with suppress(UnusableReviewError):
                self._elsewhere.add(self._worded(read_review(fields)))
            raise UnusableReviewError("other-quarter")
        review = read_review(fields)
        if later and _key_of(review) not in self._reviews:
            self._elsewhere.add(self._worded(review))
            raise UnusableReviewError("other-quarter")
        if self._settings.languages and review.language not in self._settings.languages:
            raise UnusableReviewError("other-language")
        return review

    def outcome(self) -> tuple[list[Candidate], list[Statement]]:
        """The claims with a verdict, sorted by id, and those that are still being checked."""
        read = self._decided_or_checking()
        clusters = claim_clusters([item.review.claim for item in read])
        by_cluster: dict[int, list[_Read]] = defaultdict(list)
        for place, item in enumerate(read):
            by_cluster[clusters[place]].append(item)
        candidates: list[Candidate] = []
        waiting: list[Statement] = []
        for members in by_cluster.values():
            of_cluster, open_claims = self._of_cluster(members)
            candidates += of_cluster
            waiting += open_claims
        kept = self._of_several_classes(candidates)
        return sorted(kept, key=lambda item: item.sample.id), sorted(waiting, key=lambda item: item.id)

    def _of_several_classes(self, candidates: list[Candidate]) -> list[Candidate]:
        """Drop the decided claims whose language or publisher has a single class."""
        while True:
            for what, least in (("publisher", _FEWEST_OF_PUBLISHER), ("language", 1)):
                labels: dict[str, list[int]] = defaultdict(list)
                for item in candidates:
                    labels[_trait(item, what)].append(item.label.label or 0)
                single = {
                    name for name, found in labels.items() if name and len(found) >= least and len(set(found)) == 1
                }
                if single:
                    break
            else:
                return candidates
            for name in sorted(single):
                verdict = CLAIMS.classes[labels[name][0]]
                self._one_class.append(f"{what} {name} ({len(labels[name])} claims, all {verdict})")
                self._drops[f"one-class-{what}"] += len(labels[name])
            candidates = [item for item in candidates if _trait(item, what) not in single]

    def _decided_or_checking(self) -> list[_Read]:
        """Reviews with a verdict and those under way, in an order that does not depend on the feed's."""
        found = []
        for (_, key), versions in self._reviews.items():
            review = versions.review
            reading = self._table.read(review.site, review.rating)
            known = reading.label is not None or reading is Reading.CHECKING
            if known:
                found.append(_Read(review, key, reading, versions))
            else:
                self._drops[reading] += 1
                if reading is Reading.UNKNOWN:
                    self._unknown[review.site, _printable(review.rating.words)] += 1
        return self._not_giving_away(sorted(found, key=lambda item: item.order))

    def _worded(self, review: ClaimReview) -> Worded:
        label = self._table.read(review.site, review.rating).label
        return Worded(same_claim_key(review.claim), review.site, review.language, review.claim, label)

    def _not_giving_away(self, found: Sequence[_Read]) -> list[_Read]:
        """Drop texts that reveal their verdict; the classifier learns from all reviews of the feeds."""
        worded = [self._worded(item.review) for item in found]
        chances = chances_of_true([*self._elsewhere, *worded])
        self._unweighed = sorted({claim.language for claim in worded} - {claim.language for claim in chances})
        kept = []
        for item, claim in zip(found, worded, strict=True):
            gives_away = chances.get(claim, 0) > _SURELY_TRUE
            self._weighed["claims whose wording was weighed"] += claim in chances
            self._weighed["claims whose wording tells the verdict"] += gives_away
            if gives_away or self._table.begins_or_ends(claim.text, claim.site):
                self._drops["gives-away"] += 1
            else:
                kept.append(item)
        return kept

    def _of_cluster(self, members: Sequence[_Read]) -> tuple[list[Candidate], list[Statement]]:
        """Candidates and open claims of one cluster."""
        decided = [item for item in members if item.reading is not Reading.CHECKING]
        checking = [item for item in members if item.reading is Reading.CHECKING]
        self._drops[Reading.CHECKING] += len(checking)
        group = f"claim {sha256_text(min(item.key for item in members))[:16]}"
        if not decided:
            first = {item.key: item for item in reversed(checking)}
            return [], [self._sample(item, group) for item in first.values()]
        disputed = _disputed(decided)
        self._drops["disagreement"] += sum(item.key in disputed for item in decided)
        agreed: dict[str, list[_Read]] = defaultdict(list)
        for item in decided:
            if item.key not in disputed:
                agreed[item.key].append(item)
        self._drops["repeated-claim"] += sum(len(items) - 1 for items in agreed.values())
        return [self._candidate(items, group) for items in agreed.values()], []

    def _sample(self, item: _Read, group: str) -> Statement:
        review = item.review
        claimed = review.claimed or review.reviewed - timedelta(days=1)
        return Statement(
            id=f"{CLAIMS.id_prefix}{sha256_text(item.key)[:16]}",
            task=CLAIMS.name,
            edition=str(self._quarter),
            period=PeriodKind.MONTH.of(review.reviewed),
            date=claimed.replace(hour=0, minute=0, second=0, microsecond=0),
            group=group,
            license=review.licence,
            statement=review.claim,
            language=review.language,
            speaker=review.claimant,
            context="",
        )

    def _candidate(self, items: Sequence[_Read], group: str) -> Candidate:
        """The claim as its first review has it."""
        first = items[0]
        sample, review = self._sample(first, group), first.review
        label = first.reading.label
        facts = {
            "original_label": _printable(review.rating.words) or None,
            "publisher": review.site,
            "reviewed_at": utc_text(review.reviewed),
            "review_url": review.url or None,
            "reviews": len(items),
            **first.versions.facts(),
        }
        extras = {"first_shown_at": utc_text(review.reviewed)}
        return Candidate(sample, Label(sample.id, 0 if label is None else label, facts), extras)

    def warnings(self) -> list[str]:
        """Languages and publishers with one class, and verdicts missing from the table, the most frequent first."""
        found = [f"left out, because all have one class: {'; '.join(self._one_class)}."] if self._one_class else []
        if self._unweighed:
            names = ", ".join(name or "(no language)" for name in self._unweighed)
            why = "too few claims are true, or too few are not, to learn which wordings reveal it (20 of each)"
            found.append(f"wording was not filtered in {names}: {why}; only verdicts at the edges of texts were.")
        total, different = sum(self._unknown.values()), len(self._unknown)
        rows = sorted(self._unknown.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_LISTED]
        listed = "; ".join(f"{count} x {words!r} of {site}" for (site, words), count in rows)
        more = f"; and {different - _MOST_LISTED} more" if different > _MOST_LISTED else ""
        if total:
            found.append(f"{total} reviews have {different} verdicts that are not in the table: {listed}{more}.")
        return found

    def funnel(self, candidates: Iterable[Candidate]) -> Funnel:
        """Every review of the feeds, dropped or kept."""
        context = {"unknown verdicts": len(self._unknown), **self._weighed}
        return Funnel.of("reviews", self._rows, self._drops, _REASONS, candidates=candidates, context=context)


def _trait(item: Candidate, what: str) -> str:
    return str(item.label.facts["publisher"]) if what == "publisher" else getattr(item.sample, what)


def _disputed(decided: Sequence[_Read]) -> frozenset[str]:
    """Claims with conflicting verdicts: a whole cluster if two publishers disagree, else claims read in two ways."""
    by_site: dict[str, set[Reading]] = defaultdict(set)
    by_claim: dict[str, set[Reading]] = defaultdict(set)
    for item in decided:
        by_site[item.review.site].add(item.reading)
        by_claim[item.key].add(item.reading)
    readings = set().union(*by_site.values())
    if any(found != readings for found in by_site.values()):
        return frozenset(by_claim)
    return frozenset(key for key, found in by_claim.items() if len(found) > 1)


def _printable(words: str) -> str:
    return "".join(character if character.isprintable() else " " for character in words)[:60]


def _key_of(review: ClaimReview) -> _Key:
    return review.url or review.site, same_claim_key(review.claim)


def _newness(review: ClaimReview) -> tuple[datetime, str, str]:
    """Sort key that finds the newest of several versions of one day; ties are broken deterministically."""
    return review.reviewed, review.rating.words, repr(review)


_WORDS = re.compile(r"\w+")
_MOST_IN_BUCKET = 40  # pairs grow with the square; claims beyond are compared with the first only


def same_claim_key(claim: str) -> str:
    """The claim without case, punctuation and spaces, for comparison."""
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", claim).casefold())) or claim


def claim_clusters(claims: Sequence[str]) -> list[int]:
    """The cluster of each claim among almost equal ones: the position of its first member in the order of texts.

    Two claims are almost equal if the Jaccard similarity of their sets of words is at least 0.8; pairs are proposed
    and measured as for near-duplicates (`hellofresh.releases.draw.duplicates`). Such pairs connect claims to clusters.
    The order of the claims does not matter. Claims are short, so single words are compared, not sequences of words.
    """
    order = sorted(range(len(claims)), key=lambda position: claims[position])
    words = [shingle_hashes(claims[position], 1) for position in order]
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, own in enumerate(words):
        for band in signature_bands(own):
            buckets[band].append(place)
    pairs: set[tuple[int, int]] = set()
    for members in buckets.values():
        pairs.update(combinations(members[:_MOST_IN_BUCKET], 2))
        pairs.update((members[0], later) for later in members[_MOST_IN_BUCKET:])
    parents = list(range(len(order)))

    def root(member: int) -> int:
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    for one, two in pairs:
        low, high = sorted((root(one), root(two)))
        if low != high and shared_part(words[one], words[two]) >= JACCARD:
            parents[high] = low
    clusters = {position: order[root(place)] for place, position in enumerate(order)}
    return [clusters[position] for position in range(len(claims))]
