"""`hellofresh collect ratings`: what thousands of ratings say of a quarter's notes."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from hellofresh.cli._output import CommandOutput
from hellofresh.collectors.jobs import reading_pool
from hellofresh.collectors.notes.bridging import Agreeing, collect_bridging
from hellofresh.core.errors import UsageError
from hellofresh.core.executors import process_pool
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.escrow import Escrow


def collect_ratings(options: argparse.Namespace, output: CommandOutput) -> int:
    if options.dump is None or len(options.dump) != 1:
        raise UsageError("one dump is needed", fix="Name its folder with --dump DIR.", code="no-source")
    workspace = Workspace.from_environment()
    pool = reading_pool(options)
    jobs = options.jobs if options.jobs is not None else min(2, os.cpu_count() or 1)
    if pool is None and jobs > 1:
        pool = process_pool(jobs)
    path = workspace.bridging(options.quarter)
    with output.progress(f"collect ratings {options.quarter}") as bar:
        report = collect_bridging(
            options.dump[0],
            options.quarter,
            output=path,
            folder=workspace.root / "private" / "ratings",
            key=bytes.fromhex(Escrow.of_workspace(workspace).salt("participants")),
            pool=pool,
            afresh=options.force,
            claims=options.claims,
            progress=bar.line,
        )
    output.result(asdict(report) | {"path": str(path)})
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
    rows = [_agreement_row(one) for one in report.agreement]
    output.table("Agreement with X's own statuses", ("status", "by", "", "notes", "same", "share"), rows)
    output.text(f"notes: {path}")
    return 0


def _agreement_row(one: Agreeing) -> tuple[object, ...]:
    share = f"{one.same / one.notes:.3f}"
    return one.column.removesuffix("_status"), one.by.replace("_", " "), one.name, one.notes, one.same, share
