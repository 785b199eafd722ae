"""Making sense of fields of structured data: missing, a text, a number, an object, or a list of any of these."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from hellofresh.core.net.addresses import AddressError, host_name

__all__ = ["as_moment", "as_number", "as_site", "as_text", "as_texts", "as_url", "first"]

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_SPACE = re.compile(r"\s")
_NAMES = ("name", "@value", "text", "headline", "url", "@id")
_MOST = 20_000
_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_EPOCH = datetime.fromtimestamp(0, UTC)
_FORMS = (
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%Y%m%d", "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %Y", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S %z",
)  # fmt: skip
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_FRACTION = re.compile(r"\.(\d{1,6})\d*")


def first(value: object) -> object:
    """The first of a list, or the value itself."""
    while isinstance(value, list):
        value = next((item for item in value if item not in (None, "", [], {})), None)
    return value


def as_text(value: object) -> str:
    """The text of a field without entities, tags and needless spaces; empty where there is none."""
    value = first(value)
    if isinstance(value, dict):
        value = next((found for name in _NAMES if (found := as_text(value.get(name)))), "")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)[:_MOST].encode("utf-8", "replace").decode()
    if "&" in text:
        text = html.unescape(html.unescape(text))  # feeds hold texts that were escaped twice
    if "<" in text:
        text = _TAG.sub(" ", text)
    return " ".join(text.replace("\0", " ").split())


def as_texts(value: object) -> tuple[str, ...]:
    """Every text of a field."""
    values = value if isinstance(value, list) else [value]
    return tuple(text for item in values if (text := as_text(item)))


def as_number(value: object) -> float | None:
    """A finite number, also one that is written as a text."""
    value = first(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e9 else None


def as_url(value: object) -> str:
    """The address of a page without its fragment and without tracking parameters; empty where there is none."""
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
    """The host of an address in lower case, without `www.`; empty where there is none."""
    text = as_url(value)
    try:
        return host_name(urlsplit(text).hostname or "").removeprefix("www.") if text else ""
    except (AddressError, ValueError):
        return ""


def as_moment(value: object) -> datetime | None:
    """A time in one of many forms, UTC; None where there is none, or where day and month could be exchanged."""
    value = first(value)
    if isinstance(value, dict):
        value = first(value.get("@value"))
    found = _of_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(value, str) and value.strip():
        found = _of_text(value.strip()[:60])
    return found if found is not None and _EARLIEST <= found < _LATEST else None


def _of_number(value: float) -> datetime | None:
    """Seconds or milliseconds since 1970."""
    seconds = value / 1000 if abs(value) > 1e11 else value
    return _EPOCH + timedelta(seconds=seconds) if abs(seconds) < 1e10 else None


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
    months = {month for month, day in ((one, two), (two, one)) if month <= 12 and day <= 31}
    if len(months) != 1:
        return None  # 03/04/2021 is a day in March or in April
    month = months.pop()
    try:
        return datetime(year, month, two if month == one else one, tzinfo=UTC)
    except ValueError:
        return None


def _with_zone(moment: datetime) -> datetime:
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).replace(microsecond=0)
