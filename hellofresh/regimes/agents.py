"""Agents of others: a function in a file of one's own, run on every sample like a regime of the project.

    async def solve(sample, tools):
        found = await tools.search(tools.question[:200])
        pages = [await tools.read(hit.url) for hit in found.results[:3]]
        text = "\n".join(page.text[:2000] for page in pages)
        said = await tools.ask(f"{text}\n\n{tools.question}")
        return hf.Choice(label=int(said.lower().startswith("yes")))

`hellofresh evaluate --agent my_agent.py:solve` runs it. What goes through the tools is kept in the journal and the
transcript, counts for the budget, and keeps to the sample's date and the task's blocked sources. A request is named by
its own text, so an agent may ask several things at once, and a run that was stopped goes on without asking twice.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Literal

from pydantic import Field

from hellofresh.errors import HelloFreshError, RunError, UsageError
from hellofresh.files import sha256_file, sha256_text
from hellofresh.models import Message, Request
from hellofresh.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.regimes._base import MAIN, Case, Need, Outcome, Parameters, RegimeSettings
from hellofresh.regimes._outside import address, read_safely, search_safely, web_of
from hellofresh.regimes._texts import one_line
from hellofresh.samples import Sample
from hellofresh.tasks import get_task
from hellofresh.transcripts import AskedEvent, Event, ReadEvent, SearchedEvent
from hellofresh.web import Found, PageStatus, WebPage

__all__ = ["AGENT", "AgentRegime", "AgentSettings", "AgentTools", "Solver", "agent_regime", "load_agent"]

AGENT = "agent"
_TOKENS = 1024
Solver = Callable[[Sample, "AgentTools"], Awaitable[Output]]
"""What an agent is."""


class AgentSettings(RegimeSettings):
    """What bounds an agent.

    Attributes:
        requests: most requests for one sample.
        searches: most searches for one sample.
        pages: most pages for one sample.
        before: `sample` to search only for what was there before the sample's date, where the provider can.
        on_error: what an exception in the agent does: `stop` ends the run; `silence` counts as no answer.
    """

    requests: int = Field(default=30, ge=1, le=1000)
    searches: int = Field(default=20, ge=0, le=1000)
    pages: int = Field(default=50, ge=0, le=1000)
    before: Literal["", "sample"] = ""
    on_error: Literal["stop", "silence"] = "stop"


@dataclass(slots=True)
class AgentTools:
    """An agent's way to models and the web, for one sample.

    Attributes:
        question: the sample as the zero-shot regime puts it, with its instruction.
        classes: what the labels of the task mean, by label; empty where it has none.
        settings: what bounds the agent.
    """

    question: str
    classes: tuple[str, ...]
    settings: AgentSettings
    _case: Case = field(repr=False)
    _events: list[Event] = field(default_factory=list, repr=False)
    _spent: Counter[str] = field(default_factory=Counter, repr=False)
    _failure: Exception | None = field(default=None, repr=False)

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
        with self._noting_failure():
            answer = await self._case.ask(step, "", request, role=role)
        return answer.text

    async def search(self, query: str) -> Found:
        """Search. A search that fails says why in `problem`.

        Raises:
            RunError: if the sample has used up its searches.
        """
        self._spend("searches", self.settings.searches)
        before = self._case.sample.date.date() if self.settings.before else None
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
        """What was done, in the order in which it was begun."""
        return tuple(self._events)

    @property
    def failure(self) -> Exception | None:
        """What ends the sample or the run, whatever the agent makes of it: a provider that gives up, a spent budget."""
        return self._failure

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not (isinstance(error, RunError) and error.code == "context-length"):  # an agent may ask with less
                self._failure = error
            raise

    def _spend(self, what: str, most: int) -> None:
        if self._spent[what] >= most:
            raise RunError(
                f"the agent wants more than {most} {what}",
                where=self._case.sample.id,
                fix=f"Let it stop earlier, or allow more: --set {what}=N",
                code="agent-limit",
            )
        self._spent[what] += 1

    def _step(self, role: str, request: Request) -> str:
        """The same whenever the same is asked, in whatever order; asked again, it is another step."""
        key = sha256_text("\x1e".join(f"{message.role}\x1f{message.text}" for message in request.messages))[:16]
        key = f"{role}-{key}-{request.max_tokens}"
        self._spent[key] += 1
        return f"ask-{key}-{self._spent[key]}"


_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system", "user": "user", "assistant": "assistant",
}  # fmt: skip


def _message(role: str, text: str) -> Message:
    if role not in _ROLES:
        raise UsageError(f"no such speaker: {role!r}", expected="system, user or assistant", code="bad-message")
    return Message(_ROLES[role], (text,))


@dataclass(frozen=True, slots=True)
class AgentRegime:
    """An agent as a regime: one answer a sample, whatever the prompts.

    Attributes:
        agent: `FILE:FUNCTION`, the file without its folder.
        sha256: of the file: an agent that was changed is another system.
        solver: the function.
        needs: the web, unless the file says `USES_WEB = False`.
        roles: what the file's `ROLES` says.
        settings: what bounds it.
    """

    name: ClassVar[str] = AGENT
    version: ClassVar[int] = 1
    one_prompt: ClassVar[bool] = True
    gives: ClassVar[type[Output]] = Output

    agent: str
    sha256: str
    solver: Solver = field(repr=False, compare=False)
    needs: frozenset[Need] = frozenset({Need.WEB})
    roles: Mapping[str, str] = field(default_factory=dict)
    settings: AgentSettings = field(default_factory=AgentSettings)

    def configured(self, settings: RegimeSettings) -> AgentRegime:
        """The same agent with other bounds."""
        return replace(self, settings=AgentSettings.model_validate(settings.model_dump()))

    @property
    def prompts_from(self) -> str:
        """An agent has no prompts of its own; it may use the question of zero-shot."""
        return "zero-shot"

    @property
    def parameters(self) -> Parameters:
        """The settings, and which agent."""
        return {**self.settings.model_dump(), "agent": self.agent, "agent_sha256": self.sha256}

    @property
    def results(self) -> int:
        """As many as are configured."""
        return 0

    def ceiling(self, prompts: int) -> int:
        """As many as it may."""
        return self.settings.requests

    def rehearse(self, step: str, turn: int) -> str:
        """Nothing is known of what it asks."""
        return ""

    def prolong(self, step: str, turn: int) -> str:
        """Nor of what makes it go on: dry runs count up to its ceiling."""
        return ""

    async def solve(self, case: Case) -> Outcome:
        """Let it work.

        Raises:
            RunError: if it fails, or hands back what the task does not take.
        """
        prompt = case.prompts[0]
        task = get_task(case.sample.task)
        tools = AgentTools(case.question(prompt).text, task.classes, self.settings, case)
        try:
            output = await self.solver(case.sample, tools)
        except Exception as error:
            if tools.failure is None and self.settings.on_error == "stop":
                raise self._stop(case, error) from error
            output = _silence(task.output)
        if tools.failure is not None:
            raise tools.failure
        self._check(case, output, task.output, len(task.classes))
        return Outcome([replace(output, prompt=prompt.id)], tools.events)

    def _check(self, case: Case, output: object, expected: type[Output], classes: int) -> None:
        if not isinstance(output, expected):
            raise self._failed(case, f"it handed back {type(output).__name__}, the task takes {expected.__name__}")
        if isinstance(output, Choice) and output.label is not None and not 0 <= output.label < classes:
            raise self._failed(case, f"label {output.label}, the task has 0 to {classes - 1}")

    def _stop(self, case: Case, error: Exception) -> HelloFreshError:
        if isinstance(error, HelloFreshError):
            return error
        return self._failed(case, f"{type(error).__name__}: {error}")

    def _failed(self, case: Case, what: str) -> RunError:
        return RunError(
            f"the agent failed ({what[:300]})",
            where=f"{self.agent}, {case.sample.id}",
            fix="Mend it and run again, or count such samples as no answer: --set on_error=silence",
            code="agent-failed",
        )


def _silence(kind: type[Output]) -> Output:
    empty: Mapping[type[Output], Output] = {
        Choice: Choice(), Response: Response(text=""), Ranking: Ranking(documents=(), scores=()),
    }  # fmt: skip
    return replace(empty[kind], status=Status.NONE)


def agent_regime(place: str) -> str:
    """The name of an agent as a regime, by the file's whole path: a run is resumed from anywhere.

    Args:
        place: `FILE:FUNCTION`.
    """
    file, _, function = place.rpartition(":")
    return f"{AGENT}:{Path(file).resolve()}:{function}"


def load_agent(place: str) -> AgentRegime:
    """The agent in a file of one's own. Its code is run.

    Args:
        place: `FILE:FUNCTION`; a class of that name is made without arguments, and has a method `solve`.

    Raises:
        UsageError: if there is no such file or function, or it is not asynchronous.
    """
    name, colon, function = place.rpartition(":")
    path = Path(name)
    if not colon or not function.isidentifier() or not path.is_file():
        raise UsageError(
            f"no such agent: {place!r}", expected="FILE.py:FUNCTION, such as my_agent.py:solve", code="no-agent"
        )
    path = path.resolve()
    module = _module(path)
    found = getattr(module, function, None)
    solver = getattr(found(), "solve", None) if inspect.isclass(found) else found
    if not inspect.iscoroutinefunction(solver):
        raise UsageError(
            f"{function} is not an asynchronous function",
            where=str(path),
            expected="async def solve(sample, tools), or a class with such a method",
            code="no-agent",
        )
    roles = getattr(module, "ROLES", {})
    return AgentRegime(
        agent=f"{path.name}:{function}",
        sha256=sha256_file(path),
        solver=solver,
        needs=frozenset({Need.WEB}) if getattr(module, "USES_WEB", True) else frozenset(),
        roles={str(role): str(what) for role, what in dict(roles).items()},
    )


@cache
def _module(path: Path) -> ModuleType:
    name = f"hellofresh_agent_{sha256_text(str(path))[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError("not a Python file", where=str(path), expected="a name that ends with .py", code="no-agent")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except HelloFreshError:
        raise
    except Exception as error:
        del sys.modules[name]
        raise UsageError(
            f"cannot be loaded ({type(error).__name__}: {error})", where=str(path), code="no-agent"
        ) from error
    return module
