"""Zero-shot: one question a prompt, nothing but the sample to go by; and that question as other regimes ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hellofresh.core.texts import fence
from hellofresh.models import Answer, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import BaseRegime, Case, ChoiceSettings, Outcome
from hellofresh.runs.regimes._reading import read_choice
from hellofresh.tasks.outputs import Choice

VISIBLE_TOKENS = 15


async def classify(case: Case, **more: str) -> list[Choice]:
    """Ask the first prompt and, once it has an answer, all others without waiting for one another.

    Questions are put in the order of prompts, so that a model that takes one at a time can reuse what it computed of
    their shared beginning. If the first gets no answer, the others are not asked; if one of them gets none, the rest
    still are, and then the first error is raised.

    Args:
        case: what is asked about.
        more: texts for slots of the frame that the sample does not fill.
    """

    answers = case.prompt_set.answers

    def question(prompt: Prompt) -> Request:
        words = case.prompt_set.choices
        return Request((case.question(prompt, **more),), VISIBLE_TOKENS, choices=words, sample=case.sample)

    first, *others = case.prompts
    replies: list[Answer | BaseException] = [await case.ask("classify", first.id, question(first))]
    asked = (case.ask("classify", prompt.id, question(prompt)) for prompt in others)
    replies += await asyncio.gather(*asked, return_exceptions=True)
    choices = []
    for prompt, reply in zip(case.prompts, replies, strict=True):
        if isinstance(reply, BaseException):
            raise reply
        choices.append(read_choice(prompt.id, reply, answers))
    return choices


SUMMARIES = "summaries"
"""The slot of a frame for texts that stand before the sample."""


async def judge_with(case: Case, summaries: Sequence[str]) -> list[Choice]:
    """Ask every prompt with these texts before the sample, the same for all prompts."""
    block = fence(summaries)
    return await classify(case, **{SUMMARIES: block.text, "mark": block.mark})


@dataclass(frozen=True, slots=True)
class ZeroShot(BaseRegime):
    """One request a sample and prompt, at most 15 visible tokens, temperature 0."""

    settings: ChoiceSettings = field(default_factory=ChoiceSettings)
    name: str = "zero-shot"

    def ceiling(self, prompts: int) -> int:
        return prompts

    async def solve(self, case: Case) -> Outcome:
        return Outcome(await classify(case))
