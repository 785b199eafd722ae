"""`hellofresh proxy`: a run whose requests come from the user's program, through an endpoint on this machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import carry_out, evaluation_of
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.runs.pace import Patience
from hellofresh.runs.regimes.agent_tools import AgentTools
from hellofresh.runs.regimes.agents import HANDED, proxy_regime
from hellofresh.tasks.outputs import Output
from hellofresh.tasks.samples import Sample
from hellofresh_parts.endpoint.server import EndpointServer
from hellofresh_parts.endpoint.session import AgentSession

_TOKEN = "HELLOFRESH_PROXY_TOKEN"  # noqa: S105 - the variable's name
_DRAIN_S = 2.0
_SHORTEST_TOKEN = 16  # shorter ones could be guessed by asking


@dataclass(slots=True)
class Proxy:
    """The endpoint of a run, open while there are samples without an output; `announce` is called when it listens."""

    server: EndpointServer
    announce: Callable[[EndpointServer], None]
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _open: bool = False

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make runs that begin in this block use it."""
        token = HANDED.set(self.output)
        try:
            yield
        finally:
            HANDED.reset(token)

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


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    if not options.name:
        raise UsageError("the program has no name", expected="--name NAME", code="no-name")
    evaluation = evaluation_of(options, regime="", patience=Patience(drain_s=_DRAIN_S))
    evaluation = replace(evaluation, regime=proxy_regime(options.name, evaluation.roles))
    with Proxy(_server(options.port, options.socket), partial(_announce, output)).current():
        return carry_out(output, Workspace.from_environment(), evaluation, dry_run=False)


def _server(port: int, socket: Path | None = None) -> EndpointServer:
    token = os.environ.get(_TOKEN, "").strip()
    if not token:
        return EndpointServer(port, socket=socket)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            "the token cannot be used", where=_TOKEN, expected=f"{_SHORTEST_TOKEN} plain characters", code="bad-token"
        )
    return EndpointServer(port, token, socket=socket)


def _announce(output: CommandOutput, server: EndpointServer) -> None:
    if output.as_json:
        output.say(json.dumps({"listens": server.origin, "token": server.token, "samples": len(server.sessions)}))
        return
    output.say(f"{len(server.sessions)} samples wait for an output: GET {server.origin}/samples")
    output.say(f"each has a base URL: {server.origin}/s/SAMPLE/v1")
    output.say(f"export OPENAI_API_KEY={server.token}")
