"""What the readers of all services' answers share: strict parsing, times, and taking out what shows the note."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from collectors.notes.posts.found import snowflake_time
from collectors.notes.posts.strict_json import load_object
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import parse_utc

_SHOWN_NOTE = re.compile(r"birdwatch|community_?note", re.IGNORECASE)
_LONG_DATE = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d{2}) (\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2}) (\d{4})", re.A
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Several = list[Any] | dict[str, Any] | None
"""Media in any form: only whether there are some counts, and empty lists were seen printed as empty objects."""


class AnswerPart(BaseModel):
    """A part of an answer: what is named is checked, what is not is left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class BadReply(ValueError):  # noqa: N818 - it says what the service did
    """An answer that is none: a failure of the service, not a fact about the post."""


_Model = TypeVar("_Model", bound=AnswerPart)


def without_shown_note(value: Any) -> Any:
    """A JSON value without any member that carries the note shown under the post: it would give the label away."""
    if isinstance(value, dict):
        return {key: without_shown_note(item) for key, item in value.items() if not _SHOWN_NOTE.search(key)}
    if isinstance(value, list):
        return [without_shown_note(item) for item in value]
    return value


def load_reply(body: bytes) -> dict[str, Any]:
    """The body of an answer as a JSON object, without the shown note.

    Raises:
        BadReply: if it is none.
    """
    try:
        stripped: dict[str, Any] = without_shown_note(load_object(body, "the answer"))
    except SourceError as error:
        raise BadReply(error.what) from None
    except RecursionError:
        raise BadReply("nested too deeply") from None
    return stripped


def check(kind: type[_Model], value: Any) -> _Model:
    """A part of an answer in its form.

    Raises:
        BadReply: if it has another, with the field; never with the content.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise BadReply(fault(error)) from None


def fault(error: ValidationError) -> str:
    """The first fault: the field and what is wrong with it."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg'].lower()}"


def posted_at(post_id: str, stated: str | None) -> datetime:
    """When the post was made: as stated, in ISO 8601 or as X's older answers write it, else from its id.

    Raises:
        ValueError: if neither gives a time.
    """
    if not stated:
        return snowflake_time(int(post_id))
    parts = _LONG_DATE.fullmatch(stated)
    return parse_utc(stated) if parts is None else _long_date(parts)


def _long_date(parts: re.Match[str]) -> datetime:
    """`Tue Oct 01 19:59:18 +0000 2024`, read without the machine's language."""
    month, day, hour, minute, second, sign, off_hours, off_minutes, year = parts.groups()
    offset = timedelta(hours=int(off_hours), minutes=int(off_minutes)) * (-1 if sign == "-" else 1)
    numbers = (int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second))
    return datetime(*numbers, tzinfo=timezone(offset)).astimezone(UTC)
