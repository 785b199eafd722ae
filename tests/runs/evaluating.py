"""What a process carries out that tests of runs start, kill and wait for."""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def carry_out(order: dict[str, Any]) -> None:
    """Evaluate as ordered, and exit with the status that the command would have."""
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
        sys.exit(error.exit_code)
    sys.exit(1 if evaluated.failed else 0)
