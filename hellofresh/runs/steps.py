"""What each step of a regime takes: requests, tokens, money and time."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from hellofresh.runs.journal import snapshot
from hellofresh.tasks.transcripts import AskedEvent, read_transcripts

__all__ = ["StepUsage", "kind_of_step", "usage_by_step"]

_NUMBERS = re.compile(r"(?:-\d+)+$")


def kind_of_step(step: str) -> str:
    """A step without its number: all turns of a conversation are of one kind."""
    return _NUMBERS.sub("", step)


@dataclass(slots=True)
class StepUsage:
    """What a step took in a run.

    Attributes:
        step: kind of step.
        role: who was asked.
        requests: answers that are stored.
        tokens_in, tokens_out: sums over the answers that say how many they took.
        seconds: sum of the times from request to answer.
        cost_usd: sum over all requests; None where that of one is not known, or the run is not finished.
    """

    step: str
    role: str
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None


def usage_by_step(folder: Path) -> tuple[list[StepUsage], int]:
    """What each step took, in the order in which steps come first, and the number of samples (repetitions apart).

    Raises:
        RunError: if the journal or the transcripts are damaged.
    """
    found: dict[tuple[str, str], StepUsage] = {}
    samples = set()
    with snapshot(folder) as journal:
        for entry in journal.entries():
            key = kind_of_step(entry.step), entry.role
            usage = found.setdefault(key, StepUsage(*key))
            usage.requests += 1
            usage.tokens_in += entry.answer.tokens_in or 0
            usage.tokens_out += entry.answer.tokens_out or 0
            usage.seconds += entry.latency_s
            samples.add((entry.sample, entry.repetition))
    order: dict[tuple[str, str], None] = {}
    costs: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for transcript in read_transcripts(folder):
        for event in transcript.events:
            if isinstance(event, AskedEvent):
                key = kind_of_step(event.step), event.role
                order[key] = None
                costs[key].append(event.cost_usd)
    for key, usage in found.items():
        known = [cost for cost in costs[key] if cost is not None]
        usage.cost_usd = sum(known) if len(known) == usage.requests else None
    return [found[key] for key in dict.fromkeys([*(key for key in order if key in found), *found])], len(samples)
