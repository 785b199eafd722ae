"""The question that decides, the same in every regime."""

from __future__ import annotations

import asyncio

from hellofresh.models import Answer, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._reading import read_choice
from hellofresh.tasks.outputs import Choice

__all__ = ["VISIBLE_TOKENS", "classify"]

VISIBLE_TOKENS = 15


async def classify(case: Case, **more: str) -> list[Choice]:
    """Ask the first prompt and, once it has an answer, all others without waiting for one another; in batches, all.

    Questions are put in the order of prompts, so that a model that takes one at a time can reuse what it computed of
    their shared beginning. If the first gets no answer, the others are not asked; if one of them gets none, the rest
    still are, and then the first error is raised.

    Args:
        case: what is asked about.
        more: texts for slots of the frame that the sample does not fill.
    """

    answers = case.prompt_set.answers

    def question(prompt: Prompt) -> Request:
        words = tuple(reversed(answers))
        return Request((case.question(prompt, **more),), VISIBLE_TOKENS, choices=words, sample=case.sample)

    ahead = 0 if case.at_once else 1
    replies: list[Answer | BaseException] = [
        await case.ask("classify", prompt.id, question(prompt)) for prompt in case.prompts[:ahead]
    ]
    asked = (case.ask("classify", prompt.id, question(prompt)) for prompt in case.prompts[ahead:])
    replies += await asyncio.gather(*asked, return_exceptions=True)
    choices = []
    for prompt, reply in zip(case.prompts, replies, strict=True):
        if isinstance(reply, BaseException):
            raise reply
        choices.append(read_choice(prompt.id, reply, answers))
    return choices
