"""What a run would ask, before it asks: the regime is played through with answers and pages of the usual length.

Nothing is written, fetched or asked. Numbers of tokens are estimates (see `Ledger.estimate`), with every answer as
long as it may be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date

from hellofresh.models import Answer, Finish, Request
from hellofresh.regimes import Case
from hellofresh.runs.journal import JournalKey, Scope
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.runner import Assignment
from hellofresh.samples import Sample
from hellofresh.web import Found, Page, PageStatus, SearchResult

__all__ = ["SECONDS_A_CALL", "Forecast", "forecast"]

SECONDS_A_CALL = 1.0
"""How long an answer is taken to need."""
_WORDS_A_PAGE = 1_000
_RESULTS = 10
_WORDS_A_TOKEN = 0.75
_LONGEST_REPLY = 4_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to come.

    Attributes:
        samples, repetitions: to judge.
        calls: questions to the model.
        known: questions whose answers the journal has, not among `calls`.
        tokens_in, tokens_out: of the calls, estimated, at most.
        cost_usd: of the calls, at most; None where the price is not known.
        seconds: at a second a call and by the model's limits.
    """

    samples: int
    repetitions: int
    calls: int
    known: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    seconds: float


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

    async def read(self, url: str) -> Page:
        """A page as long as what is read of one."""
        return Page(url, url, PageStatus.OK, title="A title", text="word " * _WORDS_A_PAGE)

    async def close(self) -> None:
        """Nothing to let go of."""


def forecast(assignment: Assignment, samples: Sequence[Sample], known: Set[str]) -> Forecast:
    """Reckon up a run.

    Args:
        assignment: as for `run`; its web is not used.
        samples: what would be judged.
        known: keys of the answers that the journal has.
    """
    return asyncio.run(_rehearse(assignment, samples, known))


async def _rehearse(assignment: Assignment, samples: Sequence[Sample], known: Set[str]) -> Forecast:
    spec = assignment.model.spec
    scope, web, ledger = Scope(spec, assignment.regime), _PaperWeb(), Ledger(spec)
    calls = found = tokens_in = tokens_out = 0

    for repetition in range(1, assignment.repetitions + 1):
        for sample in samples:

            async def ask(
                step: str, prompt: str, request: Request, which: Sample = sample, again: int = repetition
            ) -> Answer:
                nonlocal calls, found, tokens_in, tokens_out
                asked = assignment.seeded(request, again)
                if scope.key(JournalKey(which.id, step, prompt, asked, again)) in known:
                    found += 1
                else:
                    calls += 1
                    estimate = ledger.estimate(request)
                    tokens_in += estimate.tokens_in
                    tokens_out += estimate.tokens_out
                return Answer(_reply(request), Finish.STOP)

            slots = assignment.slots(sample)
            case = Case(sample, assignment.prompts, assignment.prompt_set, slots, ask, web)
            await assignment.regime.judge(case)
    return Forecast(
        samples=len(samples),
        repetitions=assignment.repetitions,
        calls=calls,
        known=found,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost_usd=ledger.price(tokens_in, tokens_out),
        seconds=_seconds(assignment, calls, tokens_in + tokens_out),
    )


def _reply(request: Request) -> str:
    if request.choices:
        return request.choices[0]
    return "word " * int(min(request.max_tokens, _LONGEST_REPLY) * _WORDS_A_TOKEN)


def _seconds(assignment: Assignment, calls: int, tokens: int) -> float:
    limits = assignment.model.spec.limits
    times = [calls * SECONDS_A_CALL / limits.in_flight]
    if limits.requests_per_minute:
        times.append(60 * calls / limits.requests_per_minute)
    if limits.tokens_per_minute:
        times.append(60 * tokens / limits.tokens_per_minute)
    return max(times)
