"""`hellofresh collect`, `archive` and `hydrate`: from sources to candidates and texts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from collectors import sample
from collectors.jobs import JobRequest, collect_ratings, notes_source
from collectors.notes import fill_texts
from collectors.notes.bridging import BridgingReport
from collectors.notes.snapshot import PUBLIC_URL, DumpRequest, DumpSnapshot, download
from collectors.notes.votes import fit_votes
from collectors.wikipedia.archive import PUBLIC_URL as EXPORTS_URL
from collectors.wikipedia.archive import ExportRequest, download_export
from collectors.wikipedia.source import check_contact
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_collected
from hellofresh.config import Settings
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.executors import asked_pool
from hellofresh.core.files import atomic_path, write_bytes
from hellofresh.core.plugins import plugins
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionReport, collect_quarter
from hellofresh.releases.life.load import hydrate
from hellofresh.results.note_writers import read_note_writers, writers_file
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json


def collect(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if options.download and options.dump is not None:
        raise UsageError("--dump and --download", expected="one of the two", code="two-sources")
    if options.download:
        options = argparse.Namespace(**vars(options) | {"dump": [fetch_snapshot(options, output).folder]})
    elif options.date or options.ratings:
        raise UsageError(
            "--date and --ratings say what to download", fix="Use them with --download.", code="no-download"
        )
    with TemporaryDirectory() as unkept:
        with output.progress(f"prepare {options.task} {options.quarter}") as bar:
            aside = Path(unkept) if options.explain else None
            (job,) = JobRequest(workspace, Settings.load(), options, True, aside, bar.line).jobs()
        if options.explain:
            with output.progress(f"explain {job.task.name} {job.quarter}") as bar:
                found = job.collect(bar.line)
                report = CollectionReport(job.task.name, job.quarter, found.funnel, found.warnings, skipped=False)
                show_collected(output, report, written=False)
            return 0
        with output.progress(f"collect {job.task.name} {job.quarter}") as bar:
            report = collect_quarter(workspace, job, force=options.force, progress=bar.line)
        show_collected(output, report)
    output.text(f"candidates: {workspace.candidates(job.task.name, job.quarter)}")
    return 0


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
    workspace = Workspace.from_environment()
    jobs = options.jobs if options.jobs is not None else min(2, os.cpu_count() or 1)
    path = workspace.bridging(options.quarter)
    with output.progress(f"collect ratings {options.quarter}") as bar:
        report = collect_ratings(
            workspace,
            options.dump[0],
            options.quarter,
            pool=asked_pool(options.cluster, jobs),
            afresh=options.force,
            claims=options.claims,
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


def archive_notes(options: argparse.Namespace, output: CommandOutput) -> int:
    snapshot = fetch_snapshot(options, output)
    output.result(to_json(snapshot) | {"day": str(snapshot.day), "folder": str(snapshot.folder)})
    state = ", all files already downloaded" if snapshot.skipped else ""
    output.table(
        f"Community Notes of {snapshot.day} ({(datetime.now(UTC).date() - snapshot.day).days} days old{state})",
        ("file", "bytes", "SHA-256"),
        [(item.name, item.size, item.sha256) for item in snapshot.files],
    )
    output.text(f"snapshot: {snapshot.folder}")
    return 0


def fetch_snapshot(options: argparse.Namespace, output: CommandOutput) -> DumpSnapshot:
    """Download the named dump into the workspace."""
    configured = Settings.load().sources.x_notes
    url = (configured.base_url if configured else None) or PUBLIC_URL
    request = DumpRequest(options.date, options.ratings, url, accept_partial=options.accept_partial)
    folder = Workspace.from_environment().snapshots("x-notes")
    with output.progress("download x-notes") as bar:
        return download(folder, request, today=datetime.now(UTC).date(), progress=bar.line)


def archive_edits(options: argparse.Namespace, output: CommandOutput) -> int:
    configured = Settings.load().sources.wikipedia_edits
    contact = options.contact or (configured.contact if configured else None)
    request = ExportRequest(
        options.wiki,
        options.date,
        options.url or EXPORTS_URL,
        check_contact(contact) if contact else "",
    )
    folder = Workspace.from_environment().snapshots("wikipedia-edits")
    with output.progress(f"download {options.wiki}") as bar:
        export = download_export(folder, request, progress=bar.line)
    sizes = [(path.name, path.stat().st_size) for path in export.files]
    output.result(to_json(export) | {"day": str(export.day), "folder": str(export.folder), "files": dict(sizes)})
    state = " (all files already downloaded)" if export.skipped else ""
    output.table(f"{options.wiki} of {export.day}{state}", ("file", "bytes"), sizes)
    output.text(f"export: {export.folder}\nNow, for example:")
    output.text(f"  hellofresh collect wikipedia-edits --quarter QUARTER --dump {export.folder}")
    return 0


def hydrate_release(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace, task = Workspace.from_environment(), get_task(options.task)
    source = notes_source(workspace, Settings.load().posts, options.dump, options.posts, options.posts_from)
    warnings: list[str] = []
    with output.progress(f"hydrate {task.name} {options.quarter}") as bar:
        workdir = workspace.raw(task.name, "hydrate")
        fill = partial(fill_texts, source=source, workdir=workdir, progress=bar.line, warn=warnings.append)
        done = hydrate(workspace, options.quarter, task, fill)
    for warning in warnings:
        output.say(f"warning: {warning}")
    path = None if done.path is None else str(done.path)
    output.result(to_json(done) | {"edition": str(done.edition), "path": path})
    if path is None:
        output.text(f"The release of {done.task} for {done.edition} holds its texts: nothing to fill in.")
        return 0
    rows = [(item.id, "gone", item.why) for item in done.gone]
    rows += [(item.id, "changed", item.why) for item in done.changed]
    if rows:
        output.table("Samples that stay without texts", ("id", "", "what"), rows)
    output.text(
        f"{done.filled} of {done.samples} samples filled in, {len(done.gone)} gone, {len(done.changed)} changed: {path}"
    )
    return 1 if done.changed else 0


def write_sample(options: argparse.Namespace, output: CommandOutput) -> int:
    dump, history = options.to / "x-notes", options.to / "wikipedia-edits" / "history.xml.bz2"
    sample.write_notes_dump(dump)
    feed = options.to / "claims" / "feed.json"
    sample.write_history(history)
    sample.write_claims_feed(feed)
    quarters = [str(quarter) for quarter in sample.QUARTERS]
    output.result({"dump": str(dump), "history": str(history), "claims": str(feed), "quarters": quarters})
    output.text(f"Community Notes dump: {dump}")
    output.text(f"revision histories:   {history}")
    output.text(f"feed of reviews:      {feed}")
    output.text(f"quarters:             {', '.join(str(quarter) for quarter in sample.QUARTERS)}")
    return 0
