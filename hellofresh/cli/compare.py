"""`hellofresh compare`: whether first place is significant in any table of scores."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.files import write_bytes
from hellofresh.results.comparison import compare_scores
from hellofresh.results.score_files import ColumnNames, read_scores
from leaderboard.export.one_file import WRITERS

_MOST_PAIRS = 45


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Read the files, compare, print, and write the output files if requested."""
    if options.out and options.out.suffix not in WRITERS:
        raise UsageError(f"no such output {str(options.out)!r}", expected=", ".join(WRITERS), code="bad-output")
    names = ColumnNames(options.item, options.system, options.score, options.cluster, options.repeat)
    compared = compare_scores(
        read_scores(options.files, names), baseline=options.baseline, lower_is_better=options.lower_is_better
    )
    if options.out:  # first, since the reader of the printed output may close the pipe
        write_bytes(options.out, WRITERS[options.out.suffix](compared).encode())
    facts = ("sentence", "said", "notes", "detectable", "needed", "to_lose", "halves")
    found = {name: getattr(compared, name) for name in facts}
    output.result({**found, "systems": compared.table.to_dicts(), "pairs": compared.pairs.to_dicts()})
    output.text(compared.sentence)
    output.say(compared.said)
    systems, pairs = compared.shown()
    for title, rows in (("Systems", systems), ("Pairs, intervals for all together", pairs[:_MOST_PAIRS])):
        output.table(title, list(rows[0]), [list(row.values()) for row in rows])
    if compared.pairs.height > _MOST_PAIRS:
        output.say(f"{compared.pairs.height - _MOST_PAIRS:,} more pairs: --json or --out FILE.html")
    for note in compared.notes:
        output.text(note)
    if options.out:
        output.say(f"written: {options.out}")
    return 0
