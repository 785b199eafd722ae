"""A model for tests, which says yes, or what a function makes of a request, and keeps what it was asked; and runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Model, ModelSpec, Request
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.releases.candidates import Collection, Funnel, SourceFile
from hellofresh.releases.collection import CollectionJob, collect_quarter
from hellofresh.runs.equipment import Equipment
from hellofresh.runs.journal import Journal
from hellofresh.runs.prompts import Prompt, load_prompt_set
from hellofresh.runs.regimes import Regime
from hellofresh.runs.regimes.zero_shot import ZeroShot
from hellofresh.runs.runner import Assignment, RunResult, Tally, run
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate, Sample

SPEC = ModelSpec("fake", "language-model", "A fake.", {})


@dataclass
class FakeModel:
    spec: ModelSpec = SPEC
    say: Callable[[Request], Answer] = lambda _: Answer("yes", Finish.STOP, 10, 1)
    asked: list[Request] = field(default_factory=list)
    closed: int = 0

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.say(request)

    async def close(self) -> None:
        self.closed += 1


def free_port() -> int:
    """A port of this machine that is free and that the system gives nobody: it gives out those from 32,768 on."""
    for port in range(10_000 + os.getpid() % 20_000, 32_768):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def fake_spec(name: str, **more: Any) -> ModelSpec:
    """What is known of a language model that is none."""
    return ModelSpec(name, "language-model", "A fake.", **({"parameters": {}} | more))


def catalogued(patch: pytest.MonkeyPatch, model: FakeModel) -> FakeModel:
    """Put a model into the catalogue, by its name."""
    patch.setitem(CATALOGUE, model.spec.name, CatalogueEntry("A fake.", lambda _: model))
    return model


TASK = get_task("x-notes")
PROMPTS = load_prompt_set("x-notes", "zero-shot")


def assigned(
    model: Model, regime: Regime | None = None, prompts: Sequence[Prompt] = PROMPTS.prompts, **more: Any
) -> Assignment:
    """A model and what it is asked about notes."""
    outside = {name: more.pop(name) for name in ("web", "pictures", "facts") if name in more}
    return Assignment(model, Equipment(regime or ZeroShot(), PROMPTS, prompts, TASK.slots, **outside), **more)


def run_in(
    folder: Path,
    assignment: Assignment,
    samples: Sequence[Sample],
    progress: Callable[[Tally], None] = lambda _: None,
) -> RunResult:
    with Journal(folder) as journal:
        return run(assignment, samples, journal, progress)


def dropped(found: Collection) -> dict[str, int]:
    """How many were left out of a collection, by reason."""
    return {drop.reason: drop.count for drop in found.funnel.drops if drop.count}


_DAYS = count()


def collect(
    workspace: Workspace,
    quarter: Quarter,
    task: str,
    decided: Sequence[Candidate],
    pending: Sequence[Sample] | None,
    *,
    source: str = "dump",
    day: str = "",
) -> None:
    """Keep candidates and undecided samples as what was collected from a source of a day that is new each time."""
    name = day or str(next(_DAYS))
    read = [SourceFile(name, 1, name)]
    found = Collection(decided, Funnel("rows", len(decided), (), Funnel.count_kept(decided)), {}, read, pending=pending)
    job = CollectionJob(get_task(task), quarter, source, (), {}, lambda _: found)
    collect_quarter(workspace, job, progress=lambda _: None, force=True)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path within."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@contextmanager
def fails_with(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[HelloFreshError]]:
    """An error of the project with this code is raised."""
    with pytest.raises(HelloFreshError, match=match) as caught:
        yield caught
    assert caught.value.code == code


def refused(code: str, work: Callable[..., object], *arguments: object, **named: object) -> str:
    """What the error with this code says that something ends with."""
    with fails_with(code) as caught:
        work(*arguments, **named)
    return str(caught.value)
