"""What a run is to do, written down before the first question: `plan.json` in its folder.

It holds the run's identity (all that must not change within a run), the arguments it was started with, when it was
started, and a number that grows with every run of a workspace, so that the newest of several is known without a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from hellofresh.core.clock import Event
from hellofresh.core.errors import DataError, RunError, UnknownNameError, UsageError
from hellofresh.core.files import canonical_json, read_json, sha256_text, write_json
from hellofresh.core.net.lock import is_locked
from hellofresh.core.quarters import parse_utc
from hellofresh.tasks.samples import EditionName

__all__ = [
    "Arguments",
    "RunPlan",
    "differences",
    "find_run",
    "hash_of",
    "is_running",
    "next_number",
    "read_plan",
    "refuse_changes",
    "run_events",
    "unfinished_kin",
]

_NAME = "plan.json"


class Arguments(BaseModel):
    """What was asked for on the command line."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    edition: EditionName
    task: str
    model: str
    regime: str
    prompts: list[str] = Field(min_length=1)
    samples: PositiveInt
    repeat: PositiveInt
    prompt_set: str | None
    """Path of a prompt set of one's own."""
    split: Literal["main", "prospective"] = "main"
    roles: dict[str, str] = {}
    settings: list[str] = []
    blocked: list[str] = []
    allowed: list[str] = []
    temperature: float | None = None
    vote: bool = False


class _PlanFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    number: PositiveInt
    started: str
    identity: dict[str, object]
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run's plan; `started` is a UTC time (ISO 8601)."""

    number: int
    started: str
    identity: Mapping[str, object]
    arguments: Arguments

    def write(self, folder: Path) -> None:
        """Write it into the run's folder, if it says something new."""
        value = {
            "number": self.number,
            "started": self.started,
            "identity": dict(self.identity),
            "arguments": self.arguments.model_dump(),
        }
        if not (folder / _NAME).is_file() or read_json(folder / _NAME) != value:
            write_json(folder / _NAME, value)


def read_plan(folder: Path) -> RunPlan | None:
    """The plan of the run in a folder, None where there is none.

    Raises:
        RunError: if it is damaged.
    """
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        stored = _PlanFile.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise _damaged(path, f"{place}: {first['msg'].lower()}") from None
    except DataError as error:
        raise _damaged(path, error.what) from None
    return RunPlan(stored.number, stored.started, _renamed(stored.identity, "quarter", "edition"), stored.arguments)


def hash_of(identity: Mapping[str, object]) -> str:
    """What makes a run's id unique, the same as in earlier versions, which called the edition `quarter`."""
    return sha256_text(canonical_json(_renamed(identity, "edition", "quarter")))[:12]


def _renamed(identity: Mapping[str, object], old: str, new: str) -> dict[str, object]:
    return {new if name == old else name: value for name, value in identity.items()}


def run_events(runs: Path) -> Iterator[Event]:
    """When each run was started; a plan that cannot be read records nothing."""
    for folder in sorted(path.parent for path in runs.glob(f"*/{_NAME}")):
        with suppress(RunError, ValueError):
            plan = read_plan(folder)
            if plan is not None:
                yield Event(parse_utc(plan.started), f"the start of the run {folder.name}", str(folder / _NAME))


def _damaged(path: Path, what: str) -> RunError:
    fix = "Move the file away and run the command again: its answers are kept."
    return RunError(what, where=str(path), fix=fix, code="damaged-run")


def next_number(runs: Path) -> int:
    """One more than the largest number of all runs in the folder whose plans can be read."""
    return 1 + max((_number(folder) for folder in runs.glob("*")), default=0)


def _number(folder: Path) -> int:
    """0 where there is no plan, or a damaged one: that is told when its own run is to go on."""
    try:
        plan = read_plan(folder)
    except DataError:
        return 0
    return 0 if plan is None else plan.number


def find_run(runs: Path, name: str) -> Path:
    """The folder of the run with that id, or with the only id that begins or ends so.

    Raises:
        UnknownNameError: if there is none, or more than one.
    """
    known = sorted(path.parent.name for path in runs.glob(f"*/{_NAME}"))
    if name in known:
        return runs / name
    near = [item for item in known if name and (item.startswith(name) or item.endswith(name))]
    if len(near) != 1:
        raise UnknownNameError("run", name, near or known, fix="List them: hellofresh runs list")
    return runs / near[0]


def is_running(folder: Path) -> bool:
    """Whether a process works on the run now."""
    return is_locked(folder / "lock")


def differences(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """What has changed, a sentence a field, fields in order."""
    was, is_now = dict(_flat("", before)), dict(_flat("", now))
    lines = []
    for name in sorted({*was, *is_now}):
        old, new = was.get(name), is_now.get(name)
        if old != new or type(old) is not type(new):
            lines.append(f"{name} was {_shown(old)}, is {_shown(new)}")
    return lines


def refuse_changes(run_id: str, before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse to go on with a run that would not be the same any more.

    Raises:
        UsageError: if anything has changed; it names every field with its old and new value.
    """
    changed = differences(before, now)
    if changed:
        raise UsageError(
            f"cannot resume, because this has changed since: {'; '.join(changed)}",
            where=run_id,
            fix="Undo the change, or start a new run: hellofresh evaluate.",
            code="run-changed",
        )


def unfinished_kin(runs: Path, run_id: str, identity: Mapping[str, object]) -> Iterator[str]:
    """For a run that is about to start: a sentence on each unfinished one with the same task, quarter, model and
    regime, which whoever gives its command again may mean to go on with.

    Args:
        runs: the folder of all runs.
        run_id, identity: of the new run.
    """
    for folder in sorted(runs.glob("*")):
        if folder.name == run_id or (folder / "run.json").exists() or not _number(folder):
            continue
        plan = read_plan(folder)
        if plan is not None and _kind(plan.identity) == _kind(identity):
            changed = "; ".join(differences(plan.identity, identity))
            yield f"this is a new run, not the unfinished {folder.name}: {changed}"


def _kind(identity: Mapping[str, object]) -> list[object]:
    named = [
        value.get("name") if isinstance(value, Mapping) else None for value in map(identity.get, ("model", "regime"))
    ]
    return [identity.get("task"), identity.get("edition"), *named]


def _flat(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), item)
    else:
        yield prefix, value


def _shown(value: object) -> str:
    return "absent" if value is None else repr(value)
