"""The response: written from the evidence, with links at its end, none of which was not given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hellofresh.models import Answer, Message, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import Case
from hellofresh.runs.regimes._outside import address, host_of
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes._texts import clean, fence, one_line
from hellofresh.runs.regimes.correction.describe import DescribedPictures
from hellofresh.runs.regimes.correction.evidence import Evidence, PageEvidence
from hellofresh.runs.regimes.correction.links import same_address, without_links
from hellofresh.runs.regimes.correction.post import shown_post
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.outputs import Response, Status
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent

__all__ = ["OPENINGS", "WrittenResponse", "read_response", "respond"]

OPENINGS = ("This post is misleading", "This post is not misleading")
"""How a response begins."""
_TOKENS_A_WORD, _TOKENS_A_LINK = 2, 60
_LABEL_ALONE = re.compile(r"^\W*(?:sources?|links?|references?|read more|see|urls?)\W*$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_EMPTY = re.compile(r"\(\s*(?:(?:source|see|via|link)s?\s*:?\s*)?[,;]?\s*\)|\[\s*\]|<\s*>", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*\u2022]|\[?\d{1,2}[\].):])\s*$")


@dataclass(frozen=True, slots=True)
class WrittenResponse:
    """A response as it is given.

    Attributes:
        text: what was written without addresses, then the links that were given, a line each.
        links: these links.
        hallucinated: addresses that were written and not given.
        opens: whether it begins as it should.
    """

    text: str
    links: tuple[str, ...]
    hallucinated: tuple[str, ...]
    opens: bool


async def respond(
    case: Case, settings: CorrectionSettings, prompt: Prompt, evidence: Evidence | None, pictures: DescribedPictures
) -> tuple[Response, Sequence[Event]]:
    """Have the model respond.

    Args:
        case: the post.
        settings: how many words.
        prompt: the wording.
        evidence: what was found; None where nothing was looked for.
        pictures: what the pictures show.
    """
    pages = [page for page in evidence.pages if page.refuting or page.context] if evidence is not None else []
    message = _message(case, settings, prompt, pages, pictures, searched=evidence is not None)
    most = _TOKENS_A_WORD * settings.words + _TOKENS_A_LINK * (1 + len(pages))
    request = Request((message,), most, sample=case.sample)
    answer = await case.ask("respond", prompt.id, request)
    written = read_response(answer, [page.link.url for page in pages])
    status = Status.ANSWERED if written.text else Status.NONE
    status = Status.BLOCKED if is_refusal(answer) else status
    text = written.text if status is Status.ANSWERED else ""
    values = {
        "words": len(text.split()) - len(written.links) if text else 0,
        "links": list(written.links),
        "hallucinated": [one_line(link, 300) for link in written.hallucinated],
        "opens": written.opens,
    }
    sources = written.links if text else ()
    response = Response(prompt=prompt.id, status=status, text=text, sources=sources)
    events = (
        AskedEvent(prompt=prompt.id, step="respond"),
        NotedEvent(prompt=prompt.id, name="response", values=values),
    )
    return response, events


def _message(
    case: Case,
    settings: CorrectionSettings,
    prompt: Prompt,
    pages: Sequence[PageEvidence],
    pictures: DescribedPictures,
    *,
    searched: bool,
) -> Message:
    rules = {"words": str(settings.words), "misleading": OPENINGS[0], "accurate": OPENINGS[1]}
    if pages:
        block = fence([_fact(page) for page in pages])
        found = case.step("facts", **rules, facts=block.text, mark=block.mark).text
    else:
        found = case.step("no-facts" if searched else "no-search", **rules).text
    return case.question(prompt, **shown_post(case, pictures), found=found)


def _fact(page: PageEvidence) -> str:
    """A page's sentences as the model reads them, after its address and date."""
    day = "" if page.link.page is None else page.link.page.date[:10]
    quotes = [f"Against the post: {quote}" for quote in page.refuting] + [f"Context: {quote}" for quote in page.context]
    return "\n".join([f"{address(page.link.url)} ({day or 'no date'})", *quotes])


def read_response(answer: Answer, given: Sequence[str]) -> WrittenResponse:
    """A response with the links that were given at its end, and without any other.

    A site's bare name stays in the text where one of the given pages is of that site.
    """
    known = {same_address(url): url for url in reversed(given)}
    sites = {host_of(url).removeprefix("www.") for url in given}
    body = without_links(clean(answer.text), spare=lambda name: name.lower().removeprefix("www.") in sites)
    links = dict.fromkeys(known[name] for url in body.links if (name := same_address(url)) in known)
    wrong = tuple(url for url in body.links if same_address(url) not in known)
    lines = [" ".join(_EMPTY.sub("", line).split()) for line in body.text.split("\n")]
    kept = [line for line in lines if _WORD.search(line) and not _LABEL_ALONE.match(line) and not _BULLET.match(line)]
    text = "\n".join(kept).strip()
    opens = text.startswith(OPENINGS)
    whole = "\n".join([text, "", *links]) if text and links else text
    return WrittenResponse(whole, tuple(links), wrong, opens)
