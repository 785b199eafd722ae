"""`hellofresh report`: one page with all analyses of a quarter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.analyse import panels_of
from hellofresh.core.files import write_bytes
from hellofresh.core.workspace import Workspace

if TYPE_CHECKING:
    from hellofresh.results.analyses import Panel, WrittenAnalysis


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Make the analyses and write the page."""
    from hellofresh.results.analyses import ANALYSES, make_analyses
    from hellofresh.results.figures.image import need_converter

    need_converter()
    workspace = Workspace.from_environment()
    analyses = list(ANALYSES.values())
    made = [(panel, make_analyses(workspace, panel, analyses)) for panel in panels_of(workspace, options)]
    private = any(panel.private for panel, _ in made)
    path = workspace.side(private=private) / "analyses" / str(options.edition) / "report.html"
    page = _page(str(options.edition), made)
    skipped = path.is_file() and path.read_bytes() == page
    if not skipped:
        write_bytes(path, page, mode=0o600 if private else 0o644)
    count = sum(len(several) for _, several in made)
    missing = [f"{panel.task.name}: {one.name}" for panel, several in made for one in several if one.missing]
    output.result({"path": str(path), "analyses": count, "missing": missing, "skipped": skipped})
    state = "unchanged, skipped" if skipped else "written"
    output.text(f"{path}: {state}; {count - len(missing)} of {count} analyses have a figure.")
    for name in missing:
        output.say(f"not made: {name}")
    return 0


def _page(edition: str, made: Sequence[tuple[Panel, Sequence[WrittenAnalysis]]]) -> bytes:
    # Only this command needs the site's parts.
    from leaderboard.data.analyses import analyses_in
    from leaderboard.export.report import ReportTask, report_page

    tasks = [
        ReportTask(panel.task.name, panel.task.title, panel.task.question, _size(panel), analyses_in(several[0].folder))
        for panel, several in made
    ]
    return report_page(edition, tasks).encode()


def _size(panel: Panel) -> str:
    groups = len(set(panel.groups.tolist()))
    periods = f"{len(panel.period_names)} {panel.task.period_kind}s, " if panel.edition.is_living else ""
    return f"{len(panel.samples):,} samples in {groups:,} groups, {periods}{len(panel.systems)} systems and regimes."
