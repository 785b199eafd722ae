"""Evidence: what pages say against a post, and around it, in their own words.

A quote counts only if it stands in the page; it is widened to whole sentences, so that no part of one can say what the
sentence does not. What a page tells the extractor to do changes nothing but which of its own sentences are taken.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from hellofresh.core.errors import RunError
from hellofresh.models import Request
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._outside import address
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._texts import cut_words, fence, one_line
from hellofresh.runs.regimes.correction.describe import DescribedPictures
from hellofresh.runs.regimes.correction.links import without_links
from hellofresh.runs.regimes.correction.post import shown_post
from hellofresh.runs.regimes.correction.search import Link
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.transcripts import AskedEvent, Event, QuotedEvent

__all__ = ["EXTRACTOR", "Evidence", "PageEvidence", "extract"]

EXTRACTOR = "extractor"
_TOKENS_A_WORD = 1.5
_LABEL = re.compile(r"^\W{0,4}(REFUTES|CONTEXT|NONE)\b\W{0,4}(?=:|\s|$)[:\s]*", re.IGNORECASE)
_AROUND = " \t\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb-"
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f\u0964][\"')\]\u201d\u2019\u00bb]*(?:\s|$)|\n")
_STRAIGHT = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "-", "\n": " "}
)


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What a page has to say.

    Attributes:
        link: the page.
        refuting, context: its own sentences, without addresses.
        missing: quotes that do not stand in the page.
        problem: why nothing could be asked of it; empty if it was.
    """

    link: Link
    refuting: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    missing: int = 0
    problem: str = ""

    def event(self) -> QuotedEvent:
        """What the transcript says of it."""
        return QuotedEvent(
            url=address(self.link.url),
            priority=self.link.priority or "",
            refuting=self.refuting,
            context=self.context,
            missing=self.missing,
            problem=self.problem,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all pages that were asked have to say, the best first, and how many were not asked any more."""

    pages: Sequence[PageEvidence]
    unread: int = 0

    def events(self) -> Iterator[Event]:
        """The request to each page, and what came of it."""
        for number, page in enumerate(self.pages, start=1):
            if not page.problem:
                yield AskedEvent(step=f"evidence-{number}", role=EXTRACTOR)
            yield page.event()


async def extract(
    case: Case, settings: CorrectionSettings, links: Sequence[Link], pictures: DescribedPictures
) -> Evidence:
    """Ask pages in their order until enough of them refute the post.

    Where each answer takes long, all pages are asked at once; what counts of them is the same.
    """
    waves = [links] if case.at_once else [[link] for link in links]
    asked: list[PageEvidence] = []
    refuting = 0
    for wave in waves:
        steps = range(len(asked) + 1, len(asked) + len(wave) + 1)
        answers = (_ask(case, settings, link, pictures, number) for number, link in zip(steps, wave, strict=True))
        for page in await asyncio.gather(*answers):
            if refuting < settings.refuting_pages:
                asked.append(page)
                refuting += bool(page.refuting)
        if refuting >= settings.refuting_pages:
            break
    return Evidence(asked, len(links) - len(asked))


async def _ask(
    case: Case, settings: CorrectionSettings, link: Link, pictures: DescribedPictures, number: int
) -> PageEvidence:
    text = link.text[: settings.page_characters]
    title = "" if link.page is None else one_line(link.page.title, 200)
    block = fence([f"{title}\n{text}"])
    message = case.step(
        "evidence",
        **shown_post(case, pictures),
        page=block.text,
        mark=block.mark,
        refuting=str(settings.refuting),
        context=str(settings.context),
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
    return read_evidence(link, text, answer.text, settings)


def read_evidence(link: Link, text: str, said: str, settings: CorrectionSettings) -> PageEvidence:
    """The quotes in an answer that stand in the page, the first so many of each kind."""
    kept: dict[str, dict[str, None]] = {"refutes": {}, "context": {}}
    missing = 0
    for kind, quote in _quotes(said):
        found = _in_page(quote, text, settings.quote_least)
        if not found:
            missing += 1
        elif found not in kept["refutes"]:
            plain = without_links(cut_words(found, settings.quote_most).text).text
            kept[kind][" ".join(plain.split())] = None
    return PageEvidence(
        link,
        tuple(kept["refutes"])[: settings.refuting],
        tuple(quote for quote in kept["context"] if quote not in kept["refutes"])[: settings.context],
        missing,
    )


def _quotes(said: str) -> Iterator[tuple[str, str]]:
    """What an answer quotes, with its kind; a quote goes on until the next label."""
    kind, lines = "", list[str]()
    for line in [*said.split("\n"), "NONE"]:
        label = _LABEL.match(line)
        if label is None:
            lines.append(line)
            continue
        if kind in ("refutes", "context") and (quote := " ".join(lines).strip(_AROUND)):
            yield kind, quote
        kind, lines = label[1].lower(), [line[label.end() :]]


def _in_page(quote: str, page: str, least: int) -> str:
    """The whole sentences of a page that hold a quote; empty where it does not stand there, or is too short."""
    plain, wanted = page.translate(_STRAIGHT), " ".join(quote.translate(_STRAIGHT).split())
    if len(wanted.split()) < least:
        return ""
    start = plain.find(wanted)
    if start < 0:
        return ""
    ends = [match.end() for match in _SENTENCE_END.finditer(page)]
    begin = max((end for end in ends if end <= start), default=0)
    end = min((end for end in ends if end >= start + len(wanted)), default=len(page))
    return " ".join(page[begin:end].split())
