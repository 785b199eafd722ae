"""What a regime is: a way of asking a model about one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hellofresh.models import Answer, Message, Request
from hellofresh.samples import Sample

__all__ = ["Ask", "Case", "FilledPrompt", "Judgement", "Regime"]


class Ask(Protocol):
    """Asks the model, or answers from the journal what was asked before."""

    async def __call__(self, step: str, prompt: str, request: Request) -> Answer:
        """Ask.

        Args:
            step: name of the step within the regime, such as `classify`.
            prompt: id of the prompt that the step is for, empty where it serves all of them.
            request: the question.
        """


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with the sample's texts in its slots."""

    id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Case:
    """All that a regime gets for one sample.

    Attributes:
        sample: what is asked about.
        prompts: the wordings to ask with.
        ask: the way to the model; everything that goes through it is kept.
    """

    sample: Sample
    prompts: Sequence[FilledPrompt]
    ask: Ask


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer that decides, for one prompt."""

    prompt: str
    answer: Answer


class Regime(Protocol):
    """A way of asking."""

    @property
    def name(self) -> str:
        """As on the command line and on the board."""

    @property
    def version(self) -> int:
        """Raised whenever the regime would ask something else; part of every journal key."""

    async def judge(self, case: Case) -> Sequence[Judgement]:
        """Ask about one sample: one judgement for every prompt of the case, in their order."""
