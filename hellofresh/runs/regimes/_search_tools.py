"""The search side of an agent: it gets a query, and gives back a text with its sources. It never sees the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.web import PageStatus, Web
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes._outside import (
    Visit,
    address,
    cut_words,
    has_word,
    host_of,
    search_safely,
    visit_first,
    visited,
)
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

SUMMARISER = "summariser"
NOTHING_FOUND = "(nothing was found)"
FAILED = "(the search failed)"
_TOKENS_A_WORD = 2
_HIDING_HOSTS = frozenset({"vertexaisearch.cloud.google.com"})
"""Hosts that only lead elsewhere, so that an address there does not say what was read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search brought.

    Attributes:
        text: what the main model gets to read.
        sources: addresses that it rests on.
        problem: why nothing was brought; empty if the search itself worked.
        events: what happened, in order.
    """

    text: str
    sources: tuple[str, ...] = ()
    problem: str = ""
    events: tuple[Event, ...] = ()


class SearchTool(Protocol):
    """Something that looks a query up."""

    async def look_up(self, query: str) -> Finding:
        """Search; what goes wrong is in what it gives."""


class AskSummariser(Protocol):
    """Asks the model of the search side."""

    async def __call__(self, step: str, request: Request) -> Answer:
        """Ask; the step is unique within the search."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a search is made.

    Attributes:
        k: pages that are summarised.
        page_words: words that are read of each.
        words: most words of the summary.
        before: only what was there before this day is searched for, None for all.
        carries_item: whether a page's text holds what is judged; such a page is left out.
    """

    k: int
    page_words: int
    words: int
    before: date | None = None
    carries_item: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class SummarisedSearch:
    """Searches, reads the first k pages that can be read, and has a model summarise them together.

    Attributes:
        web: searches and reads.
        ask: asks the summariser.
        prompt_set: has the step `summary`.
        lookup: sizes and bounds.
        number: which search of the sample it is, from 1.
        prompt: id of the prompt that it is for.
    """

    web: Web
    ask: AskSummariser
    prompt_set: PromptSet
    lookup: Lookup
    number: int = 1
    prompt: str = ""

    async def look_up(self, query: str) -> Finding:
        """Search, read, summarise."""
        found = await search_safely(self.web, query, self.lookup.before)
        visits = [Visit(place, result) for place, result in enumerate(found.results, start=1)]
        lookup = self.lookup
        await visit_first(
            visits, lookup.k, lambda item: visited(self.web, item, lookup.page_words, lookup.carries_item)
        )
        used = [visit for visit in visits if not visit.dropped]
        searched = SearchedEvent(
            prompt=self.prompt,
            number=self.number,
            query=query,
            words=len(query.split()),
            results=len(found.results),
            problem=one_line(found.problem, 300),
            before=None if self.lookup.before is None else self.lookup.before.isoformat(),
        )
        events: list[Event] = [searched, *(self._event(visit) for visit in visits)]
        if not used:
            text = FAILED if found.problem else NOTHING_FOUND
            return Finding(text, problem=searched.problem, events=tuple(events))
        report = await self._summarise(query, used)
        events.append(AskedEvent(prompt=self.prompt, step=f"search-{self.number}", role=SUMMARISER))
        if report.problem:
            events[0] = searched.model_copy(update={"problem": report.problem})
            return Finding(FAILED, problem=report.problem, events=tuple(events))
        return Finding(report.text, tuple(address(visit.result.url) for visit in used), events=tuple(events))

    async def _summarise(self, query: str, used: Sequence[Visit]) -> Report:
        block = fence([_shown(visit) for visit in used])
        slots = {"query": query, "pages": block.text, "mark": block.mark, "words": str(self.lookup.words)}
        request = Request((self.prompt_set.step("summary", {}, **slots),), _TOKENS_A_WORD * self.lookup.words)
        return await ask_for_report(self.ask, f"search-{self.number}", request, self.lookup.words)

    def _event(self, visit: Visit) -> ReadEvent:
        hidden = visit.dropped == str(PageStatus.EXCLUDED)
        return ReadEvent(prompt=self.prompt, number=self.number, **visit.fields(hidden=hidden))


def _shown(visit: Visit) -> str:
    """A page as the summariser sees it."""
    title, url = ("", "") if visit.page is None else (visit.page.title, visit.page.final_url)
    return f"{one_line(title, 200)} ({address(url)})\n{visit.cut.text if visit.cut else ''}"


@dataclass(frozen=True, slots=True)
class Connector:
    """A model that searches by itself and cites what it found. An answer that rests on an excluded source is not shown.

    Attributes:
        web: knows what is excluded; nothing is read with it.
        ask: asks the model.
        prompt_set: has the step `connector`.
        words: most words of what it reports.
        before: it is told to use only what was there before this day; nobody can see to that.
        number, prompt: as of `SummarisedSearch`.
    """

    web: Web
    ask: AskSummariser
    prompt_set: PromptSet
    words: int
    before: date | None = None
    number: int = 1
    prompt: str = ""

    async def look_up(self, query: str) -> Finding:
        """Have the model search."""
        blocked = tuple(self.web.blocked)
        slots = {"query": query, "words": str(self.words), "avoided": ", ".join(blocked) or "(none)"}
        message = self.prompt_set.step("connector", {}, **slots).text
        if self.before is not None:
            message += self.prompt_set.step("connector-dated", {}, before=self.before.isoformat()).text
        request = Request((Message("user", (message,)),), _TOKENS_A_WORD * self.words, searches=True, excluded=blocked)
        report = await ask_for_report(self.ask, f"search-{self.number}", request, self.words)
        dropped = {source: self._reason(source) for source in report.sources}
        problem = report.problem or next((f"rests on {reason}" for reason in dropped.values() if reason), "")
        events = tuple(self._events(query, dropped, one_line(problem, 300)))
        if problem:
            return Finding(FAILED, problem=one_line(problem, 300), events=events)
        return Finding(report.text, tuple(map(address, report.sources)), events=events)

    def _events(self, query: str, dropped: Mapping[str, str], problem: str) -> Iterator[Event]:
        """The search, the request, and each source with the reason why it may not be used."""
        yield SearchedEvent(
            prompt=self.prompt,
            number=self.number,
            query=query,
            words=len(query.split()),
            results=len(dropped),
            problem=problem,
            before=None if self.before is None else self.before.isoformat(),
        )
        yield AskedEvent(prompt=self.prompt, step=f"search-{self.number}", role=SUMMARISER)
        for place, (source, reason) in enumerate(dropped.items(), start=1):
            yield ReadEvent(
                prompt=self.prompt,
                number=self.number,
                place=place,
                url=address(source),
                dropped="excluded" if reason else "",
                detail=one_line(reason, 300),
            )

    def _reason(self, source: str) -> str:
        if host_of(source) in _HIDING_HOSTS:
            return "a source that hides its address"
        return self.web.reason(source)


@dataclass(frozen=True, slots=True)
class Report:
    """What the search side's model wrote; `problem` says why that is nothing."""

    text: str = ""
    sources: tuple[str, ...] = ()
    problem: str = ""


async def ask_for_report(ask: AskSummariser, step: str, request: Request, words: int) -> Report:
    """What the search side's model makes of a request, in so many words; or why it makes nothing of it."""
    try:
        answer = await ask(step, request)
    except RunError as error:
        if error.code != "context-length":
            raise
        return Report(problem="too long for the summariser")
    if is_refusal(answer):
        return Report(problem="the summariser refused")
    text = clean(answer.text).strip()
    if not has_word(text):
        return Report(problem="the summariser said nothing")
    cut = cut_words(text, words)
    ending = " [...]" if cut.was_cut or answer.finish is Finish.LENGTH else ""
    return Report(cut.text + ending, answer.sources)
