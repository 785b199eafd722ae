"""The identity of a system, shared by entries, panels, scores and names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from hellofresh.core.strict import Strict

Weights = Literal["open", "closed"]


class Provenance(StrEnum):
    """How far an entry can be trusted."""

    RUN = "run"
    """Made by this installation, which keeps its journal and transcripts."""
    UPLOADED = "uploaded"
    """Handed in, or taken from a published study: predictions only."""


class ModelFacts(Strict):
    """What is stated about a system's main model; what is unknown is left out.

    Attributes:
        maker: who trained it.
        weights: whether they can be downloaded.
        size_billions: number of parameters, in billions.
        released: day, month or year (ISO); in TOML a date, or a text.
    """

    maker: Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)] | None = None
    weights: Weights | None = None
    size_billions: float | None = Field(default=None, gt=0, le=1_000_000, allow_inf_nan=False)
    released: str | None = None

    @field_validator("released", mode="before")
    @classmethod
    def _is_a_time(cls, value: object, field: ValidationInfo) -> object:
        text = value.isoformat() if type(value) is date else value
        if text is None:
            return None
        try:
            if not isinstance(text, str) or len(text) not in (4, 7, 10):
                raise ValueError
            first = date.fromisoformat(f"{text}-01-01"[:10])
        except ValueError:
            raise ValueError('must be a date such as 2024-11-30, or "2024-11" or "2024"') from None
        if first > (field.context or {}).get("today", date.max):
            raise ValueError("must not be in the future")
        return text


MODEL_FACTS = tuple(ModelFacts.model_fields)
"""The columns with facts on the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemId:
    """A system as the board names it: models that we ran under a regime, or a team's submission.

    Attributes:
        system: the model, with its prompt set if not the default, or the submission's name.
        team: its authors.
        provenance: a `Provenance`; by default the least trusted one.
        kind: `submission`, or the kind of the model, such as `baseline`.
        regime: its way to work on a sample.
        settings: further choices, such as the search provider; empty for the defaults.
        smoke_test: whether it only tests that the machinery works.
        knowledge_cutoff: as stated: a day, a month, a year, `none` or `unknown`.
        about: a remark for readers.
        maker, weights, size_billions, released: facts on its model, see `ModelFacts`; None if unknown.
        origin: the run's folder, or the submission's below its edition; unique.
    """

    system: str
    team: str
    provenance: str = Provenance.UPLOADED
    kind: str = ""
    regime: str
    settings: str = ""
    smoke_test: bool = False
    knowledge_cutoff: str = "unknown"
    about: str = ""
    maker: str | None = None
    weights: str | None = None
    size_billions: float | None = None
    released: str | None = None
    origin: str

    @property
    def identity(self) -> dict[str, Any]:
        """The identifying fields, for records about the system."""
        return {name: getattr(self, name) for name in IDENTITY}


IDENTITY = tuple(field.name for field in fields(SystemId))
"""The columns that identify a system."""
