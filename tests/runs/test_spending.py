"""What a run may cost is reckoned with all that is paid for, before it starts, while it runs and when it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from hellofresh.core.errors import RunError
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Price, Request
from hellofresh.runs import Assignment, Journal, Ledger, forecast, run
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes.zero_shot import VISIBLE_TOKENS, ZeroShot
from hellofresh.tasks import get_task

TASK = get_task("x-notes")
PROMPTS = load_prompt_set("x-notes", "zero-shot")
PLAIN = ModelSpec(
    "priced", "language-model", "A fake.", {}, Limits(1), price=Price(1.0, 10.0, "2026-10-14", "a test", 0.5)
)
HIDDEN = 4096
REASONING = replace(PLAIN, parameters={"hidden_tokens": HIDDEN})


@dataclass
class Answering:
    """Says yes, and says or does not say how many tokens that took."""

    spec: ModelSpec
    tokens_in: int | None = 10
    tokens_out: int | None = 1
    asked: list[Request] = field(default_factory=list)

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        return Answer("yes", Finish.STOP, self.tokens_in, self.tokens_out)

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def samples(make):
    return [item.sample for item in make.notes(2, 2, months=(4,))]


def assignment(model: Answering, **more: object) -> Assignment:
    return Assignment(model, ZeroShot(), PROMPTS, PROMPTS.prompts[:1], TASK.slots, **more)


def test_hidden_tokens_are_foreseen_for_every_question(samples) -> None:
    plain, reasoning = (forecast(assignment(Answering(spec)), samples) for spec in (PLAIN, REASONING))
    hidden_usd = len(samples) * HIDDEN * 10 / 1e6
    assert plain.cost_usd is not None and reasoning.cost_usd is not None
    assert plain.most_usd is not None and reasoning.most_usd is not None
    assert reasoning.cost_usd - plain.cost_usd == pytest.approx(hidden_usd)
    assert reasoning.most_usd - plain.most_usd == pytest.approx(hidden_usd)
    tokens_in = plain.roles["main"].tokens_in
    assert reasoning.roles["main"].tokens_in == tokens_in
    assert plain.cost_usd < (tokens_in * 1 + len(samples) * VISIBLE_TOKENS * 10) / 1e6 < plain.most_usd


def test_a_budget_covers_the_hidden_tokens_of_a_question_before_it_is_asked(tmp_path, samples) -> None:
    budget = 0.9 * HIDDEN * 10 / 1e6  # more than enough for all that is visible
    model = Answering(PLAIN)
    with Journal(tmp_path / "plain") as journal:
        run(assignment(model, budget_usd=budget), samples, journal, lambda _: None)
    assert len(model.asked) == len(samples)
    model = Answering(REASONING)
    with Journal(tmp_path / "reasoning") as journal, pytest.raises(RunError) as caught:
        run(assignment(model, budget_usd=budget), samples, journal, lambda _: None)
    assert (caught.value.code, model.asked) == ("budget-spent", [])


def test_answers_of_untold_length_use_the_budget_up_after_a_restart_as_before(tmp_path, samples) -> None:
    first = Answering(PLAIN, None, None)
    one = Ledger(PLAIN)
    with Journal(tmp_path) as journal:
        run(assignment(first), samples[:2], journal, lambda _: None)
    for request in first.asked:
        one.reserve(one.estimate(request))
    again = Answering(PLAIN, None, None)
    with Journal(tmp_path) as journal, pytest.raises(RunError) as caught:
        run(assignment(again, budget_usd=one.at_most_usd), samples, journal, lambda _: None)
    assert (caught.value.code, again.asked) == ("budget-spent", [])
