"""The search side of an agent: it gets a query, and gives back a text with its sources. It never sees the sample."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import PageStatus, SearchResult, Web, WebPage
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes._outside import address, first_places, host_of, read_safely, search_safely
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._texts import Cut, clean, cut_words, fence, one_line
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

__all__ = ["SUMMARISER", "AskSummariser", "Connector", "Finding", "Lookup", "SearchTool", "SummarisedSearch"]

SUMMARISER = "summariser"
NOTHING_FOUND = "(nothing was found)"
FAILED = "(the search failed)"
_TOKENS_A_WORD = 2
_HIDING_HOSTS = frozenset({"vertexaisearch.cloud.google.com"})
"""Hosts that only lead elsewhere, so that an address there does not say what was read."""
_WORD = re.compile(r"[^\W_]")


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


@dataclass(slots=True)
class _Visit:
    """A result, and what became of it: its page as far as it is used, and why it was not."""

    place: int
    result: SearchResult
    page: WebPage | None = None
    cut: Cut | None = None
    dropped: str = ""


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
        visits = [_Visit(place, result) for place, result in enumerate(found.results, start=1)]
        await self._read(visits)
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

    async def _read(self, visits: Sequence[_Visit]) -> None:
        """Read as many at once as are still missing, so that which ones are used does not depend on who is faster."""
        first = first_places([visit.result for visit in visits])
        for place, visit in enumerate(visits):
            visit.dropped = "not-needed" if place in first else "twice"
        waiting = [visit for place, visit in enumerate(visits) if place in first]
        missing = self.lookup.k
        while missing and waiting:
            wave, waiting = waiting[:missing], waiting[missing:]
            missing -= sum(await asyncio.gather(*(self._visit(visit) for visit in wave)))

    async def _visit(self, visit: _Visit) -> bool:
        """Read a page; whether it is used."""
        visit.page = page = await read_safely(self.web, visit.result.url)
        text = clean(page.text)
        if page.status is not PageStatus.OK:
            visit.dropped = str(page.status)
        elif not text:
            visit.dropped = str(PageStatus.EMPTY)
        elif self.lookup.carries_item(page.text):
            visit.dropped = "carries-item"
        else:
            visit.dropped, visit.cut = "", cut_words(text, self.lookup.page_words)
        return not visit.dropped

    async def _summarise(self, query: str, used: Sequence[_Visit]) -> Report:
        block = fence([_shown(visit) for visit in used])
        slots = {"query": query, "pages": block.text, "mark": block.mark, "words": str(self.lookup.words)}
        request = Request((self.prompt_set.step("summary", slots),), _TOKENS_A_WORD * self.lookup.words)
        return await ask_for_report(self.ask, f"search-{self.number}", request, self.lookup.words)

    def _event(self, visit: _Visit) -> ReadEvent:
        found, page, cut = visit.result, visit.page, visit.cut
        hidden = visit.dropped == str(PageStatus.EXCLUDED)
        return ReadEvent(
            prompt=self.prompt,
            number=self.number,
            place=visit.place,
            url=address(found.url),
            title="" if hidden else one_line(found.title, 300),
            snippet="" if hidden else one_line(found.snippet, 500),
            date=found.date and one_line(found.date, 40),
            rank=found.rank,
            dropped=visit.dropped,
            status="" if page is None else str(page.status),
            detail="" if page is None else one_line(page.detail, 300),
            final_url="" if page is None else address(page.final_url),
            sha256="" if page is None else one_line(page.sha256, 64),
            words=cut.words if cut else 0,
            cut=cut is not None and cut.was_cut,
        )


def _shown(visit: _Visit) -> str:
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
        message = self.prompt_set.step("connector", slots).text
        if self.before is not None:
            message += self.prompt_set.step("connector-dated", {"before": self.before.isoformat()}).text
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
    if not _WORD.search(text):
        return Report(problem="the summariser said nothing")
    cut = cut_words(text, words)
    ending = " [...]" if cut.was_cut or answer.finish is Finish.LENGTH else ""
    return Report(cut.text + ending, answer.sources)
