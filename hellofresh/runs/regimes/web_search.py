"""Web search: the model writes a query, pages are read and summarised, and the summaries stand before the sample.

All that comes from outside is data: it is cleaned, cut and fenced before a model sees it, and whatever goes wrong with
a search or a page is recorded in the transcript and never ends a run. The steps are `query` (one question),
`summarise-<place>` (one a page that could be read, named by its place among the results) and `classify` (one a prompt).
Query, pages and summaries are made once a sample and shared by all prompts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import ClassVar, Literal

from pydantic import Field

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import Found, PageStatus, SearchResult, Web, WebPage
from hellofresh.evidence.web.overlap import canary
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.runs.regimes._base import BaseRegime, Case, Need, Outcome, RegimeSettings
from hellofresh.runs.regimes._outside import address, first_places, read_safely, search_safely, web_of
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._summaries import judge_with, shows_summaries
from hellofresh.runs.regimes._texts import Cut, clean, cut_words, fence, one_line
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

__all__ = ["SUMMARISER", "WebSearch", "WebSearchSettings"]

SUMMARISER = "summariser"

QUERY_TOKENS = 64
SUMMARY_TOKENS = 256

_QUERY_CHARACTERS = 300
_LABEL = re.compile(r"^(?:search )?query\s*:\s*", re.IGNORECASE)
_AROUND = " \"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class _Query:
    """What is searched for.

    Attributes:
        text: a few words.
        words: words of the model's line before it was cut.
        was_cut: whether it was.
        problem: why the model's answer could not be used and the prompt set's fallback was; empty if it was used.
    """

    text: str
    words: int
    was_cut: bool
    problem: str = ""


@dataclass(slots=True)
class _Visit:
    """One result of the search, and what became of it.

    Attributes:
        place: its place among the results, from 1.
        result: the result.
        page: the page, None if it was never asked for.
        dropped: why a page was not used: its status, `twice`, `carries-item`, `not-needed`, `no-summary`, `too-long`.
        cut: the page's text as far as it was read.
        summary: what stands before the sample, None if nothing.
    """

    place: int
    result: SearchResult
    page: WebPage | None = None
    dropped: str = ""
    cut: Cut | None = None
    summary: Cut | None = None

    def event(self) -> ReadEvent:
        """What the transcript says of it."""
        found, page = self.result, self.page
        return ReadEvent(
            place=self.place,
            url=address(found.url),
            title=one_line(found.title, 300),
            snippet=one_line(found.snippet, 500),
            date=found.date and one_line(found.date, 40),
            rank=found.rank,
            dropped=self.dropped,
            status="" if page is None else str(page.status),
            detail="" if page is None else one_line(page.detail, 300),
            final_url="" if page is None else address(page.final_url),
            sha256="" if page is None else one_line(page.sha256, 64),
            words=self.cut.words if self.cut else 0,
            cut=self.cut is not None and self.cut.was_cut,
            summary=self.summary.text if self.summary else "",
            summary_words=self.summary.words if self.summary else 0,
            summary_cut=self.summary is not None and self.summary.was_cut,
        )


class WebSearchSettings(RegimeSettings):
    """Sizes, and whether only older pages are searched for.

    Attributes:
        before: `sample` to search only for what was there before the sample's date, where the provider can.
        query_words: most words of the query.
        pages: most pages that are summarised.
        page_words: words that are read of each.
        summary_words: most words of a summary.
        canary_words: a page with so many words in a row in common with the sample is left out.
    """

    before: Literal["", "sample"] = ""
    query_words: int = Field(default=15, ge=1, le=100)
    pages: int = Field(default=5, ge=1, le=20)
    page_words: int = Field(default=1000, ge=10, le=20_000)
    summary_words: int = Field(default=150, ge=10, le=2000)
    canary_words: int = Field(default=13, ge=3, le=100)


@dataclass(frozen=True, slots=True)
class WebSearch(BaseRegime):
    """One query, some pages and their summaries, then one question a prompt.

    Attributes:
        settings: see there.
        name: as on the command line; prompts come from the table with this name.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.WEB})
    roles: ClassVar[Mapping[str, str]] = {SUMMARISER: "summarises pages"}

    settings: WebSearchSettings = field(default_factory=WebSearchSettings)
    name: str = "web-search"

    def ceiling(self, prompts: int) -> int:
        """The query, the summaries, and one a prompt."""
        return 1 + self.settings.pages + prompts

    def rehearse(self, step: str, turn: int) -> str:
        """A word for the deciding question, words for a query, a paragraph for a summary."""
        if step == "classify":
            return YES_OR_NO[1]
        return "word " * (self.settings.query_words if step == "query" else self.settings.summary_words)

    async def solve(self, case: Case) -> Outcome:
        """Search, read, summarise, ask.

        Raises:
            PromptError: if the prompt set lacks a step or the place for summaries.
            RunError: if the case has no way to the web.
        """
        shows_summaries(case.prompt_set, "query", "query-fallback", "summary")
        web = web_of(case)
        query = await _query(case, self.settings.query_words)
        before = case.sample.date.date() if self.settings.before == "sample" else None
        found = await search_safely(web, query.text, before)
        visits = [_Visit(place, result) for place, result in enumerate(found.results, start=1)]
        await _Reading(case, web, self.settings).read(visits)
        summaries = [visit.summary.text for visit in visits if visit.summary is not None]
        choices = await judge_with(case, summaries)
        return Outcome(choices, [AskedEvent(step="query"), _searched(query, found, before), *_pages(visits)])


async def _query(case: Case, most: int) -> _Query:
    answer = await case.ask("query", "", Request((case.step("query"),), QUERY_TOKENS, sample=case.sample))
    line, problem = _query_line(answer)
    if problem:
        fallback = case.step("query-fallback").text
        return _Query(cut_words(one_line(fallback, _QUERY_CHARACTERS), most).text, 0, False, problem)
    cut = cut_words(line, most)
    return _Query(cut.text, cut.words, cut.was_cut)


def _query_line(answer: Answer) -> tuple[str, str]:
    """The first line of an answer that says anything, without labels and quotes around it; or why there is none.

    A line that ends with a colon only announces the next one.
    """
    if is_refusal(answer):
        return "", "refused"
    for raw in clean(answer.text).split("\n"):
        line = one_line(_LABEL.sub("", raw.strip(_AROUND)).strip(_AROUND), _QUERY_CHARACTERS)
        if _WORD.search(line) and not line.endswith(":"):
            return line, ""
    return "", "empty"


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads results in their order until enough pages are readable, and summarises each as soon as it is there."""

    case: Case
    web: Web
    settings: WebSearchSettings

    async def read(self, visits: Sequence[_Visit]) -> None:
        """Fill in what became of each.

        As many pages are read at once as are still missing, so that every readable one is used, and which ones are
        does not depend on who is faster.
        """
        waiting = _not_seen(visits)
        try:
            async with asyncio.TaskGroup() as group:
                missing = self.settings.pages
                while missing and waiting:
                    wave, waiting = waiting[:missing], waiting[missing:]
                    reading = [group.create_task(self._visit(visit, group)) for visit in wave]
                    missing -= sum([await task for task in reading])
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _visit(self, visit: _Visit, group: asyncio.TaskGroup) -> bool:
        """Read a page; whether it is used."""
        visit.page = page = await read_safely(self.web, visit.result.url)
        visit.dropped = self._reason(page)
        if not visit.dropped:
            group.create_task(self._summarise(visit, page))
        return not visit.dropped

    def _reason(self, page: WebPage) -> str:
        if page.status is not PageStatus.OK:
            return str(page.status)
        if not clean(page.text):
            return str(PageStatus.EMPTY)
        return "carries-item" if canary(page.text, tuple(self.case.slots.values()), self.settings.canary_words) else ""

    async def _summarise(self, visit: _Visit, page: WebPage) -> None:
        cut = cut_words(clean(page.text), self.settings.page_words)
        visit.cut = cut
        block = fence([f"{one_line(page.title, 200)}\n{cut.text}"])
        message = self.case.step("summary", page=block.text, mark=block.mark)
        request = Request((message,), SUMMARY_TOKENS, sample=self.case.sample)
        try:
            answer = await self.case.ask(f"summarise-{visit.place}", "", request, role=SUMMARISER)
        except RunError as error:
            if error.code != "context-length":
                raise
            visit.dropped = "too-long"
            return
        text = one_line(answer.text, len(answer.text))
        if is_refusal(answer) or not _WORD.search(text):
            visit.dropped = "no-summary"
            return
        summary = cut_words(text, self.settings.summary_words)
        visit.summary = replace(summary, was_cut=summary.was_cut or answer.finish is Finish.LENGTH)


def _not_seen(visits: Sequence[_Visit]) -> list[_Visit]:
    """Those with an address that no earlier one has; all are marked as not used until they are."""
    first = first_places([visit.result for visit in visits])
    for place, visit in enumerate(visits):
        visit.dropped = "not-needed" if place in first else "twice"
    return [visit for place, visit in enumerate(visits) if place in first]


def _searched(query: _Query, found: Found, before: date | None) -> SearchedEvent:
    return SearchedEvent(
        query=query.text,
        words=query.words,
        cut=query.was_cut,
        fallback=query.problem,
        results=len(found.results),
        problem=one_line(found.problem, 300),
        before=None if before is None else before.isoformat(),
    )


def _pages(visits: Sequence[_Visit]) -> Iterator[Event]:
    """Each page, and after it the request for its summary."""
    for visit in visits:
        yield visit.event()
        if visit.cut is not None and visit.dropped != "too-long":
            yield AskedEvent(step=f"summarise-{visit.place}", role=SUMMARISER)
