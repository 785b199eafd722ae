"""Who a result is about: one declaration for entries, panels, scores and names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class Provenance(StrEnum):
    """How far an entry can be trusted."""

    RUN = "run"
    """Made by this installation, which keeps its journal and transcripts."""
    REPLAYED = "replayed"
    """Handed in; others then ran the system on part of the samples and found no disagreement."""
    UPLOADED = "uploaded"
    """Handed in or taken from a study of others: predictions only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemId:
    """A system as the board names it: models under a regime that we asked, or what a team handed in.

    Attributes:
        system: the model, with its prompt set where that is not the usual one, or the name that was handed in.
        team: who is behind it.
        provenance: a `Provenance`; the least trusted one unless it is given.
        replayed_by: how many other teams ran it again and found no disagreement.
        kind: `submission`, or the kind of the model, such as `baseline`.
        regime: how it works on a sample.
        settings: what was chosen besides, such as who answered its searches; empty where all is as usual.
        smoke_test: whether it only shows that everything works.
        knowledge_cutoff: as it states it: a day, a month, a year, `none` or `unknown`.
        about: what else readers should know.
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
        """The fields of a system alone, for whatever is about it."""
        return {name: getattr(self, name) for name in IDENTITY}


IDENTITY = tuple(field.name for field in fields(SystemId))
"""The columns that name a system."""
