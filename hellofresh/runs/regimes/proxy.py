"""Programs of their own as systems: they ask over an endpoint on this machine, and hand back an output for each sample.

All samples are open at once, each under an address of its own, and one is done when its output has come. A program that
is started again with the run asks everything again and gets the stored answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from hellofresh.core.errors import UsageError
from hellofresh.runs.regimes.agent_tools import AgentSession, AgentSettings, AgentTools
from hellofresh.runs.regimes.agents import AgentRegime
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.tasks.outputs import Output
from hellofresh.tasks.samples import Sample

_CURRENT: ContextVar[Proxy] = ContextVar("proxy")


@dataclass(slots=True)
class Proxy:
    """The endpoint of a run, open while there are samples without an output; `announce` is called when it listens."""

    server: EndpointServer
    announce: Callable[[EndpointServer], None]
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _open: bool = False

    @contextmanager
    def current(self) -> Iterator[None]:
        """Have runs that begin meanwhile ask over it."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    async def output(self, sample: Sample, tools: AgentTools) -> Output:
        """Wait for a sample's output."""
        handed: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        session = AgentSession(tools, handed)
        self.server.sessions[sample.id] = session
        try:
            async with self._opening:
                if not self._open:
                    await self.server.start()
                    self._open = True
                    self.announce(self.server)
            return await handed
        finally:
            await session.settle()
            del self.server.sessions[sample.id]
            if not self.server.sessions:
                self._open = False
                await self.server.close()


async def _solve(sample: Sample, tools: AgentTools) -> Output:
    proxy = _CURRENT.get(None)
    if proxy is None:
        raise UsageError(
            "the system is a program of its own", fix="Start its run again: hellofresh proxy.", code="no-proxy"
        )
    return await proxy.output(sample, tools)


def load_proxy(name: str, roles: tuple[str, ...] = ()) -> AgentRegime:
    """The regime of a program of that name, which is part of the system's identity, and of further roles."""
    return AgentRegime(
        agent=name,
        sha256="",
        solver=_solve,
        needs=frozenset(),
        roles=dict.fromkeys(roles, ""),
        settings=AgentSettings(seconds=0),  # its samples wait for their turn
        all_at_once=True,
    )
