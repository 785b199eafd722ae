"""Propose: write the paragraph that should stand, given the one that stands; people rate it beside what editors did.

The edit that somebody made is not shown. A proposal has the form in which raters see editors' paragraphs: one line, and
the addresses of sources below (`hellofresh.tasks.wikipedia_edits.proposed`).
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from hellofresh.core.net.addresses import links_in
from hellofresh.core.texts import clean
from hellofresh.models import Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import BaseRegime, Case, Outcome, RegimeSettings
from hellofresh.runs.regimes._reading import is_refusal, without_marks
from hellofresh.tasks.outputs import Output, Response, Status
from hellofresh.tasks.wikipedia_edits import proposed

_TOKENS_A_WORD = 2
_SOURCES = re.compile(r"^\W*sources?\W*:", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(r"^\W*(?:new |revised |improved )?paragraph\W*:\s*", re.IGNORECASE)


class ProposeSettings(RegimeSettings):
    """How long a proposal may be.

    Attributes:
        words: most words; what is longer is cut off by the model's provider.
    """

    words: int = Field(default=600, ge=20, le=4000)


@dataclass(frozen=True, slots=True)
class Propose(BaseRegime):
    """One request a sample and prompt."""

    version: ClassVar[int] = 1
    gives: ClassVar[type[Output]] = Response

    settings: ProposeSettings = field(default_factory=ProposeSettings)
    name: str = "propose"

    def ceiling(self, prompts: int) -> int:
        return prompts

    def rehearse(self, step: str, turn: int) -> str:
        return "word " * (self.settings.words // 4)

    async def solve(self, case: Case) -> Outcome:
        return Outcome(await asyncio.gather(*(self._propose(case, prompt) for prompt in case.prompts)))

    async def _propose(self, case: Case, prompt: Prompt) -> Response:
        request = Request((case.question(prompt),), _TOKENS_A_WORD * self.settings.words, sample=case.sample)
        answer = await case.ask("propose", prompt.id, request)
        if is_refusal(answer):
            return Response(prompt=prompt.id, status=Status.BLOCKED, text="")
        return read_proposal(prompt.id, answer.text)


def read_proposal(prompt: str, said: str) -> Response:
    """The paragraph and its sources: the addresses from a line `Sources:` on, or none."""
    text = without_marks(clean(said)).strip().strip('`"').strip()
    last = max((match.start() for match in _SOURCES.finditer(text)), default=len(text))
    paragraph = _LABEL.sub("", text[:last]).strip()
    sources = links_in(text[last:])
    if not paragraph:
        return Response(prompt=prompt, status=Status.NONE, text="")
    return Response(prompt=prompt, text=proposed(paragraph, sources), sources=sources)
