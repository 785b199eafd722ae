"""Zero-shot asks every prompt once and shows the model nothing but the prompt."""

from __future__ import annotations

import asyncio

import pytest

from hellofresh.errors import UnknownNameError
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.regimes import REGIMES, Case, FilledPrompt, get_regime


def test_it_asks_each_prompt_once_in_order_and_gives_each_its_answer(make) -> None:
    asked: list[tuple[str, str, Request]] = []

    async def ask(step: str, prompt: str, request: Request) -> Answer:
        asked.append((step, prompt, request))
        return Answer(f"answer to {prompt}", Finish.STOP)

    sample = make.note(1)
    prompts = [FilledPrompt(name, Message("user", ("sample ", name))) for name in ("b", "a", "c")]
    judgements = asyncio.run(get_regime("zero-shot").judge(Case(sample, prompts, ask)))
    assert [(item.prompt, item.answer.text) for item in judgements] == [(n, f"answer to {n}") for n in ("b", "a", "c")]
    assert [request.messages for _, _, request in asked] == [(prompt.message,) for prompt in prompts]
    assert all(
        (request.max_tokens, request.temperature, request.sample) == (15, 0.0, sample) for _, _, request in asked
    )
    assert [step for step, _, _ in asked] == ["classify"] * 3


def test_regimes_are_found_by_name_and_no_other() -> None:
    assert all(get_regime(name).name == name for name in REGIMES)
    with pytest.raises(UnknownNameError, match="zero-shot"):
        get_regime("zeroshot")
