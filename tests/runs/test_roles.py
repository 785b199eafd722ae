"""Roles and settings: each role may be another model, costs are told apart, and what was chosen names the system."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs.dry_run import forecast
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.regimes import MAIN, BaseRegime, Case, Outcome, get_regime, read_choice
from hellofresh.runs.runner import Assignment, run
from tests.fakes import PROMPTS, FakeModel, assigned, fails_with, run_in


def spec(name: str, tokens_in: float, tokens_out: float, in_flight: int = 2) -> ModelSpec:
    price = Price(tokens_in, tokens_out, "2026-11-01", "a test")
    return ModelSpec(name, "language-model", "A fake.", {"provider": "p"}, Limits(in_flight), price=price)


def fake(spec: ModelSpec) -> FakeModel:
    """Its answers take as many tokens as its name has letters."""
    return FakeModel(spec, lambda _: Answer("yes", Finish.STOP, 100, len(spec.name)))


@dataclass(frozen=True, slots=True)
class Helped(BaseRegime):
    """Asks a helper twice, then the main model once."""

    name: str = "helped"
    roles: ClassVar = {"helper": "helps"}

    def ceiling(self, prompts: int) -> int:
        return 2 + prompts

    async def solve(self, case: Case) -> Outcome:
        for n in (1, 2):
            await case.ask(
                f"help-{n}", "", Request((Message("user", (f"{case.sample.id} help {n}",)),), 10), role="helper"
            )
        prompt = case.prompts[0]
        answer = await case.ask("classify", prompt.id, Request((Message("user", (case.sample.id,)),), 10))
        return Outcome([read_choice(prompt.id, answer)])


def assignment(main: FakeModel, helper: FakeModel | None, **more: object) -> Assignment:
    others = {} if helper is None else {"helper": helper}
    return assigned(main, Helped(), PROMPTS.prompts[:1], others=others, **more)


def test_each_role_asks_its_model_and_its_cost_is_exact_against_its_price_list(tmp_path, samples) -> None:
    main, helper = fake(spec("main-one", 2.0, 8.0)), fake(spec("helper", 0.5, 1.0))
    with Journal(tmp_path) as journal:
        result = run(assignment(main, helper), samples, journal, lambda _: None)
        by_role = {entry.role for entry in journal.entries()}
    assert (len(main.asked), len(helper.asked)) == (len(samples), 2 * len(samples))
    assert by_role == {"main", "helper"}
    expected = len(samples) * (100 * 2.0 + 8 * 8.0) / 1e6 + 2 * len(samples) * (100 * 0.5 + 6 * 1.0) / 1e6
    assert result.tally.cost_usd == pytest.approx(expected, rel=1e-12)
    again = fake(main.spec)
    run_in(tmp_path, assignment(again, fake(helper.spec)), samples)
    assert again.asked == []


def test_a_budget_counts_all_roles(tmp_path, samples) -> None:
    main, helper = fake(spec("main-one", 0.0, 0.0)), fake(spec("helper", 1000.0, 1000.0))
    with fails_with("budget-spent"):
        run_in(tmp_path, assignment(main, helper, budget_usd=0.2), samples)
    assert len(helper.asked) < 2 * len(samples)


def test_a_role_whose_price_is_not_known_makes_the_cost_unknown_once_it_is_asked() -> None:
    priced, unpriced = spec("a", 1.0, 1.0), replace(spec("b", 1.0, 1.0), price=None)
    ledgers = Ledgers({MAIN: priced, "helper": unpriced})
    ledgers.of(MAIN).add(Answer("yes", Finish.STOP, 10, 1))
    assert ledgers.cost_usd == pytest.approx(11 / 1e6)
    ledgers.of("helper").add(Answer("yes", Finish.STOP, 10, 1))
    assert ledgers.cost_usd is None
    assert ledgers.unpriced == "b"


def test_a_dry_run_tells_roles_apart_and_its_ceiling_holds(samples) -> None:
    ahead = forecast(assignment(fake(spec("main-one", 2.0, 8.0)), fake(spec("helper", 0.5, 1.0))), samples)
    assert {role: item.calls for role, item in ahead.roles.items()} == {"main": 4, "helper": 8}
    assert ahead.cost_usd is not None and ahead.most_usd is not None
    assert ahead.cost_usd <= ahead.most_usd
    assert (ahead.calls, sum(item.uncut_calls for item in ahead.roles.values()), ahead.most_calls) == (12, 12, 24)


def test_models_of_one_provider_with_the_same_limits_share_their_pace(tmp_path, samples) -> None:
    at_once = most = 0

    class Counting(FakeModel):
        async def ask(self, request: Request) -> Answer:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.002)
            at_once -= 1
            return await super().ask(request)

    pair = Counting(spec("main-one", 1.0, 1.0)), Counting(spec("helper", 1.0, 1.0))
    run_in(tmp_path, assignment(*pair), samples)
    assert most == 2


def test_settings_are_read_checked_and_part_of_the_key() -> None:
    few = get_regime("web-search", ["pages=3", "before=sample"])
    assert (few.settings.model_dump()["pages"], few.parameters["before"]) == (3, "sample")
    assert few.ceiling(5) == 1 + 3 + 5
    assert get_regime("web-search").parameters["pages"] == 5
    assert get_regime("web-search-dated").parameters == get_regime("web-search", ["before=sample"]).parameters
    for wrong in ("pages=0", "pages=three", "before=never", "pages=1_0x", "pages"):
        with fails_with("bad-setting"):
            get_regime("web-search", [wrong])
    for wrong in ("searches=-1", "searches=51", "k=0", "mode=online", "certainty=perhaps"):
        with fails_with("bad-setting"):
            get_regime("search-agent", [wrong])
    with pytest.raises(UnknownNameError, match="canary_words"):
        get_regime("web-search", ["page=3"])
    with pytest.raises(UnknownNameError, match=r"a setting of .*web-search.*--regime"):
        get_regime("zero-shot", ["pages=3"])
