"""Runs a regime of one step by a provider's batches, with the outputs and the journal that single requests would give.

`batches.json` in the run's folder says what was handed in. It is on disk before a batch is handed in, and has the
batch's id before the first look at it, so that a run that was stopped at any instant goes on with the batches that it
has: one whose id was lost in between is found by its label.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.files import as_model, read_json, write_json
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.models import Answer, CallError, Finish, ModelSpec, Request
from hellofresh.models.batches import Batches, BatchQuestion, BatchResult, BatchState, BatchStatus, sorted_out
from hellofresh.models.sight import check_images
from hellofresh.runs.journal import Journal, JournalKey, Scope, recount
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.regimes import MAIN, Regime
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
from hellofresh.tasks.outputs import Output
from hellofresh.tasks.samples import Sample

FILE = "batches.json"
_MOST_ROUNDS = 3
"""How often a question is handed in at most."""
_POLL_S = 30.0
_LONGEST_WAIT_S = 86_400.0
_T = TypeVar("_T")


@dataclass(slots=True)
class _Batch:
    """One batch: the label by which it is found at the provider, the keys of its questions, and how far it is.

    `id` is the provider's, None until it is known; `collected` is whether its results are in the journal; other roles
    than `main` are of earlier versions.
    """

    label: str
    keys: list[str]
    id: str | None = None
    collected: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    role: str = MAIN
    cached_in: int = 0
    cache_writes: int = 0


class BatchRecord:
    """`batches.json` of the run in a folder.

    Raises:
        DataError: if it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        found = read_json(self._path).get("batches") if self._path.is_file() else []
        self.batches = as_model(list[_Batch], found, where=str(self._path), code="bad-batches")

    def save(self) -> None:
        rows = [asdict(batch) for batch in self.batches]
        for row in rows:
            for name in ("cached_in", "cache_writes"):
                if not row[name]:
                    del row[name]
        write_json(self._path, {"version": 1, "batches": rows})

    @property
    def open(self) -> list[_Batch]:
        return [batch for batch in self.batches if not batch.collected]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(key for batch in self.batches for key in batch.keys)

    def savings(self, specs: Mapping[str, ModelSpec], role: str = "") -> float:
        """US dollars by which the answers, of one role or of all, were cheaper than asked singly, by known prices."""
        saved = 0.0
        for batch in self.batches:
            if role not in ("", batch.role):
                continue
            spec = specs.get(batch.role, specs[MAIN])
            took = (batch.tokens_in, batch.tokens_out, batch.cached_in, batch.cache_writes)
            saved += (Ledger(spec).price(*took) or 0.0) * (1 - price_share(spec))
        return saved


def price_share(spec: ModelSpec) -> float:
    """Share of the price that answers of batches cost; 1 where that is not known."""
    return 1.0 if spec.price is None or spec.price.batch_factor is None else spec.price.batch_factor


@dataclass(slots=True)
class _BatchClient:
    """Asks by batches, waits for them, and looks at them every `poll_s` seconds.

    `errors` and `rounds` hold each question's last error and how often it was handed in; `seen` the labels of batches
    whose results were looked through.
    """

    batches: Batches
    journal: Journal
    record: BatchRecord
    tally: Tally
    budget_usd: float | None
    poll_s: float
    errors: dict[str, CallError] = field(default_factory=dict)
    rounds: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    ledger: Ledger = field(init=False)

    async def start(self) -> None:
        """Count what was asked before; find batches that were handed in just before an end, forget those never taken.

        Raises:
            CallError: if the provider cannot be reached.
        """
        self.ledger = Ledger(self.batches.spec)
        for entry in self.journal.entries():
            recount(self.ledger, entry)
        for batch in self.record.open:
            if batch.id is None:
                batch.id = await self._patiently(partial(self.batches.find, batch.label))
                if batch.id is None:
                    self.record.batches.remove(batch)
                self.record.save()
        self._count_cost()

    def unanswered(self, questions: Mapping[str, JournalKey]) -> dict[str, JournalKey]:
        """The questions without an answer that are worth handing in."""
        given_up = {
            key for key, error in self.errors.items() if not error.retryable or self.rounds[key] >= _MOST_ROUNDS
        }
        return {key: item for key, item in questions.items() if key not in self.journal.keys and key not in given_up}

    def answer(self, key: str, question: JournalKey) -> Answer:
        """The stored answer to a question.

        Raises:
            GivenUpError: if the provider gave none.
        """
        found = self.journal.find(key)
        if found is None:
            raise GivenUpError(question, self.errors[key], max(1, self.rounds[key]))
        return found

    async def ask(self, questions: Mapping[str, JournalKey], progress: Callable[[int], None]) -> None:
        """Hand in what is not under way, and wait until all of it is collected.

        Args:
            questions: by key, without an answer so far.
            progress: receives the number of questions that are answered, from time to time.

        Raises:
            RunError: if a batch failed as a whole or was cancelled, or the budget does not cover it.
            CallError: if the provider cannot be reached.
        """
        under_way = {key for batch in self._under_way for key in batch.keys}
        wanted = [key for key in questions if key not in under_way]
        self._check_budget([questions[key].request for key in wanted])
        for start in range(0, len(wanted), self.batches.most):
            await self._hand_in({key: questions[key] for key in wanted[start : start + self.batches.most]})
        waiting = [batch for batch in self._under_way if not questions.keys().isdisjoint(batch.keys)]
        while waiting:
            done, running = sum(key in self.journal.keys for key in questions), []
            for batch in waiting:
                status = await self._patiently(partial(self.batches.status, str(batch.id)))
                if status.state is BatchState.RUNNING:
                    running.append(batch)
                    done += status.done
                else:
                    await self._collect(questions, batch, status)
            progress(min(done, len(questions)))
            waiting = running
            if waiting:
                await asyncio.sleep(self.poll_s)

    @property
    def _under_way(self) -> list[_Batch]:
        return [batch for batch in self.record.open if batch.label not in self.seen]

    async def _hand_in(self, part: Mapping[str, JournalKey]) -> None:
        self.rounds.update(part.keys())
        for key in part:
            self.errors.pop(key, None)
        batch = _Batch(f"hellofresh-{uuid.uuid4().hex}", list(part))
        self.record.batches.append(batch)
        self.record.save()
        attempted: list[bool] = []

        async def attempt() -> str:
            # An attempt whose reply was lost may have been taken nevertheless.
            known = await self.batches.find(batch.label) if attempted else None
            attempted.append(True)
            questions = [BatchQuestion(key, question.request) for key, question in part.items()]
            return known or await self.batches.submit(questions, batch.label)

        try:
            batch.id = await self._patiently(attempt)
        except CallError as error:
            if not error.retryable:
                self.record.batches.remove(batch)
                self.record.save()
            raise
        self.record.save()

    async def _collect(self, questions: Mapping[str, JournalKey], batch: _Batch, status: BatchStatus) -> None:
        """Have the answers of a batch in the journal, then note that they are."""
        where = f"{self.batches.spec.name}, batch {batch.id}"
        if status.state is BatchState.FAILED:
            batch.collected = True
            self.record.save()
            raise RunError(
                f"the batch was refused ({status.message or 'no reason given'})", where=where, code="batch-failed"
            )
        results = await self._patiently(partial(self.batches.results, str(batch.id)))
        found = sorted_out(results, batch.keys, self.batches.spec.name)
        known = [key for key in batch.keys if key in questions or key in self.journal.keys]
        stored = [self._store(questions[key], found[key]) for key in known if key in questions]
        await asyncio.gather(*(future for future in stored if future is not None))
        answers = [answer for key in known if (answer := found[key].answer) is not None]
        batch.tokens_in = sum(answer.tokens_in or 0 for answer in answers)
        batch.tokens_out = sum(answer.tokens_out or 0 for answer in answers)
        batch.cached_in = sum(answer.cached_in for answer in answers)
        batch.cache_writes = sum(answer.cache_writes for answer in answers)
        self.seen.add(batch.label)
        # Answers to questions that are not asked this time stay at the provider, to be collected when they are.
        batch.collected = len(known) == len(batch.keys)
        self.record.save()
        self._count_cost()
        if status.state is BatchState.CANCELLED:
            raise RunError(
                "the batch was cancelled",
                where=where,
                fix="Its answers are kept; run the same command again to request the rest.",
                code="batch-cancelled",
            )

    def _store(self, question: JournalKey, result: BatchResult) -> asyncio.Future[None] | None:
        key = result.custom_id
        if result.answer is None:
            self.errors[key] = result.error or CallError("no result", code="bad-batch", retryable=True)
        elif key not in self.journal.keys:
            try:
                stored = self.journal.store(key, question, result.answer, 0.0)
            except CallError as error:
                self.errors[key] = error
            else:
                self.tally.asked += 1
                self.ledger.add(result.answer, self.ledger.estimate(question.request))
                return stored
        return None

    def _check_budget(self, wanted: Sequence[Request]) -> None:
        if self.budget_usd is None or not wanted:
            return
        estimates = map(self.ledger.estimate, wanted)
        full = sum(self.ledger.price(item.tokens_in, item.tokens_out) or 0.0 for item in estimates)
        if self._spent + full * price_share(self.ledger.spec) > self.budget_usd:
            raise RunError(
                f"the budget of {self.budget_usd:g} USD does not cover a batch of {len(wanted):,} questions",
                where=self.ledger.spec.name,
                fix="No batch was submitted. Run the same command with a larger --budget or a smaller --limit.",
                code="budget-spent",
            )

    @property
    def _spent(self) -> float:
        """What all answers cost at most, those of batches at their part of the price."""
        return max(0.0, self.ledger.at_most_usd - self.record.savings({MAIN: self.batches.spec}))

    def _count_cost(self) -> None:
        self.tally.cost_usd = None if self.ledger.cost_usd is None else self._spent
        self.tally.tokens = self.ledger.tokens_in + self.ledger.tokens_out

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


def check_batchable(regime: Regime) -> None:
    """Refuse a regime whose later questions depend on earlier answers.

    Raises:
        UsageError: if it takes several steps.
    """
    if not asks_once(regime):
        raise UsageError(
            f"the regime {regime.name} takes several steps, and a batch holds the questions of one step",
            expected="a regime with one question a prompt, such as zero-shot",
            fix="Leave out --batch: each question is then asked when its turn comes.",
            code="no-batch-regime",
        )


def asks_once(regime: Regime) -> bool:
    """Whether a regime has one question a prompt, so that none can depend on an answer."""
    return not regime.needs and not regime.roles and regime.ceiling(1) == 1


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
    """Ask about all samples by batches, wait for them, and keep every answer; the assignment's models are not asked.

    Questions that failed in a way that may pass, or for which a batch brought nothing, are handed in again, three times
    in all. What then has no answer stands among the failures, as when asked singly.

    Raises:
        UsageError: if the regime takes several steps.
        RunError: if a batch failed as a whole or was cancelled, or the budget does not cover it.
        CallError: if the provider cannot be reached.
    """
    check_batchable(assignment.regime)
    tally = Tally(len(samples) * assignment.repetitions)
    client = _BatchClient(batches, journal, BatchRecord(folder), tally, assignment.budget_usd, poll_s)
    return asyncio.run(_run_batch(assignment, assignment.items(samples), client, progress))


async def _run_batch(
    assignment: Assignment, items: Sequence[Item], client: _BatchClient, progress: Callable[[Tally], None]
) -> RunResult:
    tally, judged, failures = client.tally, list[JudgedOutput](), list[Failure]()
    try:
        await client.start()
        questions: dict[str, JournalKey] = {}

        def collected(key: str, question: JournalKey) -> Answer:
            questions[key] = question
            return Answer("", Finish.STOP)  # nothing is made of it

        for item in items:
            await _solve(assignment, item, collected)
        tally.recalled = sum(key in client.journal.keys for key in questions)

        def advance(answered: int) -> None:
            tally.done = max(tally.done, answered * len(items) // max(1, len(questions)))
            progress(tally)

        while wanted := client.unanswered(questions):
            before = len(questions) - len(wanted)
            advance(before)
            await client.ask(wanted, lambda answered, before=before: advance(before + answered))  # type: ignore[misc]
        for item in items:
            try:
                outputs = await _solve(assignment, item, client.answer)
            except GivenUpError as given_up:
                failures.append(given_up.failure)
            else:
                judged += [JudgedOutput(item.sample.id, output, item.repetition) for output in outputs]
    finally:
        await client.batches.close()
        await assignment.close()
    tally.done, tally.failed = len(items), len(failures)
    progress(tally)
    return RunResult(judged, tally, failures)


async def _solve(assignment: Assignment, item: Item, answer: Callable[[str, JournalKey], Answer]) -> Sequence[Output]:
    """What the regime makes of a sample with answers that are at hand.

    Raises:
        GivenUpError: if a question gets no answer from its provider.
    """
    scope = Scope(assignment.model.spec, assignment.regime)

    async def ask(step: str, prompt: str, request: Request, *, role: str = MAIN) -> Answer:
        check_images(assignment.model.spec, request)
        asked = assignment.sampled(request, item.repetition)
        question = JournalKey(item.sample.id, step, prompt, asked, item.repetition)
        return answer(scope.key(question), question)

    try:
        return (await assignment.regime.solve(assignment.case(item.sample, ask))).outputs
    except ExceptionGroup as errors:
        raise first_error(errors) from None
