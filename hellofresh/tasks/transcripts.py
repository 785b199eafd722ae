"""The steps towards an output as typed events: asked, searched, read, quoted, noted.

A regime returns its events in an order independent of timing. `transcripts.jsonl` of a run has a line for each
sample and repetition: `id`, `repetition` and `events`, in which every request has its answer, tokens and cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from hellofresh.core.errors import RunError
from hellofresh.core.files import read_models
from hellofresh.core.folders import listed_file
from hellofresh.core.strict import Strict

TRANSCRIPTS = "transcripts.jsonl"
STANCES = {
    "refuting": "Against the post",
    "supporting": "For the post",
    "reported": "Only reported by the page",
    "context": "Context",
}
"""The fields of a `QuotedEvent` with sentences, and the display name of each."""


class _Event(Strict):
    """Attributes: prompt: id of the prompt that it belongs to, empty if it belongs to all."""

    prompt: str = ""


class AskedEvent(_Event):
    """A request to a model. The regime sets its place; the export of the run fills in the answer.

    Attributes:
        step, role: of the request.
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
        number: number of the search within the sample, from 1.
        query: what was searched for.
        words, cut: words of the model's query, and whether it was cut.
        fallback: why the model's query could not be used; empty if it was used.
        results: number of results.
        problem: why the search failed; empty if it did not.
        before: only pages from before this day (ISO) were searched.
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
    """A result of a search, and how it was used.

    Attributes:
        number: the search; place: the result's place in it, from 1.
        url, title, snippet, date, rank: as found.
        dropped: why it was not used; empty if it was used.
        status, detail, final_url, sha256: of the page, where it was fetched.
        words, cut: of the page, as far as it was used.
        summary, summary_words, summary_cut: the text of it that the model saw.
        priority: of its publisher, for regimes that sort by it: `high`, `medium` or `low`; empty if it has none.
        published: the latest date on the page itself; empty if it has none or was not checked.
        relevance: its similarity to the sample; None if not computed.
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
    """Evidence taken from a page.

    Attributes:
        url: of the page.
        priority: of its publisher.
        refuting, supporting, reported, context: sentences of the page: against the sample, for it,
            those that only quote, attribute or check it (with the page's comment), and background.
        missing: quotes of the model that are not in the page.
        problem: why the page was not read for evidence; empty if it was.
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
        """Sentences by stance; stances without sentences are left out."""
        return {stance: quotes for stance in STANCES if (quotes := getattr(self, stance))}


class NotedEvent(_Event):
    """Any other event.

    Attributes:
        name: its kind.
        values: its details.
    """

    kind: Literal["noted"] = "noted"
    name: str
    values: Mapping[str, object] = Field(default={})


Event = AskedEvent | SearchedEvent | ReadEvent | QuotedEvent | NotedEvent
_KNOWN: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def parse_event(value: object) -> Event:
    """Read an event; one of an unknown form becomes a note, so that reading does not fail."""
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
    """The transcripts of the run in a folder; empty without the file.

    Raises:
        RunError: if the file is not as the run's record says, or a line is damaged.
    """
    fix = "Run the same evaluation again: the journal still has the answers."
    path = listed_file(folder, TRANSCRIPTS, record="run.json", error=RunError, fix=fix, code="damaged-run")
    found = () if path is None else read_models(path, Transcript, error=RunError, fix=fix, code="damaged-run")
    return list(found)
