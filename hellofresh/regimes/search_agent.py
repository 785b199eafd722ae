"""The search agent: a model that cannot see the web, and a search side that never sees the sample.

The main model gets the sample and may write a line that begins with `SEARCH: `; the search side looks the query up, and
its finding comes back as the next message. In the end the model writes its analysis, a summary and a decision in a
fixed form. The steps are `turn-<n>`, `search-<n>` (role `summariser`), `again` (once, where an answer held neither) and
`certainty`. Each prompt has a conversation of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from pydantic import Field

from hellofresh.models import Answer, Message, Request
from hellofresh.outputs import Choice, Status
from hellofresh.prompts import Prompt
from hellofresh.regimes._agent_turns import Turn, normalised, read_turn
from hellofresh.regimes._base import BaseRegime, Case, Need, Outcome, RegimeSettings
from hellofresh.regimes._decisions import DecisionForm, read_certainty
from hellofresh.regimes._outside import web_of
from hellofresh.regimes._reading import is_refusal
from hellofresh.regimes._search_tools import SUMMARISER, Finding, Lookup, SearchTool, SummarisedSearch
from hellofresh.regimes._texts import clean, fence, one_line
from hellofresh.tasks import get_task
from hellofresh.transcripts import AskedEvent, Event, NotedEvent
from hellofresh.web import canary

__all__ = ["SearchAgent", "SearchAgentSettings"]

TURN_TOKENS = 1024
CERTAINTY_TOKENS = 15
_RATIONALE_CHARACTERS = 2000
_GIVEN_CHARACTERS = 1000
_REHEARSED = "(any)"
"""What a dry run decides on: it is no label, and it is not asked again."""
_STEPS = ("tool", "result", "more", "last", "repeated", "again", "given", "summary", "certainty")


class SearchAgentSettings(RegimeSettings):
    """How an agent searches.

    Attributes:
        mode: `agent` searches as it likes; `offline` is the same prompt without a search; `whole` gives the search side
            the whole text of the sample, once, before the question is asked.
        searches: most searches.
        k: pages that are summarised for one search.
        page_words: words that are read of each.
        summary_words: most words of what a search brings.
        before: `sample` to search only for what was there before the sample's date, where the provider can.
        canary_words: a page with so many words in a row in common with the sample is left out; 0 for none.
        certainty: whether the model is asked for its certainty after its decision.
    """

    mode: Literal["agent", "offline", "whole"] = "agent"
    searches: int = Field(default=10, ge=1, le=50)
    k: int = Field(default=10, ge=1, le=50)
    page_words: int = Field(default=500, ge=10, le=20_000)
    summary_words: int = Field(default=300, ge=10, le=2000)
    before: Literal["", "sample"] = ""
    canary_words: int = Field(default=13, ge=0, le=100)
    certainty: bool = False


@dataclass(frozen=True, slots=True)
class SearchAgent(BaseRegime):
    """A conversation a prompt, with searches in between."""

    needs: ClassVar[frozenset[Need]] = frozenset({Need.WEB})
    roles: ClassVar[Mapping[str, str]] = {SUMMARISER: "answers the queries; it never sees the sample"}

    settings: SearchAgentSettings = field(default_factory=SearchAgentSettings)
    name: str = "search-agent"

    def ceiling(self, prompts: int) -> int:
        """For each prompt, a turn and a summary for every search, the last turn, one more attempt, and the certainty."""
        searches = {"agent": 2 * self.settings.searches, "offline": 0, "whole": 1}[self.settings.mode]
        return prompts * (searches + 2 + self.settings.certainty)

    def rehearse(self, step: str, turn: int) -> str:
        """Two searches, then a decision."""
        if step == "certainty":
            return "90"
        if step.startswith("search"):
            return "word " * self.settings.summary_words
        if self.settings.mode == "agent" and step in ("turn-1", "turn-2")[: self.settings.searches]:
            return "word " * 40 + f"\nSEARCH: query {step}"
        return "word " * 200 + f"\nDecision: {_REHEARSED}"

    async def solve(self, case: Case) -> Outcome:
        """Have all conversations at once.

        Raises:
            PromptError: if the prompt set lacks a step.
            RunError: if the case has no way to the web.
        """
        case.prompt_set.require(steps=_STEPS)
        web_of(case)
        talks = [_Conversation(case, prompt, self.settings) for prompt in case.prompts]
        choices = await asyncio.gather(*(talk.decide() for talk in talks), return_exceptions=True)
        for choice in choices:
            if isinstance(choice, BaseException):
                raise choice
        events = [event for talk in talks for event in talk.events]
        return Outcome([choice for choice in choices if isinstance(choice, Choice)], events)


@dataclass(slots=True)
class _Conversation:
    """One prompt's way from the question to the decision.

    Attributes:
        messages: all turns so far.
        events: what happened.
        sources: addresses that findings rest on.
        queries: normalised, of all searches.
        turns: how many requests were made.
    """

    case: Case
    prompt: Prompt
    settings: SearchAgentSettings
    messages: list[Message] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)
    queries: set[str] = field(default_factory=set)
    turns: int = 0

    async def decide(self) -> Choice:
        """Ask until there is a decision, or no more may be asked."""
        self.messages.append(await self._opening())
        searches = self.settings.searches if self.settings.mode == "agent" else 0
        answer, turn = await self._turn()
        while turn.query and searches and (following := await self._follow(turn.query, searches)) is not None:
            self.messages.append(Message("user", following))
            searches = 0 if following[-1] in self._endings else searches - 1
            answer, turn = await self._turn()
        if self._undecided(answer, turn):
            answer, turn = await self._again()
        return await self._choice(answer, turn)

    @property
    def _endings(self) -> tuple[str, ...]:
        return self._text("last"), self._text("repeated")
