"""What a regime would ask about a sample, to be looked at without a model or the web."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.prompts import PromptSet
from hellofresh.regimes._base import MAIN, Case, Need, Regime
from hellofresh.samples import Sample
from hellofresh.tasks import get_task
from hellofresh.web import Found, PageStatus, SearchResult, WebPage

__all__ = ["Question", "preview"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question that a regime asks.

    Attributes:
        step: name of the step.
        prompt: id of the prompt, empty where the step serves all of them.
        messages: the conversation.
        role: whose part it is.
    """

    step: str
    prompt: str
    messages: tuple[Message, ...]
    role: str = MAIN


async def preview(regime: Regime, sample: Sample, prompt_set: PromptSet) -> list[Question]:
    """The questions in their order; placeholders stand for answers, and one page stands for all that is found.

    Raises:
        PromptError: if the prompts cannot be filled.
    """
    outside = _Placeholders()
    slots = get_task(sample.task).slots(sample)
    web = outside if Need.WEB in regime.needs else None
    await regime.solve(Case(sample, prompt_set.prompts, prompt_set, slots, outside.ask, web))
    return outside.questions


@dataclass(frozen=True, slots=True)
class _Placeholders:
    """A model that answers with the name of the step, and a web of one page."""

    questions: list[Question] = field(default_factory=list)
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Keep the question."""
        self.questions.append(Question(step, prompt, request.messages, role))
        return Answer(f"(answer to {step})", Finish.STOP)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """One result."""
        return Found([SearchResult("https://example.org/", "(title)", "(snippet)", None, 1)])

    async def read(self, url: str) -> WebPage:
        """A page of a few words."""
        return WebPage(url, url, PageStatus.OK, title="(title of a page)", text="(first 1,000 words of the page)")

    @property
    def blocked(self) -> Sequence[str]:
        """None."""
        return ()

    def reason(self, url: str) -> str:
        """Nothing is excluded."""
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""
