"""`hellofresh report`: one page with all analyses of a quarter."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import Output
from hellofresh.cli.analyse import need_matplotlib, panels_of
from hellofresh.samples import to_json
from hellofresh.workspace import Workspace

__all__ = ["run"]


def run(options: argparse.Namespace, output: Output) -> int:
    need_matplotlib()
    from hellofresh.analyses import make_report

    workspace = Workspace.from_environment()
    reported = make_report(workspace, panels_of(workspace, options))
    output.result({**to_json(reported), "path": str(reported.path)})
    state = "unchanged, skipped" if reported.skipped else "written"
    figures = reported.analyses - len(reported.missing)
    output.text(f"{reported.path}: {state}; {figures} of {reported.analyses} analyses have a figure.")
    for name in reported.missing:
        output.say(f"not made: {name}")
    return 0
