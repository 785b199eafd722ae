"""Correction: the steps in their order.

Describing, queries, search and evidence are made once a post and shared by all prompts. Besides the describer's, the
steps that ask are `queries` (role `querier`), `evidence-<n>` (`extractor`) and `respond` (`main`, one a prompt).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import PRIORITIES, Publishers, load_publishers
from hellofresh.evidence.retrieval.encoders import Encoder
from hellofresh.evidence.web import Found, ImageSearch, Web
from hellofresh.runs.regimes._base import BaseRegime, Case, Need, Outcome, Parameters
from hellofresh.runs.regimes._outside import search_image_safely, web_of
from hellofresh.runs.regimes.correction.bound import bound_of
from hellofresh.runs.regimes.correction.describe import (
    DESCRIBER,
    DescribedPictures,
    PictureTools,
    describe,
    description_parameters,
    most_requests,
)
from hellofresh.runs.regimes.correction.evidence import EXTRACTOR, Evidence, extract
from hellofresh.runs.regimes.correction.post import plain_text
from hellofresh.runs.regimes.correction.queries import QUERIER, write_queries
from hellofresh.runs.regimes.correction.relevance import Relevance, TextRelevance, opened_encoder
from hellofresh.runs.regimes.correction.response import OPENINGS, respond
from hellofresh.runs.regimes.correction.search import PageSearch
from hellofresh.runs.regimes.correction.settings import CorrectionSettings
from hellofresh.tasks.images import media_of
from hellofresh.tasks.outputs import Output, Response, Status
from hellofresh.tasks.transcripts import Event, NotedEvent

__all__ = ["Correction"]

_STEPS = ("pictures", "queries", "evidence", "facts", "no-facts", "no-search")
_LOCAL = frozenset({"offline", "corpus"})
"""Providers that search a corpus of this machine, whose pages somebody chose already."""


@dataclass(frozen=True, slots=True)
class Correction(BaseRegime):
    """Corrects a post with links to what refutes it.

    Attributes:
        settings: see there.
        publishers: ratings; None for those of the workspace.
        encoder: by which pages are compared with posts; None for the one that the settings name.
        tools: look at pictures; None for those that the settings name.
    """

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
        """The web for retrieval, pictures for vision, times of notes where they are the bound."""
        by_note = self.settings.retrieval and self.settings.bound != "post"
        chosen = {Need.WEB: self.settings.retrieval, Need.IMAGES: self.settings.vision, Need.FACTS: by_note}
        return frozenset(need for need, wanted in chosen.items() if wanted)

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
        """As many as publishers are looked for in."""
        return self.settings.results

    def ceiling(self, prompts: int) -> int:
        """The descriptions, the queries, every page that may be chosen, and one a prompt."""
        settings = self.settings
        pages = max(settings.pages, settings.pages_text + settings.pages_image)
        searching = 1 + len(PRIORITIES) * min(pages, settings.links) if settings.retrieval else 0
        return (most_requests(settings) if settings.vision else 0) + searching + prompts

    def rehearse(self, step: str, turn: int) -> str:
        """Queries, two quotes a page, a short response."""
        if step == "queries":
            return "\n".join(f"query {number} of a few words" for number in range(1, self.settings.queries + 1))
        if step.startswith("evidence"):
            return f"REFUTES: {'word ' * 60}\nCONTEXT: {'word ' * 60}"
        if step.startswith(("caption", "describe", "look")):
            return "a picture of " + "word " * 40
        return f"{OPENINGS[0]}: {'word ' * self.settings.words}"

    def prolong(self, step: str, turn: int) -> str:
        """Nothing that refutes, so that every page is asked."""
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
        search = self._search(web_of(case), bound_of(case, settings)) if settings.retrieval else None
        pictures = await describe(case, settings, self.tools)
        events: list[Event] = [self._set_up(search), *pictures.events]
        if not (case.slots.get("post", "").strip() or pictures.texts):
            # The text is not at hand: whatever a model wrote, it would be about nothing.
            silent = [Response(prompt=prompt.id, status=Status.NONE, text="") for prompt in case.prompts]
            return Outcome(silent, [*events, NotedEvent(name="no-post")])
        evidence = None
        if search is not None:
            evidence, happened = await _gather(case, settings, search, pictures)
            events += happened
        written = await asyncio.gather(
            *(respond(case, settings, prompt, evidence, pictures) for prompt in case.prompts)
        )
        events += [event for _, happened in written for event in happened]
        return Outcome([response for response, _ in written], events)

    def _search(self, web: Web, bound: datetime) -> PageSearch:
        """The search within the bounds of the settings."""
        is_rehearsal = not web.parameters
        provider = str(web.parameters.get("provider", ""))
        ratings = self._ratings
        if not (ratings.rated or self.settings.sites == "any" or provider in _LOCAL or is_rehearsal):
            raise UsageError(
                "no ratings of publishers, without which no page may be used",
                where="correction",
                fix="Import some: hellofresh publishers import FILE. Or take every site: --set sites=any.",
                code="no-publishers",
            )
        all_sites = self.settings.sites == "any" or provider in _LOCAL or is_rehearsal
        relevance: Relevance = _Alike() if is_rehearsal else TextRelevance(self._encoder)
        return PageSearch(web, self.settings, ratings, relevance, bound, all_sites, is_rehearsal)

    def _set_up(self, search: PageSearch | None) -> NotedEvent:
        """All numbers, and what they came to for this post."""
        found = {} if search is None else {"until": utc_text(search.bound), "rated": len(search.publishers.rated)}
        return NotedEvent(name="settings", values={**self.settings.model_dump(), **found})


async def _gather(
    case: Case, settings: CorrectionSettings, search: PageSearch, pictures: DescribedPictures
) -> tuple[Evidence, list[Event]]:
    """Queries, pages and evidence."""
    queries, pictured = await asyncio.gather(
        write_queries(case, settings, pictures), _search_pictures(case, settings, search.web)
    )
    post = plain_text(case, pictures)
    found = await search.find(queries.texts, post, with_pictures=pictures.count > 0, pictured=pictured)
    evidence = await extract(case, settings, found.used, pictures)
    return evidence, [*queries.events, *found.events(), *evidence.events()]


async def _search_pictures(case: Case, settings: CorrectionSettings, web: Web) -> list[Found]:
    """What a search by each picture finds; nothing where no service for it is configured.

    Only pictures with an address on the web are searched for: the service has to fetch them.
    """
    if not (settings.vision and settings.image_links and isinstance(web, ImageSearch) and web.searches_images):
        return []
    media = media_of(case.sample)[: settings.pictures]
    addresses = [item.address for item in media if item.address.startswith(("https://", "http://"))]
    answers = await asyncio.gather(*(search_image_safely(web, address) for address in addresses))
    return [Found(found.results[: settings.image_links], found.problem) for found in answers]


@dataclass(frozen=True, slots=True)
class _Alike:
    """Takes every page for relevant, where nothing is compared."""

    async def of(self, post: str, pages: Sequence[str]) -> Sequence[float]:
        """1 for each."""
        return [1.0 for _ in pages]
