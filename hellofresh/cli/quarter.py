"""`hellofresh quarter`: the state of each quarter, and all due steps."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput, known
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.errors import HelloFreshError, UsageError
from hellofresh.core.files import sweep_leftovers, write_bytes
from hellofresh.core.net.lock import locked
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day, StepState, due_evaluations, post_summary, steps_due, summary_of
from hellofresh.pipeline.memory import Memory
from hellofresh.pipeline.opening import open_release, openings
from hellofresh.pipeline.sources import quarter_states
from hellofresh.pipeline.status import status_lines
from hellofresh.pipeline.steps import Steps
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.draw.escrow import Escrow
from hellofresh.releases.life.record import record_witness
from hellofresh.releases.publish.restore import restore_from
from hellofresh.runs.evaluate import look_ahead
from hellofresh.tasks.samples import to_json


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, settings = Workspace.from_environment(), Settings.load()
    if options.dry_run:
        _show_plan(workspace, settings, output)
        return 0
    # Results of steps are not shown: each step reports in one line, and only what it did not say on the last day.
    news = _News(Memory.of(workspace).said)
    day = Day(Steps(workspace, options.submissions, ConsoleShow(news), options.yes_it_is), settings, options.sample)
    with locked(workspace.root / "locks" / "quarter-run.lock", what="running 'hellofresh quarter run'"):
        sweep_leftovers(workspace.root)
        if settings.daily.export is not None:
            sweep_leftovers(Path(settings.daily.export).resolve().parent, deep=False)
        day.all_steps()
        summary = summary_of(workspace, day.results)
        # What failed or waits is said each day until it is done.
        news.known -= {line for one in day.results if one.state is not StepState.DONE for line in str(one).split("\n")}
        for line in summary.split("\n"):
            news.say(line)
        names = [result.name for result in day.results]
        Memory.of(workspace).at_end(utc_text(now()), names, news.lines).write(workspace)
    if news.as_before:
        output.say(f"{news.as_before} lines are unchanged: see {workspace.root / 'private/steps.json'}")
    output.result([{"step": one.name, "state": str(one.state), "detail": one.detail} for one in day.results])
    if not settings.sources.any and not options.sample:
        output.say("note: hellofresh.toml names no source, so nothing is collected. --sample uses the bundled sample.")
    if options.summary is not None:
        write_bytes(options.summary, f"{summary}\n".encode())
    variable = settings.daily.hook_variable
    if variable is not None and (day.news or not settings.daily.hook_on_failure):
        post_summary(variable, summary)
    return 1 if day.failed else 0


class _News(CommandOutput):
    """Prints the lines that were not printed on the last day, and keeps all."""

    def __init__(self, known: Collection[str]) -> None:
        super().__init__(as_json=True)
        self.known, self.lines, self.as_before = frozenset(known), list[str](), 0

    def say(self, line: str) -> None:
        self.lines.append(line)
        if line in self.known:
            self.as_before += 1
        else:
            super().say(line)


def open_quarter(options: argparse.Namespace, output: CommandOutput) -> int:
    """Show the funnel of a quarter beside the last one's, and open what has no warnings; 1 if some stay closed."""
    workspace, settings = Workspace.from_environment(), Settings.load()
    found = [one for one in openings(workspace, settings) if one.quarter == options.quarter]
    asked = [one for one in found if options.task in (None, one.task)]
    if not asked:
        fix = f"Look: hellofresh quarter status --quarter {options.quarter}"
        raise UsageError(f"no task of {options.quarter} waits to be opened", fix=fix, code="nothing-to-open")
    Witness.of(workspace, workspace.submissions(), settings, options.yes_it_is).confirm("the opening")
    stays = []
    for one in asked:
        names = ("", str(one.quarter), str(one.quarter.previous()))
        output.table(f"{one.task} {one.quarter}", names, list(one.funnels))
        for fault in one.faults:
            output.text(f"{one.task}: {fault}")
        if one.faults and not options.anyway:
            stays.append(one.task)
            how = f"hellofresh quarter open {one.quarter} --task {one.task} --anyway"
            output.text(f"It is not opened. To open it as it is: {how}")
        else:
            open_release(workspace, one.quarter, one.task)
            output.text(f"{one.task} {one.quarter} is open.")
    output.result([{"task": one.task, "faults": list(one.faults), "opened": one.task not in stays} for one in asked])
    output.text("Next: hellofresh quarter run (or wait for the timer): it evaluates and publishes.")
    return 1 if stays else 0


def restore(options: argparse.Namespace, output: CommandOutput) -> int:
    """Take over what a publication holds, or make a new escrow key in place of one that is lost."""
    workspace = Workspace.from_environment()
    if sum((options.source is not None, options.new_key, options.witness is not None)) != 1:
        expected = "one of --from TARGET, --new-key, --witness RELEASE=SHA256"
        raise UsageError("nothing to restore", expected=expected, code="bad-restore")
    if options.witness is not None:
        output.text(f"{record_witness(workspace, options.witness)}: on record; it is checked before every step.")
        return 0
    if options.new_key:
        Escrow.replace_lost_key(workspace)
        output.text(f"{workspace.escrow_key} is new: back it up. Quarters that are not opened are drawn again with it.")
        return 0
    found = restore_from(workspace, options.source, now())
    output.result([{**to_json(one), "edition": str(one.edition)} for one in found])
    for one in found:
        said = [f"{one.task} {one.edition} ({one.split}): taken over from {options.source}"]
        said += [f"{one.labels} labels recovered"] if one.labels else []
        fill = f"hellofresh hydrate --quarter {one.edition} --dump DIR --posts-from ..."
        said += [f"{one.without_texts} samples have no texts here: {fill}"] if one.without_texts else []
        said += [f"the version that was here is in {one.set_aside}"] if one.set_aside else []
        output.text("; ".join(said))
    output.text("Next: hellofresh quarter status" if found else f"Nothing to restore: {options.source} is not newer.")
    return 0


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
    """Show in at most ten lines what waits for a person, fails, is open, and comes next; 1 if a person is needed."""
    workspace, settings, moment = Workspace.from_environment(), Settings.load(), now()
    workspace.submissions()  # a damaged record would stop all due steps
    states = quarter_states(workspace, settings, moment, options.quarter or ())
    facts = [{"quarter": str(state.quarter), "calendar": state.calendar.to_json()} for state in states]
    output.result([{**to_json(state), **more} for state, more in zip(states, facts, strict=True)])
    lines = status_lines(workspace, settings, states, moment, everything=options.all)
    for line in lines:
        output.text(str(line))
    return 1 if any(line.needs_person for line in lines) else 0
