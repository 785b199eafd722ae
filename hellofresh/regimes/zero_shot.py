"""Zero-shot: one question a prompt, nothing but the sample to go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hellofresh.models import Request
from hellofresh.regimes._base import Case, Judgement, Outcome

__all__ = ["CHOICES", "VISIBLE_TOKENS", "ZeroShot"]

VISIBLE_TOKENS = 15
CHOICES = ("yes", "no")


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """One call a sample and prompt, at most 15 visible tokens, temperature 0."""

    name: str = "zero-shot"
    version: int = 1
    needs_web: bool = False
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def calls(self, prompts: int) -> int:
        """One a prompt."""
        return prompts

    async def judge(self, case: Case) -> Outcome:
        """Ask each prompt once, one after the other: a local model then reuses what it computed of the sample."""
        judgements = []
        for prompt in case.prompts:
            request = Request((case.question(prompt),), VISIBLE_TOKENS, choices=CHOICES, sample=case.sample)
            judgements.append(Judgement(prompt.id, await case.ask("classify", prompt.id, request)))
        return Outcome(judgements)
