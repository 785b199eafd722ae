"""One review of a claim, read from an object that may hold anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from collectors.claims.fields import as_moment, as_number, as_site, as_text, as_texts, as_url, first

ReviewFields = Mapping[str, object]
_LANGUAGE = re.compile(r"([a-zA-Z]{2,3})(?:[-_].*)?")
_MOST_CLAIM, _FEWEST_WORDS = 1_000, 3
_FEWEST_CHARACTERS = 12  # some languages write no spaces


class UnusableReviewError(Exception):
    """A review that cannot be used; `reason` names the filter that drops it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReviewRating:
    """A verdict as the publisher gives it.

    Attributes:
        words: in words; empty where there are none.
        value, best, worst: as a number on a scale; None where not given.
    """

    words: str
    value: float | None = None
    best: float | None = None
    worst: float | None = None


@dataclass(frozen=True, slots=True)
class ClaimReview:
    """A publisher's review of a claim.

    Attributes:
        claim: what was claimed.
        claimant: who claimed it; empty where not known.
        claimed: when; None where not known.
        language: ISO 639 code; empty where not known.
        site: the publisher's site, such as `checks.example`.
        publisher: its name.
        reviewed: when the review was published.
        url: of the review.
        rating: the verdict.
    """

    claim: str
    claimant: str
    claimed: datetime | None
    language: str
    site: str
    publisher: str
    reviewed: datetime
    url: str
    rating: ReviewRating


def review_fields(item: object) -> ReviewFields:
    """The fields of a review.

    Raises:
        UnusableReviewError: if it is none.
    """
    if item is None:
        raise UnusableReviewError("no-review")
    if not isinstance(item, dict):
        raise UnusableReviewError("not-an-object")
    return item


def review_moment(item: ReviewFields) -> datetime:
    """When a review was published; cheaper than reading all of it.

    Raises:
        UnusableReviewError: if it does not say.
    """
    reviewed = as_moment(item.get("datePublished"))
    if reviewed is None:
        raise UnusableReviewError("no-review-date")
    return reviewed


def read_review(item: ReviewFields) -> ClaimReview:
    """Read a review.

    Raises:
        UnusableReviewError: if something without which it is no use is missing.
    """
    reviewed = review_moment(item)
    claim = as_text(item.get("claimReviewed"))
    if not claim:
        raise UnusableReviewError("no-claim")
    if len(claim) > _MOST_CLAIM:
        raise UnusableReviewError("long-claim")
    if len(claim.split()) < _FEWEST_WORDS and len(claim) < _FEWEST_CHARACTERS:
        raise UnusableReviewError("short-claim")
    author = first(item.get("author"))
    site = as_site(item.get("url")) or (as_site(author.get("url")) if isinstance(author, dict) else "")
    if not site:
        raise UnusableReviewError("no-publisher")
    return _review(item, claim, site, as_text(author), reviewed)


def _review(item: ReviewFields, claim: str, site: str, publisher: str, reviewed: datetime) -> ClaimReview:
    about = first(item.get("itemReviewed"))
    about = about if isinstance(about, dict) else {}
    appearance = first(about.get("firstAppearance")) or first(about.get("appearance"))
    dates = [about.get("datePublished"), appearance.get("datePublished") if isinstance(appearance, dict) else None]
    claimed = next((moment for value in dates if (moment := as_moment(value))), None)
    return ClaimReview(
        claim=claim,
        claimant=_claimant(about),
        claimed=claimed if claimed is not None and claimed <= reviewed else None,
        language=_language(item.get("inLanguage")),
        site=site,
        publisher=publisher,
        reviewed=reviewed,
        url=as_url(item.get("url")),
        rating=_rating(item.get("reviewRating")),
    )


def _claimant(about: ReviewFields) -> str:
    """A person or body; an address is no name."""
    names = [name for name in as_texts(about.get("author")) if not name.startswith(("http://", "https://"))]
    return names[0][:200] if names else ""


def _language(value: object) -> str:
    value = first(value)
    if isinstance(value, dict):
        value = value.get("alternateName") or value.get("name")
    match = _LANGUAGE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1].lower() if match else ""


def _rating(value: object) -> ReviewRating:
    value = first(value)
    if not isinstance(value, dict):
        return ReviewRating(as_text(value))
    numbers = [as_number(value.get(name)) for name in ("ratingValue", "bestRating", "worstRating")]
    words = as_text(value.get("alternateName")) or as_text(value.get("name"))
    if not words and numbers[0] is None:
        words = as_text(value.get("ratingValue"))
    return ReviewRating(words, *numbers)
