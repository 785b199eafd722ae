"""Two pipelines that the search agent is compared with: their steps are fixed, and so is what is searched for when.

`hiss` takes a text apart and checks each part, as "hierarchical step by step" prompting does (Zhang and Gao, 2023).
`retrieve-verify` has the model answer from memory, and keeps of that only what a search supports, as WikiChat does
(Semnani et al., 2023); its last stage, which polishes a reply for a talk, has nothing to do here. Search side, wordings
and decision are the agent's, so that systems differ in their steps alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from hellofresh.core.texts import clean, fence, one_line
from hellofresh.models import Message, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import Case, Outcome
from hellofresh.runs.regimes._outside import has_word, web_of
from hellofresh.runs.regimes._reading import DecisionForm, is_refusal, without_marks
from hellofresh.runs.regimes._search_tools import SUMMARISER
from hellofresh.runs.regimes.search_agent import (
    REHEARSED,
    LookUpRegime,
    LookUpSettings,
    look_up,
    read_rationale,
    read_turn,
)
from hellofresh.runs.regimes.web_search import query_lines
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.transcripts import AskedEvent, Event

_TOKENS, _SHORT_TOKENS = 1024, 300  # a decision with its reasons, and a list of points
_CHARACTERS = 300  # of one point: a longer one is an essay
_BULLET = re.compile(r"^(?:[-*\u2022]|\(?\d{1,2}[.):])\s*")
_WORKED = frozenset({"parts", "doubt"})  # steps that worked examples stand before
_SETTLED = re.compile(r"\W*settled\b\W*", re.IGNORECASE)
_SUPPORTED = re.compile(r"\W*supported\b", re.IGNORECASE)


class StepwiseSettings(LookUpSettings):
    """How a text is checked part by part.

    Attributes:
        parts: most statements that are checked.
    """

    parts: int = Field(default=4, ge=1, le=20)


class HissSettings(StepwiseSettings):
    """How a text is settled by questions.

    Attributes:
        questions: most questions about each statement.
    """

    questions: int = Field(default=3, ge=1, le=10)


@dataclass(slots=True)
class _Checking:
    """The state of one prompt: events, and addresses of sources."""

    case: Case
    prompt: Prompt
    settings: StepwiseSettings
    events: list[Event] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)
    searches: int = 0

    async def ask(self, step: str, name: str = "", **texts: str) -> str:
        """What the model says of the sample to a step's text, empty where it refuses; all texts stand in fences."""
        slots = {key: fence([text]).text for key, text in texts.items()}
        frame, _ = self.case.question(self.prompt).parts
        text = self.case.prompt_set.step(name or step, {}, number=str(self.settings.parts), **slots).text
        if (name or step) in _WORKED and (examples := self.case.prompt_set.steps.get("examples")):
            text = f"{examples}\n{text}"
        return await self._said(step, (Message("user", (frame, text)),), _SHORT_TOKENS)

    async def listed(self, step: str, **texts: str) -> list[str]:
        """The first statements of an answer, one a line, all different."""
        said = without_marks(await self.ask(step, **texts)).split("\n")
        lines = (one_line(_BULLET.sub("", line.strip()), _CHARACTERS) for line in said)
        # A line that ends with a colon only announces the next one.
        stated = (line for line in lines if has_word(line) and not line.endswith(":"))
        return list(dict.fromkeys(stated))[: self.settings.parts]

    async def search(self, query: str) -> str:
        """What the search side finds."""
        self.searches += 1
        finding = await look_up(self.case, self.settings, query, self.prompt.id, self.searches)
        self.events += finding.events
        self.sources |= dict.fromkeys(finding.sources)
        return finding.text

    async def decide(self, notes: Sequence[str]) -> Choice:
        """The decision by these notes; asked for once more if the answer has none."""
        frame, instruction = self.case.question(self.prompt).parts
        block = fence(notes)
        given = self.case.prompt_set.step("notes", {}, notes=block.text, mark=block.mark).text
        messages: tuple[Message, ...] = (Message("user", (frame, f"{given}\n\n{instruction}")),)
        form = DecisionForm(get_task(self.case.sample.task).classes)
        said = await self._said("decide", messages, _TOKENS)
        label = form.read(said)
        if label is None and said and not form.early_chances(said) and not said.endswith(REHEARSED):
            again = self.case.prompt_set.step("again", {}).text
            messages = (*messages, Message("assistant", (said,)), Message("user", (again,)))
            said = await self._said("again", messages, _TOKENS)
            label = form.read(said)
        status = Status.ANSWERED if label is not None else Status.NONE if said else Status.BLOCKED
        return Choice(
            prompt=self.prompt.id,
            status=status,
            label=label,
            probabilities=form.early_chances(said),
            rationale=read_rationale(said),
            sources=tuple(self.sources),
        )

    async def _said(self, step: str, messages: tuple[Message, ...], tokens: int) -> str:
        answer = await self.case.ask(step, self.prompt.id, Request(messages, tokens, sample=self.case.sample))
        self.events.append(AskedEvent(prompt=self.prompt.id, step=step))
        return "" if is_refusal(answer) else clean(answer.text).strip()


@dataclass(frozen=True, slots=True)
class Stepwise(LookUpRegime):
    """The common part of both regimes; a subclass finds the notes for the decision."""

    version: ClassVar[int] = 2
    roles: ClassVar[Mapping[str, str]] = {SUMMARISER: "answers the queries; it never sees the sample"}
    prompts_from: ClassVar[str] = "search-agent"

    settings: StepwiseSettings = field(default_factory=StepwiseSettings)

    def rehearse(self, step: str, turn: int) -> str:
        if step in ("decide", "again"):
            return "word " * 200 + f"\nDecision: {REHEARSED}"
        if step in ("parts", "claims"):
            return "\n".join(f"statement {number} of some words" for number in range(1, self.settings.parts + 1))
        return "SEARCH: a query" if step.startswith("doubt") else "supported " + "word " * 60

    def prolong(self, step: str, turn: int) -> str:
        return "undecided" if step in ("decide", "again") else self.rehearse(step, turn)

    async def solve(self, case: Case) -> Outcome:
        """Check part after part, for all prompts at once.

        Raises:
            PromptError: if the prompt set lacks a step.
            RunError: if the case has no way to the web.
        """
        web_of(case)
        ways = [_Checking(case, prompt, self.settings) for prompt in case.prompts]

        async def decided(way: _Checking) -> Choice:
            return await way.decide(await self._notes(way))

        choices = await asyncio.gather(*map(decided, ways))
        return Outcome(choices, [event for way in ways for event in way.events])

    async def _notes(self, way: _Checking) -> list[str]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Hiss(Stepwise):
    """Each part is settled by questions, answered from memory, or by a search where the model is not sure."""

    version: ClassVar[int] = 3

    settings: HissSettings = field(default_factory=HissSettings)
    name: str = "hiss"

    def ceiling(self, prompts: int) -> int:
        """The parts; for each question on one a doubt, a search and a check; the decision, and one more attempt."""
        return prompts * (1 + 3 * self.settings.questions * self.settings.parts + 2)

    async def _notes(self, way: _Checking) -> list[str]:
        parts = await way.listed("parts")
        return [f"{part}\n{await self._settled(way, number, part)}" for number, part in enumerate(parts, start=1)]

    async def _settled(self, way: _Checking, number: int, part: str) -> str:
        """What is found out about a part, by one question after the other until nothing is open."""
        settled: list[str] = []
        for turn in range(1, self.settings.questions + 1):
            place = f"{number}" if turn == 1 else f"{number}-{turn}"
            said = await way.ask(f"doubt-{place}", "doubt", part=part, found="\n".join(settled) or "nothing yet")
            if query := read_turn(said).query:
                said = await way.ask(f"check-{place}", "check", part=part, found=await way.search(query))
            settled += [_SETTLED.sub("", said, count=1)] if said else []
            if not said or _SETTLED.match(said):
                break
        return "\n".join(settled)


@dataclass(frozen=True, slots=True)
class RetrieveVerify(Stepwise):
    """A search for the text, and what a search supports of all that the model knows of it."""

    name: str = "retrieve-verify"

    def ceiling(self, prompts: int) -> int:
        """Query and search, draft and claims; of each claim a search and a verdict; the decision, one more attempt."""
        return prompts * (4 + 2 * self.settings.parts + 2)

    async def _notes(self, way: _Checking) -> list[str]:
        query = next(query_lines(await way.ask("query")), "")
        notes = [await way.search(query)] if query else []
        draft = await way.ask("draft")
        for number, claim in enumerate(await way.listed("claims", draft=draft) if draft else (), start=1):
            verdict = await way.ask(f"verify-{number}", "verify", part=claim, found=await way.search(claim))
            notes += [claim] if _SUPPORTED.match(verdict) else []
        return notes
