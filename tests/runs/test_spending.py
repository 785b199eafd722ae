"""What a run may cost is reckoned with all that is paid for, before it starts, while it runs and when it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hellofresh.core.errors import RunError
from hellofresh.models import Answer, Finish, Limits, ModelSpec, Price, Request
from hellofresh.runs.dry_run import forecast
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes.zero_shot import VISIBLE_TOKENS, ZeroShot
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks import get_task
from tests.fakes import FakeModel

TASK = get_task("x-notes")
PROMPTS = load_prompt_set("x-notes", "zero-shot")
PLAIN = ModelSpec(
    "priced", "language-model", "A fake.", {}, Limits(1), price=Price(1.0, 10.0, "2026-10-14", "a test", 0.5)
)
HIDDEN = 4096
REASONING = replace(PLAIN, parameters={"hidden_tokens": HIDDEN})


def silent(_: Request) -> Answer:
    """An answer that does not say how many tokens it took."""
    return Answer("yes", Finish.STOP)


@pytest.fixture
def samples(make):
    return [item.sample for item in make.notes(2, 2, months=(4,))]


def assignment(model: FakeModel, **more: object) -> Assignment:
    return Assignment(model, ZeroShot(), PROMPTS, PROMPTS.prompts[:1], TASK.slots, **more)


def test_hidden_tokens_are_foreseen_for_every_question(samples) -> None:
    plain, reasoning = (forecast(assignment(FakeModel(spec)), samples) for spec in (PLAIN, REASONING))
    hidden_usd = len(samples) * HIDDEN * 10 / 1e6
    assert plain.cost_usd is not None and reasoning.cost_usd is not None
    assert plain.most_usd is not None and reasoning.most_usd is not None
    assert reasoning.cost_usd - plain.cost_usd == pytest.approx(hidden_usd)
    assert reasoning.most_usd - plain.most_usd == pytest.approx(hidden_usd)
    tokens_in = plain.roles["main"].tokens_in
    assert reasoning.roles["main"].tokens_in == tokens_in
    assert plain.most_usd == pytest.approx((tokens_in * 1 + len(samples) * VISIBLE_TOKENS * 10) / 1e6)


def test_a_budget_covers_the_hidden_tokens_of_a_question_before_it_is_asked(tmp_path, samples) -> None:
    budget = 0.9 * HIDDEN * 10 / 1e6  # more than enough for all that is visible
    model = FakeModel(PLAIN)
    with Journal(tmp_path / "plain") as journal:
        run(assignment(model, budget_usd=budget), samples, journal, lambda _: None)
    assert len(model.asked) == len(samples)
    model = FakeModel(REASONING)
    with Journal(tmp_path / "reasoning") as journal, pytest.raises(RunError) as caught:
        run(assignment(model, budget_usd=budget), samples, journal, lambda _: None)
    assert (caught.value.code, model.asked) == ("budget-spent", [])


def test_answers_of_untold_length_use_the_budget_up_after_a_restart_as_before(tmp_path, samples) -> None:
    first = FakeModel(PLAIN, silent)
    one = Ledger(PLAIN)
    with Journal(tmp_path) as journal:
        run(assignment(first), samples[:2], journal, lambda _: None)
    for request in first.asked:
        one.reserve(one.estimate(request))
    again = FakeModel(PLAIN, silent)
    with Journal(tmp_path) as journal, pytest.raises(RunError) as caught:
        run(assignment(again, budget_usd=one.at_most_usd), samples, journal, lambda _: None)
    assert (caught.value.code, again.asked) == ("budget-spent", [])
