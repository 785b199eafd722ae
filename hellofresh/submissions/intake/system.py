"""`system.toml`: what a submission says of itself."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from hellofresh.core.files import parse_toml
from hellofresh.submissions.intake.content import problems, read_plain
from hellofresh.submissions.intake.faults import MAX_INFO_BYTES, Fault
from hellofresh.submissions.intake.names import MAX_NAME, faults_of_name, is_plain_text

__all__ = ["REGIMES", "SYSTEM", "SystemInfo", "read_info", "system_toml"]

SYSTEM = "system.toml"

Line = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, strip_whitespace=True)]
Regime = Literal["zero-shot", "web-search", "agent", "other"]
REGIMES: tuple[str, ...] = get_args(Regime)


class SystemInfo(BaseModel):
    """`system.toml`: what the board shows of a system."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Line
    team: Line
    contact: Line
    regime: Regime
    models: list[Line] = Field(max_length=20)
    knowledge_cutoff: date | Literal["unknown"]
    url: str = Field(default="", max_length=300)
    notes: str = Field(default="", max_length=2000)

    @field_validator("name", "team", "contact", "models", "notes", mode="after")
    @classmethod
    def _plain(cls, value: str | list[str], field: ValidationInfo) -> str | list[str]:
        allowed = "\n" if field.field_name == "notes" else ""
        for text in [value] if isinstance(value, str) else value:
            fault = is_plain_text(text, allowed)
            if not fault and field.field_name in {"name", "team", "models"}:
                fault = faults_of_name(text)
            if fault:
                raise ValueError(fault)
        return value

    @field_validator("knowledge_cutoff", mode="after")
    @classmethod
    def _not_in_the_future(cls, value: date | str, field: ValidationInfo) -> date | str:
        today = (field.context or {}).get("today")
        if isinstance(value, date) and isinstance(today, date) and value > today:
            raise ValueError(f"must not be in the future, it is {today} (UTC)")
        return value

    @field_validator("url", mode="after")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s<>\"']+", value):
            raise ValueError("must be empty or begin with https:// or http://")
        return value


def read_info(path: Path, today: date, faults: list[Fault]) -> SystemInfo | None:
    """Read `system.toml`, or None and what is wrong with it.

    Args:
        path: the file.
        today: no knowledge cutoff may be later.
        faults: gets what is wrong.
    """
    content = read_plain(path, MAX_INFO_BYTES, faults)
    if content is None:
        return None
    try:
        return SystemInfo.model_validate(parse_toml(content), context={"today": today})
    except UnicodeDecodeError as error:
        faults.append(Fault("not-utf8", str(path), f"byte {error.start} is not UTF-8", "Save the file as UTF-8."))
    except ValidationError as error:
        faults += (Fault("bad-field", f"{path}, {field}", what, _remedy_of(field)) for field, what in problems(error))
    except ValueError as error:
        fix = "Put texts in double quotes and the date without any; submissions/README.md shows a whole file."
        faults.append(Fault("bad-toml", str(path), f"not TOML ({error})", fix))
    return None


_LINE = f"Give a line of 1 to {MAX_NAME} characters."
_REMEDIES = {
    **dict.fromkeys(("name", "team", "contact"), _LINE),
    "regime": f"Give one of {', '.join(REGIMES)}.",
    "models": f"Name at most 20 models, each in a line of 1 to {MAX_NAME} characters; none for a system of rules.",
    "knowledge_cutoff": 'Give a date that is not in the future, such as 2026-01-31 without quotes, or "unknown".',
    "url": "Give an address that begins with https://, or nothing.",
    "notes": "Give a text of at most 2,000 characters, or nothing.",
}


def _remedy_of(field: str) -> str:
    """What to do about a field; one that nobody asked for is to go."""
    known = _REMEDIES.get(field.partition(".")[0])
    return known or f"The fields are {', '.join(SystemInfo.model_fields)}; take others out."


def system_toml(info: SystemInfo) -> str:
    """The text of a `system.toml` that says this."""
    cutoff = info.knowledge_cutoff
    lines = [
        f"name = {_quoted(info.name)}",
        f"team = {_quoted(info.team)}",
        f"contact = {_quoted(info.contact)}",
        f"regime = {_quoted(info.regime)}",
        f"models = [{', '.join(_quoted(model) for model in info.models)}]",
        f"knowledge_cutoff = {cutoff.isoformat() if isinstance(cutoff, date) else _quoted(cutoff)}",
        f"url = {_quoted(info.url)}",
        f"notes = {_quoted(info.notes)}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False)
