"""`hellofresh proxy`: a run whose requests come from the user's program, through an endpoint on this machine."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from dataclasses import replace
from functools import partial

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.evaluate import carry_out, evaluation_of
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.pace import Patience
from hellofresh.runs.regimes import proxy_regime
from hellofresh.runs.regimes.agents import Proxy
from hellofresh.runs.regimes.endpoint.server import EndpointServer
from hellofresh.runs.replay import replay
from hellofresh.submissions.replays import read_teams

_TOKEN = "HELLOFRESH_PROXY_TOKEN"  # noqa: S105 - the variable's name
_DRAIN_S = 2.0
_SHORTEST_TOKEN = 16


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    given = {bool(options.replay), bool(options.command), bool(options.by), not options.name}
    if len(given) > 1:
        expected = (
            '--name NAME for a program that you start; or --replay TEAM/SYSTEM --by TEAM --command "python agent.py"'
        )
        raise UsageError("it is not clear what is run", expected=expected, code="no-name")
    evaluation = evaluation_of(options, regime="", patience=Patience(drain_s=_DRAIN_S))
    name = options.name or options.replay.replace("/", " ")
    evaluation = replace(evaluation, regime=proxy_regime(name, evaluation.roles))
    if options.replay:
        return _replay(options, output, evaluation)
    with Proxy(_server(options.port), partial(_announce, output)).current():
        return carry_out(output, Workspace.from_environment(), evaluation, dry_run=False)


def _replay(options: argparse.Namespace, output: CommandOutput, evaluation: Evaluation) -> int:
    """Replay an entry; returns 1 if it does not count as replayed."""
    try:
        command = shlex.split(options.command)
    except ValueError as error:
        raise UsageError(f"--command cannot be read ({error})", expected="words, with quotes closed") from None
    workspace, root = Workspace.from_environment(), options.submissions
    done = replay(workspace, root, options.replay, command, evaluation, by=options.by, tell=output.say)
    made = done.replay
    output.result(
        {"replay": made.model_dump(mode="json"), "statement": str(done.statement), "folder": str(done.folder)}
    )
    said = (
        f"{made.outcome}; uploaded answers are those of its {made.repetitions} repetitions on {made.agreement:.0%} of "
    )
    output.text(f"{made.entry}: {said}{made.samples} samples, and repetitions agree on {made.own_agreement:.0%}.")
    output.text(f"Exact test that the uploaded answers are a further repetition: p = {made.p_value:.4f}.")
    output.text(f"It finds other answers in nine of ten replays if they are on {made.finds:.0%} of samples or more.")
    output.text(f"Test that a program which does not look at samples agrees as much: p = {made.by_chance:.4f}.")
    if made.without_asking:
        output.text(f"{made.without_asking} samples were answered without asking a model.")
    if made.fetches:
        output.text(
            f"It tried {made.fetches} times to reach other addresses and was stopped: see {done.folder}/outcome.json"
        )
    teams = read_teams(root)
    if made.by not in teams or done.public_key not in teams[made.by].keys:
        output.text(f'To count it needs your public key in TEAMS.toml: [{made.by}] keys = ["{done.public_key}"]')
    output.text(f"next: send {done.statement} as a pull request")
    return 0 if made.outcome == "agrees" else 1


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
