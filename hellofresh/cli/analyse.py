"""`hellofresh analyse`: tables and figures of what systems said about a quarter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import ReleaseError
from hellofresh.core.workspace import Workspace
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json

if TYPE_CHECKING:
    from hellofresh.results.analyses import Panel


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    from hellofresh.results.analyses import ANALYSES, get_analyses, make_analyses
    from hellofresh.results.figures.image import need_converter

    if options.name == "list":
        output.result([{"name": one.name, "title": one.title, "question": one.question} for one in ANALYSES.values()])
        output.table("Analyses", ("name", "question"), [(one.name, one.question) for one in ANALYSES.values()])
        return 0
    need_converter()
    analyses = get_analyses(options.name)
    workspace = Workspace.from_environment()
    results = []
    for panel in panels_of(workspace, options):
        made = make_analyses(workspace, panel, analyses, systems=options.system)
        results += [
            {**to_json(one), "folder": str(one.folder), "task": panel.task.name, "edition": str(panel.edition)}
            for one in made
        ]
        rows = [
            (one.name, one.rows, one.missing or ("unchanged, skipped" if one.skipped else "written")) for one in made
        ]
        output.table(f"{panel.task.name} {panel.edition}: analyses", ("analysis", "rows", ""), rows)
        output.text(f"files: {made[0].folder}")
        for note in panel.notes:
            output.say(f"note: {note}")
    output.result(results)
    return 0


def panels_of(workspace: Workspace, options: argparse.Namespace) -> Sequence[Panel]:
    """The panels of a quarter: of the named task, or of all that are released.

    Raises:
        ReleaseError: if there is none.
    """
    from hellofresh.results.analyses import build_panel

    released = [name for edition, name in workspace.released() if edition == options.edition]
    names = [options.task] if options.task else released
    if not names:
        raise ReleaseError(
            f"no release of {options.edition}",
            where=str(workspace.root),
            fix=f"Build one: hellofresh release build --quarter {options.edition}",
            code="no-release",
        )
    return [
        build_panel(workspace, options.edition, get_task(name), options.submissions, private=options.private)
        for name in names
    ]
