"""`hellofresh agents` and `hellofresh publishers`: what agents did, and how their sources are rated."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import COLUMNS, PRIORITIES, import_publishers, load_publishers, read_publishers

if TYPE_CHECKING:
    import polars as pl

    from hellofresh.results.analyses import AnalysisResult
    from hellofresh.results.analyses.agents import AgentPanel

__all__ = ["analyse", "import_ratings", "show_table", "show_tables"]

_HIDDEN = frozenset({"team", "kind", "smoke_test", "prompt"})


def import_ratings(options: argparse.Namespace, output: CommandOutput) -> int:
    """`publishers import`."""
    columns = dict(map(_column, options.column))
    lists = {name: path for name in PRIORITIES if (path := getattr(options, name)) is not None}
    if options.file is None and not lists:
        fix = "Name a file of ratings, or a list of domains after --high, --medium or --low."
        raise UsageError("nothing to import", where="publishers import", fix=fix, code="no-file")
    publishers = import_publishers(Workspace.from_environment(), options.file, columns, lists)
    rated = publishers.rated.values()
    counts = {name: sum(getattr(item, name) not in (None, "") for item in rated) for name in COLUMNS[1:]}
    priorities = {name: sum(item.priority == name for item in rated) for name in PRIORITIES}
    found = {"domains": len(publishers.rated), **counts, "priorities": priorities}
    output.result({**found, "left_out": list(publishers.left_out)})
    listed = ", ".join(f"{count:,} with {name}" for name, count in counts.items())
    sources = ", ".join(f"{count:,} {name}" for name, count in priorities.items())
    output.say(f"{len(publishers.rated):,} domains: {listed}. Priority as a source: {sources}.")
    if publishers.left_out:
        first = ", ".join(publishers.left_out[:3])
        output.say(f"note: {len(publishers.left_out)} rows name no domain and are left out, such as {first}.")
    return 0


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if name not in COLUMNS or not equals or not column:
        expected = f"NAME=COLUMN, NAME among {', '.join(COLUMNS)}"
        raise UsageError(f"{text!r} names no column", expected=expected, code="bad-column")
    return name, column


def analyse(options: argparse.Namespace, output: CommandOutput) -> int:
    """`agents analyse`: every table, of every task of the edition or of one."""
    from hellofresh.cli.analyse import panels_of
    from hellofresh.results.analyses.agents import AgentPanel
    from hellofresh.results.traces import read_traces

    workspace = Workspace.from_environment()
    publishers = load_publishers(workspace) if options.ratings is None else read_publishers(options.ratings)
    for panel in panels_of(workspace, options):
        chosen = panel.only(options.system) if options.system else panel
        show_tables(output, AgentPanel(chosen, read_traces(workspace, chosen), publishers))
    return 0


def show_tables(output: CommandOutput, given: AgentPanel) -> None:
    """Print what agents of a panel did; with `--json`, one object a table."""
    from hellofresh.results.analyses import ANALYSES
    from hellofresh.results.analyses.agents import AGENT_ANALYSES

    task, certainty = given.panel.task.name, ANALYSES["certainty"]
    results = [(one.name, one.title, one.question, one.run(given)) for one in AGENT_ANALYSES]
    results.append((certainty.name, certainty.title, certainty.question, certainty.run(given.panel)))
    for name, title, question, result in results:
        rows = result.table.to_dicts()
        output.result({"task": task, "analysis": name, "question": question, "rows": rows, "missing": result.missing})
        show_table(output, f"{title}. {question}", result)


def show_table(output: CommandOutput, title: str, result: AnalysisResult) -> None:
    """Print a table with values and their limits in one column, or why there is none."""
    if result.missing:
        output.text(f"{title} {result.missing}\n")
        return
    columns, shown = _shown(result.table)
    output.table(title, columns, shown)
    for note in result.notes:
        output.text(f"note: {note}")


def _shown(table: pl.DataFrame) -> tuple[Sequence[str], list[list[str]]]:
    """Columns and cells for people: a value and its limits in one column."""
    names = [name for name in table.columns if name not in _HIDDEN]
    limits = {f"{name}_{end}" for name in names for end in ("low", "high") if f"{name}_low" in names}
    limits |= {"low", "high"} if {"value", "low", "high"} <= set(names) else set()
    kept = [name for name in names if name not in limits]
    rows = [[_cell(row, name) for name in kept] for row in table.iter_rows(named=True)]
    return [name.replace("_", " ") for name in kept], rows


def _cell(row: dict[str, object], name: str) -> str:
    value = row[name]
    prefix = "" if name == "value" else f"{name}_"
    low, high = row.get(f"{prefix}low"), row.get(f"{prefix}high")
    if value is None:
        return ""
    if isinstance(value, float):
        shown = f"{value:.3f}"
        return f"{shown} [{low:.3f}, {high:.3f}]" if isinstance(low, float) and isinstance(high, float) else shown
    return str(value)
