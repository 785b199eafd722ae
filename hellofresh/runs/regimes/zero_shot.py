"""Zero-shot: one question a prompt, nothing but the sample to go by."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.runs.regimes._base import BaseRegime, Case, Outcome
from hellofresh.runs.regimes._classify import VISIBLE_TOKENS, classify

__all__ = ["VISIBLE_TOKENS", "ZeroShot"]


@dataclass(frozen=True, slots=True)
class ZeroShot(BaseRegime):
    """One request a sample and prompt, at most 15 visible tokens, temperature 0."""

    name: str = "zero-shot"

    def ceiling(self, prompts: int) -> int:
        """One a prompt."""
        return prompts

    async def solve(self, case: Case) -> Outcome:
        """Ask each prompt once."""
        return Outcome(await classify(case))
