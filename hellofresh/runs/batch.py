"""Asks through a provider's batches, into the same journal under the same keys as asking singly.

`batches.json` in the run's folder says what was handed in. It is on disk before a batch is handed in, and has the
batch's id before the first look at it, so that a run that was stopped at any instant goes on with the batches that it
has: one whose id was lost in between is found by its label.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from hellofresh.errors import DataError, RunError, UsageError
from hellofresh.files import as_type, read_json, write_json
from hellofresh.models import Answer, CallError, Finish, ModelSpec, Request
from hellofresh.models.batches.base import Batches, BatchQuestion, BatchResult, BatchState, BatchStatus, sorted_out
from hellofresh.net.retry import RetryPolicy
from hellofresh.regimes import MAIN, Case, Regime
from hellofresh.runs.journal import Journal, JournalKey, Scope, recount
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.runner import Assignment, Failure, JudgedOutput, RunResult, Tally
from hellofresh.samples import Sample

__all__ = ["FILE", "batch_savings", "batches_under_way", "check_regime", "price_share", "run_batch"]

FILE = "batches.json"
_LONGEST_WAIT_S = 86_400.0
_ROUNDS = 3
_POLL_S = 30.0
_STORED_AT_ONCE = 500
_T = TypeVar("_T")


@dataclass(slots=True)
class _Batch:
    """One batch: what was asked in it, and how far that is.

    Attributes:
        label: by which it is found at the provider.
        keys: keys of its questions.
        id: the provider's, None until it is known.
        collected: whether its results are in the journal.
        tokens_in, tokens_out: of its answers.
    """

    label: str
    keys: list[str]
    id: str | None = None
    collected: bool = False
    tokens_in: int = 0
    tokens_out: int = 0


class _Record:
    """`batches.json`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.batches = _read(self._path)

    def save(self) -> None:
        """Have it on disk."""
        fields = _Batch.__dataclass_fields__
        rows = [{name: getattr(batch, name) for name in fields} for batch in self.batches]
        write_json(self._path, {"version": 1, "batches": rows})

    @property
    def open(self) -> list[_Batch]:
        """What is still to be collected."""
        return [batch for batch in self.batches if not batch.collected]


def _read(path: Path) -> list[_Batch]:
    if not path.is_file():
        return []
    try:
        return as_type(list[_Batch], read_json(path).get("batches"), where=str(path))
    except DataError as error:
        raise DataError(f"cannot be read ({error.what})", where=str(path), code="bad-batches") from None


def batches_under_way(folder: Path) -> int:
    """How many batches of a run are not collected yet."""
    return len([batch for batch in _read(folder / FILE) if not batch.collected])


def price_share(spec: ModelSpec) -> float:
    """Share of the price that answers of batches cost; 1 where that is not known."""
    return 1.0 if spec.price is None or spec.price.batch_factor is None else spec.price.batch_factor


def batch_savings(folder: Path, spec: ModelSpec) -> float:
    """US dollars by which the answers of a run's batches were cheaper than asked singly; 0 where no price is known."""
    return _saved(_read(folder / FILE), spec)


def _saved(batches: Sequence[_Batch], spec: ModelSpec) -> float:
    tokens_in, tokens_out = sum(batch.tokens_in for batch in batches), sum(batch.tokens_out for batch in batches)
    return (Ledger(spec).price(tokens_in, tokens_out) or 0.0) * (1 - price_share(spec))


@dataclass(frozen=True, slots=True)
class _Question:
    order: int
    key: str
    journal_key: JournalKey


@dataclass(slots=True)
class _Plan:
    """Everything that is to be asked, in order, and what each question came to."""

    samples: Sequence[tuple[Sample, int]]
    questions: dict[str, _Question] = field(default_factory=dict)
    errors: dict[str, CallError] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)


def run_batch(
    assignment: Assignment,
    samples: Sequence[Sample],
    journal: Journal,
    batches: Batches,
    progress: Callable[[Tally], None],
    *,
    folder: Path,
    poll_s: float = _POLL_S,
) -> RunResult:
    """Ask about all samples by batches, wait for them, and keep every answer.

    Questions that failed in a way that may pass, or for which a batch brought nothing, are handed in again, three times
    in all. What then has no answer stands among the failures, as when asked singly.

    Args:
        assignment: as for `run`; its model is not asked.
        samples: what to judge.
        journal: where answers are kept.
        batches: the provider's way of taking batches, of the same model.
        progress: told how far it is.
        folder: the run's folder.
        poll_s: seconds between two looks at the batches.

    Raises:
        UsageError: if the regime's questions follow from earlier answers.
        RunError: if a batch failed as a whole or was cancelled, or the budget does not cover it.
        CallError: if the provider cannot be reached.
    """
    check_regime(assignment.regime)
    return asyncio.run(_BatchRun(assignment, journal, batches, progress, _Record(folder), poll_s).run(samples))


def check_regime(regime: Regime) -> None:
    """Make sure that all of a regime's questions are known before the first answer.

    Raises:
        UsageError: if they follow from earlier answers.
    """
    if regime.needs or regime.roles or regime.ceiling(1) != 1:
        raise UsageError(
            f"the regime {regime.name!r} cannot be asked by batches: its questions follow from earlier answers",
            expected="a regime with one question a prompt, such as zero-shot",
            code="no-batch-regime",
        )


@dataclass(slots=True)
class _BatchRun:
    assignment: Assignment
    journal: Journal
    batches: Batches
    progress: Callable[[Tally], None]
    record: _Record
    poll_s: float
    tally: Tally = field(default_factory=lambda: Tally(0))
    seen: set[str] = field(default_factory=set)
    """Labels of batches whose results were looked through."""

    @property
    def scope(self) -> Scope:
        """What keys are made of besides the question."""
        return Scope(self.assignment.model.spec, self.assignment.regime)

    async def run(self, samples: Sequence[Sample]) -> RunResult:
        pairs = [(sample, n) for n in range(1, self.assignment.repetitions + 1) for sample in samples]
        plan = _Plan(pairs)
        self.tally = Tally(len(pairs))
        try:
            await self._collect_questions(plan)
            self.tally.recalled = len(plan.questions) - len(self._missing(plan))
            await self._recover()
            await self._work(plan)
        finally:
            await self.batches.close()
            await self.assignment.model.close()
        return await self._result(plan)

    async def _collect_questions(self, plan: _Plan) -> None:
        """Play the regime through; none of its questions depends on an answer."""
        scope = self.scope
        for order, (sample, repetition) in enumerate(plan.samples):
            await self._judge(sample, repetition, _Collector(self.assignment, scope, sample, repetition, plan, order))

    async def _judge(self, sample: Sample, repetition: int, ask: _Collector | _Recaller) -> list[JudgedOutput]:
        chosen = self.assignment
        outcome = await chosen.regime.solve(
            Case(sample, chosen.prompts, chosen.prompt_set, chosen.slots(sample), ask, chosen.web)
        )
        return [JudgedOutput(sample.id, output, repetition) for output in outcome.outputs]

    def _missing(self, plan: _Plan) -> list[_Question]:
        return [question for key, question in plan.questions.items() if self.journal.find(key) is None]

    async def _recover(self) -> None:
        """Find batches that were handed in just before an end, and forget those that never were."""
        for batch in self.record.open:
            if batch.id is None:
                batch.id = await self._patiently(partial(self.batches.find, batch.label))
                if batch.id is None:
                    self.record.batches.remove(batch)
                self.record.save()

    async def _work(self, plan: _Plan) -> None:
        while True:
            await self._submit(plan)
            waiting = [batch for batch in self._under_way if not plan.questions.keys().isdisjoint(batch.keys)]
            if not waiting:
                return
            await self._wait(plan, waiting)

    @property
    def _under_way(self) -> list[_Batch]:
        return [batch for batch in self.record.open if batch.label not in self.seen]

    async def _submit(self, plan: _Plan) -> None:
        under_way = {key for batch in self._under_way for key in batch.keys}
        wanted = [
            question
            for question in self._missing(plan)
            if question.key not in under_way and self._worth_asking(plan, question.key)
        ]
        self._check_budget(wanted)
        for start in range(0, len(wanted), self.batches.most):
            part = wanted[start : start + self.batches.most]
            for question in part:
                plan.rounds[question.key] = plan.rounds.get(question.key, 0) + 1
                plan.errors.pop(question.key, None)
            batch = _Batch(f"hellofresh-{uuid.uuid4().hex}", [question.key for question in part])
            self.record.batches.append(batch)
            self.record.save()
            await self._hand_in(batch, part)

    def _worth_asking(self, plan: _Plan, key: str) -> bool:
        error = plan.errors.get(key)
        return (error is None or error.retryable) and plan.rounds.get(key, 0) < _ROUNDS

    async def _hand_in(self, batch: _Batch, part: Sequence[_Question]) -> None:
        questions = [BatchQuestion(question.key, question.journal_key.request) for question in part]

        async def attempt() -> str:
            # An attempt whose reply was lost may have been taken nevertheless.
            known = await self.batches.find(batch.label) if attempted else None
            attempted.append(True)
            return known or await self.batches.submit(questions, batch.label)

        attempted: list[bool] = []
        try:
            batch.id = await self._patiently(attempt)
        except CallError as error:
            if not error.retryable:
                self.record.batches.remove(batch)
                self.record.save()
            raise
        self.record.save()

    async def _wait(self, plan: _Plan, waiting: list[_Batch]) -> None:
        """Until the first of the batches is collected."""
        while True:
            done = self._answered(plan)
            collected = False
            for batch in waiting:
                status = await self._patiently(partial(self.batches.status, str(batch.id)))
                if status.state is not BatchState.RUNNING:
                    await self._collect(plan, batch, status)
                    collected = True
                else:
                    done += status.done
            self._tell(plan, done)
            if collected:
                return
            await asyncio.sleep(self.poll_s)

    def _answered(self, plan: _Plan) -> int:
        return len(plan.questions) - len(self._missing(plan))

    def _tell(self, plan: _Plan, done: int) -> None:
        share = min(1.0, done / max(1, len(plan.questions)))
        self.tally.done = int(share * self.tally.samples)
        self._count_cost()
        self.progress(self.tally)

    async def _collect(self, plan: _Plan, batch: _Batch, status: BatchStatus) -> None:
        where = f"{self.batches.spec.name}, batch {batch.id}"
        if status.state is BatchState.FAILED:
            batch.collected = True
            self.record.save()
            raise RunError(
                f"the batch was refused ({status.message or 'no reason given'})", where=where, code="batch-failed"
            )
        results = await self._patiently(partial(self.batches.results, str(batch.id)))
        found = sorted_out(results, batch.keys, self.batches.spec.name)
        await self._keep(plan, batch, found)
        if status.state is BatchState.CANCELLED:
            raise RunError(
                "the batch was cancelled",
                where=where,
                fix="Its answers are kept; run the same command again to request the rest.",
                code="batch-cancelled",
            )

    async def _keep(self, plan: _Plan, batch: _Batch, found: dict[str, BatchResult]) -> None:
        """Have the answers in the journal, then note that they are."""
        known = [key for key in batch.keys if key in plan.questions]
        for start in range(0, len(known), _STORED_AT_ONCE):
            part = known[start : start + _STORED_AT_ONCE]
            await asyncio.gather(*(self._store(plan, plan.questions[key], found[key]) for key in part))
        answers = [answer for key in known if (answer := found[key].answer) is not None]
        batch.tokens_in = sum(answer.tokens_in or 0 for answer in answers)
        batch.tokens_out = sum(answer.tokens_out or 0 for answer in answers)
        self.seen.add(batch.label)
        # Answers to questions that are not asked this time stay at the provider, to be collected when they are.
        batch.collected = len(known) == len(batch.keys)
        self.record.save()

    async def _store(self, plan: _Plan, question: _Question, result: BatchResult) -> None:
        if result.answer is None:
            plan.errors[question.key] = result.error or CallError("no result", code="bad-batch", retryable=True)
        elif self.journal.find(question.key) is None:
            try:
                await self.journal.store(question.key, question.journal_key, result.answer, 0.0)
            except CallError as error:
                plan.errors[question.key] = error
            else:
                self.tally.asked += 1

    def _check_budget(self, wanted: Iterable[_Question]) -> None:
        budget, ledger = self.assignment.budget_usd, self._ledger()
        if budget is None:
            return
        estimates = [ledger.estimate(question.journal_key.request) for question in wanted]
        if not estimates:
            return
        whole = ledger.price(sum(e.tokens_in for e in estimates), sum(e.tokens_out for e in estimates)) or 0.0
        if self._spent(ledger) + whole * price_share(self.batches.spec) > budget:
            raise RunError(
                f"the budget of {budget:g} USD does not cover a batch of {len(estimates):,} questions",
                where=self.batches.spec.name,
                fix="No batch was submitted. Run the same command with a larger --budget or a smaller --limit.",
                code="budget-spent",
            )

    def _ledger(self) -> Ledger:
        ledgers = Ledgers({MAIN: self.batches.spec})
        for entry in self.journal.entries():
            recount(ledgers, entry)
        return ledgers.of(MAIN)

    def _spent(self, ledger: Ledger) -> float:
        """What all answers cost at most, those of batches at their part of the price."""
        return max(0.0, ledger.at_most_usd - _saved(self.record.batches, self.batches.spec))

    def _count_cost(self) -> None:
        ledger = self._ledger()
        self.tally.cost_usd = None if ledger.cost_usd is None else self._spent(ledger)
        self.tally.tokens = ledger.tokens_in + ledger.tokens_out

    async def _patiently(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Try again what may pass; the last error is raised."""
        policy = RetryPolicy(first_s=2.0, most_s=self.poll_s, retry_after_s=_LONGEST_WAIT_S)
        for attempt in count(1):
            try:
                return await call()
            except CallError as error:
                wait_s = policy.next_wait_s(attempt, error.retry_after_s or None)
                if not error.retryable or wait_s is None:
                    raise
                await asyncio.sleep(wait_s)
        raise AssertionError("counting has no end")

    async def _result(self, plan: _Plan) -> RunResult:
        judged: list[JudgedOutput] = []
        failures: list[Failure] = []
        failed: dict[int, _Question] = {}
        for question in self._missing(plan):
            failed.setdefault(question.order, question)
        scope = self.scope
        for order, (sample, repetition) in enumerate(plan.samples):
            if order in failed:
                failures.append(self._failure(plan, failed[order]))
            else:
                judged += await self._judge(
                    sample, repetition, _Recaller(self.assignment, scope, sample, repetition, self.journal)
                )
        self.tally.done, self.tally.failed = len(plan.samples), len(failures)
        self._count_cost()
        self.progress(self.tally)
        return RunResult(judged, self.tally, failures)

    def _failure(self, plan: _Plan, question: _Question) -> Failure:
        error = plan.errors.get(question.key) or CallError("no result", code="bad-batch", retryable=True)
        name = question.journal_key
        rounds = plan.rounds.get(question.key, 1)
        return Failure(name.sample, name.repetition, name.step, name.prompt, error.code, str(error), rounds)


@dataclass(frozen=True, slots=True)
class _Name:
    """Gives a regime's questions the names and keys that the runner gives them."""

    assignment: Assignment
    scope: Scope
    sample: Sample
    repetition: int

    def question(self, step: str, prompt: str, request: Request) -> JournalKey:
        """The question as it is asked."""
        return JournalKey(
            self.sample.id, step, prompt, self.assignment.seeded(request, self.repetition), self.repetition
        )


@dataclass(frozen=True, slots=True)
class _Collector(_Name):
    """Takes a regime's questions down, and answers each with nothing."""

    plan: _Plan
    order: int

    async def __call__(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        question = self.question(step, prompt, request)
        key = self.scope.key(question)
        self.plan.questions[key] = _Question(self.order, key, question)
        return Answer("", Finish.STOP)


@dataclass(frozen=True, slots=True)
class _Recaller(_Name):
    """Answers a regime's questions from the journal."""

    journal: Journal

    async def __call__(self, step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        answer = self.journal.find(self.scope.key(self.question(step, prompt, request)))
        if answer is None:
            raise RunError("a question changed with its answers", where=self.sample.id, code="no-batch-regime")
        return answer
