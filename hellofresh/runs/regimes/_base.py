"""What a regime is: a way of working on one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer

from hellofresh.core.strict import Strict
from hellofresh.evidence.web import Web
from hellofresh.models import Answer, Message, Request
from hellofresh.runs.prompts import Prompt, PromptSet, load_prompt_set
from hellofresh.tasks.images import Image
from hellofresh.tasks.outputs import Choice, Output
from hellofresh.tasks.samples import Fact, Sample
from hellofresh.tasks.transcripts import Event

MAIN = "main"
"""The role of the model that decides."""
Parameters = Mapping[str, str | int | float | bool]


class Need(StrEnum):
    """What a regime needs besides models."""

    WEB = "web"
    IMAGES = "images"
    FACTS = "facts"


class RegimeSettings(Strict):
    """What can be chosen about a regime (`--set NAME=VALUE`); part of a system's identity. Each has a default."""


class ChoiceSettings(RegimeSettings):
    """What can be chosen about a regime that chooses a class.

    Attributes:
        early: whether "too early to tell" is offered as an answer, which is scored as even probabilities.
    """

    early: bool = False

    @model_serializer(mode="wrap")
    def _where_chosen(self, plain: SerializerFunctionWrapHandler) -> dict[str, str | int | float | bool]:
        """Without `early` where it is not offered: a system is then the same as before there was such a setting."""
        said: dict[str, str | int | float | bool] = plain(self)
        return said if self.early else {name: value for name, value in said.items() if name != "early"}


class Ask(Protocol):
    """Asks a model, or answers from the journal what was asked before."""

    async def __call__(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Ask.

        Args:
            step: name of the step within the regime, such as `classify` or `summarise-2`; with the prompt it is unique
                within a sample.
            prompt: id of the prompt that the step is for, empty where it serves all of them.
            request: the question.
            role: whose part it is; each role may be another model.
        """


@dataclass(frozen=True, slots=True)
class Case:
    """All that a regime gets for one sample.

    Attributes:
        sample: what is asked about.
        prompts: the wordings to ask with.
        prompt_set: the set they are of, with the texts of the regime's other steps.
        slots: the sample's texts by slot.
        ask: the way to the models; everything that goes through it is kept.
        web: the way to the outside world, None for a regime that does not need it.
        images: the sample's pictures that are at hand, for a regime that needs them, in the order of its media.
        facts: what is known of the sample's label, for a regime that needs it; empty where labels are not public.
    """

    sample: Sample
    prompts: Sequence[Prompt]
    prompt_set: PromptSet
    slots: Mapping[str, str]
    ask: Ask
    web: Web | None = None
    images: Sequence[Image] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def question(self, prompt: Prompt, **more: str) -> Message:
        """The deciding prompt, filled from the sample and from what the regime found out."""
        return self.prompt_set.message(prompt, self.slots, **more)

    def step(self, name: str, **more: str) -> Message:
        """The prompt of another step, such as `query`, filled likewise."""
        return self.prompt_set.step(name, self.slots, **more)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a regime came to on one sample.

    Attributes:
        outputs: one for every prompt of the case, in their order.
        events: what happened on the way, in order; the same whenever the same answers and pages come back. Requests
            that are not among them are added. Empty where nothing but the deciding requests happened.
    """

    outputs: Sequence[Output]
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class BaseRegime:
    """A way of working on a sample; what differs from what most regimes do is overridden.

    Attributes:
        version: raised whenever the regime would ask something else; part of every journal key.
        one_prompt: whether it works once a sample, whatever prompts there are.
        gives: what it hands back, by which it fits a task.
        settings: what was chosen.
        name: as on the command line and on the board.
    """

    version: ClassVar[int] = 2
    one_prompt: ClassVar[bool] = False
    gives: ClassVar[type[Output]] = Choice

    settings: RegimeSettings = field(default_factory=RegimeSettings)
    name: str = ""

    @property
    def roles(self) -> Mapping[str, str]:
        """What each role besides `main` does, by name."""
        return {}

    @property
    def all_at_once(self) -> bool:
        """Whether all samples are open at the same time."""
        return False

    @property
    def needs(self) -> frozenset[Need]:
        """What it needs besides models."""
        return frozenset()

    @property
    def prompts_from(self) -> str:
        """Name of the regime whose prompts it uses."""
        return self.name

    @property
    def parameters(self) -> Parameters:
        """All that decides what it does: settings, and hashes of what it brings along. Part of a run's identity."""
        return self.settings.model_dump()

    @property
    def results(self) -> int:
        """Results that one search should give at least; 0 for what is configured."""
        return 0

    def prompt_set(self, task: str, file: Path | None = None) -> PromptSet:
        """The project's own prompts of a task, or those in a file, with the answers that the settings offer.

        Raises:
            PromptError: if they are missing, malformed or for another task.
        """
        found = load_prompt_set(task, self.prompts_from, file)
        early = isinstance(self.settings, ChoiceSettings) and self.settings.early
        return found.offering_early() if early else found

    def configured(self, settings: RegimeSettings) -> Self:
        """The same regime with other settings."""
        return replace(self, settings=settings)

    def ceiling(self, prompts: int) -> int:
        """Most requests for one sample."""
        raise NotImplementedError

    def rehearse(self, step: str, turn: int) -> str:
        """A usual answer to a step, the `turn`-th time that it is asked about a sample, for previews; may be empty."""
        return ""

    def prolong(self, step: str, turn: int) -> str:
        """The end of an answer after which the regime asks as much as it ever does, for the ceiling of dry runs."""
        return self.rehearse(step, turn)

    async def solve(self, case: Case) -> Outcome:
        """Work on one sample."""
        raise NotImplementedError


Regime = BaseRegime
"""What runs use."""
