"""What a run would ask, before it asks: the regime is played through twice, with usual and with longest answers.

Nothing is written, fetched or asked. The first rehearsal gives what is expected: answers and pages of usual length, as
many requests as usual; what the journal's answers took replaces guesses where there are enough of them. The second
gives the ceiling: every answer is as long as it may be, the regime goes on as long as it can, hidden reasoning uses
its cap, and every character of a page is a token, as in scripts without spaces.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil

from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.evidence.web.pictures import MOST_PICTURES
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.models.sight import PAPER_IMAGE, check_images, image_tokens, images_of
from hellofresh.runs.batch import price_share
from hellofresh.runs.journal import Journal, JournalKey, Scope, read_request
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Estimate
from hellofresh.runs.regimes import MAIN, Case, Need
from hellofresh.runs.runner import Assignment, Item
from hellofresh.runs.steps import kind_of_step
from hellofresh.tasks.images import Image, media_of
from hellofresh.tasks.samples import Sample

__all__ = ["SECONDS_A_CALL", "Forecast", "RoleForecast", "forecast"]

SECONDS_A_CALL = 1.0
"""How long an answer is taken to need."""
_WORDS_A_PAGE = 1_000
_WORDS_A_TOKEN = 0.75
_USUAL_RESULTS, _MOST_RESULTS = 10, 50
_MOST_WORDS_A_PAGE = 32_000
_LONGEST_WORD = "\u8a9e" * 11
"""With the space after it, as long as a word may be where texts are cut by words."""
_ASCII_A_TOKEN = 2.5
_MOST_A_MESSAGE = 8
_ENOUGH = 20
"""So many answers tell what the next ones will take."""


@dataclass(frozen=True, slots=True)
class RoleForecast:
    """What is to come for one role.

    Attributes:
        model: name of the model.
        calls, tokens_in, tokens_out, cost_usd: expected; the cost is None where the price is not known.
        most_calls, most_usd: ceilings.
        hidden: tokens of hidden reasoning that are expected of a request; 0 where there are none or they were measured.
    """

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    most_calls: int
    most_usd: float | None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to come.

    Attributes:
        samples, repetitions: to judge.
        known: requests whose answers the journal has; they are in no other number.
        roles: by role.
        seconds: expected, at a second a call and by the models' limits.
    """

    samples: int
    repetitions: int
    known: int
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
        return _sum([role.cost_usd for role in self.roles.values()])

    @property
    def most_usd(self) -> float | None:
        """Ceiling; None where a price is not known."""
        return _sum([role.most_usd for role in self.roles.values()])


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True)
class _PaperWeb:
    """Finds so many pages of so many words, whatever is looked for."""

    results: int
    words: int
    word: str = "word"
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """Results with short snippets."""
        snippet = f"{self.word} " * 25
        addresses = (f"https://www.example{n}.org/" for n in range(1, self.results + 1))
        return Found([SearchResult(url, "A title", snippet, None, n) for n, url in enumerate(addresses, start=1)])

    async def read(self, url: str) -> WebPage:
        """A page."""
        return WebPage(url, url, PageStatus.OK, title="A title", text=f"{self.word} " * self.words)

    @property
    def blocked(self) -> Sequence[str]:
        """None."""
        return ()

    def reason(self, url: str) -> str:
        """Nothing is excluded."""
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


def forecast(
    assignment: Assignment, samples: Sequence[Sample], journal: Journal | None = None, *, batch: bool = False
) -> Forecast:
    """Estimate what a run will take.

    Args:
        assignment: as for `run`; its web is not used.
        samples: what would be judged.
        journal: with the answers so far, None where there are none.
        batch: whether it is asked by batches, at their part of the price.
    """
    past = _Past.of(journal, assignment)
    items = [item for item in assignment.items(samples) if (item.sample.id, item.repetition) not in past.finished]
    usual = _Rehearsal(assignment, past)
    most = asyncio.run(_rehearse(assignment, past, items, usual))
    ledgers = Ledgers(assignment.specs)
    roles = {
        role: _role(ledgers.of(role), usual.asked[role], most.asked[role], past.hidden(role, spec), batch=batch)
        for role, spec in assignment.specs.items()
    }
    return Forecast(
        samples=len(samples),
        repetitions=assignment.repetitions,
        known=usual.known + past.finished_answers,
        roles=roles,
        seconds=max(_seconds(assignment, role, usual.asked[role]) for role in roles),
    )


async def _rehearse(assignment: Assignment, past: _Past, items: Sequence[Item], usual: _Rehearsal) -> _Rehearsal:
    """Play the usual rehearsal; returns the longest."""
    for item in items:
        await usual.play(item, _PaperWeb(_USUAL_RESULTS, _WORDS_A_PAGE))
    if not items or Need.WEB not in assignment.regime.needs:
        most = _Rehearsal(assignment, past, longest=True)
        for item in items:
            await most.play(item, _PaperWeb(0, 0))
        return most
    # Long pages take long to play: once, for the longest sample, stands for every sample.
    largest = max(items, key=lambda item: sum(map(_most_tokens, assignment.slots(item.sample).values())))
    words, most = _WORDS_A_PAGE, await _longest(assignment, past, largest, _WORDS_A_PAGE)
    while words < _MOST_WORDS_A_PAGE:
        words *= 2
        longer = await _longest(assignment, past, largest, words)
        if longer.tokens_in == most.tokens_in:  # the regime cuts them
            break
        most = longer
    most.multiply(len(items))
    return most


async def _longest(assignment: Assignment, past: _Past, item: Item, words: int) -> _Rehearsal:
    rehearsal = _Rehearsal(assignment, past, longest=True)
    await rehearsal.play(item, _PaperWeb(_MOST_RESULTS, words, _LONGEST_WORD))
    return rehearsal


def _most_tokens(text: str) -> int:
    """Most tokens that a text may take."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ceil(ascii_characters / _ASCII_A_TOKEN) + len(text) - ascii_characters


@dataclass(slots=True)
class _Taken:
    """What answers of one role and kind of step took, and what was estimated for their requests."""

    answers: int = 0
    tokens_in: int = 0
    estimated_in: int = 0
    tokens_out: int = 0


@dataclass(slots=True)
class _Past:
    """What the journal tells of the time to come.

    Attributes:
        keys: of all answers.
        taken: by role and kind of step.
        finished: samples and repetitions that nothing more is asked about.
        finished_answers: how many answers these have.
    """

    keys: Set[str] = frozenset()
    taken: defaultdict[tuple[str, str], _Taken] = field(default_factory=lambda: defaultdict(_Taken))
    finished: Set[tuple[str, int]] = frozenset()
    finished_answers: int = 0

    @classmethod
    def of(cls, journal: Journal | None, assignment: Assignment) -> _Past:
        """What a journal tells."""
        past = cls()
        if journal is None:
            return past
        past.keys, ledgers = journal.keys, Ledgers(assignment.specs)
        prompts: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        answers = Counter[tuple[str, int]]()
        for entry in journal.entries():
            prompts[entry.sample, entry.repetition].add(entry.prompt)
            answers[entry.sample, entry.repetition] += 1
            if entry.answer.tokens_in is None or entry.answer.tokens_out is None:
                continue
            taken = past.taken[entry.role, kind_of_step(entry.step)]
            taken.answers += 1
            taken.tokens_in += entry.answer.tokens_in
            taken.tokens_out += entry.answer.tokens_out
            taken.estimated_in += ledgers.of(entry.role).estimate(read_request(entry.request)).tokens_in
        wanted = {prompt.id for prompt in assignment.prompts}
        done = {(sample, repetition) for sample, repetition, _ in journal.traces()}
        past.finished = {item for item in done if wanted <= prompts[item]}
        past.finished_answers = sum(answers[item] for item in past.finished)
        return past

    def hidden(self, role: str, spec: ModelSpec) -> int:
        """Tokens of hidden reasoning to be expected of a request, as long as nothing is measured."""
        measured = any(own == role and taken.answers >= _ENOUGH for (own, _), taken in self.taken.items())
        return 0 if measured else _usual_hidden(spec)


def _usual_hidden(spec: ModelSpec) -> int:
    cap = int(spec.parameters.get("hidden_tokens", 0))
    return cap if spec.usual_hidden_tokens is None else min(cap, spec.usual_hidden_tokens)


@dataclass(slots=True)
class _Sum:
    """Requests and their tokens; `largest` is the request that takes most."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    largest: Estimate = field(default_factory=lambda: Estimate(0, 0))

    def add(self, estimate: Estimate) -> None:
        """Count a request."""
        self.calls += 1
        self.tokens_in += estimate.tokens_in
        self.tokens_out += estimate.tokens_out
        if estimate.total > self.largest.total:
            self.largest = estimate


@dataclass(slots=True)
class _Rehearsal:
    """Plays a regime through; with `longest`, every answer is as long as it may be."""

    assignment: Assignment
    past: _Past
    longest: bool = False
    known: int = 0
    asked: dict[str, _Sum] = field(init=False)
    ledgers: Ledgers = field(init=False)
    scopes: Mapping[str, Scope] = field(init=False)

    def __post_init__(self) -> None:
        specs = self.assignment.specs
        self.asked = {role: _Sum() for role in specs}
        self.ledgers = Ledgers(specs)
        self.scopes = {role: Scope(spec, self.assignment.regime) for role, spec in specs.items()}

    @property
    def tokens_in(self) -> int:
        """Of all roles."""
        return sum(asked.tokens_in for asked in self.asked.values())

    def multiply(self, times: int) -> None:
        """Count everything so often."""
        for asked in self.asked.values():
            asked.calls, asked.tokens_in, asked.tokens_out = (
                times * number for number in (asked.calls, asked.tokens_in, asked.tokens_out)
            )

    async def play(self, item: Item, web: _PaperWeb) -> None:
        """Work on one sample; in the longest form, requests that the regime might yet make are added."""
        chosen, turns, seen = self.assignment, Counter[str](), 0

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            nonlocal seen
            seen += 1
            turns[step] += 1
            role = role if role in self.asked else MAIN
            check_images(self.ledgers.of(role).spec, request)
            reply = self._reply(step, turns[step], request)
            if self._is_known(item, step, prompt, request, role):
                self.known += 1
            else:
                self.asked[role].add(
                    self._most(role, request) if self.longest else self._usual(role, step, request, reply)
                )
            return Answer(reply, Finish.STOP)

        slots = chosen.slots(item.sample)
        images = self._images(item.sample)
        await chosen.regime.solve(
            Case(
                item.sample,
                chosen.prompts,
                chosen.prompt_set,
                slots,
                ask,
                web,
                images,
                facts=chosen.facts.get(item.sample.id, {}),
            )
        )
        if self.longest:
            self._add_missing(chosen.regime.ceiling(len(chosen.prompts)) - seen)

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

    def _is_known(self, item: Item, step: str, prompt: str, request: Request, role: str) -> bool:
        """Whether the journal has the answer."""
        if not self.past.keys:
            return False
        asked = self.assignment.sampled(request, item.repetition, role)
        key = JournalKey(item.sample.id, step, prompt, asked, item.repetition, role)
        return self.scopes[role].key(key) in self.past.keys

    def _reply(self, step: str, turn: int, request: Request) -> str:
        regime = self.assignment.regime
        if self.longest:
            return _LONGEST_WORD[0] * request.max_tokens + "\n" + regime.prolong(step, turn)
        usual = regime.rehearse(step, turn)
        if usual:
            return usual
        return request.choices[0] if request.choices else "word " * int(request.max_tokens * _WORDS_A_TOKEN)

    def _most(self, role: str, request: Request) -> Estimate:
        texts = (part for message in request.messages for part in message.parts)
        ledger = self.ledgers.of(role)
        tokens_in = sum(map(_most_tokens, texts)) + _MOST_A_MESSAGE * (1 + len(request.messages))
        tokens_in += sum(image_tokens(ledger.spec, image) for image in images_of(request))
        return Estimate(tokens_in, ledger.estimate(request).tokens_out)

    def _usual(self, role: str, step: str, request: Request, reply: str) -> Estimate:
        tokens_in = self.ledgers.of(role).estimate(request).tokens_in
        taken = self.past.taken.get((role, kind_of_step(step)))
        if taken is not None and taken.answers >= _ENOUGH:
            ratio = taken.tokens_in / max(1, taken.estimated_in)
            return Estimate(round(tokens_in * ratio), round(taken.tokens_out / taken.answers))
        visible = min(request.max_tokens, round(len(reply.split()) / _WORDS_A_TOKEN))
        return Estimate(tokens_in, visible + _usual_hidden(self.ledgers.of(role).spec))

    def _add_missing(self, missing: int) -> None:
        """Add requests up to the regime's ceiling: each of the dearest kind, with one more answer before it."""
        dearest = max(self.asked, key=lambda role: self._usd(role) or 0.0)
        largest = self.asked[dearest].largest
        for number in range(1, missing + 1):
            longer = largest.tokens_in + number * (largest.tokens_out + _MOST_A_MESSAGE)
            self.asked[dearest].add(Estimate(longer, largest.tokens_out))

    def _usd(self, role: str) -> float | None:
        largest = self.asked[role].largest
        return self.ledgers.of(role).price(largest.tokens_in, largest.tokens_out)


def _role(ledger: Ledger, usual: _Sum, most: _Sum, hidden: int, *, batch: bool) -> RoleForecast:
    share = price_share(ledger.spec) if batch else 1.0

    def price(asked: _Sum) -> float | None:
        full = ledger.price(asked.tokens_in, asked.tokens_out)
        return None if full is None else full * share

    return RoleForecast(
        model=ledger.spec.name,
        calls=usual.calls,
        tokens_in=usual.tokens_in,
        tokens_out=usual.tokens_out,
        cost_usd=price(usual),
        most_calls=most.calls,
        most_usd=price(most),
        hidden=hidden,
    )


def _seconds(assignment: Assignment, role: str, asked: _Sum) -> float:
    limits = assignment.specs[role].limits
    times = [asked.calls * SECONDS_A_CALL / limits.in_flight]
    if limits.requests_per_minute:
        times.append(60 * asked.calls / limits.requests_per_minute)
    if limits.tokens_per_minute:
        times.append(60 * (asked.tokens_in + asked.tokens_out) / limits.tokens_per_minute)
    return max(times)
