"""Rows of the board on single samples: texts, prompts, transcripts, responses and documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample on the board.

    Attributes:
        label, right, facts: None, None and empty before the reveal.
        published: whether its texts are published.
        title, link: as its task gives them, empty if absent.
        parts, kinds, texts: names, kinds and texts of what it consists of (see `hellofresh.tasks.TextPart`).
        judged, right: number of systems (without baselines and smoke tests) that judged it, and that were right.
    """

    id: str
    period: str
    date: str
    group: str
    license: str
    revealed: bool
    published: bool
    label: int | None
    facts: str
    title: str
    parts: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    link: str
    judged: int
    right: int | None


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One event on the way to a system's answer.

    Attributes:
        id, origin: the sample and the system.
        place: in the transcript, from 0.
        kind: `asked`, `searched`, `read` or `noted`.
        prompt: the prompt that it belongs to, empty where it serves all.
        name: of the step or note.
        role, model: who was asked.
        number: which search of the sample.
        text: the answer, the query, the summary of a page, or what was noted.
        url, title: of a page.
        problem: the error of a search or a page.
        tokens_in, tokens_out, cost_usd: of a request, None where not known.
    """

    id: str
    origin: str
    place: int
    kind: str
    prompt: str = ""
    name: str = ""
    role: str = ""
    model: str = ""
    number: int = 0
    text: str = ""
    url: str = ""
    title: str = ""
    problem: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A wording that runs ended their questions with, where texts may be shown.

    Attributes:
        frame: the number of what stands before it, see `QuestionRow`.
        prompt, instruction: its name and its text.
        origins: of the runs.
    """

    frame: int
    prompt: str
    instruction: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """The filled frame before the wordings for one sample; slots for a run's findings stay unfilled."""

    id: str
    frame: int
    text: str


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document that is relevant to a query or highly ranked by a system, if its text may be shown.

    Attributes:
        id: in the corpus that is searched.
        title, text: of it; long texts are cut.
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RatedResponse:
    """A response with its mean overall ratings by people and judges.

    Attributes:
        id: of the sample.
        address: where the post can be seen.
        system, text, sources: the response; its text is empty where the release withholds texts.
        people, judged: mean overall rating by people, and by models and classifiers; None if absent.
        raters: people who rated it.
    """

    id: str
    address: str
    system: str
    text: str
    sources: tuple[str, ...]
    people: float | None
    judged: float | None
    raters: int
