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
from functools import partial
from typing import ClassVar

from pydantic import Field

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.web import Web
from hellofresh.evidence.web.text import canary
from hellofresh.models import Finish, Request
from hellofresh.runs.prompts import YES_OR_NO
from hellofresh.runs.regimes._base import BaseRegime, Case, Need, Outcome
from hellofresh.runs.regimes._outside import (
    Cut,
    Instant,
    PageVisit,
    cut_words,
    has_word,
    needs_of_search,
    search_safely,
    searched_until,
    visit_first,
    visited,
    web_of,
)
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes.zero_shot import SUMMARIES, JustifiedSettings, judge_with
from hellofresh.tasks.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent

SUMMARISER = "summariser"

_QUERY_TOKENS, _SUMMARY_TOKENS, _TOKENS_OF_WORD = 64, 256, 4  # a word of Finnish has about as many
_QUERY_CHARACTERS = 300  # search engines cut longer ones
_LABEL = re.compile(r"^(?:[-*\u2022]\s*|\(?\d{1,2}[.):]\s*)?(?:(?:search )?query(?: \d+)?\s*:\s*)?", re.IGNORECASE)
# A line around a text in the question, which small models repeat.
_MARK = re.compile(r"^\[?[0-9a-f]{12} (?:text \d+|end|[a-z_]+;)")
_AROUND = " \"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"


@dataclass(slots=True)
class _Visit(PageVisit):
    """A result with its summary: what stands before the sample, None if nothing; dropped also for `no-summary`."""

    summary: Cut | None = None

    def event(self) -> ReadEvent:
        summary = self.summary
        return ReadEvent(
            **self.fields(),
            summary=summary.text if summary else "",
            summary_words=summary.words if summary else 0,
            summary_cut=summary is not None and summary.was_cut,
        )


class WebSearchSettings(JustifiedSettings):
    """Sizes, and whether only older pages are searched for.

    Attributes:
        before: `sample`, `post`, `note` or `decision` to search only for what was there before that day, where the
            provider can; that of a decision is known once labels are public.
        query_words: most words of the query.
        pages: most pages that are summarised.
        page_words: words that are read of each.
        summary_words: most words of a summary.
        canary_words: least number of consecutive words shared with the sample for which a page is left out.
    """

    before: Instant = ""
    query_words: int = Field(default=15, ge=1, le=100)
    pages: int = Field(default=5, ge=1, le=20)
    page_words: int = Field(default=1000, ge=10, le=20_000)
    summary_words: int = Field(default=150, ge=10, le=2000)
    canary_words: int = Field(default=13, ge=3, le=100)


@dataclass(frozen=True, slots=True)
class WebSearch(BaseRegime):
    """One query, some pages and their summaries, then one question a prompt, whose table has the name."""

    roles: ClassVar[Mapping[str, str]] = {SUMMARISER: "summarises pages"}
    version: ClassVar[int] = 3

    settings: WebSearchSettings = field(default_factory=WebSearchSettings)
    name: str = "web-search"

    @property
    def needs(self) -> frozenset[Need]:
        """The web, and the time of the decision where a search ends there."""
        return needs_of_search(self.settings.before)

    def ceiling(self, prompts: int) -> int:
        """The query, the summaries, and one or two a prompt."""
        return 1 + self.settings.pages + prompts * (1 + self.settings.justify)

    def rehearse(self, step: str, turn: int) -> str:
        if step == "classify":
            return YES_OR_NO[1]
        return "word " * (self.settings.query_words if step == "query" else self.settings.summary_words)

    async def solve(self, case: Case) -> Outcome:
        """Search, read, summarise, ask.

        Raises:
            PromptError: if the prompt set lacks a step or the place for summaries.
            RunError: if the case has no way to the web.
        """
        case.prompt_set.require(slots=(SUMMARIES,), steps=("query", "query-fallback", "summary"))
        web = web_of(case)
        question = case.step("query", number=str(self.settings.pages))
        answer = await case.ask("query", "", Request((question,), _QUERY_TOKENS, sample=case.sample))
        line = "" if is_refusal(answer) else next(query_lines(clean(answer.text)), "")
        problem = "" if line else "refused" if is_refusal(answer) else "empty"
        if problem:
            line = case.prompt_set.words("query-fallback", case.slots)[:_QUERY_CHARACTERS].rstrip()
        query = cut_words(line, self.settings.query_words)
        before = searched_until(case, self.settings.before)
        found = await search_safely(web, query.text, before)
        visits = [_Visit(place, result) for place, result in enumerate(found.results, start=1)]
        await _read(case, web, self.settings, visits)
        choices = await judge_with(
            case, [visit.summary.text for visit in visits if visit.summary is not None], self.settings
        )
        searched = SearchedEvent(
            query=query.text,
            words=0 if problem else query.words,  # of the model's line before it was cut
            cut=query.was_cut and not problem,
            fallback=problem,
            results=len(found.results),
            problem=one_line(found.problem, 300),
            before=None if before is None else before.isoformat(),
        )
        events: list[Event] = [AskedEvent(step="query"), searched]
        for visit in visits:
            events.append(visit.event())
            if visit.cut is not None and visit.dropped != "too-long":
                events.append(AskedEvent(step=f"summarise-{visit.place}", role=SUMMARISER))
        return Outcome(choices, events)


def query_lines(said: str) -> Iterator[str]:
    """The lines of an answer that say anything, without bullets, labels and quotes around them.

    A line that ends with a colon only announces others, and one with a mark repeats the question.
    """
    for raw in said.split("\n"):
        line = one_line(_LABEL.sub("", raw.strip(_AROUND)).strip(_AROUND), _QUERY_CHARACTERS)
        if has_word(line) and not line.endswith(":") and not _MARK.match(line):
            yield line


async def _read(case: Case, web: Web, settings: WebSearchSettings, visits: Sequence[_Visit]) -> None:
    """Read results in their order until enough pages are readable, and summarise each as soon as it is there."""
    carries_item = partial(canary, item_texts=tuple(case.slots.values()), n=settings.canary_words)
    try:
        async with asyncio.TaskGroup() as group:

            async def visit(item: _Visit) -> bool:
                used = await visited(web, item, settings.page_words, carries_item)
                if used:
                    group.create_task(_summarise(case, item, settings.summary_words))
                return used

            await visit_first(visits, settings.pages, visit)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures


async def _summarise(case: Case, visit: _Visit, words: int) -> None:
    title, text = visit.page.title if visit.page else "", visit.cut.text if visit.cut else ""
    block = fence([f"{one_line(title, 200)}\n{text}"])
    message = case.step("summary", page=block.text, mark=block.mark)
    request = Request((message,), min(_SUMMARY_TOKENS, _TOKENS_OF_WORD * words), sample=case.sample)
    try:
        answer = await case.ask(f"summarise-{visit.place}", "", request, role=SUMMARISER)
    except RunError as error:
        if error.code != "context-length":
            raise
        visit.dropped = "too-long"
        return
    text = one_line(answer.text, len(answer.text))
    if is_refusal(answer) or not has_word(text):
        visit.dropped = "no-summary"
        return
    summary = cut_words(text, words)
    visit.summary = replace(summary, was_cut=summary.was_cut or answer.finish is Finish.LENGTH)
