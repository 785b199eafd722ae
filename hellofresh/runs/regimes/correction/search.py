"""Pages by rated publishers that are old enough and relevant, in the order in which evidence is looked for in them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest

from hellofresh.evidence.publishers import PRIORITIES, Priority, Publishers
from hellofresh.evidence.web import Found, PageStatus, SearchResult, Web, WebPage
from hellofresh.runs.regimes._outside import address, read_safely, search_safely
from hellofresh.runs.regimes._texts import clean, one_line
from hellofresh.runs.regimes.correction.bound import lateness
from hellofresh.runs.regimes.correction.links import same_address
from hellofresh.runs.regimes.correction.relevance import Relevance
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.transcripts import Event, NotedEvent, ReadEvent, SearchedEvent

__all__ = ["FoundPages", "Link", "PageSearch"]

_WORDS_COMPARED = 2000


@dataclass(slots=True)
class Link:
    """A result, and what became of it.

    Attributes:
        number, place: the search, and the result's place in it, from 1.
        result: as found.
        priority: of its publisher, None where it has none.
        dropped: why no evidence was looked for in it: `twice`, `excluded`, `satire` and the like, `unrated`,
            `not-needed`, the page's status, `undated`, `after`, `irrelevant`; empty if it was.
        page: what was read.
        relevance: to the post, None where it was not asked for.
        by_picture: whether it was found by a picture of the post, and not by a query.
    """

    number: int
    place: int
    result: SearchResult
    priority: Priority | None = None
    dropped: str = ""
    page: WebPage | None = None
    relevance: float | None = None
    by_picture: bool = False

    @property
    def text(self) -> str:
        """The page's text, cleaned."""
        return "" if self.page is None else clean(self.page.text)

    @property
    def url(self) -> str:
        """Where the page is, after redirects."""
        return self.result.url if self.page is None else self.page.final_url

    def event(self) -> ReadEvent:
        """What the transcript says of it."""
        page, hidden = self.page, self.dropped == "excluded"
        return ReadEvent(
            number=self.number,
            place=self.place,
            url=address(self.result.url),
            title="" if hidden else one_line(self.result.title, 300),
            snippet="" if hidden else one_line(self.result.snippet, 500),
            date=self.result.date and one_line(self.result.date, 40),
            rank=self.result.rank,
            dropped=self.dropped,
            status="" if page is None else str(page.status),
            detail="" if page is None else one_line(page.detail, 300),
            final_url="" if page is None else address(page.final_url),
            sha256="" if page is None else one_line(page.sha256, 64),
            words=0 if page is None else len(page.text.split()),
            priority=self.priority or "",
            published="" if page is None else page.date,
            relevance=self.relevance,
        )


@dataclass(frozen=True, slots=True)
class FoundPages:
    """What the search came to.

    Attributes:
        used: links that evidence is looked for in, the best first: by priority, then by relevance.
        searches: an event a query, and a picture that was looked for.
        links: every link of every search.
    """

    used: Sequence[Link]
    searches: Sequence[Event]
    links: Sequence[Link]

    def events(self) -> Iterator[Event]:
        """The searches, each with its links after it, and how many links became of what.

        Links that were not looked at, since there were enough, are only counted.
        """
        for number, search in enumerate(self.searches, start=1):
            yield search
            shown = (link for link in self.links if link.number == number)
            yield from (link.event() for link in shown if link.page is not None or link.dropped != "not-needed")
        counts = Counter(link.dropped or "used" for link in self.links)
        yield NotedEvent(name="links", values=dict(sorted(counts.items())))


@dataclass(frozen=True, slots=True)
class PageSearch:
    """Searches and reads within bounds.

    Attributes:
        web: searches and reads.
        settings: all numbers.
        publishers: ratings.
        relevance: compares pages with the post.
        bound: the last moment that a page may be from.
        all_sites: whether a publisher without a rating is of low priority, and not left out.
        is_rehearsal: whether the web is one of paper: nothing is then left out for its date.
    """

    web: Web
    settings: CorrectionSettings
    publishers: Publishers
    relevance: Relevance
    bound: datetime
    all_sites: bool = False
    is_rehearsal: bool = False

    async def find(
        self, queries: Sequence[str], post: str, *, with_pictures: bool, pictured: Sequence[Found] = ()
    ) -> FoundPages:
        """Search for all queries at once, read what may be used, and choose by relevance.

        Args:
            queries: what is searched for.
            post: the text that pages are compared with.
            with_pictures: whether the post has pictures.
            pictured: pages that show the post's pictures, as a search by each picture found them.
        """
        # A page of the bound's own day may be from before it: its date decides, not the search's.
        before = self.bound.date() + timedelta(days=1)
        said = await asyncio.gather(*(search_safely(self.web, query, before) for query in queries))
        answers = [*said, *pictured]
        asked = [*queries, *(f"(picture {number})" for number in range(1, len(pictured) + 1))]
        searches = [self._searched(*item) for item in zip(range(1, len(asked) + 1), asked, answers, strict=True)]
        links = [
            Link(number, place, result, by_picture=number > len(queries))
            for number, found in enumerate(answers, start=1)
            for place, result in enumerate(found.results, start=1)
        ]
        chosen = self._choose(list(_in_turn(links)))
        await asyncio.gather(*(self._read(link) for link in chosen))
        self._drop_copies(chosen)
        used = await self._relevant([link for link in chosen if not link.dropped], post, with_pictures=with_pictures)
        return FoundPages(used, searches, links)

    def _searched(self, number: int, query: str, found: Found) -> SearchedEvent:
        return SearchedEvent(
            number=number,
            query=query,
            words=len(query.split()),
            results=len(found.results),
            problem=one_line(found.problem, 300),
            before=(self.bound.date() + timedelta(days=1)).isoformat(),
        )

    def _choose(self, links: Sequence[Link]) -> list[Link]:
        """The first links of each priority; what is left out is told why."""
        seen: set[str] = set()
        count = Counter[Priority]()
        for link in links:
            name = same_address(link.result.url)
            link.dropped = "twice" if name in seen else self._sort(link, link.result.url)
            seen.add(name)
            if link.priority is not None and not link.dropped:
                count[link.priority] += 1
                if count[link.priority] > self.settings.links:
                    link.dropped = "not-needed"
        return [link for link in links if not link.dropped]

    def _sort(self, link: Link, url: str) -> str:
        """Give a link the priority of the publisher at an address; why it may not be used, empty if it may."""
        if self.web.reason(url):
            return "excluded"
        publisher = self.publishers.of(url)
        if publisher is not None and publisher.category:
            return publisher.category
        link.priority = publisher.priority if publisher is not None else None
        if link.priority is None and self.all_sites and publisher is None:
            link.priority = "low"
        return "" if link.priority else "unrated"

    async def _read(self, link: Link) -> None:
        """Read a page and look at where it really is, and at its date."""
        link.page = page = await read_safely(self.web, link.result.url)
        if page.status is not PageStatus.OK:
            link.dropped = str(page.status)
        elif not link.text:
            link.dropped = str(PageStatus.EMPTY)
        else:
            link.dropped = self._sort(link, page.final_url) or self._late(page, link.result.date)

    def _late(self, page: WebPage, found: str | None) -> str:
        late = "" if self.is_rehearsal else lateness(page, found, self.bound)
        return "" if late == "undated" and self.settings.undated == "use" else late

    @staticmethod
    def _drop_copies(links: Sequence[Link]) -> None:
        """Two addresses may lead to one page."""
        seen: set[str] = set()
        for link in links:
            name = same_address(link.url)
            if not link.dropped and name in seen:
                link.dropped = "twice"
            seen.add(name)

    async def _relevant(self, links: Sequence[Link], post: str, *, with_pictures: bool) -> list[Link]:
        """The most relevant pages of each priority, in order: by the text, and those that show a picture of the post.

        A page that a search by a picture found shows it, so that its text is compared for the order alone.
        """
        settings = self.settings
        least = settings.relevance_images if with_pictures else settings.relevance
        most = settings.pages_text if with_pictures else settings.pages
        texts = [" ".join(link.text.split()[:_WORDS_COMPARED]) for link in links]
        for link, value in zip(links, await self.relevance.of(post, texts), strict=True):
            link.relevance = value
            link.dropped = "" if value >= least or link.by_picture or self.is_rehearsal else "irrelevant"
        used: list[Link] = []
        for priority in PRIORITIES:
            near = sorted((link for link in links if link.priority == priority and not link.dropped), key=_nearest)
            showing = [link for link in near if link.by_picture][: settings.pages_image]
            chosen = [*[link for link in near if not link.by_picture][:most], *showing]
            used += sorted(chosen, key=_nearest)
            for link in near:
                link.dropped = "" if link in chosen else "not-needed"
        return used


def _nearest(link: Link) -> tuple[float, int, int]:
    """The most relevant first; of equal ones what the search placed first."""
    return -(link.relevance or 0.0), link.place, link.number


def _in_turn(links: Sequence[Link]) -> Iterator[Link]:
    """The first link of each search, then the second of each, and so on."""
    numbers = sorted({link.number for link in links})
    rows = zip_longest(*([link for link in links if link.number == number] for number in numbers))
    yield from (link for row in rows for link in row if link is not None)
