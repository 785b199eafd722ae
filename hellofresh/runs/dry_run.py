"""What a run would ask, before it asks: the regime is played through twice, with usual and with longest answers.

Nothing is written, fetched or asked. The first rehearsal gives what is expected. The second gives the ceiling: every
answer is as long as it may be, and there are as many requests as the regime may make. Numbers of tokens are estimates
(see `Ledger`); hidden tokens of reasoning are counted at their cap in both.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date

from hellofresh.models import Answer, Finish, Request
from hellofresh.regimes import MAIN, Case
from hellofresh.runs.batch import price_share
from hellofresh.runs.journal import JournalKey, Scope
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Estimate
from hellofresh.runs.runner import Assignment
from hellofresh.samples import Sample
from hellofresh.web import Found, PageStatus, SearchResult, WebPage

__all__ = ["SECONDS_A_CALL", "Forecast", "RoleForecast", "forecast"]

SECONDS_A_CALL = 1.0
"""How long an answer is taken to need."""
_WORDS_A_PAGE = 1_000
_RESULTS = 10
_WORDS_A_TOKEN = 0.75
_LONGEST_REPLY = 4_000


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


class _PaperWeb:
    """Finds pages of the usual length, whatever is looked for."""

    parameters: Mapping[str, str | int | float | bool] = {}

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """As many results as are usual."""
        snippet = "word " * 25
        found = [
            SearchResult(f"https://www.example{n}.org/", "A title", snippet, None, n) for n in range(1, _RESULTS + 1)
        ]
        return Found(found)

    async def read(self, url: str) -> WebPage:
        """A page as long as what is read of one."""
        return WebPage(url, url, PageStatus.OK, title="A title", text="word " * _WORDS_A_PAGE)

    @property
    def blocked(self) -> Sequence[str]:
        """None."""
        return ()

    def reason(self, url: str) -> str:
        """Nothing is excluded."""
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


def forecast(assignment: Assignment, samples: Sequence[Sample], known: Set[str], *, batch: bool = False) -> Forecast:
    """Estimate what a run will take.

    Args:
        assignment: as for `run`; its web is not used.
        samples: what would be judged.
        known: keys of the answers that the journal has.
        batch: whether it is asked by batches, at their part of the price.
    """
    usual, longest = asyncio.run(_rehearse_all(assignment, samples, known))
    ledgers = Ledgers(assignment.specs)
    roles = {
        role: _role(ledgers.of(role), usual.asked[role], longest.asked[role], batch=batch) for role in assignment.specs
    }
    return Forecast(
        samples=len(samples),
        repetitions=assignment.repetitions,
        known=usual.known,
        roles=roles,
        seconds=max(_seconds(assignment, role, usual.asked[role]) for role in roles),
    )


async def _rehearse_all(
    assignment: Assignment, samples: Sequence[Sample], known: Set[str]
) -> tuple[_Rehearsal, _Rehearsal]:
    rehearsals = _Rehearsal(assignment, known, longest=False), _Rehearsal(assignment, known, longest=True)
    for rehearsal in rehearsals:
        for repetition in range(1, assignment.repetitions + 1):
            for sample in samples:
                await rehearsal.play(sample, repetition)
    return rehearsals


@dataclass(slots=True)
class _Sum:
    """Requests and their tokens; `largest` is the request that takes most."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    largest: Estimate = field(default_factory=lambda: Estimate(0, 0))

    def add(self, estimate: Estimate, times: int = 1) -> None:
        """Count a request."""
        self.calls += times
        self.tokens_in += times * estimate.tokens_in
        self.tokens_out += times * estimate.tokens_out
        if estimate.total > self.largest.total:
            self.largest = estimate


@dataclass(slots=True)
class _Rehearsal:
    """Plays a regime through; with `longest`, every answer is as long as it may be."""

    assignment: Assignment
    known_keys: Set[str]
    longest: bool
    known: int = 0
    asked: dict[str, _Sum] = field(init=False)
    ledgers: Ledgers = field(init=False)
    scopes: Mapping[str, Scope] = field(init=False)

    def __post_init__(self) -> None:
        specs = self.assignment.specs
        self.asked = {role: _Sum() for role in specs}
        self.ledgers = Ledgers(specs)
        self.scopes = {role: Scope(spec, self.assignment.regime) for role, spec in specs.items()}

    async def play(self, sample: Sample, repetition: int) -> None:
        """Work on one sample; in the longest form, requests that the rehearsal did not make are added."""
        chosen, turns, seen = self.assignment, Counter[str](), 0

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            nonlocal seen
            seen += 1
            turns[step] += 1
            role = role if role in self.asked else MAIN
            key = JournalKey(sample.id, step, prompt, chosen.sampled(request, repetition, role), repetition, role)
            answer = _reply(request, "" if self.longest else chosen.regime.rehearse(step, turns[step]))
            if self.scopes[role].key(key) in self.known_keys:
                self.known += 1
            else:
                estimate = self.ledgers.of(role).estimate(request)
                if not self.longest:
                    visible = min(request.max_tokens, round(len(answer.split()) / _WORDS_A_TOKEN))
                    estimate = Estimate(estimate.tokens_in, estimate.tokens_out - request.max_tokens + visible)
                self.asked[role].add(estimate)
            return Answer(answer, Finish.STOP)

        case = Case(sample, chosen.prompts, chosen.prompt_set, chosen.slots(sample), ask, _PaperWeb())
        await chosen.regime.solve(case)
        missing = chosen.regime.ceiling(len(chosen.prompts)) - seen
        if self.longest and missing > 0:
            dearest = max(self.asked, key=lambda role: self._usd(role) or 0.0)
            self.asked[dearest].add(self.asked[dearest].largest, missing)

    def _usd(self, role: str) -> float | None:
        largest = self.asked[role].largest
        return self.ledgers.of(role).price(largest.tokens_in, largest.tokens_out)


def _role(ledger: Ledger, usual: _Sum, most: _Sum, *, batch: bool) -> RoleForecast:
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
    )


def _reply(request: Request, usual: str) -> str:
    if usual:
        return usual
    if request.choices:
        return request.choices[0]
    return "word " * int(min(request.max_tokens, _LONGEST_REPLY) * _WORDS_A_TOKEN)


def _seconds(assignment: Assignment, role: str, asked: _Sum) -> float:
    limits = assignment.specs[role].limits
    times = [asked.calls * SECONDS_A_CALL / limits.in_flight]
    if limits.requests_per_minute:
        times.append(60 * asked.calls / limits.requests_per_minute)
    if limits.tokens_per_minute:
        times.append(60 * (asked.tokens_in + asked.tokens_out) / limits.tokens_per_minute)
    return max(times)
