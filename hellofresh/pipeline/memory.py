"""What the daily run remembers from one day to the next: since when steps fail or wait, and what was said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from hellofresh.core.files import read_model, write_json
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionJob

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step: when it last succeeded, since when it has failed or waited and why, and the day of what it read."""

    done: str = ""
    since: str = ""
    why: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Content of `private/steps.json`.

    Attributes:
        ran: when the daily run last came to its end.
        steps: by name.
        said: the lines of the last run, which are not repeated.
    """

    ran: str = ""
    steps: Mapping[str, StepRecord] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    @classmethod
    def of(cls, workspace: Workspace) -> Memory:
        """The memory of a workspace; empty before the first run."""
        path = _path(workspace)
        return read_model(path, cls) if path.is_file() else cls()

    def write(self, workspace: Workspace) -> None:
        write_json(_path(workspace), asdict(self), mode=0o600)

    def after(self, name: str, day: str, *, why: str | None, source: str = "") -> Memory:
        """With the outcome of a step: the reason why it failed or waits; None where it is done."""
        before = self.steps.get(name, StepRecord())
        if why is None:
            now = StepRecord(done=day, source=source or before.source)
        else:
            now = replace(before, since=before.since or day, why=why)
        return replace(self, steps={**self.steps, name: now})

    def at_end(self, day: str, names: Iterable[str], said: Iterable[str]) -> Memory:
        """At the end of a run; troubles of steps that are no longer due are forgotten."""
        kept = {name: one for name, one in self.steps.items() if name in set(names) or (one.source and not one.since)}
        return Memory(day, kept, tuple(dict.fromkeys(said)))

    @property
    def troubles(self) -> dict[str, StepRecord]:
        """The steps that fail or wait."""
        return {name: one for name, one in self.steps.items() if one.since}


def _path(workspace: Workspace) -> Path:
    return workspace.root / "private" / "steps.json"


def source_day(job: CollectionJob, today: date) -> str:
    """The day of the newest source of a job: as a path names it, else the file's last change; today for an API."""
    named = [day for path in job.files for day in _DAY.findall(str(path))]
    changed = (datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat() for path in job.files)
    return max(named or changed, default=today.isoformat())
