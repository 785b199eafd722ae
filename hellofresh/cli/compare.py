"""`hellofresh compare`: whether first place is significant in any table of scores."""

from __future__ import annotations

import argparse

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.files import write_bytes
from hellofresh.results.card import card_of
from hellofresh.results.comparison import compare_scores
from hellofresh.results.score_files import ColumnNames, read_scores, scale_of
from leaderboard.export.one_file import WRITERS

_MOST_PAIRS = 45  # all pairs of ten systems
_COLUMNS = ("item", "system", "score", "cluster", "repeat", "human", "systems", "without")


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Read the files, compare, print, and write the output files if requested."""
    if options.out and options.out.suffix not in WRITERS:
        raise UsageError(f"no such output {str(options.out)!r}", expected=", ".join(WRITERS), code="bad-output")
    given = {name: getattr(options, name) for name in _COLUMNS}
    names = ColumnNames(**given, scale=scale_of(options.scale) if options.scale else None)
    compared = compare_scores(
        read_scores(options.files, names), baseline=options.baseline, lower_is_better=options.lower_is_better,
        missing=options.missing,
    )  # fmt: skip
    card = card_of(compared, _command(options)) if options.card else []
    if options.out:  # first, since the reader of the printed output may close the pipe
        write_bytes(options.out, WRITERS[options.out.suffix](compared, card).encode())
    output.result(compared.plain(card))
    output.text(compared.sentence)
    output.say(compared.said)
    systems, pairs = compared.shown()
    titles = ("Systems", "Pairs, intervals for all together", "Card (Leaderboard Reporting Standard, draft 0.2)")
    for title, rows in zip(titles, (systems, pairs[:_MOST_PAIRS], card), strict=True):
        if rows:
            output.table(title, list(rows[0]), [list(row.values()) for row in rows])
    if compared.pairs.height > _MOST_PAIRS:
        output.say(f"{compared.pairs.height - _MOST_PAIRS:,} more pairs: --json or --out FILE.html")
    for note in compared.notes:
        output.text(note)
    if options.out:
        output.say(f"written: {options.out}")
    return 0


def _command(options: argparse.Namespace) -> str:
    """The command without folders of this machine."""
    parts = ["hellofresh compare", *(path.name for path in options.files[:3])]
    parts += [f"and {len(options.files) - 3} more files"] if len(options.files) > 3 else []
    for name in (*_COLUMNS, "scale"):
        parts += [f"--{name} {getattr(options, name)}"] if getattr(options, name) else []
    parts += [f"--missing {options.missing}"] if options.missing != "fit" else []
    return " ".join([*parts, *(["--lower-is-better"] if options.lower_is_better else [])])
