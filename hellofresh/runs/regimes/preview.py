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

_FILLING = re.compile(r"(?:\bword\b ?){4,}")


@dataclass(frozen=True, slots=True)
class PaperWeb:
    """A web on which every search finds the same, and every page has one title and text; `steps` takes each call."""

    results: Sequence[SearchResult]
    title: str
    text: str
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    blocked: Sequence[str] = ()
    steps: list[Question | OutsideCall] = field(default_factory=list)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.steps.append(OutsideCall("search", query if before is None else f"{query} (before {before})"))
        return Found(self.results)

    async def read(self, url: str) -> WebPage:
        self.steps.append(OutsideCall("read", url))
        return WebPage(url, url, PageStatus.OK, title=self.title, text=self.text)

    def reason(self, url: str) -> str:
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question that a regime asks, and what it was answered with; without a prompt, the step serves all of them."""

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
    steps: list[Question | OutsideCall] = []
    turns = Counter[tuple[str, str]]()

    async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        turns[step, prompt] += 1
        rehearsed = regime.rehearse(step, turns[step, prompt])
        usual = _FILLING.sub(lambda filling: f"(about {len(filling[0].split())} words) ", rehearsed)
        answer = usual.strip() or f"(answer to {step})"
        steps.append(Question(step, prompt, request.messages, role, answer))
        return Answer(answer, Finish.STOP)

    found = [SearchResult("https://example.org/", "(title)", "(snippet)", None, 1)]
    web = PaperWeb(found, "(title of a page)", "(first words of the page)", steps=steps)
    slots = get_task(sample.task).slots(sample)
    await regime.solve(
        Case(sample, prompt_set.choose(""), prompt_set, slots, ask, web if Need.WEB in regime.needs else None)
    )
    return steps
