"""What a dry run promises holds: no agent costs more than its ceiling, and answers tell what the next will take."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from hellofresh.evidence.web import SearchResult
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs.counts import WIDER_TOKENS
from hellofresh.runs.dry_run import PaperWeb, PlannedQuestion, forecast, preview
from hellofresh.runs.equipment import prompted
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.regimes import MAIN, BaseRegime, Case, Need, Outcome, get_regime
from hellofresh.runs.regimes.registry import regimes_for
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks.outputs import Choice
from tests.fakes import PROMPTS, TASK, FakeModel, assigned


@dataclass(frozen=True, slots=True)
class Sizes:
    """How an agent works.

    Attributes:
        turns: most turns of a conversation; tokens: cap on an answer.
        pages, page_words: read at each turn, and shown of each.
        summary_tokens: cap on a helper's summary.
        keeps: whether the conversation grows, or each turn sees the last finding only.
    """

    turns: int
    tokens: int
    pages: int
    page_words: int
    summary_tokens: int
    keeps: bool

    @classmethod
    def drawn(cls, draw: random.Random) -> Sizes:
        turns, tokens, pages = draw.randint(3, 10), draw.randint(100, 600), draw.randint(1, 4)
        return cls(turns, tokens, pages, draw.randint(50, 500), draw.randint(60, 600), draw.random() < 0.7)


@dataclass(frozen=True, slots=True)
class Scripted(BaseRegime):
    """Searches, has pages summarised, and goes on as long as its model wants to."""

    needs: ClassVar = frozenset({Need.WEB})
    roles: ClassVar = {"helper": "summarises"}
    name: str = "scripted"
    sizes: Sizes = field(default_factory=lambda: Sizes.drawn(random.Random(0)))

    def ceiling(self, prompts: int) -> int:
        return prompts * (2 * self.sizes.turns - 1)

    def rehearse(self, step: str, turn: int) -> str:
        return "MORE"

    async def solve(self, case: Case) -> Outcome:
        return Outcome(await asyncio.gather(*(self._decide(case, prompt.id) for prompt in case.prompts)))

    async def _decide(self, case: Case, prompt: str) -> Choice:
        assert case.web is not None
        sizes, opening = self.sizes, Message("user", (*case.slots.values(), "Decide."))
        messages = [opening]
        for turn in range(1, sizes.turns + 1):
            answer = (await case.ask(f"turn-{turn}", prompt, Request(tuple(messages), sizes.tokens))).text
            if turn == sizes.turns or not answer.endswith("MORE"):
                break
            found = await case.web.search(f"{prompt} {turn}")
            pages = [await case.web.read(result.url) for result in found.results[: sizes.pages]]
            # As regimes cut pages, by words and at 12 characters a word.
            texts = [" ".join(page.text.split(" ")[: sizes.page_words])[: 12 * sizes.page_words] for page in pages]
            asked = Request((Message("user", ("\n".join(texts), "Summarise.")),), sizes.summary_tokens)
            summary = (await case.ask(f"summary-{turn}", prompt, asked, role="helper")).text
            past = messages if sizes.keeps else [opening]
            messages = [*past, Message("assistant", (answer,)), Message("user", (summary,))]
        return Choice(prompt=prompt, label=1)


@dataclass(frozen=True, slots=True)
class Worst:
    """Models whose answers are cut off and then as long as can be, and long pages; a token has so many characters."""

    ledgers: Ledgers
    characters: float
    calls: Counter[str] = field(default_factory=Counter)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        self.calls[role] += 2
        ledger = self.ledgers.of(role)
        text = "x" * int((request.max_tokens + WIDER_TOKENS) * self.characters - 4) + "MORE"
        sent = sum(len(message.text) / self.characters + 4 for message in request.messages)
        written = request.max_tokens + int(ledger.spec.parameters["hidden_tokens"])
        ledger.add(Answer("", Finish.LENGTH, round(sent), written))
        ledger.add(Answer(text, Finish.STOP, round(sent), written + WIDER_TOKENS))
        return Answer(text, Finish.STOP)


def drawn_spec(name: str, draw: random.Random) -> ModelSpec:
    price = Price(draw.uniform(0.1, 3), draw.uniform(0.5, 15), "2026-11-01", "a test")
    tokens = {"hidden_tokens": draw.choice([0, 0, 500, 4000])}
    return ModelSpec(name, "language-model", "A fake.", tokens, Limits(4), price=price)


def wordy(_: Request) -> Answer:
    return Answer("yes", Finish.STOP, 500, 700)


def test_a_request_is_counted_part_by_part_with_what_each_message_takes_besides(samples) -> None:
    sample, regime = samples[0], get_regime("zero-shot")
    ahead = forecast(assigned(FakeModel(drawn_spec("m", random.Random(1))), regime, PROMPTS.prompts), [sample])
    asked = [
        step.messages
        for step in asyncio.run(preview(prompted(TASK, regime), sample))
        if isinstance(step, PlannedQuestion)
    ]
    texts = [part for messages in asked for message in messages for part in message.parts]
    assert all(text.isascii() for text in texts) and {len(messages) for messages in asked} == {1}
    # 2.5 characters a token, and 8 tokens for a message and for the whole.
    assert ahead.roles[MAIN].tokens_in == sum(math.ceil(len(text) / 2.5) for text in texts) + 16 * len(asked)


@pytest.mark.parametrize("agents", [150, pytest.param(1_000, marks=pytest.mark.soak)])
def test_no_agent_costs_more_than_its_ceiling(samples, agents: int) -> None:
    found = [SearchResult(f"https://example.org/{n}", "A title", "", None, n) for n in range(1, 11)]
    web, sample, prompts = PaperWeb(found, "", ("x" * 40 + " ") * 1_200), samples[0], PROMPTS.prompts[:2]
    for seed in range(agents):
        draw = random.Random(seed)
        regime = Scripted(sizes=Sizes.drawn(draw))
        specs = {MAIN: drawn_spec("main", draw), "helper": drawn_spec("helper", draw)}
        helper = {"helper": FakeModel(specs["helper"])}
        ahead = forecast(assigned(FakeModel(specs[MAIN]), regime, prompts, others=helper), [sample])
        worst = Worst(Ledgers(specs), draw.uniform(2.6, 6))
        asyncio.run(regime.solve(Case(sample, prompts, PROMPTS, TASK.slots(sample), worst.ask, web)))
        assert ahead.most_usd is not None and worst.ledgers.cost_usd is not None
        assert worst.ledgers.cost_usd <= ahead.most_usd and worst.calls.total() <= ahead.most_calls, seed


@pytest.mark.parametrize("name", regimes_for(TASK))
def test_every_regime_can_be_foreseen_and_expects_no_more_than_its_ceiling(samples, name: str) -> None:
    regime = get_regime(name)
    spec = drawn_spec("m", random.Random(3))
    chosen = prompted(TASK, regime, "all")
    ahead = forecast(Assignment(FakeModel(spec, wordy), chosen), samples)
    assert ahead.cost_usd is not None and ahead.most_usd is not None
    assert ahead.cost_usd == ahead.roles[MAIN].uncut_usd < ahead.most_usd and not ahead.measured
    assert (
        ahead.calls
        <= ahead.roles[MAIN].uncut_calls
        == ahead.most_calls / 2
        == len(samples) * regime.ceiling(len(chosen.prompts))
    )


def test_what_answers_took_tells_what_the_next_ones_will_take(tmp_path, make) -> None:
    notes = [item.sample for item in make.notes(4, 4, months=(4, 5, 6))]
    price = Price(1.0, 10.0, "2026-11-01", "a test")
    spec = ModelSpec("wordy", "language-model", "A fake.", {"hidden_tokens": 5_000}, price=price)
    chosen = assigned(FakeModel(spec, wordy), get_regime("zero-shot"))
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


def test_a_preview_shows_the_facts_that_a_run_would_show(make) -> None:
    sample = make.notes(1, 0)[0].sample
    equipment = replace(prompted(TASK, Showing()), facts={sample.id: {"voters": 7}})
    (step,) = asyncio.run(preview(equipment, sample))
    assert isinstance(step, PlannedQuestion) and step.messages[0].text == "voters: 7"


@dataclass(frozen=True, slots=True)
class Showing(BaseRegime):
    """Shows facts of the sample's label."""

    needs: ClassVar = frozenset({Need.FACTS})
    prompts_from: ClassVar = "zero-shot"

    async def solve(self, case: Case) -> Outcome:
        shown = Message("user", (f"voters: {case.facts.get('voters')}",))
        await case.ask("classify", "", Request((shown,), 5, sample=case.sample))
        return Outcome([Choice(prompt=prompt.id) for prompt in case.prompts])
