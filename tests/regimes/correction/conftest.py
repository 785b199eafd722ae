"""Posts, pages and models of our own for the regime `correction`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import numpy as np

from hellofresh.evidence.publishers import Publisher, Publishers
from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import Case, Outcome
from hellofresh.runs.regimes.correction import Correction
from hellofresh.runs.regimes.registry import configure
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.tasks.images import Media

POSTED = datetime(2023, 5, 10, 12, tzinfo=UTC)
SITES = {"atlas.example": "high", "herald.example": "medium", "weekly.example": "low"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturedPost(MisleadingPost):
    media: tuple[Media, ...] = ()
    poster: str = ""


def post(text: str = "The old bridge at Varn fell last night!", *captions: str, **more) -> PicturedPost:
    """A post of our own; each caption is the alternative text of a picture."""
    media = tuple(Media("photo", f"https://pics.example/{n}.jpg", description=said) for n, said in enumerate(captions))
    fields = {"id": "mp-1", "task": "corrections", "edition": "e", "period": "all", "date": POSTED, "group": "g-1"}
    about = {"license": "CC0-1.0", "post": "1", "address": "https://post.example/1", "modality": "", "domain": ""}
    return PicturedPost(**{**fields, **about, "text": text, "media": media, **more})


def ratings(**more: Publisher) -> Publishers:
    """Three sites of three priorities, and one of each kind that is never used."""
    rated = {name: Publisher(name, None, None, None, "", listed) for name, listed in SITES.items()}
    for category in ("satire", "questionable", "conspiracy"):
        rated[f"{category}.example"] = Publisher(f"{category}.example", None, 1.0, None, category, "high")
    return Publishers({**rated, **more})


@dataclass(frozen=True)
class LetterEncoder:
    """Vectors by the letters of a text, or as the test says."""

    nearness: Mapping[str, float] = field(default_factory=dict)
    name: str = "letters"
    dimensions: int = 2

    @property
    def parameters(self) -> Mapping[str, str]:
        return {"encoder": self.name}

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[1.0, 0.0] for _ in texts], dtype=np.float32)

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        near = [next((value for said, value in self.nearness.items() if said in text), 0.9) for text in texts]
        return np.array([[value, (1 - value**2) ** 0.5] for value in near], dtype=np.float32)


def page(url: str, text: str, day: str = "2023-05-01", **more) -> WebPage:
    return WebPage(**{
        "url": url, "final_url": url, "status": PageStatus.OK, "title": "A title", "text": text, "sha256": "0" * 64,
        "date": day, **more,
    })  # fmt: skip


@dataclass
class World:
    """A web and a model in one: pages by address, results by query, answers by step or from the request."""

    pages: Mapping[str, WebPage] = field(default_factory=dict)
    results: Mapping[str, Sequence[SearchResult]] | Sequence[str] = ()
    answers: Mapping[str, str | Callable[[Request], str]] = field(default_factory=dict)
    excluded: str = "x.com"
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=lambda: {"provider": "brave"})
    asked: list[tuple[str, str, str, Request]] = field(default_factory=list)
    searched: list[tuple[str, date | None]] = field(default_factory=list)
    read_urls: list[str] = field(default_factory=list)
    blocked: Sequence[str] = ()

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = "main") -> Answer:
        self.asked.append((step, prompt, role, request))
        await asyncio.sleep(0)
        said = self.answers.get(step, self.answers.get(step.rstrip("0123456789"), ""))
        return Answer(said if isinstance(said, str) else said(request), Finish.STOP)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.searched.append((query, before))
        if isinstance(self.results, Mapping):
            return Found(self.results.get(query, ()))
        return Found([SearchResult(url, "A title", "", None, n) for n, url in enumerate(self.results, start=1)])

    async def read(self, url: str) -> WebPage:
        self.read_urls.append(url)
        return self.pages.get(url, WebPage(url, url, PageStatus.DEAD, "HTTP 404"))

    def reason(self, url: str) -> str:
        return "excluded" if self.excluded and re.search(rf"//(?:[^/]*\.)?{re.escape(self.excluded)}(/|$)", url) else ""

    async def close(self) -> None:
        return None

    def steps(self) -> list[str]:
        return [step for step, _, _, _ in self.asked]


def solved(world: World, sample: PicturedPost | None = None, *settings: str, prompts: int = 1, **more) -> Outcome:
    encoder, publishers = more.pop("encoder", LetterEncoder()), more.pop("publishers", ratings())
    regime = configure(Correction(publishers=publishers, encoder=encoder), settings)
    sample = sample or post()
    whole = load_prompt_set("corrections", "correction")
    slots = get_task("corrections").slots(sample)
    case = Case(sample, whole.prompts[:prompts], whole, slots, world.ask, world, **more)
    return asyncio.run(regime.solve(case))
