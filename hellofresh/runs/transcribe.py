"""Transcripts of a run: the events that its regime handed back, with every request and its answer in their places."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import groupby

from hellofresh.runs.journal import Journal, JournalEntry
from hellofresh.runs.ledger import Ledgers
from hellofresh.tasks.transcripts import AskedEvent, Transcript, parse_event

__all__ = ["transcribe"]


def transcribe(journal: Journal, ledgers: Ledgers, done: Set[tuple[str, int]]) -> Iterator[Transcript]:
    """The transcripts of samples whose regime handed back any event, by sample and repetition.

    Args:
        journal: the run's.
        ledgers: for the names of models, and for prices.
        done: sample and repetition of what was judged.
    """
    traces = {(sample, repetition): trace for sample, repetition, trace in journal.traces()}
    for sample, entries in groupby(journal.entries(), key=lambda entry: entry.sample):
        by_repetition: dict[int, list[JournalEntry]] = {}
        for entry in entries:
            by_repetition.setdefault(entry.repetition, []).append(entry)
        for repetition, asked in sorted(by_repetition.items()):
            if (sample, repetition) not in done or not traces.get((sample, repetition)):
                continue
            # Requests that the regime does not place come last, by prompt and step.
            answers = {(entry.step, entry.prompt): _asked(entry, ledgers) for entry in asked}
            events = [
                answers.pop((event.step, event.prompt), event) if isinstance(event, AskedEvent) else event
                for event in map(parse_event, traces[sample, repetition])
            ]
            yield Transcript(id=sample, repetition=repetition, events=(*events, *answers.values()))


def _asked(entry: JournalEntry, ledgers: Ledgers) -> AskedEvent:
    ledger, answer = ledgers.of(entry.role), entry.answer
    known = answer.tokens_in is not None and answer.tokens_out is not None
    return AskedEvent(
        prompt=entry.prompt,
        step=entry.step,
        role=entry.role,
        model=ledger.spec.name,
        text=answer.text,
        finish=str(answer.finish),
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost_usd=ledger.price(answer.tokens_in or 0, answer.tokens_out or 0) if known else None,
    )
