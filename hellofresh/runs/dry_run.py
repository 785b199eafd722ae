"""What a run may take, before it asks: a ceiling, and what is expected by the answers that the journal has.

Nothing is written, fetched or asked. For the ceiling the regime is played through with the longest answers: each is as
long as it may be, the regime goes on as long as it can, hidden reasoning uses its cap, and every character of a page is
a token, as in scripts without spaces. Expected is what the run's own answers took on average; while there are too few
of them, the ceiling is all that is known.
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
from hellofresh.models import Answer, Finish, Request
from hellofresh.models.sight import PAPER_IMAGE, check_images, image_tokens, images_of
from hellofresh.runs.batch import price_share
from hellofresh.runs.journal import Journal, JournalKey, Scope
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Estimate
from hellofresh.runs.regimes import MAIN, Need
from hellofresh.runs.runner import Assignment, Item
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


@dataclass(frozen=True, slots=True)
class RoleForecast:
    """What is to come for one role.

    Attributes:
        model: name of the model.
        calls, tokens_in, tokens_out, cost_usd: expected; the cost is None where the price is not known.
        most_calls, most_usd: ceilings.
    """

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
    """Finds many pages of so many long words, whatever is looked for."""

    words: int
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    blocked: Sequence[str] = ()

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """Results with snippets."""
        snippet = f"{_LONGEST_WORD} " * 25
        addresses = (f"https://www.example{n}.org/" for n in range(1, _MOST_RESULTS + 1))
        return Found([SearchResult(url, "A title", snippet, None, n) for n, url in enumerate(addresses, start=1)])

    async def read(self, url: str) -> WebPage:
        """A page."""
        return WebPage(url, url, PageStatus.OK, title="A title", text=f"{_LONGEST_WORD} " * self.words)

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
        journal: with the answers so far, None if absent.
        batch: whether it is asked by batches, at their part of the price.
    """
    past = _Past() if journal is None else _Past.of(journal, assignment)
    items = [item for item in assignment.items(samples) if (item.sample.id, item.repetition) not in past.finished]
    most = asyncio.run(_rehearsed(assignment, past.keys, items))
    measured = sum(taken.answers for taken in past.taken.values()) >= _ENOUGH
    ledgers, roles, times = Ledgers(assignment.specs), {}, []
    for role, ledger in ledgers.by_role.items():
        usual = past.expected(role, items, most.asked[role]) if measured else most.asked[role]
        roles[role] = _role(ledger, usual, most.asked[role], share=price_share(ledger.spec) if batch else 1.0)
        times.append(_seconds(ledger, usual))
    return Forecast(
        samples=len(samples),
        repetitions=assignment.repetitions,
        known=most.known + past.finished_answers,
        measured=measured,
        roles=roles,
        seconds=max(times),
    )


async def _rehearsed(assignment: Assignment, known: Set[str], items: Sequence[Item]) -> _Rehearsal:
    """The longest rehearsal of all samples."""
    most = _Rehearsal(assignment, known)
    if not items or Need.WEB not in assignment.regime.needs:
        for item in items:
            await most.play(item, _PaperWeb(0))
        return most
    # Long pages take long to play: once, for the longest sample, stands for every sample.
    largest = max(items, key=lambda item: sum(map(_most_tokens, assignment.slots(item.sample).values())))
    words, before = _LEAST_WORDS_A_PAGE, -1
    while words <= _MOST_WORDS_A_PAGE and most.tokens_in != before:  # else the regime cuts them
        before, most = most.tokens_in if most.seen else -1, _Rehearsal(assignment, known)
        await most.play(largest, _PaperWeb(words))
        words *= 2
    most.multiply(len(items))
    return most


def _most_tokens(text: str) -> int:
    """Most tokens that a text may take."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ceil(ascii_characters / _ASCII_A_TOKEN) + len(text) - ascii_characters


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

    def times(self, factor: int) -> _Sum:
        """So many times as much."""
        return _Sum(factor * self.calls, factor * self.tokens_in, factor * self.tokens_out, self.largest)


@dataclass(slots=True)
class _Taken:
    """What answers of one role took, those counted that say how much."""

    answers: int = 0
    told: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(slots=True)
class _Past:
    """What the journal has.

    Attributes:
        keys: of all answers.
        whole: samples and repetitions with an answer for every prompt.
        finished: those of them with a transcript: nothing more is asked about them.
        finished_answers: how many answers these have.
        taken: by role; of the whole samples, if there are any, else of all.
    """

    keys: Set[str] = frozenset()
    whole: Set[tuple[str, int]] = frozenset()
    finished: Set[tuple[str, int]] = frozenset()
    finished_answers: int = 0
    taken: Mapping[str, _Taken] = field(default_factory=dict)

    @classmethod
    def of(cls, journal: Journal, assignment: Assignment) -> _Past:
        """What a journal has."""
        prompts: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        by_item: defaultdict[tuple[str, int], defaultdict[str, _Taken]] = defaultdict(lambda: defaultdict(_Taken))
        for entry in journal.entries():
            item, answer = (entry.sample, entry.repetition), entry.answer
            prompts[item].add(entry.prompt)
            taken = by_item[item][entry.role]
            taken.answers += 1
            if answer.tokens_in is not None and answer.tokens_out is not None:
                taken.told += 1
                taken.tokens_in += answer.tokens_in
                taken.tokens_out += answer.tokens_out
        wanted = {prompt.id for prompt in assignment.prompts}
        whole = {item for item, asked in prompts.items() if wanted <= asked}
        finished = {(sample, repetition) for sample, repetition, _ in journal.traces()} & whole
        total: defaultdict[str, _Taken] = defaultdict(_Taken)
        for item in whole or by_item:
            for role, taken in by_item[item].items():
                own = total[role]
                own.answers, own.told = own.answers + taken.answers, own.told + taken.told
                own.tokens_in, own.tokens_out = own.tokens_in + taken.tokens_in, own.tokens_out + taken.tokens_out
        answers = sum(taken.answers for item in finished for taken in by_item[item].values())
        return cls(journal.keys, whole, finished, answers, total)

    def expected(self, role: str, items: Sequence[Item], most: _Sum) -> _Sum:
        """What a role will take for these samples, by the mean of what it took, and at most the ceiling."""
        taken = self.taken.get(role, _Taken())
        if not taken.told:
            return _Sum() if self.whole and not taken.answers else most
        left = sum((item.sample.id, item.repetition) not in self.whole for item in items)
        calls = min(taken.answers * left / len(self.whole), most.calls) if self.whole else most.calls
        tokens_in, tokens_out = (round(calls * total / taken.told) for total in (taken.tokens_in, taken.tokens_out))
        return _Sum(round(calls), tokens_in, tokens_out)


@dataclass(slots=True)
class _Rehearsal:
    """Plays a regime through with answers that are as long as they may be."""

    assignment: Assignment
    keys: Set[str]
    known: int = 0
    seen: int = 0
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
        self.asked = {role: asked.times(times) for role, asked in self.asked.items()}

    async def play(self, item: Item, web: _PaperWeb) -> None:
        """Work on one sample, and add the requests that the regime might yet make."""
        chosen, turns, seen = self.assignment, Counter[str](), self.seen

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            self.seen += 1
            turns[step] += 1
            role = role if role in self.asked else MAIN
            check_images(self.ledgers.of(role).spec, request)
            asked = chosen.sampled(request, item.repetition, role)
            question = JournalKey(item.sample.id, step, prompt, asked, item.repetition, role)
            if self.keys and self.scopes[role].key(question) in self.keys:
                self.known += 1
            else:
                self.asked[role].add(self._most(role, request))
            ending = chosen.regime.prolong(step, turns[step])
            return Answer(f"{_LONGEST_WORD[0] * request.max_tokens}\n{ending}", Finish.STOP)

        await chosen.regime.solve(chosen.case(item.sample, ask, web, self._images(item.sample)))
        self._add_missing(chosen.regime.ceiling(len(chosen.prompts)) - (self.seen - seen))

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

    def _most(self, role: str, request: Request) -> Estimate:
        texts = (part for message in request.messages for part in message.parts)
        ledger = self.ledgers.of(role)
        tokens_in = sum(map(_most_tokens, texts)) + _MOST_A_MESSAGE * (1 + len(request.messages))
        tokens_in += sum(image_tokens(ledger.spec, image) for image in images_of(request))
        return Estimate(tokens_in, ledger.estimate(request).tokens_out)

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


def _role(ledger: Ledger, usual: _Sum, most: _Sum, *, share: float) -> RoleForecast:
    expected, highest = (ledger.price(asked.tokens_in, asked.tokens_out) for asked in (usual, most))
    return RoleForecast(
        model=ledger.spec.name,
        calls=usual.calls,
        tokens_in=usual.tokens_in,
        tokens_out=usual.tokens_out,
        cost_usd=None if expected is None else expected * share,
        most_calls=most.calls,
        most_usd=None if highest is None else highest * share,
    )


def _seconds(ledger: Ledger, asked: _Sum) -> float:
    limits = ledger.spec.limits
    times = [asked.calls * SECONDS_A_CALL / limits.in_flight]
    if limits.requests_per_minute:
        times.append(60 * asked.calls / limits.requests_per_minute)
    if limits.tokens_per_minute:
        times.append(60 * (asked.tokens_in + asked.tokens_out) / limits.tokens_per_minute)
    return max(times)
