"""`hellofresh sample`: the bundled sample sources."""

from __future__ import annotations

import argparse

from collectors import sample
from hellofresh.cli._output import CommandOutput


def write(options: argparse.Namespace, output: CommandOutput) -> int:
    dump, history = options.folder / "x-notes", options.folder / "wikipedia-edits" / "history.xml.bz2"
    sample.write_notes_dump(dump)
    feed = options.folder / "claims" / "feed.json"
    sample.write_history(history)
    sample.write_claims_feed(feed)
    quarters = [str(quarter) for quarter in sample.QUARTERS]
    output.result({"dump": str(dump), "history": str(history), "claims": str(feed), "quarters": quarters})
    output.text(f"Community Notes dump: {dump}")
    output.text(f"revision histories:   {history}")
    output.text(f"feed of reviews:      {feed}")
    output.text(f"quarters:             {', '.join(str(quarter) for quarter in sample.QUARTERS)}")
    return 0
