"""The base of every type that is read from outside."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen type that refuses unknown fields and converts no value."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
