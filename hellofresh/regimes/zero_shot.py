"""Zero-shot: one question a prompt, nothing but the sample to go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hellofresh.regimes._base import Case, Need, Outcome, Settings
from hellofresh.regimes._classify import CHOICES, VISIBLE_TOKENS, classify

__all__ = ["CHOICES", "VISIBLE_TOKENS", "ZeroShot"]


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """One request a sample and prompt, at most 15 visible tokens, temperature 0."""

    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset()
    roles: ClassVar[Mapping[str, str]] = {}

    settings: Settings = Settings()
    name: str = "zero-shot"

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """The settings."""
        return self.settings.model_dump()

    def configured(self, settings: Settings) -> ZeroShot:
        """With other settings."""
        return replace(self, settings=settings)

    def ceiling(self, prompts: int) -> int:
        """One a prompt."""
        return prompts

    def rehearse(self, step: str, turn: int) -> str:
        """A word."""
        return CHOICES[0]

    async def solve(self, case: Case) -> Outcome:
        """Ask each prompt once."""
        return Outcome(await classify(case))
