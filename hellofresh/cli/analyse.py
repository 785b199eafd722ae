"""`hellofresh analyse`: tables and figures on systems' answers in an edition."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_table, state_of
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import load_publishers
from hellofresh.releases.life.load import released_tasks
from hellofresh.results.analyses import ANALYSES, get_analyses
from hellofresh.results.analyses.agents import AGENT_ANALYSES, AgentPanel, read_traces
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.figures.image import need_converter
from hellofresh.results.split.arrays import build_panel
from hellofresh.results.split.panel import Panel
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.name == "list":
        output.result([{"name": one.name, "title": one.title, "question": one.question} for one in ANALYSES.values()])
        output.table("Analyses", ("name", "question"), [(one.name, one.question) for one in ANALYSES.values()])
        return 0
    if options.edition is None:
        raise UsageError("no edition", expected="--edition, such as 2023Q2", code="no-edition")
    if options.name == "agents":
        return _analyse_agents(options, output)
    analyses = get_analyses(options.name)
    need_converter()
    results = []
    workspace = Workspace.from_environment()
    for panel in _panels(workspace, options):
        made = make_analyses(workspace, panel, analyses, systems=options.system)
        results += [
            {**to_json(one), "folder": str(one.folder), "task": panel.task.name, "edition": str(panel.edition)}
            for one in made
        ]
        rows = [(one.name, one.rows, one.missing or state_of(one.skipped, one.why)) for one in made]
        output.table(f"{panel.task.name} {panel.edition}: analyses", ("analysis", "rows", ""), rows)
        output.text(f"files: {made[0].folder}")
        for note in panel.notes:
            output.say(f"note: {note}")
    output.result(results)
    return 0


def _panels(workspace: Workspace, options: argparse.Namespace) -> Sequence[Panel]:
    """The panels of an edition: of the named task, or of all released ones.

    Raises:
        ReleaseError: if nothing is released.
    """
    tasks = [get_task(options.task)] if options.task else released_tasks(workspace, options.edition)
    return [
        build_panel(workspace, options.edition, task, options.submissions, private=options.private) for task in tasks
    ]


def _analyse_agents(options: argparse.Namespace, output: CommandOutput) -> int:
    """Print every table on agents' behaviour, for one task or all tasks of the edition."""
    workspace = Workspace.from_environment()
    publishers = load_publishers(workspace)
    for panel in _panels(workspace, options):
        chosen = panel.only(options.system) if options.system else panel
        given = AgentPanel(chosen, read_traces(workspace, chosen), publishers)
        task, certainty = panel.task.name, ANALYSES["certainty"]
        results = [(one.name, one.title, one.question, one.run(given)) for one in AGENT_ANALYSES]
        results.append((certainty.name, certainty.title, certainty.question, certainty.run(chosen)))
        for name, title, question, result in results:
            rows = result.table.to_dicts()
            output.result(
                {"task": task, "analysis": name, "question": question, "rows": rows, "missing": result.missing}
            )
            show_table(output, f"{title}. {question}", result)
    return 0
