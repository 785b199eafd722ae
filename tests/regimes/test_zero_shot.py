"""Zero-shot asks every prompt once and shows the model nothing but the prompt."""

from __future__ import annotations

import asyncio

import pytest

from hellofresh.core.errors import UnknownNameError
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.regimes import REGIMES, Case, get_regime
from tests.regimes import conftest as stage


def test_it_asks_each_prompt_once_in_order_and_gives_each_its_answer(make) -> None:
    asked: list[tuple[str, str, Request]] = []

    async def ask(step: str, prompt: str, request: Request, *, role: str = "main") -> Answer:
        asked.append((step, prompt, request))
        return Answer({"b": "yes", "a": "no", "c": "perhaps"}[prompt], Finish.STOP)

    sample = make.note(1)
    prompts = tuple(Prompt(name, "somebody", name) for name in ("b", "a", "c"))
    case = Case(
        sample, prompts, PromptSet("own", "x-notes", "zero-shot", "sample {post} ", prompts), {"post": "P"}, ask
    )
    outcome = asyncio.run(get_regime("zero-shot").solve(case))
    assert [(item.prompt, item.label) for item in outcome.outputs] == [("b", 1), ("a", 0), ("c", None)]
    assert [request.messages[0].parts for _, _, request in asked] == [("sample P ", name) for name in ("b", "a", "c")]
    assert not outcome.events
    assert all(
        (request.max_tokens, request.temperature, request.sample) == (15, 0.0, sample) for _, _, request in asked
    )
    assert [step for step, _, _ in asked] == ["classify"] * 3


def test_regimes_are_found_by_name_and_no_other() -> None:
    assert all(get_regime(name).name == name for name in REGIMES)
    with pytest.raises(UnknownNameError, match="zero-shot"):
        get_regime("zeroshot")


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("zero-shot", "classify", "Too early to tell."),
        ("search-agent", "turn-1", "Summary: who knows.\nDecision: **Too early to tell**"),
        ("hiss", "decide", "Summary: who knows.\nDecision: Too early to tell"),
        ("retrieve-verify", "decide", "Decision: too early to tell"),
    ],
)
def test_that_it_is_too_early_is_offered_and_taken_at_once_as_an_even_forecast(make, name, step, said) -> None:
    world = stage.World({step: said}, results=stage.results(1))
    outcome = stage.judged(get_regime(name, ["early=true"]), make.note(1), world)
    assert {(one.label, one.probabilities) for one in outcome.outputs} == {(None, (0.5, 0.5))}
    (asked, *_) = world.of(step)
    assert "too early to tell" in asked.request.messages[0].text.casefold() and not world.of("again")
