"""A model and a web that answer from scripts, with delays that a seed decides."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes import MAIN, Case, Need, Outcome, Regime
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Fact, Sample


@dataclass(frozen=True, slots=True)
class Asked:
    step: str
    prompt: str
    request: Request
    role: str = MAIN

    @property
    def text(self) -> str:
        return self.request.messages[0].text


@dataclass
class World:
    """A model and a web at once: what is not scripted is ordinary.

    Attributes:
        answers: what the model says, by step; else a summary, a query or yes.
        pages: pages by address; an exception is raised in place of a page.
        results: the search's results; an exception is raised in their place.
        seed: decides how long everything takes.
    """

    answers: Mapping[str, Answer | str | Exception] = field(default_factory=dict)
    pages: Mapping[str, WebPage | Exception] = field(default_factory=dict)
    results: Sequence[SearchResult] | Exception = ()
    problem: str = ""
    seed: int = 0
    excluded: tuple[str, ...] = ()
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    searched: list[tuple[str, date | None]] = field(default_factory=list)
    read_urls: list[str] = field(default_factory=list)

    async def _wait(self, what: str) -> None:
        for _ in range(random.Random(f"{self.seed} {what}").randrange(6)):
            await asyncio.sleep(0)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        self.asked.append(Asked(step, prompt, request, role))
        await self._wait(f"{step} {prompt}")
        ordinary = {"query": "ordinary query", "classify": "yes"}.get(step, f"What {step} came to.")
        said = self.answers.get(step, ordinary)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Answer) else Answer(said, Finish.STOP)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.searched.append((query, before))
        if isinstance(self.results, Exception):
            raise self.results
        return Found(self.results, self.problem)

    async def read(self, url: str) -> WebPage:
        self.read_urls.append(url)
        await self._wait(url)
        page = self.pages.get(url, ok(url))
        if isinstance(page, Exception):
            raise page
        return page

    @property
    def blocked(self) -> Sequence[str]:
        return self.excluded

    def reason(self, url: str) -> str:
        return next((domain for domain in self.excluded if domain in url), "")

    async def close(self) -> None:
        """Nothing to let go of."""

    def of(self, step: str) -> list[Asked]:
        """The questions whose step begins so, in the order in which they came."""
        return [item for item in self.asked if item.step.startswith(step)]


def ok(url: str, text: str = "", title: str = "A title") -> WebPage:
    return WebPage(
        url, url, PageStatus.OK, title=title, text=text or f"The page at {url} says little.", sha256="0" * 64
    )


def results(count: int) -> list[SearchResult]:
    return [SearchResult(f"https://example.org/{n}", f"Title {n}", "", None, n) for n in range(1, count + 1)]


def judged(
    regime: Regime,
    sample: Sample,
    world: World,
    prompt_set: PromptSet | None = None,
    facts: Mapping[str, Fact] | None = None,
) -> Outcome:
    prompts = prompt_set or regime.prompt_set(sample.task)
    slots = get_task(sample.task).slots(sample)
    web = world if Need.WEB in regime.needs else None
    case = Case(sample, prompts.choose(""), prompts, slots, world.ask, web, facts=facts or {})
    return asyncio.run(regime.solve(case))
