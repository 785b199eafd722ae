"""A system's output for one sample and prompt: a choice, a response or a ranking.

Only a regime reads its model's text. `Status` tells an output from silence (`NONE`: no readable answer)
and from a refusal (`BLOCKED`). Both count as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Whether there is an output, and if not, why not."""

    ANSWERED = "answered"
    NONE = "none"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Common fields of outputs.

    Attributes:
        prompt: id of the prompt.
        status: whether there is an output.
        rationale: the model's reason, for regimes that request it.
        sources: addresses or ids of the documents it is based on.
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
        probabilities: by class, from log-probabilities or as stated; empty where not known.
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


def output_of(row: Any) -> Output:
    """The output in a flat row, such as of predictions: it has the fields of all types, None or empty but for one's."""
    shared: dict[str, Any] = {name: getattr(row, name) for name in ("prompt", "rationale", "sources")}
    shared["status"] = Status(row.status)
    if row.text is not None:
        return Response(**shared, text=row.text)
    if row.documents is not None:
        return Ranking(**shared, documents=row.documents, scores=row.scores or ())
    return Choice(**shared, label=row.label, probabilities=row.probabilities, certainty=row.certainty)
