"""Asks a model about samples under a regime, many at once, and keeps every answer.

A question that failed is asked again after a while; one that keeps failing is given up, its sample is named among the
failures, and the run goes on. What would hit every question (a wrong key, an unknown model, a full disk, the budget)
ends the run: nothing more is asked, and answers that are under way are still taken in and kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hellofresh.core.errors import HelloFreshError, RunError
from hellofresh.evidence.web import Web
from hellofresh.evidence.web.pictures import MediaPictures
from hellofresh.models import Answer, CallError, Limits, Model, ModelSpec, Request, Sampling
from hellofresh.models.sight import check_images
from hellofresh.runs.journal import Journal, JournalKey, Scope, recount, request_text
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Estimate, Pace, PaceClosed, Patience
from hellofresh.runs.prompts import Prompt, PromptSet
from hellofresh.runs.regimes import MAIN, Ask, Case, Need, Regime
from hellofresh.tasks.images import Image, media_of
from hellofresh.tasks.outputs import Output
from hellofresh.tasks.samples import Fact, Sample

_OWN_FAULT = frozenset({None, 200, 400, 413, 422})
"""Statuses of errors that say something of one question, if they are not worth another attempt."""
_OVERLOAD = frozenset({429, 502, 503, 504, 529})
"""Statuses of servers that are busy, not of questions that they cannot answer."""
_MANY, _GATHER_S = 8, 0.02
_AT_ONCE_S = 0.3
"""How long answers under way are waited for when somebody presses Ctrl+C."""
"""With so many questions under way, answers may wait so long for others to be flushed with."""
_SEEDS_APART = 100_003
"""By which seeds of a regime are multiplied: more than there are ever repetitions."""


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to judge in one repetition; `order` is its place among all."""

    order: int
    sample: Sample
    repetition: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who is asked, how, and with which wordings.

    Attributes:
        model, regime, prompt_set, prompts, slots: what is asked of whom.
        others: models of further roles, by role; a role without one is the model's own part.
        web: the way to the outside world, for a regime that needs it.
        pictures: gives the pictures that samples name, for a regime that needs them.
        facts: by sample, what is known of its label, for a regime that needs it; empty where labels are not public.
        watch: receives the step of each question before it is asked, or its answer recalled.
        repetitions: how often everything is asked, each time with another seed.
        temperature: of all requests, None for what the regime asks for (0).
        budget_usd: most that the whole run may cost, None for no bound.
        patience: how often failed questions are asked again.
    """

    model: Model
    regime: Regime
    prompt_set: PromptSet
    prompts: Sequence[Prompt]
    slots: Callable[[Sample], Mapping[str, str]]
    web: Web | None = None
    repetitions: int = 1
    temperature: float | None = None
    budget_usd: float | None = None
    patience: Patience = field(default_factory=Patience)
    others: Mapping[str, Model] = field(default_factory=dict)
    pictures: MediaPictures | None = None
    facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    watch: Callable[[str], None] = lambda step: None

    @property
    def models(self) -> Mapping[str, Model]:
        return {MAIN: self.model, **self.others}

    @property
    def specs(self) -> Mapping[str, ModelSpec]:
        return {role: model.spec for role, model in self.models.items()}

    @property
    def samples_at_once(self) -> int:
        """How many samples are open at once: enough that calls are always under way while some samples wait for pages
        or for the disk; one for a model that takes one question at a time, so that a sample's questions follow each
        other and share what was computed of it.
        """
        in_flight = self.model.spec.limits.in_flight
        if self.regime.all_at_once:
            return sys.maxsize
        if Need.WEB in self.regime.needs:
            return 4 * in_flight + 12
        return 1 if in_flight == 1 else 3 * in_flight

    def sampled(self, request: Request, repetition: int, role: str = MAIN) -> Request:
        """The request as a repetition asks it.

        At the run's temperature, the repetition is the seed; at temperature 0, the first repetition has none. Where a
        regime draws several answers to one question, each by a seed of its own, every repetition draws others.
        """
        seed = repetition if request.seed is None else request.seed * _SEEDS_APART + repetition
        if self.temperature and self.specs.get(role, self.model.spec).sampling is not Sampling.NEVER:
            return replace(request, temperature=self.temperature, seed=seed)
        return request if repetition == 1 else replace(request, seed=seed)

    def items(self, samples: Sequence[Sample]) -> list[Item]:
        """All samples, once a repetition."""
        pairs = ((sample, n) for n in range(1, self.repetitions + 1) for sample in samples)
        return [Item(order, sample, n) for order, (sample, n) in enumerate(pairs)]

    def case(self, sample: Sample, ask: Ask, web: Web | None = None, images: Sequence[Image] = ()) -> Case:
        facts = self.facts.get(sample.id, {})
        return Case(sample, self.prompts, self.prompt_set, self.slots(sample), ask, web, images, facts=facts)

    async def images(self, sample: Sample) -> Sequence[Image]:
        """The sample's pictures that are to be had, for a regime that needs them."""
        if self.pictures is None or Need.IMAGES not in self.regime.needs:
            return ()
        return await self.pictures.images(media_of(sample))

    async def close(self) -> None:
        for model in self.models.values():
            await model.close()
        if self.web is not None:
            await self.web.close()
        if self.pictures is not None:
            await self.pictures.close()


@dataclass(slots=True)
class Tally:
    """How far a run has come.

    Attributes:
        samples, done, failed: samples to judge (each repetition counts), judged or given up, and given up.
        asked, recalled: answers asked for, and known from before.
        cost_usd: of the whole run so far, None where not known.
        tokens: of the whole run so far, where known.
    """

    samples: int
    done: int = 0
    asked: int = 0
    recalled: int = 0
    failed: int = 0
    cost_usd: float | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class JudgedOutput:
    """The output for one sample, prompt and repetition."""

    sample: str
    output: Output
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """A sample that could not be judged, and the question that got no answer."""

    sample: str
    repetition: int
    step: str
    prompt: str
    code: str
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that a run decided, in the order of repetitions, samples and prompts, whatever order answers came in."""

    judged: Sequence[JudgedOutput]
    tally: Tally
    failures: Sequence[Failure] = ()


class RunStopped(RunError):  # noqa: N818 - nothing is wrong
    """A run that a signal stopped."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"stopped by {name}",
            fix="Stored answers are kept; run the same command again to resume.",
            code="stopped",
        )
        self.exit_code = 128 + signal.Signals[name]


class GivenUpError(Exception):
    """A question that gets no answer after so many attempts, so that its sample cannot be judged."""

    def __init__(self, question: JournalKey, error: CallError, attempts: int) -> None:
        super().__init__()
        self.failure = Failure(
            sample=question.sample,
            repetition=question.repetition,
            step=question.step,
            prompt=question.prompt,
            code=error.code,
            error=str(error),
            attempts=attempts,
        )
        self.error = error


def run(
    assignment: Assignment, samples: Sequence[Sample], journal: Journal, progress: Callable[[Tally], None]
) -> RunResult:
    """Ask about all samples; what the journal already holds is not asked again.

    Raises:
        RunError: if the run cannot go on, or was stopped; everything answered until then stays in the journal.
    """
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(_Runner(assignment, journal, progress).run(samples))


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop where it is installed, which handles many answers at once in half the time."""
    try:
        import uvloop  # an extra
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@dataclass(frozen=True, slots=True)
class _Lane:
    """One role's way to its model; roles whose models share limits share the pace."""

    model: Model
    scope: Scope
    pace: Pace
    ledger: Ledger


class _Runner:
    def __init__(self, assignment: Assignment, journal: Journal, progress: Callable[[Tally], None]) -> None:
        self.assignment, self.journal, self.progress = assignment, journal, progress
        self.patience = assignment.patience
        self.tally = Tally(0)
        self.ledgers = Ledgers(assignment.specs)
        at_once = max(spec.limits.in_flight for spec in assignment.specs.values())
        # Conversations that wait for the web in between go on side by side: else the last ones leave the model idle.
        # One at a time, a sample's questions follow each other.
        self.in_turn = Need.WEB in assignment.regime.needs and at_once > 1
        journal.gather_s = _GATHER_S if at_once >= _MANY else 0.0
        paces: dict[tuple[str, Limits], Pace] = {}
        self.lanes: dict[str, _Lane] = {}
        for role, model in assignment.models.items():
            shared = str(model.spec.parameters.get("provider", model.spec.name)), model.spec.limits
            pace = paces.setdefault(shared, Pace(model.spec.limits, self.patience))
            self.lanes[role] = _Lane(model, Scope(model.spec, assignment.regime), pace, self.ledgers.of(role))
        self.judged: dict[int, list[JudgedOutput]] = {}
        self.failures: dict[int, Failure] = {}
        self.error: BaseException | None = None
        self.unreachable = self.refused = 0
        self.workers: list[asyncio.Task[None]] = []

    async def run(self, samples: Sequence[Sample]) -> RunResult:
        for entry in self.journal.entries():
            recount(self.ledgers.of(entry.role), entry)
        items = self.assignment.items(samples)
        self.tally = Tally(len(items), cost_usd=self.ledgers.cost_usd, tokens=self.ledgers.tokens)
        waiting = iter(items)
        number = min(self.assignment.samples_at_once, len(items))
        with _signals(self._stop):
            try:
                self.workers = [asyncio.create_task(self._work(waiting)) for _ in range(number)]
                await asyncio.gather(*self.workers, return_exceptions=True)
                await self.journal.flush()
            finally:
                for worker in self.workers:
                    worker.cancel()
                await asyncio.gather(*self.workers, return_exceptions=True)
                await self.assignment.close()
        if self.error is not None:
            raise self.error
        judged = [answer for item in items for answer in self.judged.get(item.order, ())]
        return RunResult(judged, self.tally, [self.failures[order] for order in sorted(self.failures)])

    def _stop(self, name: str) -> None:
        if self.error is not None:  # a second signal: do not wait for what is under way
            self._cancel()
        self._end(RunStopped(name), _AT_ONCE_S if name == "SIGINT" else None)

    def _end(self, error: BaseException, drain_s: float | None = None) -> None:
        """Ask nothing more; what is under way is waited for, for a while."""
        if self.error is None:
            self.error = error
            for lane in self.lanes.values():
                lane.pace.close()
            asyncio.get_running_loop().call_later(self.patience.drain_s if drain_s is None else drain_s, self._cancel)

    def _cancel(self) -> None:
        for worker in self.workers:
            worker.cancel()

    async def _work(self, waiting: Iterator[Item]) -> None:
        for item in waiting:  # one iterator for all workers: each takes the next sample
            if self.error is not None:
                return
            try:
                await self._judge(item)
            except PaceClosed:
                return
            except GivenUpError as given_up:
                self._give_up(item, given_up)
            except (Exception, ExceptionGroup) as error:
                found = first_error(error)
                if not (isinstance(found, CallError) and found.code == "context-length"):
                    self._end(found)
                    return
                key = JournalKey(item.sample.id, "", "", Request((), 1), item.repetition)
                self._give_up(item, GivenUpError(key, found, 1))
            self.tally.done += 1
            self.progress(self.tally)

    async def _judge(self, item: Item) -> None:
        chosen, sample = self.assignment, item.sample

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            named = role if role in self.lanes else MAIN
            chosen.watch(step)
            asked = chosen.sampled(request, item.repetition, named)
            return await self._ask(item.order, JournalKey(sample.id, step, prompt, asked, item.repetition, named))

        images = await chosen.images(sample)
        try:
            outcome = await chosen.regime.solve(chosen.case(sample, ask, chosen.web, images))
        except ExceptionGroup as group:  # a regime may ask several questions at once
            raise first_error(group) from None
        if outcome.events:
            events = [event.model_dump(mode="json") for event in outcome.events]
            await self.journal.store_trace(sample.id, item.repetition, events)
        self.judged[item.order] = [JudgedOutput(sample.id, output, item.repetition) for output in outcome.outputs]

    def _give_up(self, item: Item, given_up: GivenUpError) -> None:
        self.failures[item.order] = given_up.failure
        self.tally.failed += 1
        error = given_up.error
        nothing_yet = not self.tally.asked and not self.tally.recalled
        self.unreachable = self.unreachable + 1 if error.retryable and error.status is None else 0
        self.refused = self.refused + 1 if not error.retryable and nothing_yet else 0
        if self.unreachable >= self.patience.unreachable or self.refused >= self.patience.alike:
            self._end(error)

    async def _ask(self, order: int, question: JournalKey) -> Answer:
        text = request_text(question.request)
        lane = self.lanes[question.role]
        key = lane.scope.key(question, text)
        found = self.journal.find(key)
        if found is not None:
            self.tally.recalled += 1
            return found
        _check_abilities(lane.model.spec, question.request)
        last: list[str] = []
        spent: list[float] = []
        for attempt in range(1, self.patience.attempts + 1):
            try:
                return await self._attempt(order, lane, question, (key, text), spent)
            except CallError as error:
                last.append(f"{error.status} {error.code} {error}")
                if error.code == "context-length":
                    raise  # a regime may ask with less
                is_last = attempt == self.patience.attempts or sum(spent) >= self.patience.deadline_s
                if not error.retryable and error.status not in _OWN_FAULT:
                    self._end(error)
                    raise PaceClosed from None
                if not error.retryable or is_last or self._is_settled(error, last):
                    raise GivenUpError(question, error, attempt) from None
                if not _asks_to_wait(error):
                    await lane.pace.sleep(self.patience.wait_s(attempt, key))
        raise AssertionError("the last attempt returns or raises")

    def _is_settled(self, error: CallError, said: Sequence[str]) -> bool:
        """Whether the server gives the very same error time after time, and it is not for being busy."""
        alike = self.patience.alike
        settled = error.status is not None and error.status not in _OVERLOAD
        return settled and len(said) >= alike and len(set(said[-alike:])) == 1

    async def _timed(self, lane: _Lane, request: Request, spent: list[float]) -> Answer:
        """One attempt, within what earlier ones left of the limit of all; adds the seconds that it took."""
        left_s = self.patience.deadline_s - sum(spent)
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(left_s if spent else None):
                return await lane.model.ask(request)
        except TimeoutError:
            what = f"no answer within {self.patience.deadline_s:g} s in all, in {len(spent) + 1} attempts"
            start -= left_s  # a loop's clock may end the limit a hair early; nothing is left of it
            raise CallError(what, where=lane.model.spec.name, code="timeout", retryable=True) from None
        finally:
            spent.append(asyncio.get_running_loop().time() - start)

    async def _attempt(
        self,
        order: int,
        lane: _Lane,
        question: JournalKey,
        stored_as: tuple[str, str],
        spent: list[float],
    ) -> Answer:
        key, text = stored_as
        estimate = lane.ledger.estimate(question.request)
        number = await lane.pace.enter(0 if self.in_turn else order, estimate.total)
        answer: Answer | None = None
        try:
            self._check_budget(lane.ledger, estimate)
            lane.ledger.reserve(estimate)
            try:
                answer = await self._timed(lane, question.request, spent)
            except CallError as error:
                if _asks_to_wait(error):
                    lane.pace.slow_down(number, error.retry_after_s)
                raise
            finally:
                lane.ledger.reserve(estimate, -1)
            stored = self.journal.store(key, question, answer, spent[-1], text)
            self.unreachable = 0
            self.tally.asked += 1
            lane.ledger.add(answer, estimate)
            self.tally.cost_usd, self.tally.tokens = self.ledgers.cost_usd, self.ledgers.tokens
            if lane.pace.limits.in_flight == 1:  # its next question is to come before those of other samples
                await stored
                return answer
        finally:
            more = 0
            if answer is not None and answer.tokens_in is not None and answer.tokens_out is not None:
                more = answer.tokens_in + answer.tokens_out - estimate.total
            lane.pace.leave(answered=answer is not None, more_tokens=more)
        await stored
        return answer

    def _check_budget(self, ledger: Ledger, estimate: Estimate) -> None:
        budget = self.assignment.budget_usd
        if budget is None:
            return
        more = ledger.price(estimate.tokens_in, estimate.tokens_out) or 0.0
        if self.ledgers.at_most_usd + more > budget:
            cost = self.ledgers.cost_usd
            spent = "an unknown sum" if cost is None else f"{cost:.4f} USD"
            self._end(
                RunError(
                    f"the budget of {budget:g} USD does not cover another question",
                    where=f"{self.ledgers.answers:,} answers, {spent} spent",
                    fix="Stored answers are kept; run the same command with a larger --budget to resume.",
                    code="budget-spent",
                )
            )
            raise PaceClosed


def _check_abilities(spec: ModelSpec, request: Request) -> None:
    """Make sure that the model takes what the request holds.

    Raises:
        RunError: if it would pass over tools, a search or pictures in silence.
    """
    check_images(spec, request)
    lacking = "call tools" if request.tools and not spec.calls_tools else ""
    lacking = "search the web" if request.searches and not spec.searches else lacking
    lacking = f"take {request.options}" if request.options and not spec.takes_options else lacking
    if lacking:
        raise RunError(
            f"the model cannot {lacking}",
            where=spec.name,
            expected="a model whose abilities say so",
            fix="Choose another model for the role, or say in [models.NAME.abilities] that it can.",
            code="lacks-ability",
        )


def _asks_to_wait(error: CallError) -> bool:
    """Whether everybody is to wait: too many requests, or busy and saying for how long."""
    return error.status == 429 or (error.retry_after_s is not None and error.status in _OVERLOAD)


def first_error(error: BaseException) -> BaseException:
    """The error that tells most of several that were raised at once."""
    flat = [error]
    while any(isinstance(item, BaseExceptionGroup) for item in flat):
        flat = [part for item in flat for part in (item.exceptions if isinstance(item, BaseExceptionGroup) else [item])]
    kinds = (HelloFreshError, GivenUpError, PaceClosed)
    return next((item for kind in kinds for item in flat if isinstance(item, kind)), flat[0])


@contextlib.contextmanager
def _signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM stop the run in order; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    names = ("SIGINT", "SIGTERM")
    before = {name: signal.getsignal(signal.Signals[name]) for name in names}
    for name in names:
        try:
            loop.add_signal_handler(signal.Signals[name], stop, name)
        except NotImplementedError:  # Windows
            signal.signal(signal.Signals[name], lambda *_, name=name: loop.call_soon_threadsafe(stop, name))
    try:
        yield
    finally:
        for name in names:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(signal.Signals[name])
            signal.signal(signal.Signals[name], before[name])
