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
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.web import Found, Web
from hellofresh.evidence.web.text import canary
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.runs.regimes._base import BaseRegime, Case, Need, Outcome, RegimeSettings
from hellofresh.runs.regimes._outside import (
    Cut,
    Visit,
    cut_words,
    has_word,
    search_safely,
    visit_first,
    visited,
    web_of,
)
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes.zero_shot import judge_with, shows_summaries
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

SUMMARISER = "summariser"

QUERY_TOKENS = 64
SUMMARY_TOKENS = 256

_QUERY_CHARACTERS = 300
_LABEL = re.compile(r"^(?:search )?query\s*:\s*", re.IGNORECASE)
_AROUND = " \"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"


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
class _Visit(Visit):
    """A result with its summary: what stands before the sample, None if nothing; dropped also for `no-summary`."""

    summary: Cut | None = None

    def event(self) -> ReadEvent:
        """What the transcript says of it."""
        summary = self.summary
        return ReadEvent(
            **self.fields(),
            summary=summary.text if summary else "",
            summary_words=summary.words if summary else 0,
            summary_cut=summary is not None and summary.was_cut,
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
        fallback = case.prompt_set.words("query-fallback", case.slots)
        return _Query(cut_words(fallback[:_QUERY_CHARACTERS].rstrip(), most).text, 0, False, problem)
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
        if has_word(line) and not line.endswith(":"):
            return line, ""
    return "", "empty"


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads results in their order until enough pages are readable, and summarises each as soon as it is there."""

    case: Case
    web: Web
    settings: WebSearchSettings

    async def read(self, visits: Sequence[_Visit]) -> None:
        """Fill in what became of each."""
        settings, texts = self.settings, tuple(self.case.slots.values())
        try:
            async with asyncio.TaskGroup() as group:

                async def visit(item: _Visit) -> bool:
                    carries_item = partial(canary, item_texts=texts, n=settings.canary_words)
                    used = await visited(self.web, item, settings.page_words, carries_item)
                    if used:
                        group.create_task(self._summarise(item))
                    return used

                await visit_first(visits, settings.pages, visit)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _summarise(self, visit: _Visit) -> None:
        title, text = visit.page.title if visit.page else "", visit.cut.text if visit.cut else ""
        block = fence([f"{one_line(title, 200)}\n{text}"])
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
        if is_refusal(answer) or not has_word(text):
            visit.dropped = "no-summary"
            return
        summary = cut_words(text, self.settings.summary_words)
        visit.summary = replace(summary, was_cut=summary.was_cut or answer.finish is Finish.LENGTH)


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
