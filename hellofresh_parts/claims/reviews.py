"""One review of a claim, read from an untrusted object."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from hellofresh.core.net.addresses import AddressError, host_name
from hellofresh.tasks._statements import UNSTATED

ReviewFields = Mapping[str, object]
_LANGUAGE = re.compile(r"([a-zA-Z]{2,3})(?:[-_].*)?")
_MOST_CLAIM, _FEWEST_WORDS = 1_000, 3
_FEWEST_CHARACTERS = 12  # some scripts write no spaces
_COMMONS = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/(\d\.\d)(?:/[\w.-]*)*/?"
    r"|CC[- ]((?:BY|0|ZERO)(?:[- ](?:NC|ND|SA))*)[- ]v?(\d\.\d)",
    re.IGNORECASE,
)


class UnusableReviewError(Exception):
    """A review that cannot be used; `reason` names the filter that drops it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReviewRating:
    """A verdict as the publisher gives it.

    Attributes:
        words: in words; empty if absent.
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
        claimant: who claimed it; empty where not known.
        claimed: when; None where not known.
        language: ISO 639 code; empty where not known.
        site: the publisher's site, such as `checks.example`.
        reviewed: when the review was published.
        rating: the verdict.
        licence: of the review's data (`sdLicense`), as an SPDX name where it is a Creative Commons one.
    """

    claim: str
    claimant: str
    claimed: datetime | None
    language: str
    site: str
    reviewed: datetime
    url: str
    rating: ReviewRating
    licence: str = UNSTATED


def review_fields(item: object) -> ReviewFields:
    """The fields of a review; raises UnusableReviewError if it is not a review."""
    if item is None:
        raise UnusableReviewError("no-review")
    if not isinstance(item, dict):
        raise UnusableReviewError("not-an-object")
    return item


def review_moment(item: ReviewFields) -> datetime:
    """The time of publication, without parsing the whole review; raises UnusableReviewError if it is missing."""
    reviewed = as_moment(item.get("datePublished"))
    if reviewed is None:
        raise UnusableReviewError("no-review-date")
    return reviewed


def read_review(item: ReviewFields) -> ClaimReview:
    """Read a review; raises UnusableReviewError if a required part is missing."""
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
    return _review(item, claim, site, reviewed)


def _review(item: ReviewFields, claim: str, site: str, reviewed: datetime) -> ClaimReview:
    about = first(item.get("itemReviewed"))
    about = about if isinstance(about, dict) else {}
    appearance = first(about.get("firstAppearance")) or first(about.get("appearance"))
    dates = [about.get("datePublished"), appearance.get("datePublished") if isinstance(appearance, dict) else None]
    claimed = next((moment for value in dates if (moment := as_moment(value))), None)
    speaker = about.get("author")
    names = [as_text(name) for name in (speaker if isinstance(speaker, list) else [speaker])]
    people = [name for name in names if name and not name.startswith(("http://", "https://"))]
    language = first(item.get("inLanguage"))
    if isinstance(language, dict):
        language = language.get("alternateName") or language.get("name")
    match = _LANGUAGE.fullmatch(language.strip()) if isinstance(language, str) else None
    return ClaimReview(
        claim=claim,
        claimant=people[0][:200] if people else "",  # a person or organisation; an address is not a name
        claimed=claimed if claimed is not None and claimed <= reviewed else None,
        language=match[1].lower() if match else "",
        site=site,
        reviewed=reviewed,
        url=as_url(item.get("url")),
        rating=_rating(item.get("reviewRating")),
        licence=_licence(item.get("sdLicense")),
    )


def _licence(value: object) -> str:
    text = as_url(value) or as_text(value)[:200]
    if match := _COMMONS.fullmatch(text.rstrip(".")):
        kind = (match[1] or match[3]).upper().replace(" ", "-")
        return f"CC0-{match[2] or match[4]}" if kind in {"ZERO", "0"} else f"CC-{kind}-{match[2] or match[4]}"
    return text or UNSTATED


def _rating(value: object) -> ReviewRating:
    value = first(value)
    if not isinstance(value, dict):
        return ReviewRating(as_text(value))
    numbers = [as_number(value.get(name)) for name in ("ratingValue", "bestRating", "worstRating")]
    words = as_text(value.get("alternateName")) or as_text(value.get("name"))
    if not words and numbers[0] is None:
        words = as_text(value.get("ratingValue"))
    return ReviewRating(words, *numbers)


_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_SPACE = re.compile(r"\s")
_NAMES = ("name", "@value", "text", "headline", "url", "@id")
_MOST = 20_000
_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)  # other years are slips
_EPOCH = datetime.fromtimestamp(0, UTC)
_FORMS = (
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %Y",
    "%d.%m.%Y",
    "%Y-%m-%d %H:%M:%S %z",
)
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_FRACTION = re.compile(r"\.(\d{1,6})\d*")


def first(value: object) -> object:
    """The first item of a list, or the value itself."""
    while isinstance(value, list):
        value = next((item for item in value if item not in (None, "", [], {})), None)
    return value


def as_text(value: object) -> str:
    """The text of a field without entities, tags and needless spaces; empty if absent."""
    value = first(value)
    if isinstance(value, dict):
        value = next((found for name in _NAMES if (found := as_text(value.get(name)))), "")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)[:_MOST].encode("utf-8", "replace").decode()
    if "&" in text:
        text = html.unescape(html.unescape(text))  # feeds contain texts that were escaped twice
    if "<" in text:
        text = _TAG.sub(" ", text)
    return " ".join(text.replace("\0", " ").split())


def as_number(value: object) -> float | None:
    """A finite number, or a text that denotes one."""
    value = first(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e9 else None


def as_url(value: object) -> str:
    """The address of a page without its fragment and without tracking parameters; empty if absent."""
    value = first(value)
    if isinstance(value, dict):
        return next((found for name in ("url", "@id") if (found := as_url(value.get(name)))), "")
    text = html.unescape(value).strip() if isinstance(value, str) else ""
    if not text.lower().startswith(("http://", "https://")) or len(text) > 2_000 or _SPACE.search(text):
        return ""
    address = text.partition("#")[0]
    page, mark, query = address.partition("?")
    kept = "&".join(part for part in query.split("&") if part and not part.lower().startswith(("utm_", "fbclid=")))
    return f"{page}{mark}{kept}" if kept else page


def as_site(value: object) -> str:
    """The host of an address in lower case, without `www.`; empty if absent."""
    text = as_url(value)
    try:
        return host_name(urlsplit(text).hostname or "").removeprefix("www.") if text else ""
    except (AddressError, ValueError):
        return ""


def as_moment(value: object) -> datetime | None:
    """A time in one of many forms, UTC; None if absent, or if day and month are ambiguous."""
    value = first(value)
    if isinstance(value, dict):
        value = first(value.get("@value"))
    found = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if abs(value) > 1e11 else value  # since 1970; numbers this large are milliseconds
        found = _EPOCH + timedelta(seconds=seconds) if abs(seconds) < 1e10 else None
    if isinstance(value, str) and value.strip():
        found = _of_text(value.strip()[:60])
    return found if found is not None and _EARLIEST <= found < _LATEST else None


def _of_text(text: str) -> datetime | None:
    try:
        return _with_zone(datetime.fromisoformat(_FRACTION.sub(lambda match: f".{match[1]:0<6}", text)))
    except (ValueError, OverflowError):
        pass
    for form in _FORMS:
        try:
            return _with_zone(datetime.strptime(text, form))  # noqa: DTZ007 - a day without a zone is taken as UTC
        except (ValueError, OverflowError):
            continue
    return _of_slashes(text)


def _of_slashes(text: str) -> datetime | None:
    match = _SLASHED.match(text)
    if match is None:
        return None
    one, two, year = int(match[1]), int(match[2]), int(match[3])
    months = {month for month in (one, two) if month <= 12}
    if len(months) != 1:
        return None  # 03/04/2021 is a day in March or in April
    month = months.pop()
    try:
        return datetime(year, month, two if month == one else one, tzinfo=UTC)
    except ValueError:
        return None


def _with_zone(moment: datetime) -> datetime:
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).replace(microsecond=0)
