"""What became of a post that was responded to, read from its transcript and its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from hellofresh.runs.journal import Journal, JournalEntry
from hellofresh.runs.ledger import Ledgers
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent, QuotedEvent, ReadEvent, SearchedEvent

__all__ = ["CitedEvidence", "RespondedPost", "StepUse", "read_responded", "step_kind", "steps_used"]


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """What a page says against a post, or around it, in its own words."""

    url: str
    title: str
    published: str
    priority: str
    refuting: tuple[str, ...]
    context: tuple[str, ...]
    linked: bool


@dataclass(frozen=True, slots=True)
class StepUse:
    """What a step took: requests, seconds of waiting for answers, tokens and cost (None where not known)."""

    step: str
    role: str
    model: str
    requests: int
    seconds: float
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class RespondedPost:
    """A response and what it rests on.

    Attributes:
        folder: where everything is kept.
        text, links, status: of the response.
        smoke_test: whether the model only shows that the machinery works.
        until: nothing younger was used.
        queries: what was searched for.
        evidence: pages with something to say, the best first.
        pictures: their descriptions.
        left_out: pages that were found and not used, by reason.
        searches_failed: searches that brought nothing because they failed.
        invented_links: links that the model wrote and was not given.
        steps: what each step took, in order.
        seconds: from the start of this call to its end.
        cost_usd: of all steps, also of earlier calls; None where not known.
        notes: what should be known of how it was made.
    """

    folder: Path
    text: str
    links: tuple[str, ...]
    status: str
    smoke_test: bool
    until: str
    queries: tuple[str, ...]
    evidence: tuple[CitedEvidence, ...]
    pictures: tuple[str, ...]
    left_out: Mapping[str, int]
    searches_failed: int
    invented_links: tuple[str, ...]
    steps: tuple[StepUse, ...]
    seconds: float
    cost_usd: float | None
    notes: tuple[str, ...]


def step_kind(step: str) -> str:
    """A step's name without its number."""
    return step.rstrip("0123456789").rstrip("-")


def steps_used(journal: Journal, ledgers: Ledgers, events: Sequence[Event]) -> tuple[StepUse, ...]:
    """What each kind of step took, in the order of the transcript."""
    kinds = dict.fromkeys(step_kind(event.step) for event in events if isinstance(event, AskedEvent))
    order = {kind: number for number, kind in enumerate(kinds)}

    def place(entry: JournalEntry) -> tuple[int, str]:
        return order.get(step_kind(entry.step), len(order)), entry.role

    groups = groupby(sorted(journal.entries(), key=place), key=place)
    return tuple(_used(list(entries), ledgers) for _, entries in groups)


def _used(entries: Sequence[JournalEntry], ledgers: Ledgers) -> StepUse:
    role = entries[0].role
    ledger = ledgers.of(role)
    told = all(entry.answer.tokens_in is not None and entry.answer.tokens_out is not None for entry in entries)
    tokens_in = sum(entry.answer.tokens_in or 0 for entry in entries)
    tokens_out = sum(entry.answer.tokens_out or 0 for entry in entries)
    return StepUse(
        step=step_kind(entries[0].step),
        role=role,
        model=ledger.spec.name,
        requests=len(entries),
        seconds=round(sum(entry.latency_s for entry in entries), 2),
        tokens_in=tokens_in if told else None,
        tokens_out=tokens_out if told else None,
        cost_usd=ledger.price(tokens_in, tokens_out) if told or ledger.free else None,
    )


def read_responded(
    output: Response,
    events: Sequence[Event],
    *,
    steps: tuple[StepUse, ...],
    folder: Path,
    smoke_test: bool,
    seconds: float,
    notes: tuple[str, ...],
) -> RespondedPost:
    """Put together what is to be known of a response."""
    pages = {event.final_url: event for event in events if isinstance(event, ReadEvent) and event.final_url}
    quoted = [event for event in events if isinstance(event, QuotedEvent) and (event.refuting or event.context)]
    noted = {event.name: event.values for event in events if isinstance(event, NotedEvent)}
    described = [event.values for event in events if isinstance(event, NotedEvent) and event.name == "picture"]
    searched = [event for event in events if isinstance(event, SearchedEvent)]
    costs = [step.cost_usd for step in steps]
    hallucinated = noted.get("response", {}).get("hallucinated", ())
    return RespondedPost(
        folder=folder,
        text=output.text,
        links=output.sources,
        status=str(output.status),
        smoke_test=smoke_test,
        until=str(noted.get("settings", {}).get("until", "")),
        queries=tuple(event.query for event in searched),
        evidence=tuple(_cited(event, pages.get(event.url), output.sources) for event in quoted),
        pictures=tuple(str(values["description"]) for values in described),
        left_out=dict(Counter(event.dropped for event in events if isinstance(event, ReadEvent) and event.dropped)),
        searches_failed=sum(bool(event.problem) for event in searched),
        invented_links=tuple(map(str, hallucinated)) if isinstance(hallucinated, list | tuple) else (),
        steps=steps,
        seconds=seconds,
        cost_usd=None if None in costs else round(sum(cost or 0.0 for cost in costs), 6),
        notes=notes,
    )


def _cited(event: QuotedEvent, page: ReadEvent | None, links: Sequence[str]) -> CitedEvidence:
    title, published = ("", "") if page is None else (page.title, page.published)
    linked = event.url in links
    return CitedEvidence(event.url, title, published, event.priority, event.refuting, event.context, linked)
