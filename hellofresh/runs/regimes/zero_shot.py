"""One question a prompt, nothing but the sample to go by: zero-shot, and what asks for a ranking or a paragraph.

The question of zero-shot is asked by other regimes, too.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pydantic import Field

from hellofresh.core.files import BadJsonError, strict_json
from hellofresh.core.net.addresses import links_in
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.models import Answer, Message, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import BaseRegime, Case, ChoiceSettings, Outcome, RegimeSettings
from hellofresh.runs.regimes._reading import is_refusal, read_choice, without_marks
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.tasks.wikipedia_edits import proposed

VISIBLE_TOKENS = 15  # a word and some formatting; what a reasoning model hides comes on top
_MOST_TOKENS_OF_A_RANKING = 4096  # a hundred ids of documents
_TOKENS_A_WORD = 2
_SOURCES = re.compile(r"^\W*sources?\W*:", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(r"^\W*(?:new |revised |improved )?paragraph\W*:\s*", re.IGNORECASE)
_JUSTIFY_TOKENS, _LONGEST_REASON = 120, 600
_JUSTIFY = "Justify this answer in one sentence, by what the texts above say and by facts. Write nothing else."
SUMMARIES = "summaries"
"""The slot of a frame for texts that stand before the sample."""


async def classify(case: Case, **more: str) -> list[Choice]:
    """Ask the first prompt and, once it has an answer, all others without waiting for one another.

    Questions are put in the order of prompts, so that a model that takes one at a time can reuse what it computed of
    their shared beginning. If the first gets no answer, the others are not asked; if one of them gets none, the rest
    still are, and then the first error is raised.

    Args:
        case: what is asked about.
        more: texts for slots of the frame that the sample does not fill.
    """

    answers = case.prompt_set.answers

    def question(prompt: Prompt) -> Request:
        words = case.prompt_set.choices
        return Request((case.question(prompt, **more),), VISIBLE_TOKENS, choices=words, sample=case.sample)

    first, *others = case.prompts
    replies: list[Answer | BaseException] = [await case.ask("classify", first.id, question(first))]
    asked = (case.ask("classify", prompt.id, question(prompt)) for prompt in others)
    replies += await asyncio.gather(*asked, return_exceptions=True)
    choices = []
    for prompt, reply in zip(case.prompts, replies, strict=True):
        if isinstance(reply, BaseException):
            raise reply
        choices.append(read_choice(prompt.id, reply, answers))
    return choices


class JustifiedSettings(ChoiceSettings):
    """Settings of a regime that asks one question a prompt.

    Attributes:
        justify: whether the model is asked for one sentence on its answer afterwards, which changes no score.
    """

    justify: bool = False


async def justified(case: Case, settings: JustifiedSettings, choices: Sequence[Choice], **more: str) -> list[Choice]:
    """The same choices, if asked for with the sentence by which the model justifies each that it made."""

    async def reason(prompt: Prompt, choice: Choice) -> Choice:
        if choice.label is None or not settings.justify:
            return choice
        said = Message("assistant", (case.prompt_set.answers[choice.label],))
        messages = (case.question(prompt, **more), said, Message("user", (_JUSTIFY,)))
        answer = await case.ask("justify", prompt.id, Request(messages, _JUSTIFY_TOKENS, sample=case.sample))
        return choice if is_refusal(answer) else replace(choice, rationale=one_line(answer.text, _LONGEST_REASON))

    return list(await asyncio.gather(*map(reason, case.prompts, choices)))


async def judge_with(case: Case, summaries: Sequence[str], settings: JustifiedSettings) -> list[Choice]:
    """Ask every prompt with these texts before the sample, the same for all prompts."""
    block = fence(summaries)
    more = {SUMMARIES: block.text, "mark": block.mark}
    return await justified(case, settings, await classify(case, **more), **more)


@dataclass(frozen=True, slots=True)
class ZeroShot(BaseRegime):
    """One request a sample and prompt, at most 15 visible tokens, temperature 0."""

    settings: JustifiedSettings = field(default_factory=JustifiedSettings)
    name: str = "zero-shot"

    def ceiling(self, prompts: int) -> int:
        return prompts * (1 + self.settings.justify)

    def rehearse(self, step: str, turn: int) -> str:
        return "word " * 30 if step == "justify" else ""

    async def solve(self, case: Case) -> Outcome:
        return Outcome(await justified(case, self.settings, await classify(case)))


@dataclass(frozen=True, slots=True)
class Retrieve(BaseRegime):
    """One request a query: a retriever reads the query and answers with documents and scores."""

    gives: ClassVar[type[Output]] = Ranking
    one_prompt: ClassVar[bool] = True

    name: str = "retrieve"

    def ceiling(self, prompts: int) -> int:
        return 1

    def rehearse(self, step: str, turn: int) -> str:
        return '{"documents": [], "scores": []}'

    async def solve(self, case: Case) -> Outcome:
        outputs = []
        for prompt in case.prompts:
            request = Request((case.question(prompt),), _MOST_TOKENS_OF_A_RANKING, sample=case.sample)
            outputs.append(read_ranking(prompt.id, await case.ask("retrieve", prompt.id, request)))
        return Outcome(outputs)


def read_ranking(prompt: str, answer: Answer) -> Ranking:
    """The ranking in an answer: `{"documents": [...], "scores": [...]}`; anything else has the status `none`."""
    nothing = Ranking(prompt=prompt, status=Status.NONE, documents=(), scores=())
    try:
        value = strict_json(answer.text.encode())
    except (BadJsonError, UnicodeEncodeError):
        return nothing
    found = value if isinstance(value, dict) else {}
    documents, scores = found.get("documents"), found.get("scores")
    if not isinstance(documents, list) or not isinstance(scores, list) or len(documents) != len(scores):
        return nothing
    names = [name for name in documents if isinstance(name, str)]
    values = [float(score) for score in scores if isinstance(score, int | float) and math.isfinite(score)]
    if len(set(names)) < len(documents) or len(values) < len(scores):
        return nothing
    return Ranking(prompt=prompt, documents=tuple(names), scores=tuple(values))


class ProposeSettings(RegimeSettings):
    """How long a proposal may be.

    Attributes:
        words: most words; what is longer is cut off by the model's provider.
    """

    words: int = Field(default=600, ge=20, le=4000)


@dataclass(frozen=True, slots=True)
class Propose(BaseRegime):
    """Writes the paragraph that should stand, given the one that stands; people rate it beside what editors did.

    The edit that somebody made is not shown. A proposal has the form in which raters see editors' paragraphs: one line,
    and the addresses of sources below (`hellofresh.tasks.wikipedia_edits.proposed`).
    """

    version: ClassVar[int] = 1
    gives: ClassVar[type[Output]] = Response

    settings: ProposeSettings = field(default_factory=ProposeSettings)
    name: str = "propose"

    def ceiling(self, prompts: int) -> int:
        return prompts

    def rehearse(self, step: str, turn: int) -> str:
        return "word " * (self.settings.words // 4)

    async def solve(self, case: Case) -> Outcome:
        async def propose(prompt: Prompt) -> Response:
            request = Request((case.question(prompt),), _TOKENS_A_WORD * self.settings.words, sample=case.sample)
            answer = await case.ask("propose", prompt.id, request)
            if is_refusal(answer):
                return Response(prompt=prompt.id, status=Status.BLOCKED, text="")
            return read_proposal(prompt.id, answer.text)

        return Outcome(await asyncio.gather(*map(propose, case.prompts)))


def read_proposal(prompt: str, said: str) -> Response:
    """The paragraph and its sources: the addresses from a line `Sources:` on, or none."""
    text = without_marks(clean(said)).strip().strip('`"').strip()
    last = max((match.start() for match in _SOURCES.finditer(text)), default=len(text))
    paragraph = _LABEL.sub("", text[:last]).strip()
    sources = links_in(text[last:])
    if not paragraph:
        return Response(prompt=prompt, status=Status.NONE, text="")
    return Response(prompt=prompt, text=proposed(paragraph, sources), sources=sources)
