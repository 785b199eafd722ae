"""Zero-shot: one question a prompt, nothing but the sample to go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hellofresh.regimes._base import Case, Outcome
from hellofresh.regimes._classify import CHOICES, VISIBLE_TOKENS, classify

__all__ = ["CHOICES", "VISIBLE_TOKENS", "ZeroShot"]


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
        """Ask each prompt once."""
        return Outcome(await classify(case))
