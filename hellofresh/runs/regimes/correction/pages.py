"""Pages that may be used, and what they say: old enough, by rated publishers, relevant, quoted in their own words.

A quote counts only if it stands in the page; it is widened to whole sentences, so that no part of one can say what the
sentence does not. What a page tells the extractor to do changes nothing but which of its own sentences are taken.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from math import ceil

import numpy as np

from hellofresh.core.errors import RunError
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.evidence.publishers import PRIORITIES, Priority, Publishers
from hellofresh.evidence.retrieval.encoders import Encoder, open_encoder
from hellofresh.evidence.sentences import whole_sentences, word_count
from hellofresh.evidence.vision import PictureMatcher
from hellofresh.evidence.web import Found, ImageSearch, PageStatus, Web, WebPage
from hellofresh.evidence.web.dates import end_of
from hellofresh.models import Request
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._outside import PageVisit, address, host_of, read_safely, search_safely
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes.correction.post import (
    CorrectionSettings,
    DescribedPictures,
    same_address,
    shown_post,
    without_links,
)
from hellofresh.tasks.transcripts import STANCES, AskedEvent, Event, NotedEvent, QuotedEvent, ReadEvent, SearchedEvent

opened_encoder = cache(open_encoder)
"""The encoder of a name, opened once; raises `UsageError` if what it needs is not installed."""
_WORDS_COMPARED = 2000  # what an encoder reads of a page at most, several times over
_LIMITED_CHARACTERS = 150  # with the longest group of domains it stays within providers' 400 characters
EXTRACTOR = "extractor"
_TOKENS_A_WORD = 1.5  # of a quotation in most languages
_LABEL = re.compile(r"^\W{0,4}(REFUTES|SUPPORTS|QUOTES|CONTEXT|NONE)\b\W{0,4}(?=:|\s|$)[:\s]*", re.IGNORECASE)
_KINDS = {"refutes": "refuting", "supports": "supporting", "quotes": "reported", "context": "context"}
_AROUND = " \t\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb-"
_STRAIGHT = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "-", "\n": " "}
)


@dataclass(frozen=True, slots=True)
class TextRelevance:
    """Relevance by an encoder of texts, in its own thread."""

    encoder: Encoder

    async def of(self, post: str, pages: Sequence[str]) -> Sequence[float]:
        """Cosines to four decimals, so that the order does not depend on rounding errors."""
        return await asyncio.to_thread(self.of_pairs, [(post, page) for page in pages]) if pages else ()

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of each pair of a post and a page; what occurs twice is encoded once."""
        posts, pages = (list(dict.fromkeys(texts)) for texts in zip(*pairs, strict=True))
        of_posts = dict(zip(posts, self.encoder.queries(posts), strict=True))
        of_pages = dict(zip(pages, self.encoder.passages(pages), strict=True))
        return [round(float(np.dot(of_posts[post], of_pages[page])), 4) for post, page in pairs]


@dataclass(slots=True, kw_only=True)
class Link(PageVisit):
    """A search result and its outcome.

    Attributes:
        number: the search, from 1.
        priority: of its publisher, None where it has none.
        relevance: to the post, None where it was not asked for.
        by_picture: whether it was found by a picture of the post, and not by a query.

    It is dropped as `twice`, `excluded`, `satire` and the like, `unrated`, `not-needed`, the page's status, `undated`,
    `after`, `other-picture` or `irrelevant`.
    """

    number: int
    priority: Priority | None = None
    relevance: float | None = None
    by_picture: bool = False

    @property
    def text(self) -> str:
        return "" if self.page is None else clean(self.page.text)

    @property
    def url(self) -> str:
        """Where the page is, after redirects."""
        return self.result.url if self.page is None else self.page.final_url

    def event(self) -> ReadEvent:
        page = self.page
        return ReadEvent(
            **{
                **self.fields(hidden=self.dropped == "excluded"),
                "words": 0 if page is None else len(page.text.split()),
            },
            number=self.number,
            priority=self.priority or "",
            published="" if page is None else page.date,
            relevance=self.relevance,
        )


@dataclass(frozen=True, slots=True)
class FoundPages:
    """The outcome of all searches.

    Attributes:
        used: links that evidence is looked for in, the best first: by priority, then by relevance.
        searches: an event a query, and a picture that was looked for.
        links: every link of every search.
        similarities: of pages that were found by a picture, the most that one of their pictures has in common with it.
    """

    used: Sequence[Link]
    searches: Sequence[Event]
    links: Sequence[Link]
    similarities: Sequence[float] = ()

    def events(self) -> Iterator[Event]:
        """The searches, each followed by its links, and the number of links by outcome.

        Links that were not looked at, since there were enough, are only counted.
        """
        for number, search in enumerate(self.searches, start=1):
            yield search
            shown = (link for link in self.links if link.number == number)
            yield from (link.event() for link in shown if link.page is not None or link.dropped != "not-needed")
        if self.similarities:
            yield NotedEvent(name="compared", values={"similarities": list(self.similarities)})
        counts = Counter(link.dropped or "used" for link in self.links)
        yield NotedEvent(name="links", values=dict(sorted(counts.items())))


@dataclass(frozen=True, slots=True)
class PageSearch:
    """Searches and reads within bounds.

    Attributes:
        web: searches and reads.
        settings: all numbers.
        publishers: ratings.
        relevance: compares pages with the post; None where the web is one of paper: no page is then left out for its
            date or for what it says.
        bound: the last moment that a page may be from.
        all_sites: whether a publisher without a rating is of low priority, and not left out.
        pictures: compares those of pages with the post's; None where they are not compared.
    """

    web: Web
    settings: CorrectionSettings
    publishers: Publishers
    relevance: TextRelevance | None
    bound: datetime
    all_sites: bool = False
    pictures: PictureMatcher | None = None

    async def find(
        self, queries: Sequence[str], post: str, *, with_pictures: bool, pictured: Sequence[Found] = ()
    ) -> FoundPages:
        """Search for all queries at once, read what may be used, and choose by nearness to the post.

        What is `pictured` are pages that show the post's pictures, as a search by each picture found them.
        """
        queries = self._limited(queries)
        # A page of the bound's own day may be from before it: its date decides, not the search's.
        before = self.bound.date() + timedelta(days=1)
        said = await asyncio.gather(*(search_safely(self.web, query, before) for query in queries))
        answers = [*said, *pictured]
        asked = [*queries, *(f"(picture {number})" for number in range(1, len(pictured) + 1))]
        searches = list(_searches(asked, answers, before))
        links = [
            Link(place, result, number=number, by_picture=number > len(queries))
            for number, found in enumerate(answers, start=1)
            for place, result in enumerate(found.results, start=1)
        ]
        # The first link of each search, then the second of each, and so on.
        chosen = self._choose(sorted(links, key=lambda link: (link.place, link.number)))
        await asyncio.gather(*(self._read(link) for link in chosen))
        seen: set[str] = set()
        for link in chosen:
            name = same_address(link.url)
            if not link.dropped and name in seen:  # two addresses may lead to one page
                link.dropped = "twice"
            seen.add(name)
        shown = [link for link in chosen if link.by_picture and not link.dropped]
        similarities = await asyncio.gather(*(self._compare(link) for link in shown))
        used = await self._relevant([link for link in chosen if not link.dropped], post, with_pictures=with_pictures)
        return FoundPages(used, searches, links, [value for value in similarities if value is not None])

    def _limited(self, queries: Sequence[str]) -> Sequence[str]:
        """Each query for each group of rated domains, if it is to be searched for within them; else as they are."""
        groups = [
            group
            for priority in PRIORITIES
            if self.settings.site_groups
            for group in self.publishers.site_groups(priority)[: self.settings.site_groups]
        ]
        return [f"{query[:_LIMITED_CHARACTERS]} ({group})" for query in queries for group in groups] or queries

    def _choose(self, links: Sequence[Link]) -> list[Link]:
        """The first links of each priority; others get the reason for leaving them out."""
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
        """Read a page, and check its final address and its date."""
        link.page = page = await read_safely(self.web, link.result.url)
        if page.status is not PageStatus.OK:
            link.dropped = str(page.status)
        elif not link.text:
            link.dropped = str(PageStatus.EMPTY)
        else:
            link.dropped = self._sort(link, page.final_url) or self._late(page, link.result.date)

    async def _compare(self, link: Link) -> float | None:
        """Check whether a page found by a picture shows that picture; None if its pictures cannot be compared."""
        if self.pictures is None or not isinstance(self.web, ImageSearch):
            return None
        contents = await self.web.pictures(link.result.url)
        found = [await asyncio.to_thread(self.pictures.similarity, content) for content in contents]
        best = max((value for value in found if value is not None), default=None)
        if best is not None and best < self.settings.image_similarity:
            link.dropped = "other-picture"
        return best

    def _late(self, page: WebPage, found: str | None) -> str:
        """Why a page's date forbids its use: `after` or `undated`; empty if it does not.

        A page is of the latest date that it names; a day counts as its last moment. The day (ISO) that the search gave
        only counts against a page: one that is later than the bound shows that the page's own date is wrong.
        """
        if self.relevance is None:
            return ""
        with suppress(ValueError):  # whatever the search gave
            if found and date.fromisoformat(found[:10]) > self.bound.date():
                return "after"
        end = end_of(page.date)
        if end is None:
            return "" if self.settings.undated == "use" else "undated"
        return "" if end <= self.bound else "after"

    async def _relevant(self, links: Sequence[Link], post: str, *, with_pictures: bool) -> list[Link]:
        """The most relevant pages of each priority, in order: by the text, and those that show a picture of the post.

        A page that a search by a picture found shows it, so that its text is compared for the order alone.
        """
        settings = self.settings
        least = settings.relevance_images if with_pictures else settings.relevance
        most = settings.pages_text if with_pictures else settings.pages
        texts = [" ".join(link.text.split()[:_WORDS_COMPARED]) for link in links]
        cosines = [1.0] * len(links) if self.relevance is None else await self.relevance.of(post, texts)
        for link, value in zip(links, cosines, strict=True):
            link.relevance = value
            link.dropped = "" if value >= least or link.by_picture or self.relevance is None else "irrelevant"
        used: list[Link] = []
        # The most relevant first; of equal ones what the search placed first.
        order = sorted(links, key=lambda link: (-(link.relevance or 0.0), link.place, link.number))
        for priority in PRIORITIES:
            near = [link for link in order if link.priority == priority and not link.dropped]
            showing = [link for link in near if link.by_picture][: settings.pages_image]
            chosen = [*[link for link in near if not link.by_picture][:most], *showing]
            used += [link for link in near if link in chosen]
            for link in near:
                link.dropped = "" if link in chosen else "not-needed"
        return used


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """The evidence from one page.

    Attributes:
        link: the page.
        quotes: its own sentences without addresses, by stance (see `STANCES`).
        missing: quotes that do not stand in the page.
        problem: why nothing could be asked of it; empty if it was.
    """

    link: Link
    quotes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: int = 0
    problem: str = ""

    def events(self, number: int) -> Iterator[Event]:
        """The request about the page, and its outcome."""
        if not self.problem:
            yield AskedEvent(step=f"evidence-{number}", role=EXTRACTOR)
        yield QuotedEvent(
            url=address(self.link.url),
            priority=self.link.priority or "",
            refuting=self.quotes.get("refuting", ()),
            supporting=self.quotes.get("supporting", ()),
            reported=self.quotes.get("reported", ()),
            context=self.quotes.get("context", ()),
            missing=self.missing,
            problem=self.problem,
        )


async def extract(
    case: Case, settings: CorrectionSettings, links: Sequence[Link], pictures: DescribedPictures
) -> list[PageEvidence]:
    """Ask pages in their order, the best first, until enough of them refute the post."""
    asked: list[PageEvidence] = []
    for number, link in enumerate(links, start=1):
        if sum("refuting" in page.quotes for page in asked) >= settings.refuting_pages:
            break
        asked.append(await _ask(case, settings, link, pictures, number))
    return asked


async def _ask(
    case: Case, settings: CorrectionSettings, link: Link, pictures: DescribedPictures, number: int
) -> PageEvidence:
    title, day = ("", "") if link.page is None else (one_line(link.page.title, 200), link.page.date[:10])
    origin = f"{host_of(link.url).removeprefix('www.')}, {day or 'no date'}"
    block = fence([f"{origin}\n{title}\n{link.text[: settings.page_characters]}"])
    message = case.step(
        "evidence",
        **shown_post(case, pictures),
        page=block.text,
        mark=block.mark,
        refuting=str(settings.refuting),
        contexts=str(settings.context),
    )
    most = ceil(_TOKENS_A_WORD * settings.quote_most * max(1, settings.refuting + settings.context))
    request = Request((message,), most, sample=case.sample)
    try:
        answer = await case.ask(f"evidence-{number}", "", request, role=EXTRACTOR)
    except RunError as error:
        if error.code != "context-length":
            raise
        return PageEvidence(link, problem="too-long")
    if is_refusal(answer):
        return PageEvidence(link)
    return read_evidence(link, link.text, answer.text, settings)


def read_evidence(link: Link, text: str, said: str, settings: CorrectionSettings) -> PageEvidence:
    """The first quotes of each kind in an answer that are in the page, widened to whole sentences."""
    kept: dict[str, str] = {}
    missing = 0
    for kind, quote in _quotes(said):
        page, wanted = text.translate(_STRAIGHT), " ".join(quote.translate(_STRAIGHT).split())
        # short quotes are found in any page
        start = page.find(wanted) if word_count(wanted) >= settings.quote_least else -1
        found = "" if start < 0 else whole_sentences(text, start, start + len(wanted), settings.quote_most)
        if not found:
            missing += 1
        else:
            kept.setdefault(" ".join(without_links(found).text.split()), _KINDS[kind])
    refuting = [quote for quote, stance in kept.items() if stance == "refuting"][: settings.refuting]
    others = [quote for quote, stance in kept.items() if stance != "refuting"][: settings.context]
    taken = {stance: tuple(quote for quote in (*refuting, *others) if kept[quote] == stance) for stance in STANCES}
    return PageEvidence(link, {stance: quotes for stance, quotes in taken.items() if quotes}, missing)


def _quotes(said: str) -> Iterator[tuple[str, str]]:
    """The quotes in an answer with their kinds; a quote ends at the next label."""
    kind, lines = "", list[str]()
    for line in [*said.split("\n"), "NONE"]:
        label = _LABEL.match(line)
        if label is None:
            lines.append(line)
            continue
        if kind in _KINDS and (quote := " ".join(lines).strip(_AROUND)):
            yield kind, quote
        kind, lines = label[1].lower(), [line[label.end() :]]


def _searches(asked: Sequence[str], answers: Sequence[Found], before: date) -> Iterator[SearchedEvent]:
    for number, (query, found) in enumerate(zip(asked, answers, strict=True), start=1):
        yield SearchedEvent(
            number=number,
            query=query,
            words=len(query.split()),
            results=len(found.results),
            problem=one_line(found.problem, 300),
            before=before.isoformat(),
        )
