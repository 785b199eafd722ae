"""The board's tables on what was asked and answered: wordings, questions, and the steps to each answer.

Before the reveal there is nothing. Where a release withholds texts, steps are there without words, titles and all of
an address but its host: a search's result may be the post itself, and an agent may put its text into an address.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hellofresh.core.files import canonical_json
from hellofresh.evidence.publishers import site_of
from hellofresh.results.board.sample_rows import PromptRow, QuestionRow, TranscriptStep
from hellofresh.results.split.open import BoardSplit, RunFacts, question_before
from hellofresh.tasks import get_task
from hellofresh.tasks.transcripts import (
    AskedEvent,
    Event,
    NotedEvent,
    QuotedEvent,
    ReadEvent,
    SearchedEvent,
)

_OF_PICTURES = ("number", "image", "source", "unsure", "problem")  # what may be known of a post's picture


def _runs(split: BoardSplit) -> Mapping[str, RunFacts]:
    """The runs by origin; none before the reveal."""
    return split.runs if split.shown else {}


def _frames(split: BoardSplit) -> Mapping[str, Mapping[tuple[str, str], Sequence[str]]]:
    """By the text before the instruction, the wordings, each with its name, and the runs that were asked with it."""
    found: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for origin, run in {} if split.withheld else _runs(split).items():
        if stored := run.prompts():
            for wording in stored.prompts.items():
                found[stored.frame][wording].append(origin)
    return found


def prompts(split: BoardSplit) -> Iterator[PromptRow]:
    """Every wording with its runs."""
    for number, wordings in enumerate(_frames(split).values()):
        yield from (PromptRow(number, *wording, tuple(origins)) for wording, origins in wordings.items())


def questions(split: BoardSplit) -> Iterator[QuestionRow]:
    """What precedes the instruction, for each sample whose texts are available."""
    for number, frame in enumerate(_frames(split)):
        task = get_task(split.place.task)
        for sample in split.full:
            if isinstance(sample, task.sample_type):
                yield QuestionRow(sample.id, number, question_before(frame, task, sample))


def transcripts(split: BoardSplit) -> Iterator[Iterable[TranscriptStep]]:
    """What happened on the way to each answer, in order, run by run; titles of documents only where these may be passed
    on.
    """
    known = {sample.id for sample in split.samples}
    titled = all(corpus.is_published for corpus in split.corpora)
    for origin, run in _runs(split).items():
        steps = _steps(split, origin, run, known)
        yield steps if titled else (replace(step, title="") for step in steps)


def _steps(split: BoardSplit, origin: str, run: RunFacts, known: set[str]) -> Iterator[TranscriptStep]:
    found = run.transcripts()
    for transcript in found:
        if transcript.repetition == 1 and transcript.id in known:
            for place, event in enumerate(transcript.events):
                step = _step(transcript.id, origin, place, event)
                # Without all that may quote the sample; what became of a page is in our own words.
                if split.withheld:
                    problem = step.problem if step.kind == "read" else ""
                    step = replace(step, text="", title="", url=site_of(step.url), problem=problem)
                yield step
    for place, said in enumerate(() if found or split.withheld else run.responses()):
        if said.repetition == 1 and said.sample in known:
            yield TranscriptStep(said.sample, origin, place, "asked", said.prompt, text=said.text)


def _step(sample: str, origin: str, place: int, event: Event) -> TranscriptStep:
    step = TranscriptStep(sample, origin, place, event.kind, prompt=event.prompt)
    match event:
        case AskedEvent():
            return replace(step, name=event.step, role=event.role, model=event.model, text=event.text,
                           tokens_in=event.tokens_in, tokens_out=event.tokens_out, cost_usd=event.cost_usd)  # fmt: skip
        case SearchedEvent():
            return replace(step, number=event.number, text=event.query, problem=event.problem or event.fallback)
        case ReadEvent():
            return replace(
                step, number=event.number, text=event.summary, url=event.url, title=event.title, problem=event.dropped
            )
        case QuotedEvent():
            return replace(
                step,
                text="\n".join(quote for quotes in event.said.values() for quote in quotes),
                url=event.url,
                problem=event.problem,
            )
        case NotedEvent(name="picture"):
            # Text in a post's picture belongs to the post; the people in it are private.
            shown = {name: event.values[name] for name in _OF_PICTURES if name in event.values}
            return replace(step, name=event.name, text=canonical_json(shown))
        case NotedEvent():
            return replace(step, name=event.name, text=canonical_json(dict(event.values)))
