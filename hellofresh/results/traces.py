"""What systems did on the way to their answers: searches and sources, sample by sample, from transcripts of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hellofresh.core.workspace import Workspace
from hellofresh.results.panel import Panel
from hellofresh.tasks.transcripts import (
    Event,
    NotedEvent,
    QuotedEvent,
    ReadEvent,
    SearchedEvent,
    Transcript,
    read_transcripts,
)

__all__ = ["LEANING", "SampleTrace", "Traces", "read_traces"]

LEANING = "leaning"
"""Name of the note with the leaning of a sample's text, from -3 (left) to 3 (right)."""


@dataclass(frozen=True, slots=True)
class SampleTrace:
    """What a system did on one sample.

    Attributes:
        queries: what it searched for, in order.
        failed: searches that brought nothing because they failed.
        sources: addresses of pages that were used, in order, each once.
        leaning: of the sample's text, as a model rated it; None where none did.
        counts: of a response that was written: its words, its links, the links that were removed since they were not
            given, and the pages that refute the sample.
    """

    queries: tuple[str, ...] = ()
    failed: int = 0
    sources: tuple[str, ...] = ()
    leaning: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict)


Traces = Mapping[str, Sequence[SampleTrace | None]]
"""By origin of the system, a trace for each sample of the panel; None where the system was not asked."""


def read_traces(workspace: Workspace, panel: Panel) -> Traces:
    """The traces of all systems of a panel that left any: of their first repetition and the prompt that stands first.

    Raises:
        RunError: if a file of a run is damaged.
    """
    found = {}
    for system in panel.systems:
        first = {item.id: item for item in read_transcripts(workspace.runs / system.origin) if item.repetition == 1}
        if first:
            prompt = system.prompts[0].prompt
            asked = zip(panel.samples, system.headline.asked, strict=True)
            found[system.origin] = [
                _trace(first[sample.id], prompt) if was and sample.id in first else (SampleTrace() if was else None)
                for sample, was in asked
            ]
    return found


def _trace(transcript: Transcript, prompt: str) -> SampleTrace:
    events = [event for event in transcript.events if event.prompt in ("", prompt)]
    searches = [event for event in events if isinstance(event, SearchedEvent)]
    used = (event.final_url or event.url for event in events if isinstance(event, ReadEvent) and not event.dropped)
    leanings = [
        event.values.get("value") for event in events if isinstance(event, NotedEvent) and event.name == LEANING
    ]
    numbers = [float(value) for value in leanings if isinstance(value, int | float)]
    return SampleTrace(
        queries=tuple(event.query for event in searches),
        failed=sum(bool(event.problem) for event in searches),
        sources=tuple(dict.fromkeys(used)),
        leaning=numbers[0] if numbers else None,
        counts=_counts(events),
    )


def _counts(events: Sequence[Event]) -> Mapping[str, float]:
    """What is noted of a response; nothing where none was written."""
    noted = [event.values for event in events if isinstance(event, NotedEvent) and event.name == "response"]
    if not noted:
        return {}
    words, links, removed = (noted[0].get(name) for name in ("words", "links", "hallucinated"))
    return {
        "words": float(words) if isinstance(words, int) else float("nan"),
        "links": float(len(links)) if isinstance(links, list) else float("nan"),
        "hallucinated_links": float(len(removed)) if isinstance(removed, list) else float("nan"),
        "refuting_pages": float(sum(bool(event.refuting) for event in events if isinstance(event, QuotedEvent))),
    }
