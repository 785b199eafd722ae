"""What happened on the way to an output, as typed events: asked, searched, read, quoted, noted.

A regime hands back its events in an order that no clock decides. `transcripts.jsonl` of a run has a line for each
sample and repetition: `id`, `repetition` and `events`, in which every request has its answer, tokens and cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from hellofresh.core.errors import RunError
from hellofresh.core.files import read_models
from hellofresh.core.strict import Strict

TRANSCRIPTS = "transcripts.jsonl"


class _Event(Strict):
    """Attributes: prompt: id of the prompt that it belongs to, empty where it serves all of them."""

    prompt: str = ""


class AskedEvent(_Event):
    """A request to a model. A regime says where it stands; what was answered is filled in when the run is exported.

    Attributes:
        step, role: as it was asked.
        model: name of the model.
        text, finish: the answer.
        tokens_in, tokens_out, cost_usd: None where not known.
    """

    kind: Literal["asked"] = "asked"
    step: str
    role: str = "main"
    model: str = ""
    text: str = ""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


class SearchedEvent(_Event):
    """A search.

    Attributes:
        number: which search of the sample it is, from 1.
        query: what was searched for.
        words, cut: words of the model's query, and whether it was cut.
        fallback: why the model's query could not be used; empty if it was.
        results: how many were found.
        problem: why the search failed; empty if it did not.
        before: only what was there before this day (ISO) was searched for.
    """

    kind: Literal["searched"] = "searched"
    number: int = 1
    query: str
    words: int = 0
    cut: bool = False
    fallback: str = ""
    results: int = 0
    problem: str = ""
    before: str | None = None


class ReadEvent(_Event):
    """A result of a search, and what became of it.

    Attributes:
        number: the search; place: the result's place in it, from 1.
        url, title, snippet, date, rank: as found.
        dropped: why it was not used; empty if it was.
        status, detail, final_url, sha256: of the page, where it was fetched.
        words, cut: of the page, as far as it was used.
        summary, summary_words, summary_cut: what the model saw of it.
        priority: of its publisher, for regimes that sort by it: `high`, `medium` or `low`; empty if it has none.
        published: the latest date that the page itself names, empty where it names none or was not asked.
        relevance: how near it is to the sample, None where that was not asked for.
    """

    kind: Literal["read"] = "read"
    number: int = 1
    place: int
    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None
    rank: int | None = None
    dropped: str = ""
    status: str = ""
    detail: str = ""
    final_url: str = ""
    sha256: str = ""
    words: int = 0
    cut: bool = False
    summary: str = ""
    summary_words: int = 0
    summary_cut: bool = False
    priority: str = ""
    published: str = ""
    relevance: float | None = None


class QuotedEvent(_Event):
    """What was taken from a page as evidence.

    Attributes:
        url: of the page.
        priority: of its publisher.
        refuting, supporting, reported, context: sentences of the page: what it says against the sample and for it,
            what it only quotes, attributes or checks, with what it says of that, and what else is to be known.
        missing: quotes of the model that do not stand in the page.
        problem: why the page was not asked; empty if it was.
    """

    kind: Literal["quoted"] = "quoted"
    url: str
    priority: str = ""
    refuting: tuple[str, ...] = Field(default=(), strict=False)
    supporting: tuple[str, ...] = Field(default=(), strict=False)
    reported: tuple[str, ...] = Field(default=(), strict=False)
    context: tuple[str, ...] = Field(default=(), strict=False)
    missing: int = 0
    problem: str = ""

    @property
    def said(self) -> Mapping[str, tuple[str, ...]]:
        """Sentences by stance, without stances that have none."""
        return {stance: quotes for stance in STANCES if (quotes := getattr(self, stance))}


STANCES = {
    "refuting": "Against the post",
    "supporting": "For the post",
    "reported": "Only reported by the page",
    "context": "Context",
}
"""The fields of a `QuotedEvent` that hold sentences, and how each is called to whoever reads them."""


class NotedEvent(_Event):
    """Anything else.

    Attributes:
        name: what it is about.
        values: what is to be known of it.
    """

    kind: Literal["noted"] = "noted"
    name: str
    values: Mapping[str, object] = Field(default={})


Event = AskedEvent | SearchedEvent | ReadEvent | QuotedEvent | NotedEvent
_KNOWN: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def parse_event(value: object) -> Event:
    """An event as it was written; one of an unknown form becomes a note, so that nobody who reads it fails."""
    try:
        return _KNOWN.validate_python(value)
    except ValidationError:
        fields = dict(value) if isinstance(value, Mapping) else {"value": value}
        return NotedEvent(name=str(fields.pop("kind", "unknown")), values=fields)


class Transcript(BaseModel):
    """All events of one sample and repetition, in order."""

    model_config = ConfigDict(frozen=True)
    id: str
    repetition: int
    events: tuple[Annotated[Event, BeforeValidator(parse_event)], ...]


def read_transcripts(folder: Path) -> list[Transcript]:
    """The transcripts of the run in a folder; none where there is no such file.

    Raises:
        RunError: if a line is damaged.
    """
    path = folder / TRANSCRIPTS
    if not path.is_file():
        return []
    fix = "Run the same evaluation again: the journal still has the answers."
    return list(read_models(path, Transcript, error=RunError, fix=fix, code="damaged-run"))
