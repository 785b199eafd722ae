"""User-defined agents: a function in the user's file, run on every sample like a regime of the project.

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

import asyncio
import importlib.util
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Self

from hellofresh.core.errors import HelloFreshError, RunError, UsageError
from hellofresh.core.files import sha256_file, sha256_text
from hellofresh.core.texts import without_hidden
from hellofresh.runs.regimes._base import MAIN, BaseRegime, Case, Need, Outcome, Parameters, RegimeSettings
from hellofresh.runs.regimes._outside import needs_of_search, searched_until
from hellofresh.runs.regimes.agent_tools import AgentSettings, AgentTools, unfit
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.tasks.samples import Sample

AGENT, PROXY = "agent", "proxy"
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
Solver = Callable[[Sample, "AgentTools"], Awaitable[Output]]
"""The signature of an agent."""
_EMPTY: Mapping[type[Output], Output] = {
    Choice: Choice(),
    Response: Response(text=""),
    Ranking: Ranking(documents=(), scores=()),
}
# Agents that this process defined itself, such as in a notebook, by their names.
_FUNCTIONS: dict[str, AgentRegime] = {}
HANDED: ContextVar[Callable[[Sample, AgentTools], Awaitable[Output]]] = ContextVar("handed")
"""Waits for the output of another program for a sample, while a command holds such a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRegime(BaseRegime):
    """An agent as a regime: one answer per sample, whatever the prompts.

    Attributes:
        agent: `FILE:FUNCTION`, the file without its folder.
        sha256: of the file: an agent that was changed is another system.
        solver: the function.
        needs: the web, unless the file says `USES_WEB = False`.
        roles: what the file's `ROLES` says.
        settings: what bounds it.
        all_at_once: whether another program takes samples, in an order of its own.
    """

    version: ClassVar[int] = 3
    one_prompt: ClassVar[bool] = True
    gives: ClassVar[type[Output]] = Output

    name: str = AGENT
    agent: str
    sha256: str
    solver: Solver = field(repr=False, compare=False)
    needs: frozenset[Need] = frozenset({Need.WEB})
    roles: Mapping[str, str] = field(default_factory=dict)
    settings: AgentSettings = field(default_factory=AgentSettings)
    all_at_once: bool = False

    @property
    def prompts_from(self) -> str:
        """An agent has no prompts of its own; it may use the question of zero-shot."""
        return "zero-shot"

    @property
    def parameters(self) -> Parameters:
        """The settings, and which agent."""
        return {**self.settings.model_dump(), "agent": self.agent, "agent_sha256": self.sha256}

    def configured(self, settings: RegimeSettings) -> Self:
        """The same agent with other settings, and the time of the decision where its searches end there."""
        assert isinstance(settings, AgentSettings)
        more = needs_of_search(settings.before) if Need.WEB in self.needs else frozenset()
        return replace(self, settings=settings, needs=(self.needs - {Need.FACTS}) | more)

    def ceiling(self, prompts: int) -> int:
        """The limit of requests, which dry runs use since an agent's requests are unknown."""
        return self.settings.requests

    async def solve(self, case: Case) -> Outcome:
        """Run the agent.

        Raises:
            RunError: if it fails, or hands back what the task does not take.
        """
        prompt = case.prompts[0]
        task = get_task(case.sample.task)
        until = searched_until(case, self.settings.before) if Need.WEB in self.needs else None
        case = replace(case, facts={})  # agents must not see facts of labels
        roles = tuple(dict.fromkeys((MAIN, *self.roles)))
        tools = AgentTools(case.question(prompt).text, task.classes, self.settings, case, roles, until)
        clock = asyncio.timeout(self.settings.seconds or None)
        try:
            async with clock:
                output = await self.solver(case.sample, tools)
        except Exception as error:  # the agent is a user's code
            if clock.expired():
                tools.note("out-of-time", seconds=self.settings.seconds)
            elif tools.failure is None and self.settings.on_error == "stop":
                fault = tools.limit or error
                if isinstance(fault, HelloFreshError):
                    raise fault from error
                raise self._failed(case, f"{type(fault).__name__}: {fault}") from error
            output = replace(_EMPTY[task.output], status=Status.NONE)
        finally:
            await tools.close()
        if tools.failure is not None:
            raise tools.failure
        if problem := unfit(output, task):
            raise self._failed(case, problem)
        output = replace(output, prompt=prompt.id, rationale=without_hidden(output.rationale))
        if isinstance(output, Response):
            output = replace(output, text=without_hidden(output.text))
        return Outcome([output], tools.events)

    def _failed(self, case: Case, what: str) -> RunError:
        return RunError(
            f"the agent failed ({what[:300]})",
            where=f"{self.agent}, {case.sample.id}",
            fix="Fix it and run again, or count such samples as no answer: --set on_error=silence",
            code="agent-failed",
        )


def agent_regime(agent: str | Solver | type) -> str:
    """The name of an agent as a regime: of one in a file by the file's whole path, so that it is resumed from anywhere.

    An agent is `FILE:FUNCTION`, an asynchronous function of this process, or a class with a method `solve`.

    Raises:
        UsageError: if it is not asynchronous.
    """
    if isinstance(agent, str):
        file, _, function = agent.rpartition(":")
        return f"{AGENT}:{Path(file).resolve()}:{function}"
    name = getattr(agent, "__name__", type(agent).__name__)
    try:
        source = inspect.getsource(agent)
    except (OSError, TypeError):
        raise UsageError(
            "the source of the agent cannot be read, which says whether two runs are of the same system",
            where=name,
            expected="a function that is defined in a file or in a cell of a notebook",
            code="no-agent",
        ) from None
    digest = sha256_text(source)
    place = f"<{digest[:12]}>:{name}"
    defined = vars(sys.modules[agent.__module__]) if inspect.isclass(agent) else getattr(agent, "__globals__", {})
    _FUNCTIONS[place] = _regime(name, digest, agent, defined, where=name)
    return f"{AGENT}:{place}"


def load_agent(place: str) -> AgentRegime:
    """The agent at `FILE:FUNCTION`, a file of one's own whose code is run; of a class, the method `solve`.

    Raises:
        UsageError: if the file or function is missing, or it is not asynchronous.
    """
    if place in _FUNCTIONS:
        return _FUNCTIONS[place]
    name, colon, function = place.rpartition(":")
    path = Path(name)
    if not colon or not function.isidentifier() or not path.is_file():
        raise UsageError(
            f"no such agent: {place!r}",
            expected="FILE.py:FUNCTION, such as my_agent.py:solve",
            fix="Call hf.evaluate again in the notebook that defines it." if place.startswith("<") else "",
            code="no-agent",
        )
    path = path.resolve()
    module = _module(path)
    agent = getattr(module, function, None)
    return _regime(f"{path.name}:{function}", sha256_file(path), agent, vars(module), where=str(path))


def _regime(name: str, sha256: str, agent: object, defined: Mapping[str, object], *, where: str) -> AgentRegime:
    """An agent as a regime, by its name in the system's identity and the hash of its source.

    Its module may define `ROLES` and `USES_WEB`; `where` names its place in errors.
    """
    solver = getattr(agent(), "solve", None) if inspect.isclass(agent) else agent
    if not inspect.iscoroutinefunction(solver):
        raise UsageError(
            f"{name.rpartition(':')[2]} is not an asynchronous function",
            where=where,
            expected="async def solve(sample, tools), or a class with such a method",
            code="no-agent",
        )
    roles = defined.get("ROLES", {})
    return AgentRegime(
        agent=name,
        sha256=sha256,
        solver=solver,
        needs=frozenset({Need.WEB}) if defined.get("USES_WEB", True) else frozenset(),
        roles={str(role): str(what) for role, what in roles.items()} if isinstance(roles, Mapping) else {},
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
    except Exception as error:  # the file is a user's code
        del sys.modules[name]
        raise UsageError(
            f"cannot be loaded ({type(error).__name__}: {error})", where=str(path), code="no-agent"
        ) from error
    return module


# Programs of their own as systems: they ask over an endpoint on this machine, and hand back an output for each sample.
# All samples are open at once, each under an address of its own, and one is done when its output has come. A program
# that is started again with the run asks everything again and gets the stored answers.


async def _handed_output(sample: Sample, tools: AgentTools) -> Output:
    output = HANDED.get(None)
    if output is None:
        raise UsageError(
            "the system is a separate program", fix="Start its run again: hellofresh proxy.", code="no-proxy"
        )
    return await output(sample, tools)


def proxy_regime(name: str, roles: Iterable[str]) -> str:
    """The name of a program of its own as a regime, with further roles that it may name.

    Raises:
        UsageError: if the name holds other characters than letters, digits, spaces, dots, underscores and hyphens.
    """
    if not _PROGRAM.fullmatch(name):
        raise UsageError(
            f"the name {name[:80]!r} cannot be used",
            expected="at most 60 letters, digits, spaces, dots, underscores and hyphens",
            code="bad-name",
        )
    return ":".join([PROXY, name, *filter(None, [",".join(sorted(roles))])])


def load_proxy(name: str, roles: tuple[str, ...] = ()) -> AgentRegime:
    """The regime of a program of that name, which is part of the system's identity, and of further roles."""
    return AgentRegime(
        agent=name,
        sha256="",
        solver=_handed_output,
        needs=frozenset(),
        roles=dict.fromkeys(roles, ""),
        settings=AgentSettings(seconds=0),  # its samples wait for their turn
        all_at_once=True,
    )
