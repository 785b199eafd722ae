"""The search side of an agent: it gets a query, and gives back a text with its sources. It never sees the sample."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.web import PageStatus, Web
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes._outside import (
    PageVisit,
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
_NOTHING_FOUND, _FAILED = "(nothing was found)", "(the search failed)"
_TOKENS_A_WORD = 2
# Hosts that only lead elsewhere, so that an address there does not say what was read.
_HIDING_HOSTS = frozenset({"vertexaisearch.cloud.google.com"})


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a search.

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


@dataclass(frozen=True, slots=True)
class SearchSide:
    """Makes one search; errors are part of the result.

    Attributes:
        web: searches and reads; for a model that searches by itself, it knows what is excluded.
        ask: asks the model of the search side; the step is unique within the sample and prompt.
        prompt_set: has the steps `summary`, `connector` and `connector-dated`.
        words: most words of what is reported.
        before: only what was there before this day is searched for, None for all. A model that searches by itself is
            asked to keep to it, which cannot be enforced.
        number: which search of the sample it is, from 1.
        prompt: id of the prompt that it is for.
    """

    web: Web
    ask: Callable[[str, Request], Awaitable[Answer]]
    prompt_set: PromptSet
    words: int
    before: date | None
    number: int
    prompt: str

    async def summarise(self, query: str, k: int, page_words: int, carries_item: Callable[[str], bool]) -> Finding:
        """Search, read the first pages that can be read, and have the model summarise them together.

        Args:
            query: what is looked up.
            k: pages that are summarised.
            page_words: words that are read of each.
            carries_item: whether a page's text holds what is judged; such a page is left out.
        """
        found = await search_safely(self.web, query, self.before)
        visits = [PageVisit(place, result) for place, result in enumerate(found.results, start=1)]
        await visit_first(visits, k, lambda item: visited(self.web, item, page_words, carries_item))
        used = [visit for visit in visits if not visit.dropped]
        searched = self._searched(query, len(found.results), found.problem)
        events: list[Event] = [searched]
        for visit in visits:
            fields = visit.fields(hidden=visit.dropped == str(PageStatus.EXCLUDED))
            events.append(ReadEvent(prompt=self.prompt, number=self.number, **fields))
        if not used:
            text = _FAILED if found.problem else _NOTHING_FOUND
            return Finding(text, problem=searched.problem, events=tuple(events))
        block = fence([_shown(visit) for visit in used])
        slots = {"query": query, "pages": block.text, "mark": block.mark, "words": str(self.words)}
        request = Request((self.prompt_set.step("summary", {}, **slots),), _TOKENS_A_WORD * self.words)
        report = await self._report(request)
        events.append(AskedEvent(prompt=self.prompt, step=f"search-{self.number}", role=SUMMARISER))
        if report.problem:
            events[0] = searched.model_copy(update={"problem": report.problem})
            return Finding(_FAILED, problem=report.problem, events=tuple(events))
        return Finding(report.text, tuple(address(visit.result.url) for visit in used), events=tuple(events))

    async def connect(self, query: str) -> Finding:
        """Have the model search by itself and cite what it found; what rests on an excluded source is not shown."""
        blocked = tuple(self.web.blocked)
        slots = {"query": query, "words": str(self.words), "avoided": ", ".join(blocked) or "(none)"}
        message = self.prompt_set.step("connector", {}, **slots).text
        if self.before is not None:
            message += self.prompt_set.step("connector-dated", {}, before=self.before.isoformat()).text
        report = await self._report(
            Request((Message("user", (message,)),), _TOKENS_A_WORD * self.words, searches=True, excluded=blocked)
        )
        hiding = "a source that hides its address"
        dropped = {
            source: hiding if host_of(source) in _HIDING_HOSTS else self.web.reason(source) for source in report.sources
        }
        resting = next((f"rests on {reason}" for reason in dropped.values() if reason), "")
        searched = self._searched(query, len(dropped), report.problem or resting)
        read = [
            ReadEvent(
                prompt=self.prompt,
                number=self.number,
                place=place,
                url=address(source),
                dropped="excluded" if reason else "",
                detail=one_line(reason, 300),
            )
            for place, (source, reason) in enumerate(dropped.items(), start=1)
        ]
        asked = AskedEvent(prompt=self.prompt, step=f"search-{self.number}", role=SUMMARISER)
        if searched.problem:
            return Finding(_FAILED, problem=searched.problem, events=(searched, asked, *read))
        return Finding(report.text, tuple(map(address, report.sources)), events=(searched, asked, *read))

    def _searched(self, query: str, results: int, problem: str) -> SearchedEvent:
        return SearchedEvent(
            prompt=self.prompt,
            number=self.number,
            query=query,
            words=len(query.split()),
            results=results,
            problem=one_line(problem, 300),
            before=None if self.before is None else self.before.isoformat(),
        )

    async def _report(self, request: Request) -> Finding:
        """The model's report, cut to the maximum of words; or why it is missing."""
        try:
            answer = await self.ask(f"search-{self.number}", request)
        except RunError as error:
            if error.code != "context-length":
                raise
            return Finding("", problem="too long for the summariser")
        if is_refusal(answer):
            return Finding("", problem="the summariser refused")
        text = clean(answer.text).strip()
        if not has_word(text):
            return Finding("", problem="the summariser said nothing")
        cut = cut_words(text, self.words)
        ending = " [...]" if cut.was_cut or answer.finish in (Finish.LENGTH, Finish.PAUSED) else ""
        return Finding(cut.text + ending, answer.sources)


def _shown(visit: PageVisit) -> str:
    """A page as the summariser sees it."""
    title, url = ("", "") if visit.page is None else (visit.page.title, visit.page.final_url)
    return f"{one_line(title, 200)} ({address(url)})\n{visit.cut.text if visit.cut else ''}"
