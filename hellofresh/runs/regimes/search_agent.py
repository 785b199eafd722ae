"""The search agent: a model that cannot see the web, and a search side that never sees the sample.

The main model gets the sample and may write a line that begins with `SEARCH: `; the search side looks the query up, and
its finding comes back as the next message. In the end the model writes its analysis, a summary and a decision in a
fixed form. The steps are `turn-<n>`, `search-<n>` (role `summariser`), `again` (once, where an answer held neither) and
`certainty`. Each prompt has a conversation of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.web.text import canary
from hellofresh.models import Answer, Finish, Message, Request, Tool, ToolCall
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import BaseRegime, Case, ChoiceSettings, Need, Outcome
from hellofresh.runs.regimes._outside import Instant, has_word, needs_of_search, searched_until, web_of
from hellofresh.runs.regimes._reading import DECISION, DecisionForm, is_refusal, read_certainty, read_leaning
from hellofresh.runs.regimes._search_tools import SUMMARISER, Finding, SearchSide
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent

_QUERY_CHARACTERS = 300  # search engines cut longer ones
# At the beginning of a line in any case, whatever marks the line; within one only in capitals, after a sentence or a
# gap, or after a heading that names no search of its own.
_SEARCH = re.compile(
    r"(?:^[^\w\n]*(?:\d{1,2}[.)]\s*)?\W{0,4}(?i:search)"
    r"|(?:(?<=[.!?:;)\]\"*]\s)|(?<=\s\s))\W{0,4}SEARCH"
    r"|^[ \t]*(?:#{1,6}\s|\*\*|Step\s\d)[^\n]{0,200}?"
    r"(?<!\bthe)(?<!\ba)(?<!\buse)(?<!\busing)(?<!\bwith)(?<!\bof)(?<!\btype)(?<!\bword)(?<!\bby) \W{0,4}SEARCH)"
    r"\s?[*_`]{0,3}\s?[:\uff1a](?P<query>[^\n]*)",
    re.MULTILINE,
)
# Some models write the result themselves, on the same line.
_INVENTED = re.compile(r"\s*\bsearch results?\s*:.*$", re.IGNORECASE)
_AROUND = " \t*_`"
_RATER = "rater"
RESULT_CERTAINTY = "result-certainty"
"""The step, the text and the note of how certain the model is of a search's result."""
_TURN_TOKENS = 1024  # room to think aloud before a call or a decision
_CERTAINTY_TOKENS = 15  # a number, perhaps with a word
_RATIONALE_CHARACTERS = 2000  # the end, since reasons precede the decision
_WHOLE_CHARACTERS = 400  # the most that providers of search take
_SUMMARY = re.compile(r"\bsummary\W{0,4}:\W*", re.IGNORECASE)
REHEARSED = "(any)"
"""Decision in a dry run: not a label, but not asked again either."""
_TOOL = Tool("search", "Searches the web and reports what it finds, with sources.", "query")
_SILENT = "(nothing)"  # replaces an empty answer, since providers refuse an empty turn
_STEPS = (
    "tool",
    "result",
    "more",
    "last",
    "repeated",
    "again",
    "given",
    "summary",
    "connector",
    "connector-dated",
    "certainty",
    "leaning",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The part of a model's answer that counts.

    Attributes:
        text: up to the end of the first line that searches; what comes after it was written without a result.
        query: what to search for, empty if nothing.
        call: the call of a tool that the query came with.
    """

    text: str
    query: str = ""
    call: ToolCall | None = None


def read_turn(text: str) -> Turn:
    """The turn in an answer; a search line needs a word in it."""
    for match in _SEARCH.finditer(text):
        line = _INVENTED.sub("", match["query"])
        query = one_line(line.strip(_AROUND), _QUERY_CHARACTERS).strip(_AROUND)
        if has_word(query):
            return Turn(text[: match.start("query") + len(line)].rstrip(), query)
    return Turn(text)


def read_call(answer: Answer) -> Turn:
    """The turn of a model that calls tools; one that writes a line that searches instead is understood too.

    A call needs a word in it.
    """
    call = answer.call
    query = one_line(call.argument, _QUERY_CHARACTERS) if call is not None else ""
    return Turn(answer.text, query, call) if has_word(query) else read_turn(answer.text)


def normalised(query: str) -> str:
    """Normal form of a query, equal for equivalent queries."""
    return " ".join(re.findall(r"\w+", query.casefold()))


class LookUpSettings(ChoiceSettings):
    """How one query is looked up.

    Attributes:
        search: `summary`: the first results are read and summarised; `connector`: the summariser searches by itself.
        k: pages that are summarised for one search.
        page_words: words that are read of each.
        summary_words: most words of what a search brings.
        before: `sample`, `post`, `note` or `decision` to search only for what was there before that day, where the
            provider can; before the sample's day in any case for tasks that say so. That of a decision is known once
            labels are public.
        canary_words: least number of consecutive words shared with the sample for which a page is left out; 0 for
            none. Statements are quoted by pages about them, so no page is left out for sharing theirs.
    """

    search: Literal["summary", "connector"] = "summary"
    k: int = Field(default=10, ge=1, le=50)
    page_words: int = Field(default=500, ge=10, le=20_000)
    summary_words: int = Field(default=300, ge=10, le=2000)
    before: Instant = ""
    canary_words: int = Field(default=13, ge=0, le=100)


class SearchAgentSettings(LookUpSettings):
    """How an agent searches.

    Attributes:
        protocol: `text`: a line that begins with `SEARCH: `; `tools`: the model calls a tool in its provider's own way.
        mode: `agent` searches as it likes; `offline` is the same prompt without a search; `whole` gives the search side
            the whole text of the sample, once, before the question is asked.
        searches: most searches; none is the mode `offline`, which asks the same.
        certainty: whether the model is asked for its certainty after its decision.
        result_certainty: whether it is asked, after each search, how certain it is of what was found.
        leaning: whether the political leaning of the sample's text is rated, for analyses of sources.
    """

    protocol: Literal["text", "tools"] = "text"
    mode: Literal["agent", "offline", "whole"] = "agent"
    searches: int = Field(default=10, ge=0, le=50)
    certainty: bool = False
    result_certainty: bool = False
    leaning: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, said: dict[str, object]) -> dict[str, object]:
        """Make equal systems equal: without searches, `searches` has no effect."""
        if str(said.get("searches")) == "0" and said.get("mode", "agent") == "agent":
            said = {**said, "mode": "offline"}
        if said.get("mode", "agent") != "agent":
            return {name: value for name, value in said.items() if name != "searches"}
        return said


@dataclass(frozen=True, slots=True)
class LookUpRegime(BaseRegime):
    """A regime that looks queries up."""

    settings: LookUpSettings = field(default_factory=LookUpSettings)

    @property
    def needs(self) -> frozenset[Need]:
        """The web, and the time of the decision where searches end there."""
        return needs_of_search(self.settings.before)

    @property
    def results(self) -> int:
        """Twice as many as are used, so that enough remain where some cannot be read; the same for every small `k`."""
        return min(50, max(20, 2 * self.settings.k))


@dataclass(frozen=True, slots=True)
class SearchAgent(LookUpRegime):
    """A conversation a prompt, with searches in between."""

    roles: ClassVar[Mapping[str, str]] = {
        SUMMARISER: "answers the queries; it never sees the sample",
        _RATER: "rates the leaning of the sample's text",
    }

    settings: SearchAgentSettings = field(default_factory=SearchAgentSettings)
    name: str = "search-agent"

    def ceiling(self, prompts: int) -> int:
        """For each prompt, a turn and a summary a search, the last turn, one more attempt, and the certainty."""
        most = {"agent": self.settings.searches, "offline": 0, "whole": 1}[self.settings.mode]
        searches = most * (1 + (self.settings.mode == "agent") + self.settings.result_certainty)
        return prompts * (searches + 2 + self.settings.certainty) + self.settings.leaning

    def rehearse(self, step: str, turn: int) -> str:
        if step in ("certainty", "leaning") or step.startswith(RESULT_CERTAINTY):
            return "1"
        if step.startswith("search"):
            return "word " * self.settings.summary_words
        if self.settings.mode == "agent" and step in ("turn-1", "turn-2")[: self.settings.searches]:
            return "word " * 40 + f"\nSEARCH: query {step}"
        return "word " * 200 + f"\nDecision: {REHEARSED}"

    def prolong(self, step: str, turn: int) -> str:
        """A search at every turn, a decision that cannot be read at the end."""
        if self.settings.mode == "agent" and step.startswith("turn"):
            return f"SEARCH: query {step}"
        return "" if step.startswith("turn") else self.rehearse(step, turn)

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
        if self.settings.leaning:  # of the sample's text, apart from everything else
            frame, _ = case.question(case.prompts[0]).parts
            message = Message("user", (frame, case.step("leaning").text))
            request = Request((message,), _CERTAINTY_TOKENS, sample=case.sample)
            rated = read_leaning((await case.ask("leaning", "", request, role=_RATER)).text)
            events += [AskedEvent(step="leaning", role=_RATER), NotedEvent(name="leaning", values={"value": rated})]
        return Outcome([choice for choice in choices if isinstance(choice, Choice)], events)


async def look_up(case: Case, settings: LookUpSettings, query: str, prompt: str, number: int) -> Finding:
    """Have the search side look a query up, the `number`-th of a prompt; nothing that it asks holds the sample."""

    async def ask(step: str, request: Request) -> Answer:
        return await case.ask(step, prompt, request, role=SUMMARISER)

    task, texts = get_task(case.sample.task), tuple(case.slots.values())
    before = searched_until(case, settings.before)
    side = SearchSide(web_of(case), ask, case.prompt_set, settings.summary_words, before, number, prompt)
    if settings.search == "connector":
        return await side.connect(query)
    # Pages about a statement quote it; pages that carry a note or an edit carry what became of it.
    words = 0 if task.track == "statements" else settings.canary_words
    return await side.summarise(
        query, settings.k, settings.page_words, lambda page: words > 0 and canary(page, texts, words)
    )


def read_rationale(text: str) -> str:
    """The text after the last `Summary: `, or else the end of the text."""
    summaries = list(_SUMMARY.finditer(text))
    return clean(text[summaries[-1].end() :] if summaries else text).strip()[-_RATIONALE_CHARACTERS:]


@dataclass(slots=True)
class _Conversation:
    """One prompt's way from the question to the decision.

    Attributes:
        messages: all turns so far.
        events: what happened.
        sources: addresses that findings rest on.
        queries: normalised, of all searches.
        is_full: whether the conversation is longer than the model can read; nothing more is asked then.
    """

    case: Case
    prompt: Prompt
    settings: SearchAgentSettings
    messages: list[Message] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sources: dict[str, None] = field(default_factory=dict)
    queries: set[str] = field(default_factory=set)
    is_full: bool = False

    async def decide(self) -> Choice:
        """Ask until there is a decision, or no more may be asked."""
        self.messages.append(await self._opening())
        left = self.settings.searches if self.settings.mode == "agent" else 0
        answer, turn = await self._turn()
        while turn.query and left:
            following, left = await self._follow(turn.query, left)
            if turn.call is not None:
                self.messages[-1] = Message("assistant", (turn.text,), call=turn.call)
            self.messages.append(Message("user", (following,), call=turn.call))
            answer, turn = await self._turn()
        # A second attempt makes no sense after a block, nor where nothing more can be read.
        settled = (
            self._form.early_chances(turn.text)
            or self.is_full
            or answer.finish is Finish.BLOCKED
            or answer.text.rstrip().endswith(REHEARSED)
        )
        if self._form.read(turn.text) is None and not settled:
            self.messages.append(Message("user", (self._again(turn),)))
            answer, turn = await self._turn("again")
        label = self._form.read(turn.text)
        silent = Status.BLOCKED if is_refusal(answer) else Status.NONE
        return Choice(
            prompt=self.prompt.id,
            status=silent if label is None else Status.ANSWERED,
            label=label,
            probabilities=self._form.early_chances(turn.text),
            certainty=await self._certainty() if self.settings.certainty and label is not None else None,
            rationale=read_rationale(turn.text),
            sources=tuple(self.sources),
        )

    def _again(self, turn: Turn) -> str:
        """The message for a turn without a decision: the fault and the expected form."""
        found = "no-more" if turn.query else "undecided" if DECISION.casefold() in turn.text.casefold() else "neither"
        parts = [self._text(found)] if found in self.case.prompt_set.steps else []
        return " ".join([*parts, self._text("again")])

    async def _opening(self) -> Message:
        """The sample, what may be searched or was found, and the instruction."""
        frame, instruction = self.case.question(self.prompt).parts
        given = []
        if self.settings.mode == "agent":
            given = [self._text("tool" if self.settings.protocol == "text" else "tool-call")]
        elif self.settings.mode == "whole":
            sample = self.case.sample
            finding = await self._look_up(one_line(get_task(sample.task).text(sample), _WHOLE_CHARACTERS))
            block = fence([finding.text])
            given = [self._text("given", result=block.text, mark=block.mark)]
        return Message("user", (frame, "\n\n".join([*given, instruction])))

    async def _turn(self, step: str = "") -> tuple[Answer, Turn]:
        """Ask the model for its next turn; text after a search line is dropped."""
        step = step or f"turn-{1 + sum(message.role == 'assistant' for message in self.messages)}"
        tools = (_TOOL,) if self._calls_tools else ()
        try:
            answer = await self._ask(step, tuple(self.messages), _TURN_TOKENS, tools)
        except RunError as error:
            if error.code != "context-length":
                raise
            self.is_full = True
            self.events.append(NotedEvent(prompt=self.prompt.id, name="too-long", values={"step": step}))
            answer = Answer("", Finish.LENGTH)
        turn = read_call(answer) if self._calls_tools else read_turn(answer.text)
        self.messages.append(Message("assistant", (turn.text or _SILENT,)))
        return answer, turn

    @property
    def _calls_tools(self) -> bool:
        return self.settings.protocol == "tools" and self.settings.mode == "agent"

    async def _ask(self, step: str, messages: tuple[Message, ...], tokens: int, tools: tuple[Tool, ...] = ()) -> Answer:
        request = Request(messages, tokens, tools=tools, sample=self.case.sample)
        answer = await self.case.ask(step, self.prompt.id, request)
        self.events.append(AskedEvent(prompt=self.prompt.id, step=step))
        return answer

    async def _follow(self, query: str, left: int) -> tuple[str, int]:
        """The message that follows a query: the finding, and how many searches are left."""
        if normalised(query) in self.queries:
            values = {"query": one_line(query, _QUERY_CHARACTERS)}
            self.events.append(NotedEvent(prompt=self.prompt.id, name="repeated-query", values=values))
            return self._text("repeated"), 0
        finding = await self._look_up(query)
        block = fence([finding.text])
        shown = self._text("result", result=block.text, mark=block.mark)
        return f"{shown}\n\n{self._text('more' if left > 1 else 'last')}", left - 1

    async def _look_up(self, query: str) -> Finding:
        self.queries.add(normalised(query))
        finding = await look_up(self.case, self.settings, query, self.prompt.id, len(self.queries))
        self.events += finding.events
        self.sources |= dict.fromkeys(finding.sources)
        if self.settings.result_certainty and not finding.problem:
            number = len(self.queries)
            step, slots = f"{RESULT_CERTAINTY}-{number}", {"query": query}
            value = await self._stated(step, RESULT_CERTAINTY, finding.text, **slots)
            values = {"number": number, "value": value}
            self.events.append(NotedEvent(prompt=self.prompt.id, name=RESULT_CERTAINTY, values=values))
        return finding

    async def _certainty(self) -> float | None:
        """In a conversation of its own, with the sample and all that the model wrote."""
        written = "\n\n".join(message.text for message in self.messages if message.role == "assistant")
        return await self._stated("certainty", "certainty", written)

    async def _stated(self, step: str, name: str, about: str, **slots: str) -> float | None:
        block = fence([about])
        frame, _ = self.case.question(self.prompt).parts
        message = Message("user", (frame, self._text(name, analysis=block.text, mark=block.mark, **slots)))
        return read_certainty((await self._ask(step, (message,), _CERTAINTY_TOKENS)).text)

    @property
    def _form(self) -> DecisionForm:
        return DecisionForm(get_task(self.case.sample.task).classes)

    def _text(self, step: str, **slots: str) -> str:
        return self.case.prompt_set.step(step, {}, **slots).text
