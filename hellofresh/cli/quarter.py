"""`hellofresh quarter`: the state of each quarter, and all due steps."""

from __future__ import annotations

import argparse
from pathlib import Path

from hellofresh.cli._output import CommandOutput, known
from hellofresh.cli._show import ConsoleShow
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import sweep_leftovers, write_bytes
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day, StepState, due_evaluations, post_summary, steps_due, summary_of
from hellofresh.pipeline.sources import quarter_states
from hellofresh.pipeline.steps import Steps
from hellofresh.runs.evaluate import look_ahead
from hellofresh.tasks.samples import to_json


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load()
    if options.dry_run:
        _show_plan(workspace, settings, output)
        return 0
    # Results of steps are not shown: each step reports in one line.
    day = Day(
        Steps(workspace, options.submissions, ConsoleShow(CommandOutput(as_json=True)), options.yes_it_is),
        settings,
        options.sample,
    )
    with locked(workspace.root / "locks" / "quarter-run.lock", what="running 'hellofresh quarter run'"):
        sweep_leftovers(workspace.root)
        if settings.daily.export is not None:
            sweep_leftovers(Path(settings.daily.export).resolve().parent, deep=False)
        day.all_steps()
    failed = [result for result in day.results if result.state is not StepState.DONE]
    summary = summary_of(workspace, day.results)
    output.result([{"step": one.name, "state": str(one.state), "detail": one.detail} for one in day.results])
    output.text(summary)
    if not settings.sources.any and not options.sample:
        output.say("note: nothing is collected: hellofresh.toml names no source. --sample uses the bundled sample.")
    if options.summary is not None:
        write_bytes(options.summary, f"{summary}\n".encode())
    variable = settings.daily.hook_variable
    if variable is not None and (failed or not settings.daily.hook_on_failure):
        post_summary(variable, summary)
    return 1 if failed else 0


def _show_plan(workspace: Workspace, settings: Settings, output: CommandOutput) -> None:
    """Show the due steps and their cost without writing anything."""
    due = [(step, "", "") for step in steps_due(workspace, settings)]
    for evaluation in due_evaluations(workspace, settings):
        name = f"evaluate {evaluation.title}"
        try:
            ahead = look_ahead(workspace, evaluation)
        except HelloFreshError as error:
            due.append((name, f"cannot begin: {error.what}", ""))
            continue
        if ahead.calls:
            costs = [known(cost, ".2f") + " USD" * (cost is not None) for cost in (ahead.cost_usd, ahead.most_usd)]
            due.append((name, f"{ahead.calls:,} requests", ", at most ".join(costs)))
    output.result([{"step": step, "requests": requests, "cost": cost} for step, requests, cost in due])
    output.table(f"Due at {utc_text(now())}", ("step", "requests", "cost"), due)
    output.text("Collecting, scoring, board and publishing are repeated where their inputs have changed.")


def status(options: argparse.Namespace, output: CommandOutput) -> int:
    """Show the state of quarters, late ones first; 1 if one is late."""
    workspace, settings, moment = Workspace.from_environment(), Settings.load(), now()
    workspace.submissions()  # a damaged record would stop all due steps
    states = quarter_states(workspace, settings, moment, options.quarter or ())
    facts = [{"quarter": str(state.quarter), "calendar": state.calendar.to_json()} for state in states]
    output.result([{**to_json(state), **more} for state, more in zip(states, facts, strict=True)])
    rows = [
        (str(state.quarter), state.task, str(state.phase), "" if state.samples is None else state.samples)
        for state in states
    ]
    output.table(f"Quarters at {utc_text(moment)}", ("quarter", "task", "phase", "samples"), rows)
    for quarter in dict.fromkeys(state.quarter for state in states):
        steps = {state.next_step: state.task for state in states if state.quarter == quarter}
        for step, task in steps.items():
            output.text(f"{quarter}{f' ({task})' if len(steps) > 1 else ''} {step}")
    return 1 if any(state.late for state in states) else 0
