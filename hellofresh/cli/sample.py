"""`hellofresh sample`: the bundled sample sources."""

from __future__ import annotations

import argparse
from pathlib import Path

from collectors import sample
from hellofresh.cli._arguments import Subparsers, add_command
from hellofresh.cli._output import Output

__all__ = ["register"]


def register(nouns: Subparsers) -> None:
    """Add the commands."""
    about = "The bundled sample sources, written for this project; they show the machinery and rank nobody."
    verbs = nouns.add_parser("sample", help="the bundled sample sources", description=about).add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    parser = add_command(verbs, "write", "Write the sample sources in the real formats: TSV shards and XML.", _write)
    parser.add_argument("folder", type=Path, help="where to write x-notes/ and wikipedia-edits/")


def _write(options: argparse.Namespace, output: Output) -> int:
    dump, history = options.folder / "x-notes", options.folder / "wikipedia-edits" / "history.xml.bz2"
    sample.write_notes_dump(dump)
    sample.write_history(history)
    output.result({"dump": str(dump), "history": str(history), "quarters": [str(q) for q in sample.QUARTERS]})
    output.text(f"Community Notes dump: {dump}")
    output.text(f"revision histories:   {history}")
    output.text(f"quarters:             {', '.join(str(quarter) for quarter in sample.QUARTERS)}")
    return 0
