"""Short texts before the sample: what web-search found, or, for placebo, texts that have nothing to do with it."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._classify import classify
from hellofresh.runs.regimes._texts import fence
from hellofresh.tasks.outputs import Choice

__all__ = ["SLOT", "judge_with", "shows_summaries"]

SLOT = "summaries"


def shows_summaries(prompt_set: PromptSet, *steps: str) -> None:
    """Check before anything is asked that the prompts have a place for the texts, and wordings for the steps.

    Raises:
        PromptError: if not.
    """
    prompt_set.require(slots=(SLOT,), steps=steps)


async def judge_with(case: Case, summaries: Sequence[str]) -> list[Choice]:
    """Ask every prompt with these texts before the sample, the same for all prompts."""
    block = fence(summaries)
    return await classify(case, **{SLOT: block.text, "mark": block.mark})
