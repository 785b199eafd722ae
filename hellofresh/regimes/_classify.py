"""The question that decides, the same in every regime."""

from __future__ import annotations

from hellofresh.models import Request
from hellofresh.regimes._base import Case, Judgement

__all__ = ["CHOICES", "VISIBLE_TOKENS", "classify"]

VISIBLE_TOKENS = 15
CHOICES = ("yes", "no")


async def classify(case: Case, **more: str) -> list[Judgement]:
    """Ask each prompt once, one after the other: a local model then reuses what it computed of their shared beginning.

    Args:
        case: what is asked about.
        more: texts for slots of the frame that the sample does not fill.
    """
    judgements = []
    for prompt in case.prompts:
        request = Request((case.question(prompt, **more),), VISIBLE_TOKENS, choices=CHOICES, sample=case.sample)
        judgements.append(Judgement(prompt.id, await case.ask("classify", prompt.id, request)))
    return judgements
