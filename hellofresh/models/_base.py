"""What a model is to the rest of the project: something that takes a request and gives an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from hellofresh.samples import Sample

__all__ = ["Answer", "Finish", "Message", "Model", "ModelSpec", "Request"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: who speaks.
        parts: the text, in parts; a cut between two parts is where a shared beginning ends (the sample comes first,
            the instruction last), so that a model may compute the beginning once for several prompts.
    """

    role: Literal["system", "user", "assistant"]
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a model.

    Attributes:
        messages: the conversation so far, in order.
        max_tokens: cap on visible tokens of the answer.
        temperature: 0 for the likeliest answer.
        sample: what the question is about, for baselines that read no prompt; not a part of what is asked.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    sample: Sample | None = field(default=None, compare=False)


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said.

    Attributes:
        text: the visible text, as it came.
        finish: why it ended; `blocked` only where the provider itself says so.
        tokens_in: tokens of the request, None where the provider does not say.
        tokens_out: tokens of the answer, hidden ones included, None where the provider does not say.
        logprobs: log-probabilities of the first token being a spelling of `yes` or `no`, where given.
    """

    text: str
    finish: Finish
    tokens_in: int | None = None
    tokens_out: int | None = None
    logprobs: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What is known of a model before it is asked.

    Attributes:
        name: as on the command line and on the board.
        kind: `language-model`, or `baseline` for a rule that reads no prompt and is asked once a sample.
        about: one sentence for the board.
        parameters: all that decides its answers (weights' hash, engine and version, seed, options); part of every
            journal key, so that a changed parameter never meets an old answer.
        max_in_flight: requests it can work on at once.
        default_limit: samples judged a task and quarter unless asked otherwise; None for all.
        knowledge_cutoff: date (ISO), or `unknown`, or `none` where there is nothing to know.
        smoke_test: True where answers are at chance level and only show that the machinery works.
    """

    name: str
    kind: Literal["language-model", "baseline"]
    about: str
    parameters: Mapping[str, str | int | float | bool]
    max_in_flight: int = 1
    default_limit: int | None = None
    knowledge_cutoff: str = "unknown"
    smoke_test: bool = False


class Model(Protocol):
    """Something that answers requests."""

    @property
    def spec(self) -> ModelSpec:
        """What is known of it."""

    async def ask(self, request: Request) -> Answer:
        """Answer one request.

        Raises:
            RunError: if no answer can be had.
        """

    async def close(self) -> None:
        """Let go of memory and connections."""
