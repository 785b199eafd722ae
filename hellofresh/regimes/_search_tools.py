"""The search side of an agent: it gets a query, and gives back a text with its sources. It never sees the sample."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from hellofresh.errors import RunError
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.prompts import PromptSet
from hellofresh.regimes._outside import address, first_places, read_safely, search_safely
from hellofresh.regimes._reading import is_refusal
from hellofresh.regimes._texts import clean, cut_words, fence, one_line
from hellofresh.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent
from hellofresh.web import PageStatus, SearchResult, Web, WebPage

__all__ = ["SUMMARISER", "AskSummariser", "Finding", "Lookup", "SearchTool", "SummarisedSearch", "summary_or_problem"]

SUMMARISER = "summariser"
NOTHING_FOUND = "(nothing was found)"
FAILED = "(the search failed)"
_TOKENS_A_WORD = 2
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
    """A result, and what became of it: its page, and why it was not used."""

    place: int
    result: SearchResult
    page: WebPage | None = None
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
        used = [(visit, visit.page) for visit in visits if visit.page is not None and not visit.dropped]
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
        text, problem = await self._summarise(query, [page for _, page in used])
        events.append(AskedEvent(prompt=self.prompt, step=f"search-{self.number}", role=SUMMARISER))
        if problem:
            events[0] = searched.model_copy(update={"problem": problem})
            return Finding(FAILED, problem=problem, events=tuple(events))
        return Finding(text, tuple(address(visit.result.url) for visit, _ in used), events=tuple(events))

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
        if page.status is not PageStatus.OK:
            visit.dropped = str(page.status)
        elif not clean(page.text):
            visit.dropped = str(PageStatus.EMPTY)
        else:
            visit.dropped = "carries-item" if self.lookup.carries_item(page.text) else ""
        return not visit.dropped

    async def _summarise(self, query: str, pages: Sequence[WebPage]) -> tuple[str, str]:
        """The summary, or why there is none."""
        block = fence([self._shown(page) for page in pages])
        slots = {"query": query, "pages": block.text, "mark": block.mark, "words": str(self.lookup.words)}
        message = self.prompt_set.step("summary", slots)
        return await summary_or_problem(self.ask, f"search-{self.number}", message, self.lookup.words)

    def _shown(self, page: WebPage) -> str:
        text = cut_words(clean(page.text), self.lookup.page_words).text
        return f"{one_line(page.title, 200)} ({address(page.final_url)})\n{text}"

    def _event(self, visit: _Visit) -> ReadEvent:
        found, page = visit.result, visit.page
        read = page is not None and not visit.dropped
        cut = cut_words(clean(page.text), self.lookup.page_words) if page is not None and read else None
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


async def summary_or_problem(ask: AskSummariser, step: str, message: Message, words: int) -> tuple[str, str]:
    """What the search side's model makes of a message, in so many words; or why it makes nothing of it."""
    try:
        answer = await ask(step, Request((message,), _TOKENS_A_WORD * words))
    except RunError as error:
        if error.code != "context-length":
            raise
        return "", "too long for the summariser"
    if is_refusal(answer):
        return "", "the summariser refused"
    text = clean(answer.text).strip()
    if not _WORD.search(text):
        return "", "the summariser said nothing"
    cut = cut_words(text, words)
    return cut.text + (" [...]" if cut.was_cut or answer.finish is Finish.LENGTH else ""), ""
