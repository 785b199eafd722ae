"""A second witness of the time, required before steps that cannot be undone: reveal, resolution, publication.

A clock that is years ahead would irrevocably publish the labels of an open quarter. If the workspace has a record that
is recent by the clock, no further witness is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from itertools import chain
from pathlib import Path

import aiohttp

from collectors.notes.snapshot import PUBLIC_URL
from hellofresh.config import Settings
from hellofresh.core.clock import Event, now
from hellofresh.core.errors import DataError, HelloFreshError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.files import read_model, write_json
from hellofresh.core.net.http import HttpClient, UnusableReplyError
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.phases import release_events
from hellofresh.releases.life.record import read_record
from hellofresh.runs.plan import run_events
from hellofresh.submissions.receipts import receipt_events

LONGEST_GAP = timedelta(days=45)
"""Longest gap between the newest record of a workspace and the clock."""
_NEAR, _TIMEOUT_S = timedelta(days=2), 20.0  # time zones and slow clocks differ by less; a quarter by much more
_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class LastTime:
    """When something was last done: the time confirmed by more than records, or a release's posts looked up."""

    at: str


@dataclass(frozen=True, slots=True)
class Witness:
    """Sources that can confirm the time.

    Attributes:
        workspace, submissions: folders whose records count.
        day: the current day as stated by the user, if given.
        servers: addresses whose replies contain a date.
    """

    workspace: Workspace
    submissions: Path
    day: date | None = None
    servers: Sequence[str] = ()

    @classmethod
    def of(cls, workspace: Workspace, submissions: Path, settings: Settings, day: date | None = None) -> Witness:
        """The witness of a workspace, with the servers of its settings."""
        notes = settings.sources.x_notes
        index = [notes.base_url or PUBLIC_URL] if notes is not None and notes.dump is None else []
        return cls(workspace, submissions, day, [*index, *([_HUB] if settings.daily.hub is not None else [])])

    def confirm(self, step: str) -> None:
        """Raise UsageError if nothing confirms the clock's time."""
        moment, record = now(), self.workspace.root / "private" / "confirmed.json"
        known = read_model(record, LastTime).at if record.is_file() else ""
        events = sorted((event for event in self._records() if event.at <= moment), key=lambda event: event.at)
        others = [Event(parse_utc(known), "a witness", str(record))] if known else []
        others += [event for event in self._dumps() if event.at <= moment]
        newest = max(others, key=lambda event: event.at, default=next(iter(events), None))
        for event in events:  # records after a gap may come from a wrong clock
            if newest is not None and newest.at < event.at <= newest.at + LONGEST_GAP:
                newest = event
        if newest is not None and moment - newest.at <= LONGEST_GAP:
            return
        if self.day == moment.date() or any(abs(_said_by(server) - moment) <= _NEAR for server in self.servers):
            write_json(record, asdict(LastTime(utc_text(moment))), mode=0o600)
            return
        since = f"{newest.what} of {utc_text(newest.at)}" if newest is not None else "nothing"
        raise UsageError(
            f"{step} cannot be undone, so it waits: the clock says {utc_text(moment)}, the newest record is {since}",
            where=str(self.workspace.root) if newest is None else newest.where,
            expected=f"a record of the last {LONGEST_GAP.days} days, or another witness of the time",
            fix=f"If the clock is right, say so: --yes-it-is {moment:%Y-%m-%d}",
            code="unconfirmed-time",
        )

    def _records(self) -> Iterator[Event]:
        """All records of the workspace with this machine's time: events, runs and openings of releases."""
        yield from chain(
            receipt_events(self.submissions), release_events(self.workspace), run_events(self.workspace.runs)
        )
        with suppress(DataError):
            for name, at in read_record(self.workspace).opened.items():
                yield Event(parse_utc(at), f"the opening of {name}", str(self.workspace.root / "releases" / name))

    def _dumps(self) -> Iterator[Event]:
        """The days of the downloaded dumps, as stated by their servers."""
        for folder in sorted(self.workspace.root.glob("raw/*/????-??-??")):
            with suppress(ValueError):
                day = datetime.combine(date.fromisoformat(folder.name), time(), UTC)
                yield Event(day, f"the dump {folder.name}", str(folder))


def _said_by(server: str) -> datetime:
    """The time in a server's reply, or the earliest possible time if it has none."""

    async def ask() -> str:
        client = HttpClient("witness", {}, timeout_s=_TIMEOUT_S)
        try:
            return (await client.send("HEAD", server)).headers.get("Date", "")
        finally:
            await client.close()

    try:
        return parsedate_to_datetime(completed(ask())).astimezone(UTC)
    except (UnusableReplyError, HelloFreshError, aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return datetime.min.replace(tzinfo=UTC)
