"""`hellofresh quarter`: where each quarter stands."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import quarters_of
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases import QuarterState, state_of
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import to_json

__all__ = ["status"]


def status(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, moment = Workspace.from_environment(), now()
    rule = Settings.load().release.calendar.rule
    released = workspace.released()
    known = quarters_of(edition for edition, _ in released)
    quarters = options.quarter or [*known, Quarter.containing(moment)]
    states = [
        state_of(workspace, quarter, get_task(name), moment, rule)
        for quarter in sorted(set(quarters))
        for name, task in TASKS.items()
        if (quarter, name) in released or (task.is_living and not any(known == quarter for known, _ in released))
    ]
    output.result([_as_json(state) for state in states])
    rows = [
        (str(state.quarter), state.task, str(state.phase), "" if state.samples is None else state.samples)
        for state in states
    ]
    output.table(f"Quarters at {utc_text(moment)}", ("quarter", "task", "phase", "samples"), rows)
    for quarter in dict.fromkeys(state.quarter for state in states):
        steps = {state.next_step: state.task for state in states if state.quarter == quarter}
        for step, task in steps.items():
            output.text(f"{quarter}{f' ({task})' if len(steps) > 1 else ''} {step}")
    return 0


def _as_json(state: QuarterState) -> dict[str, object]:
    return {**to_json(state), "quarter": str(state.quarter), "calendar": state.calendar.to_json()}
