"""An agent's tools for one sample: access to models and the web that is recorded, bounded and replayable.

A framework asks through the endpoint (`await tools.endpoint()`), with its own client and its own tools; everything else
goes through `ask`, `search` and `read`. What is asked at the endpoint is named by its content, as `ask` does it: the
order in which a framework's requests arrive says nothing where several are under way. In the transcript those between
two other steps stand by length, as conversations grow.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import Literal, Protocol, TypeVar, cast

from pydantic import Field

from hellofresh.core.errors import RunError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.core.plugins import plugins
from hellofresh.core.texts import one_line
from hellofresh.evidence.web import Found, PageStatus, WebPage
from hellofresh.models import Answer, Message, Request
from hellofresh.runs.regimes._base import MAIN, Case, ChoiceSettings
from hellofresh.runs.regimes._outside import Instant, address, read_safely, search_safely, web_of
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.transcripts import AskedEvent, Event, NotedEvent, ReadEvent, SearchedEvent

_TOKENS = 1024  # room for a rationale; an agent may ask for more
_T = TypeVar("_T")


class AgentSettings(ChoiceSettings):
    """Limits of an agent.

    Attributes:
        requests: most requests for one sample.
        searches: most searches for one sample.
        pages: most pages for one sample.
        before: `sample`, `post`, `note` or `decision` to search only for what was there before that day, where the
            provider can; before the sample's day in any case where later pages tell the answer (`Task.dated`). That of
            a decision is known once labels are public.
        on_error: what an exception in the agent does: `stop` ends the run; `silence` counts as no answer.
        seconds: longest time for one sample, waiting for models and pages included; an agent that takes longer gives
            no answer. 0 for no limit.
    """

    requests: int = Field(default=30, ge=1, le=1000)
    searches: int = Field(default=20, ge=0, le=1000)
    pages: int = Field(default=50, ge=0, le=1000)
    before: Instant = ""
    on_error: Literal["stop", "silence"] = "stop"
    seconds: int = Field(default=600, ge=0, le=1_000_000)


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """Where a client asks about one sample.

    Attributes:
        base_url: what clients call the base URL.
        api_key: what they call the key; it opens this endpoint and nothing else.
        model: what to call the model: a role.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str


class OpenEndpoint(Protocol):
    """An endpoint of one sample; an entry point of `hellofresh.endpoints` names the function of tools that opens it."""

    def address(self, role: str) -> EndpointAddress: ...
    async def close(self) -> None: ...


@dataclass(slots=True)
class AgentTools:
    """An agent's access to models and the web for one sample.

    Attributes:
        question: the sample as the zero-shot regime puts it, with its instruction.
        classes: meaning of the task's labels, by label; empty without classes.
        settings: limits of the agent.
        roles: names of the models, the main one first.
        failure: an error that ends the sample or the run even if the agent catches it, such as a spent budget.
        limit: the error of an exceeded limit, even if a framework catches it.
    """

    question: str
    classes: tuple[str, ...]
    settings: AgentSettings
    _case: Case = field(repr=False)
    roles: tuple[str, ...] = (MAIN,)
    _until: date | None = field(default=None, repr=False)
    _events: list[Event] = field(default_factory=list, repr=False)
    _lengths: dict[str, tuple[int, int, str]] = field(default_factory=dict, repr=False)
    _spent: Counter[str] = field(default_factory=Counter, repr=False)
    failure: Exception | None = field(default=None, repr=False)
    limit: RunError | None = field(default=None, repr=False)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, repr=False)
    _thread: int = field(default_factory=threading.get_ident, repr=False)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _open: OpenEndpoint | None = field(default=None, repr=False)

    async def ask(
        self, messages: str | Sequence[tuple[str, str]], *, role: str = MAIN, max_tokens: int = _TOKENS
    ) -> str:
        """Ask a model.

        Args:
            messages: one message of the user; or turns in order, each as (`system`, `user` or `assistant`, text).
            role: whose part it is; `--role NAME=MODEL` gives a role another model.
            max_tokens: most visible tokens of the answer.

        Returns:
            The answer's text, empty where the model refused.

        Raises:
            RunError: if the sample has used up its requests.
        """
        self._spend("requests", self.settings.requests)
        turns = [("user", messages)] if isinstance(messages, str) else messages
        request = Request(tuple(_message(*turn) for turn in turns), max_tokens, sample=self._case.sample)
        step = self._step(role, request)
        self._events.append(AskedEvent(step=step, role=role))
        return (await self._put(step, role, request)).text

    async def endpoint(self, role: str = MAIN) -> EndpointAddress:
        """Open an OpenAI-compatible endpoint on this machine for any framework's client; open for this sample only.

        Requests there are kept, bounded and replayed like those of `ask`. The client calls the model by a role,
        and may name any role that there is. A framework that blocks belongs into a thread: `await
        asyncio.to_thread(...)`.

        Raises:
            UsageError: if no installed package brings an endpoint.
        """
        async with self._opening:
            if self._open is None:
                opened = plugins("hellofresh.endpoints", "openai").get("openai")
                if opened is None:
                    what, fix = "no endpoint is installed", "Unset HELLOFRESH_PLUGINS, or ask by tools.ask."
                    raise UsageError(what, fix=fix, code="no-endpoint")
                self._open = await opened(self)
        return self._open.address(role)

    def wait(self, work: Coroutine[object, object, _T]) -> _T:
        """Wait for `ask`, `search` or `read` in a thread, where nothing can be awaited.

        Raises:
            UsageError: if it is called where it would wait for itself.
        """
        if threading.get_ident() == self._thread:
            work.close()
            raise UsageError("tools.wait is for threads", fix="Await it instead.", code="no-thread")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def close(self) -> None:
        """Wait for what is under way at the endpoint, and close it."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    async def search(self, query: str) -> Found:
        """Search. A search that fails says why in `problem`.

        Raises:
            RunError: if the sample has used up its searches.
        """
        self._spend("searches", self.settings.searches)
        before = self._until
        number = self._spent["searches"]
        asked = one_line(query, 300)
        place = len(self._events)
        self._events.append(SearchedEvent(number=number, query=asked))
        with self._noting_failure():
            found = await search_safely(web_of(self._case), asked, before)
        self._events[place] = SearchedEvent(
            number=number,
            query=asked,
            words=len(asked.split()),
            cut=asked != query.strip(),
            results=len(found.results),
            problem=one_line(found.problem, 300),
            before=None if before is None else before.isoformat(),
        )
        return found

    async def read(self, url: str) -> WebPage:
        """Read a page. `page.status` says what became of it; a page of a blocked source is not fetched.

        Raises:
            RunError: if the sample has used up its pages.
        """
        self._spend("pages", self.settings.pages)
        number, search, asked = self._spent["pages"], self._spent["searches"], address(url)
        place = len(self._events)
        self._events.append(ReadEvent(number=search, place=number, url=asked))
        with self._noting_failure():
            page = await read_safely(web_of(self._case), url)
        self._events[place] = ReadEvent(
            number=search,
            place=number,
            url=asked,
            title=one_line(page.title, 300),
            date=one_line(page.date, 40) or None,
            dropped="" if page.status is PageStatus.OK else str(page.status),
            status=str(page.status),
            detail=one_line(page.detail, 300),
            final_url=address(page.final_url),
            sha256=one_line(page.sha256, 64),
            words=len(page.text.split()),
        )
        return page

    @property
    def events(self) -> Sequence[Event]:
        """What was done, in the order in which it was begun; what was asked at the endpoint in a row, by length."""
        ordered: list[Event] = []
        for at_endpoint, group in groupby(self._events, lambda event: getattr(event, "step", "") in self._lengths):
            row = list(group)
            ordered += sorted(row, key=lambda event: self._lengths[getattr(event, "step", "")]) if at_endpoint else row
        return tuple(ordered)

    def note(self, name: str, **values: object) -> None:
        """Add an entry to the transcript."""
        self._events.append(NotedEvent(name=name, values=values))

    async def _put(self, step: str, role: str, request: Request) -> Answer:
        with self._noting_failure():
            return await self._case.ask(step, "", request, role=role)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # agents may swallow it: the run stops even then
            if not (isinstance(error, RunError) and error.code == "context-length"):  # an agent may ask with less
                self.failure = error
            raise

    def _spend(self, what: str, most: int) -> None:
        if self._spent[what] >= most:
            self.limit = RunError(
                f"the agent wants more than {most} {what}",
                where=self._case.sample.id,
                fix=f"Let it stop earlier, or allow more: --set {what}=N",
                code="agent-limit",
            )
            raise self.limit
        self._spent[what] += 1

    def _step(self, role: str, request: Request) -> str:
        """Name of a request's step: a hash of its content and of how often it was asked before."""
        key = sha256_text("\x1e".join(f"{message.role}\x1f{message.text}" for message in request.messages))[:16]
        key = f"{role}-{key}-{request.max_tokens}"
        self._spent[key] += 1
        return f"ask-{key}-{self._spent[key]}"


def _message(role: str, text: str) -> Message:
    if role not in ("system", "user", "assistant"):
        raise UsageError(f"no such speaker: {role!r}", expected="system, user or assistant", code="bad-message")
    return Message(cast("Literal['system', 'user', 'assistant']", role), (text,))


def unfit(output: object, task: Task) -> str:
    """The reason why an output does not fit the task, or ''."""
    if not isinstance(output, task.output):
        return f"it returned {type(output).__name__}, but the task expects {task.output.__name__}"
    if isinstance(output, Choice) and output.label is not None and not 0 <= output.label < len(task.classes):
        return f"label {output.label}, but the task has 0 to {len(task.classes) - 1}"
    return ""
