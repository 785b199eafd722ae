"""A regime's whole conversation about a sample, to be looked at without a model or the web."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes._base import MAIN, Case, Need, Regime
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Sample

__all__ = ["OutsideCall", "Question", "preview"]

_FILLING = re.compile(r"(?:\bword\b ?){4,}")


@dataclass(frozen=True, slots=True)
class Question:
    """One question that a regime asks.

    Attributes:
        step: name of the step.
        prompt: id of the prompt, empty where the step serves all of them.
        messages: the conversation.
        role: whose part it is.
        answer: what it was answered with, so that the regime went on.
    """

    step: str
    prompt: str
    messages: tuple[Message, ...]
    role: str = MAIN
    answer: str = ""


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A search, or a page that is read: `kind` says which, `text` is the query or the address."""

    kind: str
    text: str


async def preview(regime: Regime, sample: Sample, prompt_set: PromptSet) -> list[Question | OutsideCall]:
    """All that a regime asks, searches and reads, in order; answers are usual ones, one page is all that is found.

    Raises:
        PromptError: if the prompts cannot be filled.
    """
    outside = _Rehearsal(regime)
    slots = get_task(sample.task).slots(sample)
    web = outside if Need.WEB in regime.needs else None
    await regime.solve(Case(sample, prompt_set.prompts, prompt_set, slots, outside.ask, web))
    return outside.steps


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    """A model that gives the usual answer to each step, and a web of one page."""

    regime: Regime
    steps: list[Question | OutsideCall] = field(default_factory=list)
    turns: Counter[tuple[str, str]] = field(default_factory=Counter)
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Keep the question."""
        self.turns[step, prompt] += 1
        usual = _FILLING.sub(_number_of_words, self.regime.rehearse(step, self.turns[step, prompt]))
        answer = usual.strip() or f"(answer to {step})"
        self.steps.append(Question(step, prompt, request.messages, role, answer))
        return Answer(answer, Finish.STOP)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """One result."""
        self.steps.append(OutsideCall("search", query if before is None else f"{query} (before {before})"))
        return Found([SearchResult("https://example.org/", "(title)", "(snippet)", None, 1)])

    async def read(self, url: str) -> WebPage:
        """A page of a few words."""
        self.steps.append(OutsideCall("read", url))
        return WebPage(url, url, PageStatus.OK, title="(title of a page)", text="(first words of the page)")

    @property
    def blocked(self) -> Sequence[str]:
        """None."""
        return ()

    def reason(self, url: str) -> str:
        """Nothing is excluded."""
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


def _number_of_words(filling: re.Match[str]) -> str:
    return f"(about {len(filling[0].split())} words) "
