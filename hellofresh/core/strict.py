"""Base types for data from outside, the reader of `hellofresh.toml`, and the addresses of the project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hellofresh.core.errors import ConfigError
from hellofresh.core.files import model_fault, parse_toml
from hellofresh.core.plugins import entry_points_of

Json = dict[str, Any]
"""A JSON object that is not validated yet."""
_ADDRESS = r"^(https?://[^\s<>\"']+)?$"


class Strict(BaseModel):
    """A frozen type that refuses unknown fields and does not convert values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Lenient(BaseModel):
    """A frozen type, such as a service's answer, that ignores unknown fields and does not convert values."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)


class Open(BaseModel):
    """A frozen type that keeps unknown fields and does not convert values."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)


class SiteSettings(Strict):
    """Addresses of the project, for links on the site and its static copy; empty ones are not shown."""

    url: str = Field(default="", pattern=_ADDRESS)
    """Where the static copy is published; previews of links need it, since they accept whole addresses only."""
    repository: str = Field(default="", pattern=_ADDRESS)
    issues: str = Field(default="", pattern=_ADDRESS)
    paper: str = Field(default="", pattern=_ADDRESS)
    docs: str = Field(default="", pattern=_ADDRESS)
    dataset: str = Field(default="", pattern=r"^([\w.-]+/[\w.-]+)?$")
    """The data set on the Hugging Face hub that `release publish` fills, as `OWNER/NAME`."""


S = TypeVar("S", bound=Strict)

_LISTED = "docs/examples/hellofresh.toml lists every key."


def read_settings(kind: type[S], path: Path | None = None, *, only: Sequence[str] | None = None) -> S:
    """Read the settings of `hellofresh.toml`, or the defaults without such a file.

    Args:
        kind: the type of the settings.
        path: the file; by default HELLOFRESH_CONFIG, else `hellofresh.toml` in the current folder if it is there.
        only: names of the tables to read; all if left out.

    Raises:
        ConfigError: if a named file is missing, or a file is not valid TOML or has unknown keys.
    """
    named = path or (Path(os.environ["HELLOFRESH_CONFIG"]) if os.environ.get("HELLOFRESH_CONFIG") else None)
    file = named or Path("hellofresh.toml")
    if named is None and not file.exists():
        return kind()
    try:
        content = parse_toml(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read ({error.strerror})", where=str(file), code="config") from error
    except ValueError as error:
        raise ConfigError(f"not TOML ({error})", where=str(file), code="config") from error
    # Other tables belong to other readers, unless one is a misspelling of these.
    tables = {
        name: table
        for name, table in content.items()
        if only is None or name in only or get_close_matches(name, only, cutoff=0.8)
    }
    try:
        return kind.model_validate(tables)
    except ValidationError as fault:
        raise ConfigError(settings_fault(kind, fault), where=str(file), fix=_LISTED, code="config") from None


def settings_fault(kind: type[BaseModel], fault: ValidationError) -> str:
    """The fault to report: an unknown key with the most similar known key at any depth."""
    found = fault.errors(include_url=False)
    strange = [error["loc"] for error in found if error["type"] == "extra_forbidden"]
    if not strange:
        return model_fault(fault)
    place = [str(part) for part in strange[0]]
    schema = kind.model_json_schema()
    known = {name for part in (schema, *schema.get("$defs", {}).values()) for name in part.get("properties", {})}
    known |= {point.name.rpartition(".")[2] for point in entry_points_of("hellofresh.settings")}
    close = get_close_matches(place[-1], sorted(known - {place[-1]}), n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"{'.'.join(place)}: unknown key{meant}"
