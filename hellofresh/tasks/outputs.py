"""What a system hands back for one sample and prompt: a choice, a response or a ranking.

A regime reads its own model's words; nobody else does. `Status` tells an output from silence (`NONE`: nothing readable)
and from a refusal (`BLOCKED`). Both count as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Choice", "Output", "Ranking", "Response", "Status"]


class Status(StrEnum):
    """Whether there is an output, and if not, why."""

    ANSWERED = "answered"
    NONE = "none"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What every output has.

    Attributes:
        prompt: id of the prompt.
        status: whether there is an output.
        rationale: why, in the model's words, for regimes that ask for it.
        sources: addresses or document ids that it rests on.
    """

    prompt: str = ""
    status: Status = Status.ANSWERED
    rationale: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Output):
    """One of a task's classes.

    Attributes:
        label: index into the task's classes; None counts as wrong.
        probabilities: by class, from log-probabilities or stated; empty where not known.
        certainty: stated chance that the label is right, 0 to 1.
    """

    label: int | None = None
    probabilities: tuple[float, ...] = ()
    certainty: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Output):
    """A text, such as a correction of a post."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(Output):
    """Documents in order, the best first, with their scores."""

    documents: tuple[str, ...]
    scores: tuple[float, ...]
