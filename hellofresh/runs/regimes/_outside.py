"""What comes from outside, so that nothing in it ends a run or gives an order: texts, searches and pages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Container, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeVar

from hellofresh.core.errors import HelloFreshError, RunError
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.texts import clean, one_line
from hellofresh.evidence.web import Found, ImageSearch, PageStatus, SearchResult, Web, WebPage
from hellofresh.evidence.web.text import first_words
from hellofresh.runs.regimes._base import Case, Need
from hellofresh.tasks import get_task

_LETTER = re.compile(r"[^\W_]")
_CHARACTERS_A_WORD = 12  # a limit in words must also hold for texts without spaces
_LONGEST_ADDRESS = 2000  # what browsers and servers take; longer ones carry data
_T = TypeVar("_T")
_V = TypeVar("_V", bound="PageVisit")
Instant = Literal["", "sample", "post", "note", "note-average", "decision"]
"""When a search ends: nowhere, or at the time of the sample, of its post or note, or of the decision on it. Of notes of
high and of average quality, `note` is the first."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut to its first words: how many there were, and whether any was left out."""

    text: str
    words: int
    was_cut: bool


def has_word(text: str) -> bool:
    return _LETTER.search(text) is not None


def cut_words(text: str, limit: int) -> Cut:
    """The first words of a text, white space between them as it was.

    Texts in scripts without spaces, or of endless words, are held to 12 characters a word.
    """
    words = len(text.split())
    shown = first_words(text, limit) if words > limit else text
    shorter = shown[: limit * _CHARACTERS_A_WORD]
    return Cut(shorter.rstrip(), words, len(shorter) < len(text.rstrip()))


def web_of(case: Case) -> Web:
    """The case's web access.

    Raises:
        RunError: if it has none.
    """
    if case.web is None:
        raise RunError("a regime that searches has no web access", where=case.sample.id, code="no-web")
    return case.web


def needs_of_search(instant: Instant, facts: Container[Instant] = ("decision",)) -> frozenset[Need]:
    """What a regime that searches up to an instant needs; the times of some are `facts` of labels."""
    return frozenset({Need.WEB, Need.FACTS} if instant in facts else {Need.WEB})


def instant_of(case: Case, instant: Instant) -> datetime:
    """The time of an instant, by `Task.instants`; of a fact that is only a day, its beginning (UTC).

    Raises:
        RunError: if the sample has no such time. That of a decision is known once labels are public, to a regime that
            needs facts.
    """
    name = get_task(case.sample.task).instants.get(instant, "")
    found: object = case.facts.get(name)
    if isinstance(found, str):
        with suppress(ValueError):
            found = datetime.fromisoformat(found)
    elif name:
        found = case.sample
        for part in name.split("."):
            found = getattr(found, part, None)
    if not isinstance(found, datetime):
        raise RunError(
            f"the sample has no time for before={instant}",
            where=case.sample.id,
            fix="Choose another instant; that of a decision, or of a note of high or of average quality, may need an "
            "edition whose labels are public.",
            code="no-instant",
        )
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def searched_until(case: Case, instant: Instant) -> date | None:
    """The day before which pages are searched for, None for all; never after the sample where later pages tell the
    answer (`Task.dated`).

    Raises:
        RunError: if the sample has no such time, see `instant_of`.
    """
    sample = case.sample
    ends = [instant_of(case, instant)] if instant else []
    ends += [sample.date] if get_task(sample.task).dated else []
    return min((end.date() for end in ends), default=None)


async def _safely(call: Awaitable[_T], instead: Callable[[str], _T]) -> _T:
    try:
        return await call
    except HelloFreshError:
        raise
    except Exception as error:  # hostile pages find errors that no list of ours has; one sample must not end a run
        return instead(f"failed ({type(error).__name__})")


async def search_safely(web: Web, query: str, before: date | None) -> Found:
    """Search; an answer that breaks its reader counts as a failed search."""
    return await _safely(web.search(query, before=before), lambda why: Found((), f"the search {why}"))


async def search_image_safely(web: Web, picture: str, query: str = "") -> Found:
    """Search for the pages that show a picture and match a query; empty without reverse image search."""
    if not isinstance(web, ImageSearch):
        return Found(())
    return await _safely(
        web.search_image(picture, query) if query else web.search_image(picture),
        lambda why: Found((), f"the search {why}"),
    )


async def read_safely(web: Web, url: str) -> WebPage:
    """Read a page; one that breaks its reader is dead."""
    return await _safely(web.read(url), lambda why: WebPage(url, url, PageStatus.DEAD, f"reading {why}"))


@dataclass(slots=True)
class PageVisit:
    """A search result and its outcome.

    Attributes:
        place: its place among the results, from 1.
        result: the result.
        page: the page, None if it was never asked for.
        dropped: why a page was not used: its status, `twice`, `carries-item`, `not-needed` ...; empty if it was.
        cut: the page's text as far as it was read.
    """

    place: int
    result: SearchResult
    page: WebPage | None = None
    dropped: str = ""
    cut: Cut | None = None

    def fields(self, *, hidden: bool = False) -> dict[str, Any]:
        """Its fields in transcripts; `hidden` leaves out title and snippet."""
        found, page, cut = self.result, self.page, self.cut
        return {
            "place": self.place,
            "url": address(found.url),
            "title": "" if hidden else one_line(found.title, 300),
            "snippet": "" if hidden else one_line(found.snippet, 500),
            "date": found.date and one_line(found.date, 40),
            "rank": found.rank,
            "dropped": self.dropped,
            "status": "" if page is None else str(page.status),
            "detail": "" if page is None else one_line(page.detail, 300),
            "final_url": "" if page is None else address(page.final_url),
            "sha256": "" if page is None else one_line(page.sha256, 64),
            "words": cut.words if cut else 0,
            "cut": cut is not None and cut.was_cut,
        }


async def visit_first(visits: Sequence[_V], most: int, visit: Callable[[_V], Coroutine[None, None, bool]]) -> None:
    """Visit results with different addresses in their order, until enough are used.

    As many at once as are still missing, so that speed does not decide which ones are used. Results that are
    not visited are marked as `twice` or `not-needed`.
    """
    seen: set[str] = set()
    for item in visits:
        item.dropped = "twice" if item.result.url in seen else "not-needed"
        seen.add(item.result.url)
    waiting = [item for item in visits if item.dropped == "not-needed"]
    while most and waiting:
        wave, waiting = waiting[:most], waiting[most:]
        try:
            async with asyncio.TaskGroup() as group:
                reading = [group.create_task(visit(item)) for item in wave]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        most -= sum(task.result() for task in reading)


async def visited(web: Web, visit: PageVisit, words: int, carries_item: Callable[[str], bool]) -> bool:
    """Read the first words of a result's page; return whether it can be used."""
    visit.page = page = await read_safely(web, visit.result.url)
    text = clean(page.text)
    if page.status is not PageStatus.OK:
        visit.dropped = str(page.status)
    elif not text:
        visit.dropped = str(PageStatus.EMPTY)
    elif carries_item(page.text):
        visit.dropped = "carries-item"
    else:
        visit.dropped, visit.cut = "", cut_words(text, words)
    return not visit.dropped


def host_of(url: str) -> str:
    """The host of an address, empty if it has none that can be read."""
    try:
        return PageAddress.parse(url).host
    except AddressError:
        return ""


def address(url: str) -> str:
    """An address on one line, cut where it is absurdly long."""
    return one_line(url, _LONGEST_ADDRESS)
