"""The identity of a system, shared by entries, panels, scores and names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class Provenance(StrEnum):
    """How far an entry can be trusted."""

    RUN = "run"
    """Made by this installation, which keeps its journal and transcripts."""
    REPLAYED = "replayed"
    """Handed in, and confirmed by others who ran the system on part of the samples."""
    UPLOADED = "uploaded"
    """Handed in, or taken from a published study: predictions only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemId:
    """A system as the board names it: models that we ran under a regime, or a team's submission.

    Attributes:
        system: the model, with its prompt set if not the default, or the submission's name.
        team: its authors.
        provenance: a `Provenance`; by default the least trusted one.
        replayed_by: number of other teams that ran it again and confirmed it.
        kind: `submission`, or the kind of the model, such as `baseline`.
        regime: its way to work on a sample.
        settings: further choices, such as the search provider; empty for the defaults.
        smoke_test: whether it only tests that the machinery works.
        knowledge_cutoff: as stated: a day, a month, a year, `none` or `unknown`.
        about: a remark for readers.
        origin: the run's folder, or the submission's below its edition; unique.
    """

    system: str
    team: str
    provenance: str = Provenance.UPLOADED
    replayed_by: int = 0
    kind: str = ""
    regime: str
    settings: str = ""
    smoke_test: bool = False
    knowledge_cutoff: str = "unknown"
    about: str = ""
    origin: str

    @property
    def identity(self) -> dict[str, Any]:
        """The identifying fields, for records about the system."""
        return {name: getattr(self, name) for name in IDENTITY}


IDENTITY = tuple(field.name for field in fields(SystemId))
"""The columns that identify a system."""
