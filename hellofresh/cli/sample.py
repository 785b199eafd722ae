"""`hellofresh sample`: the bundled sample sources."""

from __future__ import annotations

import argparse

from collectors import sample
from hellofresh.cli._output import CommandOutput

__all__ = ["write"]


def write(options: argparse.Namespace, output: CommandOutput) -> int:
    dump, history = options.folder / "x-notes", options.folder / "wikipedia-edits" / "history.xml.bz2"
    sample.write_notes_dump(dump)
    sample.write_history(history)
    output.result({"dump": str(dump), "history": str(history), "quarters": [str(q) for q in sample.QUARTERS]})
    output.text(f"Community Notes dump: {dump}")
    output.text(f"revision histories:   {history}")
    output.text(f"quarters:             {', '.join(str(quarter) for quarter in sample.QUARTERS)}")
    return 0
