"""What a dry run promises holds: no agent costs more than its ceiling, and usual agents cost what was expected."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs.dry_run import Forecast, forecast
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import MAIN, BaseRegime, Case, Need, Outcome, get_regime, regimes_for
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import Sample

TASK = get_task("x-notes")
PROMPTS = load_prompt_set("x-notes", "zero-shot")
CONVERSATIONS = (-1, 1)
"""By how many turns the conversations of a sample differ from the usual one."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How an agent works.

    Attributes:
        usual, most: turns of a conversation.
        tokens: cap on an answer; words: of a usual one.
        pages, page_words: read at each turn, and shown of each.
        summary_tokens, summary_words: likewise of a helper's summary.
        keeps: whether the conversation grows, or each turn sees the last finding only.
    """

    usual: int
    most: int
    tokens: int
    words: int
    pages: int
    page_words: int
    summary_tokens: int
    summary_words: int
    keeps: bool

    @classmethod
    def drawn(cls, draw: random.Random) -> Sizes:
        """Some agent."""
        usual, tokens = draw.randint(2, 5), draw.randint(100, 600)
        summary = draw.randint(60, 600)
        return cls(
            usual=usual,
            most=usual + draw.randint(1, 5),
            tokens=tokens,
            words=round(tokens * draw.uniform(0.2, 0.5)),
            pages=draw.randint(1, 4),
            page_words=draw.randint(50, 500),
            summary_tokens=summary,
            summary_words=round(summary * draw.uniform(0.2, 0.5)),
            keeps=draw.random() < 0.7,
        )


def first_words(text: str, number: int) -> str:
    """As regimes cut pages, by words and at 12 characters a word."""
    return " ".join(text.split(" ", number)[:number])[: 12 * number]


@dataclass(frozen=True, slots=True)
class Scripted(BaseRegime):
    """Searches, has pages summarised, and goes on as long as its model wants to."""

    needs: ClassVar = frozenset({Need.WEB})
    roles: ClassVar = {"helper": "summarises"}
    name: str = "scripted"
    sizes: Sizes = field(default_factory=lambda: Sizes.drawn(random.Random(0)))

    def ceiling(self, prompts: int) -> int:
        return prompts * (2 * self.sizes.most - 1)

    def rehearse(self, step: str, turn: int) -> str:
        if step.startswith("summary"):
            return "word " * self.sizes.summary_words
        more = int(step.split("-")[1]) < self.sizes.usual
        return "word " * self.sizes.words + ("\nMORE" if more else "\nDONE")

    def prolong(self, step: str, turn: int) -> str:
        return "MORE"

    async def solve(self, case: Case) -> Outcome:
        return Outcome(await asyncio.gather(*(self._decide(case, prompt.id) for prompt in case.prompts)))

    async def _decide(self, case: Case, prompt: str) -> Choice:
        assert case.web is not None
        sizes, opening = self.sizes, Message("user", (*case.slots.values(), "Decide."))
        messages = [opening]
        for turn in range(1, sizes.most + 1):
            answer = (await case.ask(f"turn-{turn}", prompt, Request(tuple(messages), sizes.tokens))).text
            if turn == sizes.most or not answer.endswith("MORE"):
                break
            found = await case.web.search(f"{prompt} {turn}")
            pages = [await case.web.read(result.url) for result in found.results[: sizes.pages]]
            text = "\n".join(first_words(page.text, sizes.page_words) for page in pages)
            asked = Request((Message("user", (text, "Summarise.")),), sizes.summary_tokens)
            summary = (await case.ask(f"summary-{turn}", prompt, asked, role="helper")).text
            past = messages if sizes.keeps else [opening]
            messages = [*past, Message("assistant", (answer,)), Message("user", (summary,))]
        return Choice(prompt=prompt, label=1)


@dataclass(frozen=True, slots=True)
class Reality:
    """Models and a web as they turn out to be.

    Attributes:
        sizes: of the agent that is at work.
        draw: decides how long answers and pages are.
        worst: whether everything is as long as it can be.
        characters: a token has so many.
    """

    sizes: Sizes
    draw: random.Random
    ledgers: Ledgers
    worst: bool
    characters: float
    calls: Counter[str] = field(default_factory=Counter)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Answer, and put it on the bill."""
        self.calls[role] += 1
        spec = self.ledgers.of(role).spec
        text = self._text(step, prompt, request)
        sent = sum(len(message.text) / self.characters + 4 for message in request.messages)
        visible = min(request.max_tokens, round(len(text) / self.characters))
        hidden = int(spec.parameters["hidden_tokens"])
        if not self.worst:
            hidden = min(hidden, round(int(spec.parameters["usual"]) * self.draw.uniform(0.8, 1.2)))
        self.ledgers.of(role).add(Answer(text, Finish.STOP, round(sent), visible + hidden))
        return Answer(text, Finish.STOP)

    def _text(self, step: str, prompt: str, request: Request) -> str:
        if self.worst:
            return "x" * int(request.max_tokens * self.characters - 4) + "MORE"
        words = self.sizes.summary_words if step.startswith("summary") else self.sizes.words
        text = "word " * min(round(words * self.draw.uniform(0.8, 1.2)), int(request.max_tokens * 0.75))
        turns = self.sizes.usual + CONVERSATIONS[[item.id for item in PROMPTS.prompts].index(prompt)]
        return text + ("MORE" if step.startswith("turn") and int(step.split("-")[1]) < turns else "DONE")

    async def search(self, query: str, *, before: object = None) -> Found:
        return Found([SearchResult(f"https://example.org/{n}", "A title", "", None, n) for n in range(1, 11)])

    async def read(self, url: str) -> WebPage:
        words = 1_200 if self.worst else round(1_000 * self.draw.uniform(0.8, 1.2))
        return WebPage(url, url, PageStatus.OK, text=("x" * 40 + " " if self.worst else "word ") * words)

    async def close(self) -> None:
        """Nothing to let go of."""

    def reason(self, url: str) -> str:
        return ""

    parameters: ClassVar[dict[str, str]] = {}
    blocked: ClassVar[Sequence[str]] = ()


class Silent:
    """A model that nobody asks."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec

    async def ask(self, request: Request) -> Answer:
        raise AssertionError

    async def close(self) -> None:
        """Nothing to let go of."""


def drawn_spec(name: str, draw: random.Random) -> ModelSpec:
    cap = draw.choice([0, 0, 500, 4000])
    price = Price(draw.uniform(0.1, 3), draw.uniform(0.5, 15), "2026-11-01", "a test")
    tokens = {"hidden_tokens": cap, "usual": round(cap * draw.uniform(0.1, 0.8))}
    return ModelSpec(name, "language-model", "A fake.", tokens, Limits(4), price=price)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A forecast beside what came."""

    ahead: Forecast
    usual_usd: float
    worst_usd: float
    worst_calls: int


def compared(seed: int, samples: Sequence[Sample]) -> Comparison:
    """Foresee some agent, and let it work."""
    draw = random.Random(seed)
    sizes = Sizes.drawn(draw)
    specs = {MAIN: drawn_spec("main", draw), "helper": drawn_spec("helper", draw)}
    regime, prompts = Scripted(sizes=sizes), PROMPTS.prompts[: len(CONVERSATIONS)]
    helper = {"helper": Silent(specs["helper"])}
    assignment = Assignment(Silent(specs[MAIN]), regime, PROMPTS, prompts, TASK.slots, others=helper)
    ahead = forecast(assignment, samples)
    realities = [
        Reality(sizes, draw, Ledgers(specs), worst, draw.uniform(3.8, 4.2) if not worst else draw.uniform(2.6, 6))
        for worst in (False, True)
    ]
    for reality in realities:
        for sample in samples:
            case = Case(sample, prompts, PROMPTS, TASK.slots(sample), reality.ask, reality)
            asyncio.run(regime.solve(case))
    usual, worst = (reality.ledgers.cost_usd for reality in realities)
    assert usual is not None and worst is not None
    return Comparison(ahead, usual, worst, sum(realities[1].calls.values()))


@pytest.fixture
def samples(make: Any) -> list[Sample]:
    return [item.sample for item in make.notes(2, 2, months=(4,))]


@pytest.mark.parametrize("agents", [150, pytest.param(1_000, marks=pytest.mark.soak)])
def test_no_agent_costs_more_than_its_ceiling(samples, agents: int) -> None:
    for seed in range(agents):
        found = compared(seed, samples[:1])
        assert found.ahead.most_usd is not None and found.ahead.cost_usd is not None
        assert max(found.usual_usd, found.worst_usd) <= found.ahead.most_usd, seed
        assert found.worst_calls <= found.ahead.most_calls, seed


@pytest.mark.parametrize("name", regimes_for(TASK))
def test_every_regime_can_be_foreseen_and_expects_no_more_than_its_ceiling(samples, name: str) -> None:
    regime, prompts = get_regime(name), load_prompt_set("x-notes", name)
    spec = drawn_spec("m", random.Random(3))
    ahead = forecast(Assignment(Silent(spec), regime, prompts, prompts.prompts, TASK.slots), samples)
    assert ahead.cost_usd is not None and ahead.most_usd is not None
    assert ahead.cost_usd == ahead.most_usd and not ahead.measured
    assert ahead.calls <= ahead.most_calls == len(samples) * regime.ceiling(len(prompts.prompts))


class Wordy:
    """Answers at a length that nobody would guess."""

    def __init__(self) -> None:
        self.spec = ModelSpec(
            "wordy",
            "language-model",
            "A fake.",
            {"hidden_tokens": 5_000},
            price=Price(1.0, 10.0, "2026-11-01", "a test"),
        )

    async def ask(self, request: Request) -> Answer:
        return Answer("yes", Finish.STOP, 500, 700)

    async def close(self) -> None:
        """Nothing to let go of."""


def test_what_answers_took_tells_what_the_next_ones_will_take(tmp_path, make) -> None:
    notes = [item.sample for item in make.notes(4, 4, months=(4, 5, 6))]
    chosen = Assignment(Wordy(), get_regime("zero-shot"), PROMPTS, PROMPTS.prompts, TASK.slots)
    guessed = forecast(chosen, notes).roles[MAIN]
    with Journal(tmp_path) as journal:
        run(chosen, notes[:8], journal, lambda _: None)
        ahead = forecast(chosen, notes, journal)
        spent = run(chosen, notes, journal, lambda _: None).tally.cost_usd
        assert forecast(chosen, notes, journal).calls == 0
    role = ahead.roles[MAIN]
    assert (role.calls, ahead.measured, guessed.calls) == (5 * (len(notes) - 8), True, 5 * len(notes))
    assert ahead.known == 40
    assert spent is not None and role.cost_usd is not None
    assert role.cost_usd == pytest.approx(spent * (len(notes) - 8) / len(notes), rel=0.02)


@dataclass
class Moody:
    """Goes on as it likes, at any length."""

    spec: ModelSpec
    draw: random.Random

    async def ask(self, request: Request) -> Answer:
        text = "DONE" if self.draw.random() < 0.4 else "MORE"
        return Answer(text, Finish.STOP, self.draw.randint(100, 900), self.draw.randint(20, 100))

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.mark.parametrize("seed", range(10))
def test_what_is_expected_of_an_agent_with_answers_is_within_a_factor_of_two(tmp_path, make, seed: int) -> None:
    draw = random.Random(seed)
    notes = [item.sample for item in make.notes(5, 5, months=(4, 5, 6))]
    specs = {role: drawn_spec(role, draw) for role in (MAIN, "helper")}
    models = {role: Moody(spec, draw) for role, spec in specs.items()}
    sizes = Sizes.drawn(draw)
    chosen = Assignment(
        models[MAIN], Scripted(sizes=sizes), PROMPTS, PROMPTS.prompts[:2], TASK.slots,
        Reality(sizes, draw, Ledgers(specs), worst=False, characters=4.0), others={"helper": models["helper"]},
    )  # fmt: skip
    with Journal(tmp_path) as journal:
        before = run(chosen, notes[:10], journal, lambda _: None).tally.cost_usd
        ahead = forecast(chosen, notes, journal)
        after = run(chosen, notes, journal, lambda _: None).tally.cost_usd
    assert before is not None and after is not None and ahead.cost_usd is not None and ahead.most_usd is not None
    assert ahead.measured
    assert 0.5 <= ahead.cost_usd / (after - before) <= 2
    assert after - before <= ahead.most_usd
