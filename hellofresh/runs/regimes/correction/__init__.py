"""Correction: describe pictures, search rated publishers up to a date, refute with evidence, answer with links.

Describing, queries, search and evidence are made once a post and shared by all prompts. Besides the describer's, the
steps that ask are `queries` (role `querier`), `evidence-<n>` (`extractor`) and `respond` (`main`, one a prompt).
docs/correction.md says what each does and which settings it has.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.core.texts import clean, fence, one_line
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import PRIORITIES, Publishers, load_publishers
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.evidence.settings import TAKES_SITES, TEXTS_ALREADY
from hellofresh.evidence.vision import PictureMatcher
from hellofresh.evidence.web import Found, ImageSearch, Web
from hellofresh.models import Answer, Finish, Request
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes._base import BaseRegime, Case, Need, Outcome, Parameters
from hellofresh.runs.regimes._outside import (
    address,
    cut_words,
    has_word,
    host_of,
    instant_of,
    needs_of_search,
    search_image_safely,
    web_of,
)
from hellofresh.runs.regimes._reading import is_refusal
from hellofresh.runs.regimes.correction.pages import (
    EXTRACTOR,
    PageEvidence,
    PageSearch,
    TextRelevance,
    extract,
    opened_encoder,
)
from hellofresh.runs.regimes.correction.post import (
    DESCRIBER,
    CorrectionSettings,
    DescribedPictures,
    PictureTools,
    describe,
    description_parameters,
    most_requests,
    plain_text,
    relative_days,
    same_address,
    shown_post,
    without_links,
)
from hellofresh.runs.regimes.web_search import query_lines
from hellofresh.tasks.images import media_of
from hellofresh.tasks.outputs import Output, Response, Status
from hellofresh.tasks.transcripts import STANCES, AskedEvent, Event, NotedEvent

QUERIER = "querier"
_TOKENS_A_QUERY = 40
_CHARACTERS = 300  # of a query; search engines cut longer ones
_NONE = re.compile(r"none\W*$", re.IGNORECASE)
OPENINGS = ("This post is misleading", "This post is not misleading")
"""How a response begins."""
_TOKENS_A_WORD, _TOKENS_A_LINK = 2, 60  # twice the words of most languages; a link is read letter by letter
_LABEL_ALONE = re.compile(r"^\W*(?:sources?|links?|references?|read more|see|urls?)\W*$", re.IGNORECASE)
_GAP = "\ue000"  # stands where an address was taken out; what a model writes cannot hold it
_GAPS = rf"{_GAP}(?:(?:\s*,\s*|\s*,?\s*(?:and|or|&)\s+){_GAP})*"
_LEADS = r"(?:according\sto|as\s\w+\s(?:by|at|in|on)|see|sources?:?|links?:?|at|by|from|here:?|on|via)"
# Words that only lead to addresses, with them and the comma after them.
_POINTER = re.compile(
    rf"""[(\[<]\s?(?:{_LEADS}\s?)?{_GAPS}\s?[)\]>]
    | [,;:\u2013\u2014]?\s?\b(?:please\s)?(?:see|read|visit)\s(?:also\s)?{_GAPS}[^.;!?]*
    | (?:[,;:\u2013\u2014]\s?)?\b{_LEADS}\s{_GAPS}(?!\s?,) | \b{_LEADS}\s{_GAPS}\s?,
    | (?<=\b(?:page|link|site))\s{_GAPS}""",
    re.IGNORECASE | re.VERBOSE,
)
# A sentence that has no other words besides addresses only leads to them.
_POINTING = re.compile(
    "a|also|an|and|article|at|by|can|check|click|details|find|for|found|from|further|here|in|information|is|it|links?|"
    "more|of|on|or|page|please|read|report|see|sources?|the|there|this|to|via|visit",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*\u2022]|\[?\d{1,2}[\].):])\s*$")
_STEPS = ("pictures", "queries", "evidence", "facts", "no-facts", "no-search")


async def write_queries(
    case: Case, settings: CorrectionSettings, pictures: DescribedPictures
) -> tuple[Sequence[str], list[Event]]:
    """Have the querier write queries, one per line, all different; and what happened.

    There are none if the model says that there is nothing to look up. If it refuses, or its answer holds none, the
    post's first words are searched for.
    """
    most = settings.queries_images if pictures.count else settings.queries
    days = relative_days(plain_text(case, pictures), case.sample.date.date())
    named = "; ".join(f'"{words}" is {day}' for words, day in days.items())
    shown = {**shown_post(case, pictures), "days": f"DAYS THAT THE POST SPEAKS OF: {named}\n" if named else ""}
    message = case.step("queries", **shown, number=str(most), words=str(settings.query_words))
    request = Request((message,), _TOKENS_A_QUERY * most, sample=case.sample)
    answer = await case.ask("queries", "", request, role=QUERIER)
    head, _, _ = answer.text.rpartition("\n")  # without a last line that was cut off, if it has others
    said = head if answer.finish is Finish.LENGTH and head.strip() else answer.text
    texts, problem = ((), "refused") if is_refusal(answer) else read_queries(said, most, settings.query_words)
    if problem in ("refused", "empty"):
        words = cut_words(one_line(plain_text(case, pictures), _CHARACTERS), settings.query_words).text
        texts = (words,) if has_word(words) else ()
    values = {"most": most, "words": settings.query_words, "queries": list(texts), "problem": problem}
    return texts, [AskedEvent(step="queries", role=QUERIER), NotedEvent(name="queries", values=values)]


def read_queries(text: str, most: int, words: int) -> tuple[tuple[str, ...], str]:
    """The first queries in an answer, each cut to its most words; or why there are none.

    `none` alone means that nothing needs a search.
    """
    found: dict[str, str] = {}
    for line in query_lines(clean(text)):
        if not found and _NONE.match(line):
            return (), "none"
        found.setdefault(line.casefold(), cut_words(line, words).text)
    return tuple(found.values())[:most], "" if found else "empty"


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
    case: Case,
    settings: CorrectionSettings,
    prompt: Prompt,
    evidence: Sequence[PageEvidence] | None,
    pictures: DescribedPictures,
) -> tuple[Response, Sequence[Event]]:
    """Ask for a response by the evidence; None means that nothing was searched for."""
    pages = [page for page in evidence or () if page.quotes]
    rules = {"words": str(settings.words), "misleading": OPENINGS[0], "accurate": OPENINGS[1]}
    if pages:
        block = fence([_fact(page) for page in pages])
        found = case.step("facts", **rules, facts=block.text, mark=block.mark).text
    else:
        found = case.step("no-search" if evidence is None else "no-facts", **rules).text
    message = case.question(prompt, **shown_post(case, pictures), found=found)
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


def _fact(page: PageEvidence) -> str:
    """A page's sentences as the model reads them, after its address, which names the publisher, and its date."""
    day = "" if page.link.page is None else page.link.page.date[:10]
    quotes = [f"{STANCES[stance]}: {quote}" for stance, said in page.quotes.items() for quote in said]
    return "\n".join([f"{address(page.link.url)} ({day or 'no date'})", *quotes])


def read_response(answer: Answer, given: Sequence[str]) -> WrittenResponse:
    """A response with the links that were given at its end, and without any other.

    A site's bare name stays in the text where one of the given pages is of that site.
    """
    known = {same_address(url): url for url in reversed(given)}  # of two spellings the first given stays
    sites = {host_of(url).removeprefix("www.") for url in given}
    said = clean(answer.text).replace(_GAP, "")
    body = without_links(said, instead=_GAP, spare=lambda name: name.lower().removeprefix("www.") in sites)
    links = dict.fromkeys(known[name] for url in body.links if (name := same_address(url)) in known)
    wrong = tuple(url for url in body.links if same_address(url) not in known)
    lines = [_without_gaps(line) for line in body.text.split("\n")]
    kept = [line for line in lines if has_word(line) and not _LABEL_ALONE.match(line) and not _BULLET.match(line)]
    text = "\n".join(kept).strip()
    opens = text.startswith(OPENINGS)
    whole = "\n".join([text, "", *links]) if text and links else text
    return WrittenResponse(whole, tuple(links), wrong, opens)


def _without_gaps(line: str) -> str:
    """A line without its addresses: words that only introduce one go; one within a sentence becomes `a website`."""
    kept = []
    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(line.split())):
        if _GAP in sentence and all(_POINTING.fullmatch(word) for word in re.findall(r"[^\W_]+", sentence)):
            continue
        plain = " ".join(_POINTER.sub(" ", sentence).replace(_GAP, " a website ").split())
        plain = re.sub(r"\s+(?=[.,;:!?])", "", plain).lstrip(" ,;:") if _GAP in sentence else plain
        kept.append(plain if plain[:1] == sentence[:1] else plain[:1].upper() + plain[1:])
    return " ".join(filter(None, kept))


@dataclass(frozen=True, slots=True)
class Correction(BaseRegime):
    """Corrects a post with links to what refutes it.

    Attributes:
        settings: see there.
        publishers: ratings; None for those of the workspace.
        encoder: by which pages are compared with posts; None for the one that the settings name.
        tools: look at pictures; None for those that the settings name.
    """

    version: ClassVar[int] = 6
    gives: ClassVar[type[Output]] = Response
    roles: ClassVar[Mapping[str, str]] = {
        DESCRIBER: "describes pictures",
        QUERIER: "writes queries",
        EXTRACTOR: "finds evidence in pages",
    }

    settings: CorrectionSettings = field(default_factory=CorrectionSettings)
    name: str = "correction"
    publishers: Publishers | None = None
    encoder: Encoder | None = None
    tools: PictureTools | None = None

    @property
    def needs(self) -> frozenset[Need]:
        """The web for retrieval, pictures for vision, times of notes where searches end there."""
        searching = needs_of_search(self.settings.before, ("note", "note-average", "decision"))
        pictures = frozenset({Need.IMAGES} if self.settings.vision else ())
        return pictures | (searching if self.settings.retrieval else frozenset())

    @property
    def parameters(self) -> Parameters:
        """The settings, and the hashes of ratings, encoder and reader where they are used."""
        looking = {**self.settings.model_dump(), **description_parameters(self.settings)}
        if not self.settings.retrieval:
            return looking
        encoder = {f"encoder_{name}": value for name, value in self._encoder.parameters.items() if name != "encoder"}
        return {**looking, "publishers_sha256": self._ratings.sha256, **encoder}

    @property
    def _ratings(self) -> Publishers:
        return load_publishers(Workspace.from_environment()) if self.publishers is None else self.publishers

    @property
    def _encoder(self) -> Encoder:
        return opened_encoder(self.settings.encoder) if self.encoder is None else self.encoder

    @property
    def results(self) -> int:
        return self.settings.results

    def ceiling(self, prompts: int) -> int:
        """The descriptions, the queries, every page that may be chosen, and one per prompt."""
        settings = self.settings
        pages = max(settings.pages, settings.pages_text + settings.pages_image)
        searching = 1 + len(PRIORITIES) * min(pages, settings.links) if settings.retrieval else 0
        return (most_requests(settings) if settings.vision else 0) + searching + prompts

    def rehearse(self, step: str, turn: int) -> str:
        if step == "queries":
            return "\n".join(f"query {number} of a few words" for number in range(1, self.settings.queries + 1))
        if step.startswith("evidence"):
            return f"REFUTES: {'word ' * 60}\nCONTEXT: {'word ' * 60}"
        if step.startswith(("caption", "describe", "look")):
            return "a picture of " + "word " * 40
        if step.startswith(("shows", "adds")):
            return "yes" if step.startswith("shows") else "no"
        return f"{OPENINGS[0]}: {'word ' * self.settings.words}"

    def prolong(self, step: str, turn: int) -> str:
        """An answer that refutes nothing, so that every page is read."""
        return "CONTEXT: none" if step.startswith("evidence") else self.rehearse(step, turn)

    async def solve(self, case: Case) -> Outcome:
        """Take all steps.

        Raises:
            PromptError: if the prompt set lacks a step.
            RunError: if the case has no way to the web, or the sample no time of the note that bounds the search.
            UsageError: if no ratings of publishers were imported and the web is searched, or a package is missing.
        """
        settings = self.settings
        case.prompt_set.require(slots=("found",), steps=_STEPS)
        search = self._search(case, web_of(case)) if settings.retrieval else None
        pictures = await describe(case, settings, self.tools)
        # All numbers, and what they came to for this post.
        found = {} if search is None else {"until": utc_text(search.bound), "rated": len(search.publishers.rated)}
        set_up = NotedEvent(name="settings", values={**settings.model_dump(), **found})
        events: list[Event] = [set_up, *pictures.events]
        if not (case.slots.get("post", "").strip() or pictures.texts):
            # The text is missing: whatever a model wrote, it would be about nothing.
            silent = [Response(prompt=prompt.id, status=Status.NONE, text="") for prompt in case.prompts]
            return Outcome(silent, [*events, NotedEvent(name="no-post")])
        evidence = None
        if search is not None:
            evidence, pictures, happened = await _gather(case, settings, search, pictures)
            events += happened
        written = await asyncio.gather(
            *(respond(case, settings, prompt, evidence, pictures) for prompt in case.prompts)
        )
        events += [event for _, happened in written for event in happened]
        return Outcome([response for response, _ in written], events)

    def _search(self, case: Case, web: Web) -> PageSearch:
        is_rehearsal = not web.parameters
        all_sites = self.settings.sites == "any" or web.parameters.get("provider", "") in TEXTS_ALREADY or is_rehearsal
        ratings = self._ratings
        if not (ratings.rated or all_sites):
            raise UsageError(
                "no ratings of publishers, without which no page may be used",
                where="correction",
                fix="Import some: hellofresh dataset import publishers FILE. Or take every site: --set sites=any.",
                code="no-publishers",
            )
        provider = str(web.parameters.get("provider", ""))
        if self.settings.site_groups and not is_rehearsal and provider not in TAKES_SITES:
            expected = f"one of {', '.join(sorted(TAKES_SITES))}"
            fix = "Leave out --set site_groups: results of a general search are filtered."
            what = f"{provider} takes no queries that are limited to sites"
            raise UsageError(what, where="correction", expected=expected, fix=fix, code="no-site-search")
        relevance = None if is_rehearsal else TextRelevance(self._encoder)
        end, before = instant_of(case, self.settings.before), self.settings.before
        bound = end - timedelta(minutes=self.settings.note_minutes) if before.startswith("note") else end
        shown = [image.content for image in case.images if image.content] if self.settings.image_similarity else []
        compares = bool(shown) and isinstance(web, ImageSearch) and web.searches_images
        pictures = PictureMatcher(shown) if compares else None
        return PageSearch(web, self.settings, ratings, relevance, bound, all_sites, pictures)


async def _gather(
    case: Case, settings: CorrectionSettings, search: PageSearch, pictures: DescribedPictures
) -> tuple[list[PageEvidence], DescribedPictures, list[Event]]:
    if settings.image_query:
        queries, events = await write_queries(case, settings, pictures)
        pictured, noted = await _search_pictures(case, settings, search.web, queries[0] if queries else "")
    else:
        (queries, events), (pictured, noted) = await asyncio.gather(
            write_queries(case, settings, pictures), _search_pictures(case, settings, search.web)
        )
    post = plain_text(case, pictures)
    found = await search.find(queries, post, with_pictures=pictures.count > 0, pictured=pictured)
    pictures = pictures.with_named([link.text for link in found.used])
    evidence = await extract(case, settings, found.used, pictures)
    quoted = [event for number, page in enumerate(evidence, start=1) for event in page.events(number)]
    return evidence, pictures, [*events, *noted, *found.events(), *quoted]


async def _search_pictures(
    case: Case, settings: CorrectionSettings, web: Web, query: str = ""
) -> tuple[list[Found], list[Event]]:
    """The pages found by each picture with a query, and the events; nothing if no service is configured.

    Only pictures with an address on the web are searched for: the service has to fetch them, and takes no upload.
    """
    if not (settings.vision and settings.image_links and isinstance(web, ImageSearch) and web.searches_images):
        return [], []
    media = media_of(case.sample)[: settings.pictures]
    addresses = [item.address for item in media if item.address.startswith(("https://", "http://"))]
    answers = await asyncio.gather(*(search_image_safely(web, address, query) for address in addresses))
    found = [Found(answer.results[: settings.image_links], answer.problem) for answer in answers]
    files = len(media) - len(addresses)
    why = f"{web.parameters.get('images_images', 'the service')} takes no upload, and a file has no address on the web"
    return found, [NotedEvent(name="not-searched", values={"pictures": files, "problem": why})] if files else []
