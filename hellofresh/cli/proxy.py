"""`hellofresh proxy`: a run whose requests come from the user's program, through an endpoint on this machine."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from functools import partial

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import carry_out, evaluation_of
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.runs.pace import Patience
from hellofresh.runs.regimes import proxy_regime
from hellofresh.runs.regimes.agents import Proxy
from hellofresh.runs.regimes.endpoint.server import EndpointServer

_TOKEN = "HELLOFRESH_PROXY_TOKEN"  # noqa: S105 - the variable's name
_DRAIN_S = 2.0
_SHORTEST_TOKEN = 16


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    if not options.name:
        raise UsageError("the program has no name", expected="--name NAME", code="no-name")
    evaluation = evaluation_of(options, regime="", patience=Patience(drain_s=_DRAIN_S))
    evaluation = replace(evaluation, regime=proxy_regime(options.name, evaluation.roles))
    with Proxy(_server(options.port), partial(_announce, output)).current():
        return carry_out(output, Workspace.from_environment(), evaluation, dry_run=False)


def _server(port: int) -> EndpointServer:
    token = os.environ.get(_TOKEN, "").strip()
    if not token:
        return EndpointServer(port)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            "the token cannot be used", where=_TOKEN, expected=f"{_SHORTEST_TOKEN} plain characters", code="bad-token"
        )
    return EndpointServer(port, token)


def _announce(output: CommandOutput, server: EndpointServer) -> None:
    if output.as_json:
        output.say(json.dumps({"listens": server.origin, "token": server.token, "samples": len(server.sessions)}))
        return
    output.say(f"{len(server.sessions)} samples wait for an output: GET {server.origin}/samples")
    output.say(f"each has a base URL: {server.origin}/s/SAMPLE/v1")
    output.say(f"export OPENAI_API_KEY={server.token}")
