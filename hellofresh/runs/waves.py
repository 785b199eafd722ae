"""Runs a regime through batches in waves, with the outputs and the journal that single requests would give.

Every sample is played until what comes next depends on answers that are not there. All those questions are handed in
together; with their answers in the journal, the samples are played again from the beginning. A regime whose questions
do not depend on its answers needs one wave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from hellofresh.core.errors import RunError
from hellofresh.evidence.web import Found, Web, WebPage
from hellofresh.models import Answer, Finish, Request
from hellofresh.models.batches.base import Batches
from hellofresh.models.sight import check_images
from hellofresh.runs.batch import ROUNDS, BatchClient, BatchRecord
from hellofresh.runs.journal import Journal, JournalKey, Scope
from hellofresh.runs.regimes import MAIN, Case, Outcome, Regime
from hellofresh.runs.runner import (
    Assignment,
    Failure,
    GivenUpError,
    Item,
    JudgedOutput,
    RunResult,
    Tally,
    first_error,
)
from hellofresh.tasks.samples import Sample

__all__ = ["run_batch"]

_POLL_S = 30.0
_IDLE_TURNS = 25
"""Turns of the event loop in which nothing is asked or read, after which a regime is taken to wait for answers."""


def run_batch(
    assignment: Assignment,
    samples: Sequence[Sample],
    journal: Journal,
    batches: Mapping[str, Batches],
    progress: Callable[[Tally], None],
    *,
    folder: Path,
    poll_s: float = _POLL_S,
) -> RunResult:
    """Ask about all samples by batches, wait for them, and keep every answer.

    Questions that failed in a way that may pass, or for which a batch brought nothing, are handed in again, three times
    in all. What then has no answer stands among the failures, as when asked singly.

    Args:
        assignment: as for `run`; its models are not asked.
        samples: what to judge.
        journal: where answers are kept.
        batches: the provider's way of taking batches, of the same models by role.
        progress: told how far it is.
        folder: the run's folder.
        poll_s: seconds between two looks at the batches.

    Raises:
        RunError: if a batch failed as a whole or was cancelled, or the budget does not cover it.
        CallError: if the provider cannot be reached.
    """
    tally = Tally(len(samples) * assignment.repetitions)
    client = BatchClient(batches, journal, BatchRecord(folder), tally, assignment.budget_usd, poll_s)
    return asyncio.run(_Waves(assignment, journal, client, progress, tally).run(samples))


def _is_independent(regime: Regime) -> bool:
    """Whether a regime has one question a prompt, so that none can depend on an answer."""
    return not regime.needs and not regime.roles and regime.ceiling(1) == 1


@dataclass(slots=True)
class _Waves:
    assignment: Assignment
    journal: Journal
    client: BatchClient
    progress: Callable[[Tally], None]
    tally: Tally
    judged: dict[int, list[JudgedOutput]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    scopes: Mapping[str, Scope] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.assignment
        self.scopes = {role: Scope(spec, chosen.regime) for role, spec in chosen.specs.items()}

    async def run(self, samples: Sequence[Sample]) -> RunResult:
        items = self.assignment.items(samples)
        try:
            await self.client.start()
            await self._work(items)
        finally:
            await self.client.close()
            await self.assignment.close()
        self._tell(len(items))
        judged = [output for item in items for output in self.judged.get(item.order, ())]
        return RunResult(judged, self.tally, [self.failures[order] for order in sorted(self.failures)])

    async def _work(self, items: Sequence[Item]) -> None:
        regime = self.assignment.regime
        for number in range(1 + ROUNDS * regime.ceiling(len(self.assignment.prompts))):
            wave = await self._play([item for item in items if not self._is_done(item)], first=number == 0)
            if not wave:
                return
            done = sum(map(self._is_done, items))
            left = len(items) - done if _is_independent(regime) else 0

            def told(answered: int, done: int = done, left: int = left, asked: int = len(wave)) -> None:
                self._tell(done + left * answered // asked)

            told(0)
            await self.client.ask(wave, told)
        raise RunError(
            "the questions change whenever the regime is played again",
            where=regime.name,
            expected="questions that follow from the sample, the pages and earlier answers alone",
            code="no-batch-regime",
        )

    def _is_done(self, item: Item) -> bool:
        return item.order in self.judged or item.order in self.failures

    def _tell(self, done: int) -> None:
        self.tally.done, self.tally.failed = max(self.tally.done, done), len(self.failures)
        self.progress(self.tally)

    async def _play(self, items: Sequence[Item], *, first: bool) -> dict[str, JournalKey]:
        """Play each sample as far as answers are known; the questions that come next, in the order of samples."""
        unknown: dict[int, Mapping[str, JournalKey]] = {}
        waiting = iter(items)

        async def work() -> None:
            for item in waiting:  # one iterator for all: each takes the next sample
                unknown[item.order] = await self._play_one(item, first=first)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(len(items), self.assignment.samples_at_once)):
                    group.create_task(work())
        except ExceptionGroup as errors:
            raise first_error(errors) from None
        return {key: question for order in sorted(unknown) for key, question in unknown[order].items()}

    async def _play_one(self, item: Item, *, first: bool) -> Mapping[str, JournalKey]:
        chosen, sample = self.assignment, item.sample
        play = _Play(self, item)
        web = None if chosen.web is None else _WatchedWeb(chosen.web, play)
        slots = chosen.slots(sample)
        images = await chosen.images(sample)
        case = Case(
            sample,
            chosen.prompts,
            chosen.prompt_set,
            slots,
            play.ask,
            web,
            images,
            at_once=True,
            facts=chosen.facts.get(sample.id, {}),
        )
        try:
            outcome = await play.until_stuck(chosen.regime, case)
        except GivenUpError as given_up:
            self.failures[item.order] = given_up.failure
            return {}
        if first:
            self.tally.recalled += play.recalled
        if outcome is None:
            return play.unknown
        if outcome.events:
            events = [event.model_dump(mode="json") for event in outcome.events]
            await self.journal.store_trace(sample.id, item.repetition, events)
        self.judged[item.order] = [JudgedOutput(sample.id, output, item.repetition) for output in outcome.outputs]
        return {}


@dataclass(slots=True)
class _Play:
    """A regime at work on one sample, whose unknown answers never come.

    Attributes:
        unknown: the questions without an answer, by key.
        recalled: answers that the journal had.
        reading: searches and pages under way.
        moves: counts whatever happens.
    """

    waves: _Waves
    item: Item
    unknown: dict[str, JournalKey] = field(default_factory=dict)
    recalled: int = 0
    reading: int = 0
    moves: int = 0
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        """Answer from the journal, or never.

        Raises:
            GivenUpError: if the question gets no answer from its provider.
        """
        waves, item = self.waves, self.item
        role = role if role in waves.scopes else MAIN
        asked = waves.assignment.sampled(request, item.repetition, role)
        question = JournalKey(item.sample.id, step, prompt, asked, item.repetition, role)
        key = waves.scopes[role].key(question)
        self.move()
        answer = waves.journal.find(key)
        if answer is not None:
            self.recalled += 1
            return answer
        given_up = waves.client.given_up(key)
        if given_up is not None:
            raise GivenUpError(question, *given_up)
        check_images(waves.assignment.specs[role], request)
        self.unknown[key] = question
        if not _is_independent(waves.assignment.regime):
            await asyncio.Event().wait()
        return Answer("", Finish.STOP)

    def move(self) -> None:
        """Note that something happened."""
        self.moves += 1
        self.moved.set()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While a search or a page is under way, nobody is stuck."""
        self.reading += 1
        self.move()
        try:
            yield
        finally:
            self.reading -= 1
            self.move()

    async def until_stuck(self, regime: Regime, case: Case) -> Outcome | None:
        """What the regime comes to, None where it waits for answers that are not known."""
        solving = asyncio.ensure_future(regime.solve(case))
        stuck = asyncio.ensure_future(self._stuck())
        try:
            await asyncio.wait({solving, stuck}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (solving, stuck):
                task.cancel()
            ended, _ = await asyncio.gather(solving, stuck, return_exceptions=True)
        if isinstance(ended, Exception):
            raise first_error(ended)
        return None if self.unknown or isinstance(ended, BaseException) else ended

    async def _stuck(self) -> None:
        """Return when nothing but unknown answers is waited for."""
        while True:
            self.moved.clear()
            if self.unknown and not self.reading and await self._is_idle():
                return
            if not self.moved.is_set():
                await self.moved.wait()

    async def _is_idle(self) -> bool:
        before = self.moves
        for _ in range(_IDLE_TURNS):
            await asyncio.sleep(0)
            if self.moves != before:
                return False
        return True


@dataclass(frozen=True, slots=True)
class _WatchedWeb:
    """The web, with a note of what is under way."""

    web: Web
    play: _Play

    @property
    def parameters(self) -> Mapping[str, str | int | float | bool]:
        """As of the web."""
        return self.web.parameters

    async def search(self, query: str, *, before: date | None = None) -> Found:
        """Search."""
        with self.play.busy():
            return await self.web.search(query, before=before)

    async def read(self, url: str) -> WebPage:
        """Read a page."""
        with self.play.busy():
            return await self.web.read(url)

    @property
    def blocked(self) -> Sequence[str]:
        """As the web."""
        return self.web.blocked

    def reason(self, url: str) -> str:
        """As the web."""
        return self.web.reason(url)

    async def close(self) -> None:
        """Closed by whoever opened it."""
