"""`hellofresh collect ratings`: fit a dump's ratings, or any table of votes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict

from collectors.notes import NotesSource
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.executors import asked_pool
from hellofresh.core.files import atomic_path, write_bytes
from hellofresh.core.plugins import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.results.note_writers import read_note_writers, writers_file
from hellofresh_parts.voters.fit import BridgingReport
from hellofresh_parts.voters.jobs import collect_ratings
from hellofresh_parts.voters.votes import fit_votes


def _show_fitted(report: BridgingReport, output: CommandOutput) -> None:
    for warning in report.warnings:
        output.say(f"warning: {warning}")
    output.text(
        f"{report.ratings:,} ratings by {report.raters:,} raters ({report.helpful_raters:,} of them helpful raters); "
        f"{report.notes:,} notes of {report.quarter}: {report.fitted:,} with an intercept, {report.helpful:,} helpful"
    )
    rings = report.rings
    output.text(
        f"{rings.raters:,} of {rings.looked_at:,} active raters found together more often than chance explains; "
        f"{rings.pushed:,} notes that they push"
        + (f", intercept {rings.intercept:.3f}, without them {rings.without:.3f}" if rings.pushed else "")
    )
    rows = []
    for one in report.agreement:
        status, share = one.column.removesuffix("_status"), f"{one.same / one.notes:.3f}"
        rows.append((status, one.by.replace("_", " "), one.name, one.notes, one.same, share))
    output.table("Agreement with X's own statuses", ("status", "by", "", "notes", "same", "share"), rows)


def _check_fit(options: argparse.Namespace) -> None:
    if options.quarter is None:
        fix = "Name it with --quarter Q, or a table of votes with --table."
        raise UsageError("no quarter", fix=fix, code="no-quarter")
    if options.dump is None or len(options.dump) != 1:
        raise UsageError("one dump is needed", fix="Name its folder with --dump DIR.", code="no-source")
    if options.page is not None and options.page.suffix != ".html":
        raise UsageError(f"no such page {str(options.page)!r}", expected="FILE.html", code="bad-output")
    if options.page is not None:
        _writers_page()


def _writers_page() -> Callable[..., str]:
    page = plugins("hellofresh.pages", "note-writers").get("note-writers")
    if page is None:
        fix = "Leave out --page, or unset HELLOFRESH_PLUGINS."
        raise UsageError("no installed package brings the page of note writers", fix=fix, code="no-page")
    made: Callable[..., str] = page.alone
    return made


def fit_ratings(options: argparse.Namespace, output: CommandOutput) -> int:
    """Fit the rating model to a quarter's notes, or read a table of votes on its items."""
    if options.table is not None:
        return _fit_table(options, output)
    _check_fit(options)
    workspace, configured = Workspace.from_environment(), Settings.load().sources.x_notes
    source = NotesSource(options.dump[0], columns=configured.columns if configured else {})
    jobs = options.jobs if options.jobs is not None else min(2, os.cpu_count() or 1)
    path = workspace.bridging(options.quarter)
    with output.progress(f"collect ratings {options.quarter}") as bar:
        report = collect_ratings(
            workspace,
            source.dump,
            options.quarter,
            pool=asked_pool(options.cluster, jobs),
            afresh=options.force,
            claims=options.claims,
            aliases=source.aliases,
            progress=bar.line,
        )
    output.result(asdict(report) | {"path": str(path)})
    _show_fitted(report, output)
    output.text(f"notes: {path}")
    if options.page is not None:
        writers, pairs = read_note_writers(writers_file(path))
        if not writers:
            fix, where = "Name a quarter that it covers.", str(options.dump[0])
            raise DataError(f"the dump has no notes of {report.quarter}", where=where, fix=fix, code="no-notes")
        write_bytes(options.page, _writers_page()(report.quarter, writers, pairs).encode())
        output.text(f"note writers: {options.page}")
    return 0


def _fit_table(options: argparse.Namespace, output: CommandOutput) -> int:
    if any(value is not None for value in (options.dump, options.quarter, options.claims, options.page)):
        fix = "Leave out --dump, --quarter, --claims and --page."
        raise UsageError("--table and a dump", expected="one of the two", fix=fix, code="two-sources")
    path = options.table.with_name(f"{options.table.stem}.fitted.csv")
    with output.progress(f"fit {options.table.name}"):
        items, fit = fit_votes(options.table)
    ranked = items.sort("intercept", "item", descending=[True, False], nulls_last=True)
    with atomic_path(path) as place:
        ranked.write_csv(place)
    output.result({"items": ranked.to_dicts(), "mu": fit.mu, "path": str(path)})
    numbers = ("intercept", "factor", "error")
    shown = [
        {n: f"{v:.3f}" if n in numbers and v is not None else v for n, v in row.items()}
        for row in ranked.head(20).to_dicts()
    ]
    output.table("Items by intercept", ranked.columns, [list(row.values()) for row in shown])
    output.text(f"items: {path}")
    return 0
