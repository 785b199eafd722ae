"""Roles, settings and options of a run: each role may be another model, and each option is declared once."""

from __future__ import annotations

import argparse
import asyncio
import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hellofresh as hf
from hellofresh.cli.arguments import command_line
from hellofresh.cli.evaluate import evaluation_of
from hellofresh.core.errors import UnknownNameError
from hellofresh.core.quarters import Quarter
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.models import Answer, Finish, Limits, Message, ModelSpec, Price, Request
from hellofresh.runs import evaluation as options
from hellofresh.runs.dry_run import forecast
from hellofresh.runs.equipment import web_access
from hellofresh.runs.evaluation import OPTIONS, STORED, Evaluation, Option, Part, given_values
from hellofresh.runs.journal import Journal
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.plan import read_evaluation, stored_form
from hellofresh.runs.regimes import MAIN, BaseRegime, Case, Outcome, get_regime, read_choice
from hellofresh.runs.runner import Assignment, run
from hellofresh.tasks import get_task
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
            await asyncio.sleep(0.05)
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


# --- An option of a run is declared once: the command line, Python and both files follow from the fields of one type.


BASE = Evaluation(Quarter(2026, 2), get_task("x-notes"), "coin")
EVERYTHING = replace(
    BASE, regime="web-search", prompts="manual,rephrased-1", limit=7, prompt_set="/own/set.toml", repeat=3,
    temperature=0.7, hidden_tokens=9, vote=True, split="prospective", roles={"summariser": "half"},
    settings=("pages=3",), blocked=("a.example", "b.example"), allowed=("fact-checkers",), provider="brave",
)  # fmt: skip
WORDS = (
    "--edition 2026Q2 --task x-notes --model coin --regime web-search --prompts manual,rephrased-1 --limit 7 "
    "--prompt-set /own/set.toml --repeat 3 --temperature 0.7 --hidden-tokens 9 --vote --split prospective "
    "--role summariser=half --set pages=3 --block a.example,b.example --allow fact-checkers --provider brave"
)


def parser_of(name: str) -> argparse.ArgumentParser:
    (commands,) = (item for item in command_line()._actions if isinstance(item, argparse._SubParsersAction))
    return commands.choices[name]


def test_every_option_of_the_type_is_one_of_the_command_and_of_python() -> None:
    flags = {action.dest: (action.option_strings, action.help) for action in parser_of("evaluate")._actions}
    for name, option in OPTIONS.items():
        assert flags[name] == ([option.flag_of(name)], option.help)
    parameters = inspect.signature(hf.evaluate).parameters
    for name in OPTIONS.keys() - {"task", "model"}:
        assert parameters[name].default == ({} if name == "roles" else getattr(BASE, name)) or name == "roles"
    assert set(STORED) - {"edition"} <= OPTIONS.keys()


def test_the_command_line_and_python_say_the_same() -> None:
    assert evaluation_of(command_line().parse_args(["evaluate", *WORDS.split()])) == EVERYTHING
    assert evaluation_of(command_line().parse_args(["evaluate", *WORDS.split()[:6]])) == BASE
    given: dict[str, Any] = {
        "model": "coin", "regime": "web-search", "prompts": ["manual", "rephrased-1"], "limit": 7,
        "prompt_set": Path("/own/set.toml"), "repeat": 3, "temperature": 0.7, "hidden_tokens": 9, "vote": True,
        "split": "prospective",
        "roles": {"summariser": "half"}, "settings": {"pages": 3}, "blocked": ["a.example", "b.example"],
        "allowed": ["fact-checkers"], "provider": "brave",
    }  # fmt: skip
    assert read_evaluation(given_values(given) | {"edition": "2026Q2", "task": "x-notes"}) == EVERYTHING


def test_an_option_enters_the_identity_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Option("any").part is Part.IDENTITY
    assert (BASE.further, EVERYTHING.further) == ({}, {})  # so that every earlier run keeps its identity
    monkeypatch.setattr(options, "_FURTHER", frozenset({"hidden_tokens", "roles", "prompt_set"}))
    assert BASE.further == {}
    assert EVERYTHING.further == {"hidden_tokens": 9, "roles": {"summariser": "half"}, "prompt_set": "/own/set.toml"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": "7"}, {"limit": 7.5}, {"vote": 1}, {"roles": ["a=b"]}, {"settings": "pages=3"}, {"split": "test"},
        {"task": "no-task"}, {"edition": "2026"}, {"surprise": 1},
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).replace("edition", "2026").replace("task", "no-task")):
        read_evaluation(stored_form(EVERYTHING) | wrong)


CLAIMS = get_task("claims")


def parameters(*allowed: str) -> object:
    asked = Evaluation(Quarter(2026, 2), CLAIMS, "coin", "web-search", allowed=allowed, replay=True)
    web = web_access(asked, get_regime(asked.regime))
    assert web is not None
    return web.parameters


def test_fact_checkers_are_blocked_unless_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    usual, open_to_all = (ExcludedSources.load(groups=groups) for groups in (CLAIMS.blocked_sources, ()))
    address = "https://www.politifact.com/factchecks/2026/"
    assert usual.reason(address) and not open_to_all.reason(address)
    assert parameters() != parameters("fact-checkers")
    with pytest.raises(UnknownNameError, match="fact-checkers"):
        parameters("wikimedia")
