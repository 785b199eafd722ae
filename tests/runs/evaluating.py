"""A process that has everything imported and forks a child for each evaluation that it is told to carry out.

A line of JSON on standard input starts one; a line with the child's process id comes back at once, and one with its
exit status when it has ended and an empty line has asked for it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path

import aiohttp

from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.workspace import Workspace
from hellofresh.models import Limits, ModelSpec
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.models.providers.chat import ChatModel
from hellofresh.models.tables import Abilities, Endpoint
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.pace import Patience
from hellofresh.tasks import get_task

assert aiohttp


def carry_out(order) -> int:
    limits = Limits(order.get("in_flight", 4))
    spec = ModelSpec("loop", "language-model", "A loopback endpoint.", {}, limits=limits)
    endpoint = Endpoint(order["base_url"], "loop", timeout_s=order.get("timeout_s", 10.0))
    CATALOGUE["loop"] = CatalogueEntry("Loopback.", lambda _: ChatModel(spec, endpoint, Abilities()))
    if "most_bytes" in order:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["most_bytes"], order["most_bytes"]))
    patience = Patience(first_s=0.02, drain_s=order.get("drain_s", 10.0))
    evaluation = Evaluation(
        parse_edition(order.get("edition", "2023Q2")),
        get_task(order.get("task", "x-notes")),
        "loop",
        prompts=order.get("prompts", "all"),
        patience=patience,
    )
    if "regime" in order:
        os.environ["HELLOFRESH_CONFIG"] = order["config"]
        evaluation = replace(evaluation, regime=order["regime"], settings=tuple(order["settings"]))
    try:
        evaluated = evaluate(Workspace(Path(order["folder"])), evaluation, lambda _: None)
    except HelloFreshError as error:
        Path(order["told"]).write_text(f"{error.code}: {error}")
        return error.exit_code
    return 1 if evaluated.failed else 0


def main() -> None:
    while line := sys.stdin.readline():
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 99
            try:
                code = carry_out(order)
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)
        sys.stdin.readline()  # a child that has ended keeps its id until then
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


main()
