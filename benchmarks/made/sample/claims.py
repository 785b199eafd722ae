"""Renders the sample's claims as a feed of reviews, with faults of real feeds: lists for objects, entities, nulls."""

from __future__ import annotations

import html
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.core.errors import SourceError
from hellofresh.core.files import parse_toml, sha256_text, write_json


class AuthoredClaim(BaseModel):
    """A claim as written in the sample, with its review."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    reviewed: str
    text: str
    verdict: str
    site: str
    made: str | None = None


class _Claims(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    claim: list[AuthoredClaim]


def read_claims(path: Path) -> list[AuthoredClaim]:
    """The sample's claims, in the order of writing.

    Raises:
        SourceError: if the file is not as described above.
    """
    try:
        claims = _Claims.model_validate(parse_toml(path.read_bytes())).claim
        for claim in claims:
            date.fromisoformat(claim.reviewed), date.fromisoformat(claim.made or claim.reviewed)
    except (ValidationError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise SourceError(what, where=path.name, expected="claims with reviews", code="bad-sample-source") from None
    return claims


def write_feed(source: Path, path: Path) -> None:
    """Write the claims as a DataFeed."""
    elements = [_element(number, claim) for number, claim in enumerate(read_claims(source))]
    write_json(path, {"@context": "https://schema.org", "@type": "DataFeed", "dataFeedElement": elements})


def _element(number: int, claim: AuthoredClaim) -> dict[str, object]:
    review = _review(number, claim)
    item: object = [review] if number % 5 == 1 else review
    return {"@type": "DataFeedItem", "item": item} | ({"dateCreated": claim.reviewed} if number % 3 else {})


def _review(number: int, claim: AuthoredClaim) -> dict[str, object]:
    rating: object = {"@type": "Rating", "alternateName": claim.verdict}
    author = {"@type": "Organization", "name": claim.site.partition(".")[0], "url": f"https://{claim.site}/"}
    made = {} if claim.made is None else {"datePublished": claim.made}
    day = date.fromisoformat(claim.reviewed)
    return {
        "@type": "ClaimReview",
        "claimReviewed": html.escape(claim.text, quote=True) if number % 4 == 2 else claim.text,
        "url": f"https://{claim.site}/review/{sha256_text(claim.text)[:10]}",
        "datePublished": f"{day:%B} {day.day}, {day.year}" if number % 7 == 3 else claim.reviewed,
        "author": [author] if number % 6 == 4 else author,
        "itemReviewed": {"@type": "Claim", "author": {"@type": "Person", "name": "a user of a forum"}, **made},
        "reviewRating": [rating] if number % 9 == 5 else rating,
        "inLanguage": "en" if number % 8 else None,
        "sdLicense": "https://creativecommons.org/publicdomain/zero/1.0/",
    }
