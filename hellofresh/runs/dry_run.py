"""What a run may take, before it asks: a ceiling, and what is expected by the answers that the journal has.

Nothing is written, fetched or asked. For the ceiling the regime is played through with the longest answers: each is as
long as it may be, the regime goes on as long as it can, hidden reasoning uses its cap, and every character of a page is
a token, as in scripts without spaces. Expected is what the run's own answers took on average; while there are too few
of them, the ceiling is all that is known.

`preview` shows a regime's whole conversation about a sample, without a model or the web.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.evidence.web.pictures import MOST_PICTURES
from hellofresh.models import Answer, Finish, Message, Request
from hellofresh.models.sight import PAPER_IMAGE, check_images, image_tokens, images_of
from hellofresh.runs.journal import Journal, JournalKey, Scope
from hellofresh.runs.ledger import Ledger, Ledgers, sum_known
from hellofresh.runs.pace import Estimate
from hellofresh.runs.prompts import PromptSet
from hellofresh.runs.regimes import MAIN, Case, Need, Regime
from hellofresh.runs.runner import Assignment, Item
from hellofresh.tasks import get_task
from hellofresh.tasks.images import Image, media_of
from hellofresh.tasks.samples import Sample

SECONDS_A_CALL = 1.0
"""How long an answer is taken to need."""
_MOST_RESULTS = 50
_LEAST_WORDS_A_PAGE, _MOST_WORDS_A_PAGE = 1_000, 32_000
_LONGEST_WORD = "\u8a9e" * 11
"""With the space after it, as long as a word may be where texts are cut by words."""
_ASCII_A_TOKEN = 2.5
_MOST_A_MESSAGE = 8
_ENOUGH = 20
"""From so many answers on, their mean says what the next ones will take."""
_FILLING = re.compile(r"(?:\bword\b ?){4,}")


@dataclass(frozen=True, slots=True)
class RoleForecast:
    """What is to come for one role: what is expected, and ceilings; costs are None where the price is not known."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    most_calls: int
    most_usd: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to come.

    Attributes:
        samples, repetitions: to judge.
        known: requests whose answers the journal has; they are in no other number.
        measured: whether what is expected comes from the journal's answers; else it is the ceiling.
        roles: by role.
        seconds: expected, at a second a call and by the models' limits.
    """

    samples: int
    repetitions: int
    known: int
    measured: bool
    roles: Mapping[str, RoleForecast]
    seconds: float

    @property
    def calls(self) -> int:
        """Expected requests of all roles."""
        return sum(role.calls for role in self.roles.values())

    @property
    def most_calls(self) -> int:
        """Most requests of all roles."""
        return sum(role.most_calls for role in self.roles.values())

    @property
    def cost_usd(self) -> float | None:
        """Expected; None where a price is not known."""
        return sum_known(role.cost_usd for role in self.roles.values())

    @property
    def most_usd(self) -> float | None:
        """Ceiling; None where a price is not known."""
        return sum_known(role.most_usd for role in self.roles.values())


def forecast(assignment: Assignment, samples: Sequence[Sample], journal: Journal | None = None) -> Forecast:
    """Estimate what a run will take. The assignment's web is not used."""
    entries = [] if journal is None else list(journal.entries())
    asked: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for entry in entries:
        asked[entry.sample, entry.repetition].add(entry.prompt)
    prompts = {prompt.id for prompt in assignment.prompts}
    whole = {item for item, found in asked.items() if assignment.regime.one_prompt or prompts <= found}
    # Nothing more is asked about those of them that have a transcript.
    traced = set() if journal is None else {(sample, repetition) for sample, repetition, _ in journal.traces()}
    items = [item for item in assignment.items(samples) if (item.sample.id, item.repetition) not in whole & traced]
    most = asyncio.run(_rehearsed(assignment, frozenset() if journal is None else journal.keys, items))
    taken = Ledgers(assignment.specs)
    for entry in entries:
        if (entry.sample, entry.repetition) in whole:
            taken.of(entry.role).add(entry.answer)
    measured = taken.answers >= _ENOUGH
    left = sum((item.sample.id, item.repetition) not in whole for item in items)
    roles, times = {}, []
    for role, ceiling in most.ledgers.by_role.items():
        usual = _expected(taken.by_role[role], left / len(whole), ceiling) if measured else ceiling
        expected, highest = (ledger.price(ledger.tokens_in, ledger.tokens_out) for ledger in (usual, ceiling))
        roles[role] = RoleForecast(
            model=ceiling.spec.name,
            calls=usual.answers,
            tokens_in=usual.tokens_in,
            tokens_out=usual.tokens_out,
            cost_usd=expected,
            most_calls=ceiling.answers,
            most_usd=highest,
        )
        limits = usual.spec.limits
        times.append(usual.answers * SECONDS_A_CALL / limits.in_flight)
        times.append(60 * usual.answers / (limits.requests_per_minute or float("inf")))
        times.append(60 * (usual.tokens_in + usual.tokens_out) / (limits.tokens_per_minute or float("inf")))
    finished = sum((entry.sample, entry.repetition) in whole & traced for entry in entries)
    known = most.known + finished
    return Forecast(len(samples), assignment.repetitions, known, measured, roles, max(times))


def _expected(taken: Ledger, times: float, most: Ledger) -> Ledger:
    """So many times what a role took, at most the ceiling; the ceiling where its model does not say what it takes."""
    counted = taken.answers - taken.untold
    if not counted:
        return most if taken.answers else Ledger(most.spec)
    calls = min(taken.answers * times, most.answers)
    tokens_in, tokens_out = (round(calls * total / counted) for total in (taken.tokens_in, taken.tokens_out))
    return Ledger(most.spec, round(calls), tokens_in, tokens_out)


async def _rehearsed(assignment: Assignment, known: Set[str], items: Sequence[Item]) -> _Rehearsal:
    most = _Rehearsal(assignment, known)
    if not items or Need.WEB not in assignment.regime.needs:
        for item in items:
            await most.play(item, 0)
        return most
    # Long pages take long to play: once, for the longest sample, stands for every sample.
    largest = max(items, key=lambda item: sum(map(_most_tokens, assignment.slots(item.sample).values())))
    words, before = _LEAST_WORDS_A_PAGE, -1
    while words <= _MOST_WORDS_A_PAGE and most.ledgers.tokens_in != before:  # else the regime cuts them
        before, most = most.ledgers.tokens_in if most.seen else -1, _Rehearsal(assignment, known)
        await most.play(largest, words)
        words *= 2
    for ledger in most.ledgers.by_role.values():
        ledger.answers *= len(items)
        ledger.tokens_in *= len(items)
        ledger.tokens_out *= len(items)
    return most


def _most_tokens(text: str) -> int:
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ceil(ascii_characters / _ASCII_A_TOKEN) + len(text) - ascii_characters


class _Rehearsal:
    """Plays a regime through with answers that are as long as they may be; known ones are only counted."""

    def __init__(self, assignment: Assignment, keys: Set[str]) -> None:
        self.assignment, self.keys, self.known, self.seen = assignment, keys, 0, 0
        self.ledgers = Ledgers(assignment.specs)
        self.scopes = {role: Scope(spec, assignment.regime) for role, spec in assignment.specs.items()}
        self.largest = dict.fromkeys(assignment.specs, Estimate(0, 0))

    async def play(self, item: Item, page_words: int) -> None:
        """Work on one sample, and add the requests that the regime might yet make."""
        chosen, turns, seen = self.assignment, Counter[str](), self.seen

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            self.seen += 1
            turns[step] += 1
            role = role if role in self.largest else MAIN
            ledger = self.ledgers.of(role)
            check_images(ledger.spec, request)
            asked = chosen.sampled(request, item.repetition, role)
            question = JournalKey(item.sample.id, step, prompt, asked, item.repetition, role)
            if self.keys and self.scopes[role].key(question) in self.keys:
                self.known += 1
            else:
                texts = (part for message in request.messages for part in message.parts)
                tokens_in = sum(map(_most_tokens, texts)) + _MOST_A_MESSAGE * (1 + len(request.messages))
                tokens_in += sum(image_tokens(ledger.spec, image) for image in images_of(request))
                self._add(role, Estimate(tokens_in, ledger.estimate(request).tokens_out))
            ending = chosen.regime.prolong(step, turns[step])
            return Answer(f"{_LONGEST_WORD[0] * request.max_tokens}\n{ending}", Finish.STOP)

        addresses = (f"https://www.example{n}.org/" for n in range(1, _MOST_RESULTS + 1))
        snippet = f"{_LONGEST_WORD} " * 25
        results = [SearchResult(url, "A title", snippet, None, n) for n, url in enumerate(addresses, start=1)]
        web = PaperWeb(results, "A title", f"{_LONGEST_WORD} " * page_words)
        await chosen.regime.solve(chosen.case(item.sample, ask, web, self._images(item.sample)))
        # Up to the regime's ceiling, each request is of the dearest kind, with one more answer before it.
        dearest = max(self.largest, key=self._usd)
        largest = self.largest[dearest]
        for number in range(1, chosen.regime.ceiling(len(chosen.prompts)) - (self.seen - seen) + 1):
            longer = largest.tokens_in + number * (largest.tokens_out + _MOST_A_MESSAGE)
            self._add(dearest, Estimate(longer, largest.tokens_out))

    def _add(self, role: str, estimate: Estimate) -> None:
        self.ledgers.of(role).add(Answer("", Finish.STOP, estimate.tokens_in, estimate.tokens_out))
        if estimate.total > self.largest[role].total:
            self.largest[role] = estimate

    def _usd(self, role: str) -> float:
        largest = self.largest[role]
        return self.ledgers.of(role).price(largest.tokens_in, largest.tokens_out) or 0.0

    def _images(self, sample: Sample) -> Sequence[Image]:
        """Paper of the size of the sample's pictures, and of the largest size for each that would have to be fetched.

        Paper is not read: that takes seconds a picture.
        """
        pictures = self.assignment.pictures
        if pictures is None or Need.IMAGES not in self.assignment.regime.needs:
            return ()
        found = [(item, pictures.at_hand(item)) for item in media_of(sample)[:MOST_PICTURES]]
        paper = [replace(PAPER_IMAGE, address=item.address) if pictures.fetches else None for item, _ in found]
        images = [image or instead for (_, image), instead in zip(found, paper, strict=True)]
        return [replace(image, content=PAPER_IMAGE.content) for image in images if image is not None]


# Previews: a regime's whole conversation about a sample, to be looked at


@dataclass(frozen=True, slots=True)
class PaperWeb:
    """A web on which every search finds the same, and every page has one title and text; `steps` takes each call."""

    results: Sequence[SearchResult]
    title: str
    text: str
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    blocked: Sequence[str] = ()
    steps: list[Question | OutsideCall] = field(default_factory=list)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self.steps.append(OutsideCall("search", query if before is None else f"{query} (before {before})"))
        return Found(self.results)

    async def read(self, url: str) -> WebPage:
        self.steps.append(OutsideCall("read", url))
        return WebPage(url, url, PageStatus.OK, title=self.title, text=self.text)

    def reason(self, url: str) -> str:
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question that a regime asks, and what it was answered with; without a prompt, the step serves all of them."""

    step: str
    prompt: str
    messages: tuple[Message, ...]
    role: str = MAIN
    answer: str = ""


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A search, or a page that is read: `kind` says which, `text` is the query or the address."""

    kind: str
    text: str


async def preview(regime: Regime, sample: Sample, prompt_set: PromptSet) -> list[Question | OutsideCall]:
    """All that a regime asks, searches and reads, in order; answers are usual ones, one page is all that is found.

    Raises:
        PromptError: if the prompts cannot be filled.
    """
    steps: list[Question | OutsideCall] = []
    turns = Counter[tuple[str, str]]()

    async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        turns[step, prompt] += 1
        rehearsed = regime.rehearse(step, turns[step, prompt])
        usual = _FILLING.sub(lambda filling: f"(about {len(filling[0].split())} words) ", rehearsed)
        answer = usual.strip() or f"(answer to {step})"
        steps.append(Question(step, prompt, request.messages, role, answer))
        return Answer(answer, Finish.STOP)

    found = [SearchResult("https://example.org/", "(title)", "(snippet)", None, 1)]
    web = PaperWeb(found, "(title of a page)", "(first words of the page)", steps=steps)
    slots = get_task(sample.task).slots(sample)
    await regime.solve(
        Case(sample, prompt_set.choose(""), prompt_set, slots, ask, web if Need.WEB in regime.needs else None)
    )
    return steps
