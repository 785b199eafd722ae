"""The runner: asks a model about samples under a regime, concurrently, and stores every answer.

A failed question is asked again after a while; if it keeps failing, its sample is recorded as a failure, and the run
continues. An error that affects every question (a wrong key, an unknown model, a full disk, a spent budget) ends the
run: no more questions are asked, and answers in flight are still stored.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf

from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, RunError
from hellofresh.core.quarters import utc_text
from hellofresh.models import Answer, CallError, Finish, Limits, Model, ModelSpec, Request, Sampling
from hellofresh.models.sight import check_images
from hellofresh.models.thoughts import without_thought
from hellofresh.runs.counts import NEVER_CAME, WIDER, WIDER_TOKENS, AnswerFate, counted, fate_of, is_spent, remedies
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.journal import Journal, JournalKey, Scope, recount
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.pace import Pace, PaceClosed, Patience, TokenEstimate
from hellofresh.runs.prompts import Prompt
from hellofresh.runs.regimes import MAIN, Need, Regime, read_elsewhere
from hellofresh.tasks.outputs import Choice, Output
from hellofresh.tasks.samples import Sample

_OWN_FAULT = frozenset({None, 200, 400, 413, 422})  # statuses of permanent errors that concern only one question
_OVERLOAD = frozenset({429, 502, 503, 504, 529})  # statuses of overloaded servers, which do not concern the question
_MANY, _GATHER_S = 8, 0.02  # from this concurrency on, answers are gathered for this many seconds before a common flush
_FIRST = 10  # outputs after which a run stops if the answer to none of them has come
# So many replies 403 without a known reason, with no answer in between, end a run; fewer concern their question.
_FORBIDDEN = 3
_WORTH_SAYING_S = 5.0  # a wait from which on it is shown
_LONGEST_S = 366 * 86_400.0  # a server may ask for more than a date can hold
_NEW_OBJECTS = 50_000  # objects after which garbage is looked for
_SEEDS_APART = 100_003  # factor of a regime's seeds, larger than any number of repetitions


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to judge in one repetition; `order` is its place among all."""

    order: int
    sample: Sample
    repetition: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """The models of a run, the equipped regime, and the bounds.

    Attributes:
        model: answers requests of the main role.
        equipment: the regime, its prompts, and what it gets from outside.
        others: models of further roles, by role; `model` serves roles without one.
        watch: called with the step of each question before it is asked or recalled.
        go_on: whether the run goes on where the first answers did not come.
        stored_only: whether nothing is asked, so that samples without stored answers are not judged.
        repetitions: number of repetitions, each with another seed.
        temperature: temperature of all requests, None for the regime's own (0).
        budget_usd: most that the whole run may cost, None for no limit.
        patience: limits of retries.
    """

    model: Model
    equipment: Equipment
    repetitions: int = 1
    temperature: float | None = None
    budget_usd: float | None = None
    patience: Patience = field(default_factory=Patience)
    others: Mapping[str, Model] = field(default_factory=dict)
    watch: Callable[[str], None] = lambda step: None
    go_on: bool = False
    stored_only: bool = False

    @property
    def regime(self) -> Regime:
        return self.equipment.regime

    @property
    def prompts(self) -> Sequence[Prompt]:
        return self.equipment.prompts

    @property
    def models(self) -> Mapping[str, Model]:
        return {MAIN: self.model, **self.others}

    @property
    def specs(self) -> Mapping[str, ModelSpec]:
        return {role: model.spec for role, model in self.models.items()}

    @property
    def samples_at_once(self) -> int:
        """Number of concurrent samples: enough to keep calls in flight while some samples wait for pages, the disk or,
        refused for a moment, the time that a provider asks for;
        one for a model that takes one question at a time, so that a sample's questions are consecutive and share
        its computed prefix.
        """
        in_flight = self.model.spec.limits.in_flight
        if self.regime.all_at_once:
            return sys.maxsize
        if Need.WEB in self.regime.needs:
            return 4 * in_flight + 12
        return 1 if in_flight == 1 else 8 * in_flight

    def sampled(self, request: Request, repetition: int, role: str = MAIN) -> Request:
        """The request with the seed and temperature of a repetition.

        At the run's temperature, the repetition is the seed; at temperature 0, the first repetition has no seed. If a
        regime draws several answers to one question by seeds of its own, every repetition uses different ones.
        """
        seed = repetition if request.seed is None else request.seed * _SEEDS_APART + repetition
        if self.temperature and self.specs.get(role, self.model.spec).sampling is not Sampling.NEVER:
            return replace(request, temperature=self.temperature, seed=seed)
        return request if repetition == 1 else replace(request, seed=seed)

    def items(self, samples: Sequence[Sample]) -> list[Item]:
        """All samples, once per repetition."""
        pairs = ((sample, n) for n in range(1, self.repetitions + 1) for sample in samples)
        return [Item(order, sample, n) for order, (sample, n) in enumerate(pairs)]

    async def close(self) -> None:
        for model in self.models.values():
            await model.close()
        await self.equipment.close()


@dataclass(slots=True)
class Tally:
    """Progress of a run.

    Attributes:
        samples, done, failed: samples to judge (each repetition counts), judged or given up, and given up.
        asked, recalled: answers from the model, and from the journal.
        cost_usd: of the whole run so far, None if unknown.
        tokens: of the whole run so far, where known.
        widened: questions asked again with a wider limit, since the first answer was cut off before its first word.
        limit: of tokens, hidden ones included, at which answers of the model that decides were cut off; 0 if none were.
        fates: outputs by what became of them.
        waiting: why the run waits, '' while it does not.
    """

    samples: int
    done: int = 0
    asked: int = 0
    recalled: int = 0
    failed: int = 0
    cost_usd: float | None = None
    tokens: int = 0
    widened: int = 0
    limit: int = 0
    waiting: str = ""
    fates: Counter[AnswerFate] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class JudgedOutput:
    """The output for one sample, prompt and repetition, and what became of its answer.

    `elsewhere` is the label in an answer that could not be read by the rule, if it states one.
    """

    sample: str
    output: Output
    repetition: int = 1
    fate: AnswerFate = AnswerFate.READ
    elsewhere: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A sample that could not be judged, and its question without an answer; `step` is empty if it is all of them.

    `passing` says whether another attempt may bring one.
    """

    sample: str
    repetition: int
    step: str
    prompt: str
    code: str
    error: str
    attempts: int = 1
    passing: bool = True


@dataclass(frozen=True, slots=True, repr=False)  # asyncio writes out the result of its main task at the end
class RunResult:
    """All outputs and failures of a run, sorted by repetition, sample and prompt."""

    judged: Sequence[JudgedOutput]
    tally: Tally
    failures: Sequence[Failure] = ()


class RunStopped(RunError):  # noqa: N818 - nothing is wrong
    """Raised when a signal stops a run."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"stopped by {name}",
            fix="Stored answers are kept; run the same command again to resume.",
            code="stopped",
        )
        self.exit_code = 128 + signal.Signals[name]


class GivenUpError(Exception):
    """Raised when a question gets no answer in all attempts, so that its sample cannot be judged."""

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
            passing=error.retryable,
        )
        self.error = error


def run(
    assignment: Assignment, samples: Sequence[Sample], journal: Journal, progress: Callable[[Tally], None]
) -> RunResult:
    """Ask about all samples; questions with an answer in the journal are not asked again.

    Raises:
        RunError: if the run cannot go on, or was stopped; all answers so far stay in the journal.
    """
    with asyncio.Runner(loop_factory=_new_loop) as runner, _rare_collections():
        return runner.run(_Runner(assignment, journal, progress).run(samples))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles less often: answers have none, and the search takes a fifth of the processor time."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    gc.freeze()  # what is there already stays
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def _new_loop() -> asyncio.AbstractEventLoop:
    """An event loop, uvloop's if installed, which handles many concurrent answers in half the time."""
    try:
        import uvloop  # an optional dependency
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@dataclass(frozen=True, slots=True)
class _Lane:
    """Access of one role to its model; roles whose models share limits share the pace."""

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
        # Conversations with pauses for the web run concurrently, or the last ones would leave the model idle.
        # Otherwise one at a time, so that a sample's questions are consecutive.
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
        self.forbidden: list[str] = []
        self.forbidding: CallError | None = None
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
                if self.forbidden and self.tally.asked == len(self.forbidden) and self.error is None:
                    self._forbid()  # not one answer came between them
            finally:
                for worker in self.workers:
                    worker.cancel()
                await asyncio.gather(*self.workers, return_exceptions=True)
                await self.assignment.close()
        if self.error is not None:
            raise self.error
        self.tally.cost_usd, self.tally.tokens = self.ledgers.cost_usd, self.ledgers.tokens
        judged = [answer for item in items for answer in self.judged.get(item.order, ())]
        return RunResult(judged, self.tally, [self.failures[order] for order in sorted(self.failures)])

    def _report(self) -> None:
        self.tally.cost_usd, self.tally.tokens = self.ledgers.cost_usd, self.ledgers.tokens
        self.progress(self.tally)

    def _stop(self, name: str) -> None:
        if self.error is not None:  # a second signal: do not wait for questions in flight
            self._cancel()
        self._end(RunStopped(name))

    def _end(self, error: BaseException) -> None:
        """End the run: ask nothing more, and wait a while for questions in flight."""
        if self.error is None:
            self.error = error
            for lane in self.lanes.values():
                lane.pace.close()
            asyncio.get_running_loop().call_later(self.patience.drain_s, self._cancel)

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
                self._give_up(item, given_up.failure, given_up.error)
            except (Exception, ExceptionGroup) as error:
                found = first_error(error)
                if not (isinstance(found, CallError) and found.code == "context-length"):
                    self._end(found)
                    return
                failure = Failure(
                    *(item.sample.id, item.repetition, "", "", found.code, str(found)),
                    passing=False,
                )
                self._give_up(item, failure, found)
            self.tally.done += 1
            self._report()

    async def _judge(self, item: Item) -> None:
        chosen, sample = self.assignment, item.sample
        last: dict[str, Answer] = {}

        async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
            named = role if role in self.lanes else MAIN
            chosen.watch(step)
            asked = chosen.sampled(request, item.repetition, named)
            answer = await self._ask(item.order, JournalKey(sample.id, step, prompt, asked, item.repetition, named))
            if role == MAIN:
                last[prompt] = answer
                self._note_limit(asked, answer)
            return answer

        case = await chosen.equipment.case(sample, ask)
        try:
            outcome = await chosen.regime.solve(case)
        except ExceptionGroup as group:  # a regime may ask several questions at once
            raise first_error(group) from None
        wanted = sorted(prompt.id for prompt in case.prompts)
        if sorted(str(getattr(one, "prompt", "")) for one in getattr(outcome, "outputs", ())) != wanted:
            what = f"the regime {chosen.regime.name} gave {outcome!r:.80} for the sample {sample.id}"
            expected = f"an Outcome with one output for each prompt: {', '.join(wanted)}"
            raise RunError(what, expected=expected, code="bad-outcome")
        if outcome.events:
            events = [event.model_dump(mode="json") for event in outcome.events]
            await self.journal.store_trace(sample.id, item.repetition, events)
        self.judged[item.order] = [
            self._judged(item, output, last.get(output.prompt) or last.get("")) for output in outcome.outputs
        ]
        self._check_first()

    def _note_limit(self, asked: Request, answer: Answer) -> None:
        if answer.finish is Finish.LENGTH:
            limit = self.ledgers.of(MAIN).estimate(asked).tokens_out + (WIDER_TOKENS if answer.is_silent else 0)
            self.tally.limit = max(self.tally.limit, limit)

    def _judged(self, item: Item, output: Output, answer: Answer | None) -> JudgedOutput:
        fate = fate_of(output, answer)
        self.tally.fates[fate] += 1
        elsewhere = None
        if isinstance(output, Choice) and answer is not None and fate not in (AnswerFate.READ, AnswerFate.REFUSED):
            elsewhere = read_elsewhere(answer, self.assignment.equipment.prompt_set.answers)
        return JudgedOutput(item.sample.id, output, item.repetition, fate, elsewhere)

    def _check_first(self) -> None:
        """End the run if not one of the first answers has come, since it would pay for nothing."""
        fates = self.tally.fates
        asked = self.tally.samples * len(self.assignment.prompts)
        if self.assignment.go_on or fates.total() < min(_FIRST, asked) or fates.keys() - NEVER_CAME:
            return
        ledger, counts = self.ledgers.of(MAIN), counted(fates.total(), fates.elements())
        self._end(
            RunError(
                "; ".join(remedies(counts, self.tally.limit, thinks=ledger.thoughts > 0)),
                where=self.assignment.model.spec.name,
                fix="Stored answers are kept. --go-on asks all the same, and scores such answers as wrong.",
                code="no-answers",
            )
        )

    def _give_up(self, item: Item, failure: Failure, error: CallError) -> None:
        self.failures[item.order] = failure
        self.tally.failed += 1
        nothing_yet = not self.tally.asked and not self.tally.recalled
        # without a status nothing answered: the machine, not the question, is at fault
        self.unreachable = self.unreachable + 1 if error.retryable and error.status is None else 0
        self.refused = self.refused + 1 if not error.retryable and nothing_yet else 0
        if self.unreachable >= self.patience.unreachable or self.refused >= self.patience.alike:
            self._end(error)

    async def _ask(self, order: int, question: JournalKey) -> Answer:
        """The answer; one that was cut off before its first word is asked for once more, with a wider limit."""
        answer = await self._asked(order, question)
        if not is_spent(answer):
            return answer
        wider = replace(question.request, max_tokens=question.request.max_tokens + WIDER_TOKENS)
        self.tally.widened += 1
        try:
            return await self._asked(order, replace(question, step=question.step + WIDER, request=wider))
        except GivenUpError as given_up:
            if given_up.error.retryable:
                raise
            return answer  # the model takes no such limit

    async def _asked(self, order: int, question: JournalKey) -> Answer:
        lane = self.lanes[question.role]
        key = lane.scope.key(question)
        found = self.journal.find(key)
        if found is not None:
            self.tally.recalled += 1
            return found
        if self.assignment.stored_only:
            error = CallError(
                "no answer is stored, and nothing is asked", where=lane.model.spec.name, code="not-stored"
            )
            raise GivenUpError(question, error, 0)
        _check_abilities(lane.model.spec, question.request)
        last: list[str] = []
        spent: list[float] = []
        for attempt in range(1, self.patience.attempts + 1):
            try:
                return await self._attempt(order, lane, question, key, spent)
            except CallError as error:
                last.append(f"{error.status} {error.code} {error}")
                if error.code == "context-length":
                    raise  # a regime may retry with a shorter question
                is_last = attempt == self.patience.attempts or sum(spent) >= self.patience.deadline_s
                if error.status == 403:
                    return await self._moderated(lane, question, key, error)
                if not error.retryable and error.status not in _OWN_FAULT:
                    self._end(error)
                    raise PaceClosed from None
                if not error.retryable or is_last or self._is_settled(error, last):
                    raise GivenUpError(question, error, attempt) from None
                await self._wait(lane, error, attempt, key)
        raise AssertionError("the last attempt returns or raises")

    async def _wait(self, lane: _Lane, error: CallError, attempt: int, key: str) -> None:
        """Wait before another attempt, as long as the provider asks."""
        asked_s = error.retry_after_s if _asks_to_wait(error) else None
        wait_s = self.patience.wait_s(attempt, key) if asked_s is None else asked_s
        if wait_s > self.patience.retry_after_s:
            until = utc_text(now() + timedelta(seconds=min(wait_s, _LONGEST_S)))
            fix = f"Stored answers are kept; run the same command again at {until}."
            self._end(
                RunError(f"the provider asks to wait until {until}", where=error.where, fix=fix, code="come-back")
            )
            raise PaceClosed
        if wait_s >= _WORTH_SAYING_S:
            self.tally.waiting = f"waiting {wait_s:.0f} s" + (", as the provider asks" if asked_s is not None else "")
            self._report()
        await lane.pace.sleep(wait_s)
        self.tally.waiting = ""

    async def _moderated(self, lane: _Lane, question: JournalKey, key: str, error: CallError) -> Answer:
        """A refusal with status 403 for an unknown reason: of this question, unless it goes on like that."""
        if self.error is not None:
            raise PaceClosed from None
        self.forbidden.append(key)
        self.forbidding = error
        if len(self.forbidden) >= _FORBIDDEN:
            self._forbid()
            raise PaceClosed from None
        answer = Answer("", Finish.BLOCKED, 0, 0)
        await self.journal.store(key, question, answer, 0.0)
        self.tally.asked += 1
        lane.ledger.add(answer)
        return answer

    def _forbid(self) -> None:
        """End the run for a key that may not ask, and take back what was taken for refused questions."""
        self.journal.forget(self.forbidden)
        if self.forbidding is not None:
            self._end(self.forbidding)

    def _is_settled(self, error: CallError, said: Sequence[str]) -> bool:
        """Whether the server repeats the same error that is not due to overload."""
        alike = self.patience.alike
        settled = error.status is not None and error.status not in _OVERLOAD
        return settled and len(said) >= alike and len(set(said[-alike:])) == 1

    async def _timed(self, lane: _Lane, request: Request, spent: list[float]) -> Answer:
        """One attempt within the remaining time of all attempts; adds its duration to `spent`."""
        clock, at_least_s = asyncio.get_running_loop().time, 0.0
        start = clock()
        try:
            async with asyncio.timeout(self.patience.deadline_s - sum(spent)) if spent else nullcontext():
                return without_thought(await lane.model.ask(request))
        except TimeoutError:
            what = f"no answer within {self.patience.deadline_s:g} s in all, in {len(spent) + 1} attempts"
            at_least_s = inf  # no time is left, even if the loop's clock ended the limit slightly early
            raise CallError(what, where=lane.model.spec.name, code="timeout", retryable=True) from None
        finally:
            spent.append(max(at_least_s, clock() - start))

    async def _attempt(self, order: int, lane: _Lane, question: JournalKey, key: str, spent: list[float]) -> Answer:
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
                    lane.pace.refused(number, error.retry_after_s)
                raise
            finally:
                lane.ledger.reserve(estimate, -1)
            stored = self.journal.store(key, question, answer, spent[-1])
            self.unreachable = 0
            self.forbidden.clear()
            self.tally.asked += 1
            lane.ledger.add(answer, estimate)
            if lane.pace.limits.in_flight == 1:  # its next question should precede those of other samples
                await stored
                return answer
        finally:
            more = 0
            if answer is not None and answer.tokens_in is not None and answer.tokens_out is not None:
                more = answer.tokens_in + answer.tokens_out - estimate.total
            lane.pace.leave(answered=answer is not None, more_tokens=more)
        await stored
        return answer

    def _check_budget(self, ledger: Ledger, estimate: TokenEstimate) -> None:
        budget = self.assignment.budget_usd
        if budget is None:
            return
        more = ledger.most_usd(estimate)
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
    """Check that the model supports the content of the request.

    Raises:
        RunError: if it would silently ignore tools, a search or pictures.
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
    """Whether the server asks for a wait: too many requests, or overload with a waiting time."""
    return error.status == 429 or (error.retry_after_s is not None and error.status in _OVERLOAD)


def first_error(error: BaseException) -> BaseException:
    """The most informative of several errors raised at once."""
    flat = [error]
    while any(isinstance(item, BaseExceptionGroup) for item in flat):
        flat = [part for item in flat for part in (item.exceptions if isinstance(item, BaseExceptionGroup) else [item])]
    kinds = (HelloFreshError, GivenUpError, PaceClosed)
    return next((item for kind in kinds for item in flat if isinstance(item, kind)), flat[0])


@contextmanager
def _signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the run in an orderly way; works only in the main thread."""
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
            with suppress(NotImplementedError):
                loop.remove_signal_handler(signal.Signals[name])
            signal.signal(signal.Signals[name], before[name])
