"""Asks a model about samples under a regime, several at once, and keeps every answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hellofresh.models import Answer, Model, Request
from hellofresh.prompts import Prompt, PromptSet
from hellofresh.regimes import Case, Regime
from hellofresh.runs.journal import Journal, JournalKey
from hellofresh.samples import Sample

__all__ = ["Assignment", "Judged", "RunResult", "Tally", "run"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who is asked, how, and with which wordings."""

    model: Model
    regime: Regime
    prompt_set: PromptSet
    prompts: Sequence[Prompt]
    slots: Callable[[Sample], Mapping[str, str]]


@dataclass(slots=True)
class Tally:
    """How far a run has come."""

    samples: int
    done: int = 0
    asked: int = 0
    recalled: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer that decides for one sample and prompt."""

    sample: str
    prompt: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that a run decided, in the order of samples and prompts asked for, whatever order answers came in."""

    judged: Sequence[Judged]
    tally: Tally


def run(
    assignment: Assignment, samples: Sequence[Sample], journal: Journal, progress: Callable[[Tally], None]
) -> RunResult:
    """Ask about all samples; what the journal already holds is not asked again.

    Raises:
        RunError: if the model cannot answer; everything answered until then stays in the journal.
    """
    return asyncio.run(_Runner(assignment, journal, progress, Tally(len(samples))).run(samples))


@dataclass(slots=True)
class _Runner:
    assignment: Assignment
    journal: Journal
    progress: Callable[[Tally], None]
    tally: Tally
    judged: dict[str, list[Judged]] = field(default_factory=dict)

    async def run(self, samples: Sequence[Sample]) -> RunResult:
        waiting = iter(samples)
        workers = min(self.assignment.model.spec.limits.in_flight, max(1, len(samples)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(waiting))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        finally:
            await self.assignment.model.close()
        return RunResult([item for sample in samples for item in self.judged[sample.id]], self.tally)

    async def _work(self, waiting: Iterator[Sample]) -> None:
        for sample in waiting:  # one iterator for all workers: each takes the next sample
            await self._judge(sample)
            self.tally.done += 1
            self.progress(self.tally)

    async def _judge(self, sample: Sample) -> None:
        chosen = self.assignment
        slots = chosen.slots(sample)

        async def ask(step: str, prompt: str, request: Request) -> Answer:
            return await self._ask(JournalKey(sample.id, step, prompt, request))

        outcome = await chosen.regime.judge(Case(sample, chosen.prompts, chosen.prompt_set, slots, ask))
        self.judged[sample.id] = [Judged(sample.id, item.prompt, item.answer) for item in outcome.judgements]

    async def _ask(self, question: JournalKey) -> Answer:
        key = question.sha256(self.assignment.model.spec, self.assignment.regime)
        found = self.journal.find(key)
        if found is not None:
            self.tally.recalled += 1
            return found
        start = time.monotonic()
        answer = await self.assignment.model.ask(question.request)
        self.journal.add(key, question, answer, time.monotonic() - start)
        self.tally.asked += 1
        return answer
