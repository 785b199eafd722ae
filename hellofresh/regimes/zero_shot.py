"""Zero-shot: one question a prompt, nothing but the sample to go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.models import Request
from hellofresh.regimes._base import Case, Judgement

__all__ = ["ZeroShot"]

VISIBLE_TOKENS = 15


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """One call a sample and prompt, at most 15 visible tokens, temperature 0."""

    name: str = "zero-shot"
    version: int = 1

    async def judge(self, case: Case) -> Sequence[Judgement]:
        """Ask each prompt once, one after the other: a local model then reuses what it computed of the sample."""
        judgements = []
        for prompt in case.prompts:
            request = Request((prompt.message,), max_tokens=VISIBLE_TOKENS, sample=case.sample)
            judgements.append(Judgement(prompt.id, await case.ask("classify", prompt.id, request)))
        return judgements
