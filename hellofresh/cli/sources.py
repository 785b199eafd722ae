"""`hellofresh collect`, `archive` and `hydrate`: from sources to candidates and texts."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory

from collectors import FITS, sample
from collectors.jobs import JobRequest, notes_source
from collectors.notes import fill_texts
from collectors.notes.snapshot import PUBLIC_URL, DumpRequest, DumpSnapshot, download
from collectors.wikipedia.archive import PUBLIC_URL as EXPORTS_URL
from collectors.wikipedia.archive import ExportRequest, download_export
from collectors.wikipedia.source import check_contact
from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_collected
from hellofresh.config import Settings
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionReport, collect_quarter
from hellofresh.releases.life.load import hydrate
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


def fit(options: argparse.Namespace, output: CommandOutput) -> int:
    """Run the command of what is learnt from a dump before notes are collected."""
    done: int = resolve_name(FITS[options.task].command)(options, output)
    return done


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
