"""The plan of a run, `plan.json` in its folder, written before the first question.

It holds the evaluation with its prompts and samples, the run's identity (everything that must not change within a run),
its start time, and a number that grows with every run of a workspace, which shows the newest without a clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    GetPydanticSchema,
    PositiveInt,
    ValidationError,
    create_model,
)
from pydantic_core import core_schema

from hellofresh.core.clock import Event
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import DataError, RunError, UnknownNameError, UsageError
from hellofresh.core.files import canonical_json, model_fault, read_json, read_model, sha256_text, write_json
from hellofresh.core.net.lock import is_locked
from hellofresh.core.quarters import parse_utc
from hellofresh.core.strict import Strict
from hellofresh.runs.evaluation import HINTS, OPTIONS, STORED, Evaluation
from hellofresh.runs.prompts import PAPER, STANDARD
from hellofresh.tasks import get_task

_NAME = "plan.json"
_FIX = "Move the file away and run the command again: its answers are kept."


def stored_form(evaluation: Evaluation) -> dict[str, object]:
    found = {name: getattr(evaluation, name) for name in STORED}
    chosen = evaluation.prompt_set
    named = {
        "edition": str(evaluation.edition),
        "task": evaluation.task.name,
        "prompt_set": chosen if chosen in (None, PAPER, STANDARD) else str(Path(chosen).resolve()),
    }
    return {name: list(item) if isinstance(item, tuple) else item for name, item in (found | named).items()}


def read_evaluation(said: object) -> Evaluation:
    """An evaluation from a file's content or from Python values; types are strict.

    Raises:
        ValueError: if it is invalid or a name is unknown.
    """
    if isinstance(said, Evaluation):
        return said
    try:
        found = _form().model_validate_json(json.dumps(said, default=str))
        values = {name: getattr(found, name) for name in found.model_fields_set}
        edition, task = parse_edition(values.pop("edition")), get_task(values.pop("task"))
    except ValidationError as error:
        raise ValueError(model_fault(error)) from None
    except UsageError as error:
        raise ValueError(str(error)) from None
    for name, value in values.items():
        if OPTIONS[name].choices and value not in OPTIONS[name].choices:
            raise ValueError(f"{name}: expected one of {', '.join(OPTIONS[name].choices)}")
    return Evaluation(edition, task, **values)


@cache
def _form() -> type[BaseModel]:
    """A strict pydantic model of the stored form, made from the fields of `Evaluation`."""
    needed = ("edition", "task", "model")
    columns: dict[str, Any] = {
        name: (hint, ... if name in needed else None) for name, hint in HINTS.items() if name in {"edition", *OPTIONS}
    }
    return create_model("StoredEvaluation", __config__=ConfigDict(extra="forbid", strict=True), **columns)


_FIELD = core_schema.no_info_plain_validator_function(
    read_evaluation, serialization=core_schema.plain_serializer_function_ser_schema(stored_form)
)
StoredEvaluation = Annotated[Evaluation, GetPydanticSchema(lambda _, __: _FIELD)]
"""Type of a field with an evaluation in a pydantic model."""


class RunPlan(Strict):
    """A run's plan.

    Attributes:
        number: grows with every run of a workspace.
        started: UTC time (ISO 8601).
        identity: everything that must not change within the run.
        evaluation: with the ids of its prompts and the number of samples.
        balanced: whether a subset of samples keeps the class balance, since labels were public at the start.
    """

    version: Literal[1] = 1
    number: PositiveInt
    started: str
    identity: dict[str, object]
    evaluation: StoredEvaluation
    balanced: bool = False

    def write(self, folder: Path) -> None:
        """Write the plan into the run's folder if it has changed."""
        value = self.model_dump(mode="json")
        if not (folder / _NAME).is_file() or read_json(folder / _NAME) != value:
            write_json(folder / _NAME, value)


def read_plan(folder: Path) -> RunPlan | None:
    """The plan of the run in a folder, None if absent.

    Raises:
        RunError: if it is damaged.
    """
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        return read_model(path, RunPlan, error=RunError, fix=_FIX, code="damaged-run")
    except RunError:
        raise
    except DataError as error:
        raise RunError(error.what, where=str(path), fix=_FIX, code="damaged-run") from None


def hash_of(identity: Mapping[str, object]) -> str:
    """Hash of a run's identity, for its id."""
    return sha256_text(canonical_json(identity))[:12]


def _plans(runs: Path) -> Iterator[tuple[Path, RunPlan]]:
    """Each run's folder and plan; damaged plans are skipped, and reported when their run is resumed."""
    for folder in sorted(path.parent for path in runs.glob(f"*/{_NAME}")):
        with suppress(DataError, ValueError):
            plan = read_plan(folder)
            if plan is not None:
                yield folder, plan


def run_events(runs: Path) -> Iterator[Event]:
    """The start of each run as an event; plans without a time are skipped."""
    for folder, plan in _plans(runs):
        with suppress(ValueError):
            yield Event(parse_utc(plan.started), f"the start of the run {folder.name}", str(folder / _NAME))


def next_number(runs: Path) -> int:
    """The largest number of all readable plans in the folder, plus one."""
    return 1 + max((plan.number for _, plan in _plans(runs)), default=0)


def find_run(runs: Path, name: str) -> Path:
    """The folder of the run with that id or a unique prefix or suffix of it.

    Raises:
        UnknownNameError: if no run matches, or more than one.
    """
    known = sorted(path.parent.name for path in runs.glob(f"*/{_NAME}"))
    if name in known:
        return runs / name
    near = [item for item in known if name and (item.startswith(name) or item.endswith(name))]
    if len(near) != 1:
        raise UnknownNameError("run", name, near or known, fix="List them: hellofresh runs show")
    return runs / near[0]


def is_running(folder: Path) -> bool:
    return is_locked(folder / "lock")


def differences(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """A sentence for each changed field, in order."""
    was, is_now = dict(_flat("", before)), dict(_flat("", now))
    lines = []
    for name in sorted({*was, *is_now}):
        old, new = was.get(name), is_now.get(name)
        if old != new or type(old) is not type(new):
            said = ["absent" if value is None else repr(value) for value in (old, new)]
            lines.append(f"{name} was {said[0]}, is {said[1]}")
    return lines


def refuse_changes(run_id: str, before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Refuse to resume a run with a changed identity.

    Raises:
        UsageError: if a field has changed, with the old and new value of each.
    """
    changed = differences(before, now)
    if changed:
        older = any(line.startswith("regime.version ") for line in changed)
        raise UsageError(
            f"cannot resume, because this has changed since: {'; '.join(changed)}",
            where=run_id,
            fix="Another version of the regime began it, whose prompts differ. Start a new run: hellofresh evaluate."
            if older
            else "Undo the change, or start a new run: hellofresh evaluate.",
            code="run-changed",
        )


def unfinished_kin(runs: Path, run_id: str, identity: Mapping[str, object]) -> Iterator[str]:
    """Before a new run: a sentence on each unfinished run with the same task, quarter, model and regime, which
    the user may have meant to resume.
    """

    def kind(identity: Mapping[str, object]) -> list[object]:
        parts = [identity.get("model"), identity.get("regime")]
        names = (part.get("name") if isinstance(part, Mapping) else None for part in parts)
        return [identity.get("task"), identity.get("edition"), *names]

    for folder, plan in _plans(runs):
        if folder.name != run_id and not (folder / "run.json").exists() and kind(plan.identity) == kind(identity):
            changed = "; ".join(differences(plan.identity, identity))
            yield f"this is a new run, not the unfinished {folder.name}: {changed}"


def _flat(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), item)
    else:
        yield prefix, value
