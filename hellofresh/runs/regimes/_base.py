"""The base class of regimes: a way of working on one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
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
    """A requirement of a regime besides models."""

    WEB = "web"
    IMAGES = "images"
    FACTS = "facts"


class RegimeSettings(Strict):
    """Settings of a regime (`--set NAME=VALUE`), part of a system's identity. Each has a default."""


class ChoiceSettings(RegimeSettings):
    """Settings of a regime that chooses a class.

    Attributes:
        early: whether "too early to tell" is offered as an answer, which is scored as even probabilities.
    """

    early: bool = False

    @model_serializer(mode="wrap")
    def _where_chosen(self, plain: SerializerFunctionWrapHandler) -> dict[str, str | int | float | bool]:
        """Leave out switches that are off, so that the identity of systems without them does not change."""
        said: dict[str, str | int | float | bool] = plain(self)
        return {name: value for name, value in said.items() if value or name not in ("early", "justify")}


class Ask(Protocol):
    """Asks a model, or recalls the answer from the journal."""

    async def __call__(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Ask.

        Args:
            step: name of the step within the regime, such as `classify` or `summarise-2`; with the prompt it is unique
                within a sample.
            prompt: id of the prompt that the step is for, empty if it serves all prompts.
            request: the question.
            role: role to ask; each role may have its own model.
        """


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a regime for one sample.

    Attributes:
        sample: the sample.
        prompts: the wordings to ask with.
        prompt_set: their set, with the texts of the regime's other steps.
        slots: the sample's texts by slot.
        ask: access to the models; all answers are stored.
        web: access to the web, None for a regime that does not need it.
        images: the sample's available pictures in the order of its media, for a regime that needs them.
        facts: facts of the sample's label, for a regime that needs them; empty while labels are secret.
    """

    sample: Sample
    prompts: Sequence[Prompt]
    prompt_set: PromptSet
    slots: Mapping[str, str]
    ask: Ask
    web: Web | None = None
    images: Sequence[Image] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    _shown: dict[tuple[tuple[str, str], ...], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def question(self, prompt: Prompt, **more: str) -> Message:
        """The deciding prompt, filled with the sample and the regime's findings."""
        key = tuple(more.items())
        if key not in self._shown:  # the prompts of a sample share it
            self._shown[key] = self.prompt_set.shown(self.slots, **more)
        return Message("user", (self._shown[key], prompt.instruction))

    def step(self, name: str, **more: str) -> Message:
        """The filled prompt of another step, such as `query`."""
        return self.prompt_set.step(name, self.slots, **more)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a regime on one sample.

    Attributes:
        outputs: one for every prompt of the case, in their order.
        events: the events in order, determined by answers and pages. Requests that are not among them are added.
            Empty if there were only the deciding requests.
    """

    outputs: Sequence[Output]
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class BaseRegime:
    """A way of working on a sample; subclasses override the defaults.

    Attributes:
        version: raised whenever the regime's questions change; part of every journal key.
        one_prompt: whether it works once per sample, independent of prompts.
        gives: its type of output, which must fit the task.
        settings: the chosen settings.
        name: name on the command line and on the board.
    """

    version: ClassVar[int] = 2
    one_prompt: ClassVar[bool] = False
    gives: ClassVar[type[Output]] = Choice

    settings: RegimeSettings = field(default_factory=RegimeSettings)
    name: str = ""

    @property
    def roles(self) -> Mapping[str, str]:
        """Description of each role besides `main`, by name."""
        return {}

    @property
    def all_at_once(self) -> bool:
        """Whether all samples are open at the same time."""
        return False

    @property
    def needs(self) -> frozenset[Need]:
        """Its requirements besides models."""
        return frozenset()

    @property
    def prompts_from(self) -> str:
        """Name of the regime whose prompts it uses."""
        return self.name

    @property
    def parameters(self) -> Parameters:
        """Its settings and the hashes of its resources, part of a run's identity."""
        return self.settings.model_dump()

    @property
    def results(self) -> int:
        """Least number of results of a search; 0 for the configured number."""
        return 0

    def prompt_set(self, task: str, chosen: str | None = None) -> PromptSet:
        """The prompts of a task by the named set (`load_prompt_set`), with the answers that the settings offer.

        Raises:
            PromptError: if they are missing, malformed or for another task.
        """
        found = load_prompt_set(task, self.prompts_from, chosen)
        early = isinstance(self.settings, ChoiceSettings) and self.settings.early
        return found.offering_early() if early else found

    def configured(self, settings: RegimeSettings) -> Self:
        """The same regime with other settings."""
        return replace(self, settings=settings)

    def ceiling(self, prompts: int) -> int:
        """Most requests for one sample."""
        raise NotImplementedError

    def rehearse(self, step: str, turn: int) -> str:
        """A typical answer to a step at its `turn`-th time for a sample, for previews; may be empty."""
        return ""

    def prolong(self, step: str, turn: int) -> str:
        """The end of an answer that makes the regime ask as much as possible, for the ceiling of dry runs."""
        return self.rehearse(step, turn)

    async def solve(self, case: Case) -> Outcome:
        """Work on one sample."""
        raise NotImplementedError


Regime = BaseRegime
"""The type of regimes in runs."""
