"""The question that decides, the same in every regime."""

from __future__ import annotations

import asyncio

from hellofresh.models import Request
from hellofresh.prompts import Prompt
from hellofresh.regimes._base import Case, Judgement

__all__ = ["CHOICES", "VISIBLE_TOKENS", "classify"]

VISIBLE_TOKENS = 15
CHOICES = ("yes", "no")


async def classify(case: Case, **more: str) -> list[Judgement]:
    """Ask every prompt, without waiting for the others' answers.

    Questions are put in the order of prompts, so that a model that takes one at a time can reuse what it computed of
    their shared beginning. Where some get no answer, the others are still asked, and then the first error is raised.

    Args:
        case: what is asked about.
        more: texts for slots of the frame that the sample does not fill.
    """

    def question(prompt: Prompt) -> Request:
        return Request((case.question(prompt, **more),), VISIBLE_TOKENS, choices=CHOICES, sample=case.sample)

    asked = (case.ask("classify", prompt.id, question(prompt)) for prompt in case.prompts)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    judgements = []
    for prompt, answer in zip(case.prompts, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        judgements.append(Judgement(prompt.id, answer))
    return judgements
