"""`hellofresh release takedown`: take samples out of a release."""

from __future__ import annotations

import argparse
from collections import defaultdict

from hellofresh.cli._output import Output
from hellofresh.cli.score import run_score
from hellofresh.clock import now
from hellofresh.errors import UsageError
from hellofresh.quarters import Quarter
from hellofresh.releases import TakenDown, find_sample, gone_samples, take_down
from hellofresh.samples import to_json
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["takedown"]


def takedown(options: argparse.Namespace, output: Output) -> int:
    if bool(options.ids) == options.gone or bool(options.ids) != bool(options.reason):
        raise UsageError("what is to be taken down?", expected="IDs and --reason, or --gone alone", code="bad-takedown")
    workspace = Workspace.from_environment()
    wanted = _gone(workspace, options.quarter) if options.gone else _named(workspace, options)
    done = [
        take_down(workspace, quarter, get_task(task), reasons, now(), split=split)
        for (quarter, task, split), reasons in sorted(wanted.items())
        if reasons
    ]
    output.result([to_json(item) | {"quarter": str(item.quarter)} for item in done])
    for item in done:
        _say(output, item)
    if not done:
        output.text("Nothing is to be taken down.")
    for quarter in sorted({item.quarter for item in done}):
        if workspace.is_scored(quarter):
            run_score(Output(as_json=True), workspace, quarter, options.submissions)
            output.say(f"{quarter} is scored again. 'hellofresh board build' brings the board up to date.")
    if any(item.ids for item in done):
        output.say(
            f"note: {workspace.root / 'raw'}, {workspace.root / 'candidates'} and what you have published elsewhere "
            "may still hold the texts: they are yours to clear."
        )
    return 0


def _named(workspace: Workspace, options: argparse.Namespace) -> dict[tuple[Quarter, str], dict[str, str]]:
    wanted: dict[tuple[Quarter, str], dict[str, str]] = defaultdict(dict)
    for sample_id in dict.fromkeys(options.ids):
        quarter, task = find_sample(workspace, sample_id, options.quarter)
        wanted[quarter, task.name][sample_id] = options.reason
    return wanted


def _gone(workspace: Workspace, wanted: Quarter | None) -> dict[tuple[Quarter, str], dict[str, str]]:
    """What was found to be gone in the quarter that is named, else in every quarter that somebody has looked at."""
    places = [
        (quarter, name)
        for quarter, name in workspace.released()
        if wanted == quarter or (wanted is None and workspace.gone(quarter, name).is_file())
    ]
    texts = [(quarter, name) for quarter, name in places if get_task(name).public_type is not None]
    return {(quarter, name): gone_samples(workspace, quarter, get_task(name)) for quarter, name in texts}


def _say(output: Output, item: TakenDown) -> None:
    if item.ids:
        output.text(
            f"{item.task} {item.quarter}: {', '.join(item.ids)} taken down (version {item.version} of the manifest)."
        )
    if item.before:
        output.text(f"{item.task} {item.quarter}: {', '.join(item.before)} had been taken down before.")
