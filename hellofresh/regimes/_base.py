"""What a regime is: a way of asking a model about one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hellofresh.files import Json
from hellofresh.models import Answer, Message, Request
from hellofresh.prompts import Prompt, PromptSet
from hellofresh.samples import Sample
from hellofresh.web import Web

__all__ = ["Ask", "Case", "Judgement", "Outcome", "Regime"]


class Ask(Protocol):
    """Asks the model, or answers from the journal what was asked before."""

    async def __call__(self, step: str, prompt: str, request: Request) -> Answer:
        """Ask.

        Args:
            step: name of the step within the regime, such as `classify` or `summarise-2`; with the prompt it is unique
                within a sample.
            prompt: id of the prompt that the step is for, empty where it serves all of them.
            request: the question.
        """


@dataclass(frozen=True, slots=True)
class Case:
    """All that a regime gets for one sample.

    Attributes:
        sample: what is asked about.
        prompts: the wordings to ask with.
        prompt_set: the set they are of, with the texts of the regime's other steps.
        slots: the sample's texts by slot.
        ask: the way to the model; everything that goes through it is kept.
        web: the way to the outside world, None for a regime that does not need it.
    """

    sample: Sample
    prompts: Sequence[Prompt]
    prompt_set: PromptSet
    slots: Mapping[str, str]
    ask: Ask
    web: Web | None = None

    def question(self, prompt: Prompt, **more: str) -> Message:
        """The classification prompt, filled from the sample and from what the regime found out."""
        return self.prompt_set.message(prompt, {**self.slots, **more})

    def step(self, name: str, **more: str) -> Message:
        """The prompt of another step, such as `query`, filled likewise."""
        return self.prompt_set.step(name, {**self.slots, **more})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer that decides, for one prompt.

    Attributes:
        prompt: the prompt's id.
        answer: the answer, whose first word is the verdict.
        rationale: why, in the model's words, for regimes that ask for it, such as a correction; empty where none was.
        sources: addresses that the rationale rests on.
    """

    prompt: str
    answer: Answer
    rationale: str = ""
    sources: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a regime came to on one sample.

    Attributes:
        judgements: one for every prompt of the case, in their order.
        trace: what happened on the way besides answers, in order, a JSON object each with `kind` (such as `query`,
            `search`, `page`); the same whenever the same answers and pages come back. Empty where nothing did.
    """

    judgements: Sequence[Judgement]
    trace: Sequence[Mapping[str, Json]] = ()


class Regime(Protocol):
    """A way of asking."""

    @property
    def name(self) -> str:
        """As on the command line and on the board."""

    @property
    def version(self) -> int:
        """Raised whenever the regime would ask something else; part of every journal key."""

    @property
    def needs_web(self) -> bool:
        """Whether it searches and reads pages."""

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """Its settings, part of the identity of a run."""

    def calls(self, prompts: int) -> int:
        """Most questions to the model for one sample, to tell beforehand what a run may cost."""

    async def judge(self, case: Case) -> Outcome:
        """Ask about one sample."""
