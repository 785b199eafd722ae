"""Hands requests in as a provider's batches and puts the answers into the journal, under the keys of single requests.

`batches.json` in the run's folder says what was handed in. It is on disk before a batch is handed in, and has the
batch's id before the first look at it, so that a run that was stopped at any instant goes on with the batches that it
has: one whose id was lost in between is found by its label.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from hellofresh.core.errors import DataError, RunError
from hellofresh.core.files import as_model, read_json, write_json
from hellofresh.core.net.retry import RetryPolicy
from hellofresh.models import CallError, ModelSpec
from hellofresh.models.batches.base import Batches, BatchQuestion, BatchResult, BatchState, BatchStatus, sorted_out
from hellofresh.runs.journal import Journal, JournalKey, recount
from hellofresh.runs.ledger import Ledger, Ledgers
from hellofresh.runs.regimes import MAIN
from hellofresh.runs.runner import Tally

__all__ = ["FILE", "BatchClient", "batch_savings", "batches_under_way", "price_share"]

FILE = "batches.json"
ROUNDS = 3
"""How often a question is handed in at most."""
_LONGEST_WAIT_S = 86_400.0
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
        role: whose model it is for.
    """

    label: str
    keys: list[str]
    id: str | None = None
    collected: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    role: str = MAIN


class BatchRecord:
    """`batches.json` of the run in a folder.

    Raises:
        DataError: if it cannot be read.
    """

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

    def savings(self, specs: Mapping[str, ModelSpec]) -> float:
        """US dollars by which the answers were cheaper than asked singly, as far as prices are known."""
        return sum(_saved(batch, specs.get(batch.role, specs[MAIN])) for batch in self.batches)


def _saved(batch: _Batch, spec: ModelSpec) -> float:
    return (Ledger(spec).price(batch.tokens_in, batch.tokens_out) or 0.0) * (1 - price_share(spec))


def _read(path: Path) -> list[_Batch]:
    if not path.is_file():
        return []
    try:
        return as_model(list[_Batch], read_json(path).get("batches"), where=str(path))
    except DataError as error:
        raise DataError(f"cannot be read ({error.what})", where=str(path), code="bad-batches") from None


def batches_under_way(folder: Path) -> int:
    """How many batches of a run are not collected yet."""
    return len(BatchRecord(folder).open)


def price_share(spec: ModelSpec) -> float:
    """Share of the price that answers of batches cost; 1 where that is not known."""
    return 1.0 if spec.price is None or spec.price.batch_factor is None else spec.price.batch_factor


def batch_savings(folder: Path, specs: Mapping[str, ModelSpec]) -> float:
    """US dollars by which the answers of a run's batches were cheaper than asked singly; 0 where no price is known."""
    return BatchRecord(folder).savings(specs)


@dataclass(slots=True)
class BatchClient:
    """Asks by batches, and waits for them.

    Attributes:
        batches: the provider's way of taking batches, by role.
        journal, record: where answers are kept, and what was handed in.
        tally: told how much was asked, and what it cost.
        budget_usd: most that the whole run may cost.
        poll_s: seconds between two looks at the batches.
    """

    batches: Mapping[str, Batches]
    journal: Journal
    record: BatchRecord
    tally: Tally
    budget_usd: float | None
    poll_s: float
    _errors: dict[str, CallError] = field(default_factory=dict)
    _rounds: dict[str, int] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    """Labels of batches whose results were looked through."""
    _ledgers: Ledgers = field(init=False)

    def __post_init__(self) -> None:
        self._ledgers = Ledgers(self._specs)

    @property
    def _specs(self) -> Mapping[str, ModelSpec]:
        return {role: batches.spec for role, batches in self.batches.items()}

    async def start(self) -> None:
        """Count what was asked before; find batches that were handed in just before an end, forget those never taken.

        Raises:
            CallError: if the provider cannot be reached.
        """
        for entry in self.journal.entries():
            recount(self._ledgers, entry)
        for batch in self.record.open:
            if batch.id is None:
                batch.id = await self._patiently(partial(self.batches[batch.role].find, batch.label))
                if batch.id is None:
                    self.record.batches.remove(batch)
                self.record.save()
        self._count_cost()

    async def close(self) -> None:
        """Let go of connections."""
        for batches in self.batches.values():
            await batches.close()

    def given_up(self, key: str) -> tuple[CallError, int] | None:
        """Why a question gets no answer, and how often it was handed in; None where it is worth asking."""
        error = self._errors.get(key)
        if error is None or (error.retryable and self._rounds.get(key, 0) < ROUNDS):
            return None
        return error, self._rounds.get(key, 1)

    async def ask(self, questions: Mapping[str, JournalKey], told: Callable[[int], None]) -> None:
        """Hand in what is not under way, and wait until all of it is collected.

        Args:
            questions: by key, without an answer so far.
            told: given the number of questions that are answered, from time to time.

        Raises:
            RunError: if a batch failed as a whole or was cancelled, or the budget does not cover it.
            CallError: if the provider cannot be reached.
        """
        await self._submit(questions)
        waiting = [batch for batch in self._under_way if not questions.keys().isdisjoint(batch.keys)]
        while waiting:
            done, running = sum(key in self.journal.keys for key in questions), []
            for batch in waiting:
                status = await self._patiently(partial(self.batches[batch.role].status, str(batch.id)))
                if status.state is BatchState.RUNNING:
                    running.append(batch)
                    done += status.done
                else:
                    await self._collect(questions, batch, status)
            told(min(done, len(questions)))
            waiting = running
            if waiting:
                await asyncio.sleep(self.poll_s)

    @property
    def _under_way(self) -> list[_Batch]:
        return [batch for batch in self.record.open if batch.label not in self._seen]

    async def _submit(self, questions: Mapping[str, JournalKey]) -> None:
        under_way = {key for batch in self._under_way for key in batch.keys}
        wanted = {
            role: [key for key, question in questions.items() if question.role == role and key not in under_way]
            for role in self.batches
        }
        self._check_budget([questions[key] for keys in wanted.values() for key in keys])
        for role, keys in wanted.items():
            most = self.batches[role].most
            for start in range(0, len(keys), most):
                part = keys[start : start + most]
                for key in part:
                    self._rounds[key] = self._rounds.get(key, 0) + 1
                    self._errors.pop(key, None)
                batch = _Batch(f"hellofresh-{uuid.uuid4().hex}", part, role=role)
                self.record.batches.append(batch)
                self.record.save()
                await self._hand_in(batch, [BatchQuestion(key, questions[key].request) for key in part])

    async def _hand_in(self, batch: _Batch, questions: Sequence[BatchQuestion]) -> None:
        provider = self.batches[batch.role]

        async def attempt() -> str:
            # An attempt whose reply was lost may have been taken nevertheless.
            known = await provider.find(batch.label) if attempted else None
            attempted.append(True)
            return known or await provider.submit(questions, batch.label)

        attempted: list[bool] = []
        try:
            batch.id = await self._patiently(attempt)
        except CallError as error:
            if not error.retryable:
                self.record.batches.remove(batch)
                self.record.save()
            raise
        self.record.save()

    async def _collect(self, questions: Mapping[str, JournalKey], batch: _Batch, status: BatchStatus) -> None:
        provider = self.batches[batch.role]
        where = f"{provider.spec.name}, batch {batch.id}"
        if status.state is BatchState.FAILED:
            batch.collected = True
            self.record.save()
            raise RunError(
                f"the batch was refused ({status.message or 'no reason given'})", where=where, code="batch-failed"
            )
        results = await self._patiently(partial(provider.results, str(batch.id)))
        await self._keep(questions, batch, sorted_out(results, batch.keys, provider.spec.name))
        if status.state is BatchState.CANCELLED:
            raise RunError(
                "the batch was cancelled",
                where=where,
                fix="Its answers are kept; run the same command again to request the rest.",
                code="batch-cancelled",
            )

    async def _keep(self, questions: Mapping[str, JournalKey], batch: _Batch, found: Mapping[str, BatchResult]) -> None:
        """Have the answers in the journal, then note that they are."""
        known = [key for key in batch.keys if key in questions or key in self.journal.keys]
        for start in range(0, len(known), _STORED_AT_ONCE):
            part = known[start : start + _STORED_AT_ONCE]
            await asyncio.gather(*(self._store(questions[key], found[key]) for key in part if key in questions))
        answers = [answer for key in known if (answer := found[key].answer) is not None]
        batch.tokens_in = sum(answer.tokens_in or 0 for answer in answers)
        batch.tokens_out = sum(answer.tokens_out or 0 for answer in answers)
        self._seen.add(batch.label)
        # Answers to questions that are not asked this time stay at the provider, to be collected when they are.
        batch.collected = len(known) == len(batch.keys)
        self.record.save()
        self._count_cost()

    async def _store(self, question: JournalKey, result: BatchResult) -> None:
        key = result.custom_id
        if result.answer is None:
            self._errors[key] = result.error or CallError("no result", code="bad-batch", retryable=True)
        elif key not in self.journal.keys:
            try:
                await self.journal.store(key, question, result.answer, 0.0)
            except CallError as error:
                self._errors[key] = error
            else:
                self.tally.asked += 1
                ledger = self._ledgers.of(question.role)
                ledger.add(result.answer, ledger.estimate(question.request))

    def _check_budget(self, wanted: Sequence[JournalKey]) -> None:
        if self.budget_usd is None or not wanted:
            return
        whole = 0.0
        for question in wanted:
            ledger = self._ledgers.of(question.role)
            estimate = ledger.estimate(question.request)
            price = ledger.price(estimate.tokens_in, estimate.tokens_out) or 0.0
            whole += price * price_share(ledger.spec)
        if self._spent + whole > self.budget_usd:
            raise RunError(
                f"the budget of {self.budget_usd:g} USD does not cover a batch of {len(wanted):,} questions",
                where=", ".join(sorted({self._ledgers.of(question.role).spec.name for question in wanted})),
                fix="No batch was submitted. Run the same command with a larger --budget or a smaller --limit.",
                code="budget-spent",
            )

    @property
    def _spent(self) -> float:
        """What all answers cost at most, those of batches at their part of the price."""
        return max(0.0, self._ledgers.at_most_usd - self.record.savings(self._specs))

    def _count_cost(self) -> None:
        self.tally.cost_usd = None if self._ledgers.cost_usd is None else self._spent
        self.tally.tokens = self._ledgers.tokens_in + self._ledgers.tokens_out

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
