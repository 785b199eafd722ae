"""`hellofresh submission collect`: takes what a site's visitors handed in into the folder of submissions."""

from __future__ import annotations

import argparse
import os
from functools import cache
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.submissions.inbox.accept import ArrivalReport, DueOf, collect_inbox
from hellofresh.submissions.inbox.arrivals import VARIABLE, Inbox
from hellofresh.tasks.samples import to_json

__all__ = ["run"]


def run(options: argparse.Namespace, output: CommandOutput, due_of: DueOf) -> int:
    """Collect, and report each arrival; 1 where one was refused or cannot be read.

    Raises:
        UsageError: if no inbox is named, or it is no folder.
    """
    inbox = Inbox(_folder(options.inbox))
    found, faults = collect_inbox(
        inbox,
        cache(due_of),
        options.submissions,
        edition=options.edition,
        accepted=options.accept,
        rehearse=options.list,
    )
    output.result({"arrivals": [_as_json(item) for item in found], "unreadable": [to_json(fault) for fault in faults]})
    title = "What would happen to each arrival" if options.list else "Arrivals"
    rows = [
        (_entry(item), item.arrival.hash, utc_text(item.arrival.receipt.received), item.state, item.contact)
        for item in found
    ]
    output.table(title, ("entry", "hash", "received", "state", "contact"), rows)
    for item in found:
        for line in ([str(item.fault)] if item.fault else []) + list(item.remarks):
            output.text(f"{_entry(item)} {item.arrival.hash}: {line}")
    for fault in faults:
        output.text(str(fault))
    if options.clear and not options.list:
        inbox.remove([item.arrival for item in found if item.state != "refused"])
    return 1 if faults or any(item.fault for item in found) else 0


def _folder(named: Path | None) -> Path:
    folder = named or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if folder is None or not folder.is_dir():
        raise UsageError(
            "no inbox is configured" if folder is None else "there is no such folder",
            where=str(folder or ""),
            fix=f"Name the site's inbox, here or with {VARIABLE}.",
            code="no-inbox",
        )
    return folder


def _entry(item: ArrivalReport) -> str:
    edition, split, team, system = item.arrival.entry
    return f"{edition}/{team}/{system}" + ("" if split == "main" else f" ({split})")


def _as_json(item: ArrivalReport) -> dict[str, object]:
    edition, split, team, system = item.arrival.entry
    return {
        "arrival": item.arrival.folder.name,
        "hash": item.arrival.hash,
        "edition": edition,
        "split": split,
        "team": team,
        "system": system,
        "receipt": item.arrival.receipt.to_json(),
        "state": item.state,
        "fault": to_json(item.fault) if item.fault else None,
        "contact": item.contact,
        "remarks": list(item.remarks),
    }
