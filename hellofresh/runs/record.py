"""The record of a finished run, `run.json`, and the rows of `predictions.jsonl`.

Like all files made from the journal, they do not depend on the time, speed or order of answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, NonNegativeInt

from hellofresh.core.errors import DataError, RunError
from hellofresh.core.files import (
    as_model,
    read_json,
    read_model,
    read_models,
    read_sealed,
    sha256_file,
    write_sealed,
)
from hellofresh.core.folders import FileEntry, listed_file
from hellofresh.core.strict import Strict
from hellofresh.core.systems import ModelFacts
from hellofresh.models import ModelSpec
from hellofresh.runs.plan import StoredEvaluation
from hellofresh.tasks import TASKS
from hellofresh.tasks.outputs import Choice, Output, Status, output_of
from hellofresh.tasks.samples import to_json
from hellofresh.tasks.transcripts import TRANSCRIPTS

RECORD, RESPONSES, PROMPTS = "run.json", "responses.jsonl", "prompts.json"
PREDICTIONS, ERRORS = "predictions.jsonl", "errors.jsonl"
RUN_FILES = (PREDICTIONS, RESPONSES, PROMPTS, TRANSCRIPTS, ERRORS)
"""What a finished run may consist of besides its plan, record and journal."""
_FIX = "Run the same evaluation again: the journal still has the answers."
Parameters = Mapping[str, str | int | float | bool]


class ModelIdentity(Strict):
    """The model and the parameters of every request."""

    name: str
    parameters: Parameters

    @property
    def options(self) -> list[str]:
        """Further fields of its requests as `name=value`."""
        found = json.loads(str(self.parameters.get("options", "{}")))
        shown = ((name, value if isinstance(value, str) else json.dumps(value)) for name, value in found.items())
        return [f"{name}={value}" for name, value in sorted(shown)]


class RegimeIdentity(Strict):
    """The regime, its version and its settings."""

    name: str
    version: int
    parameters: Parameters


class PromptSetIdentity(Strict):
    """The prompt set and the hash of its file."""

    name: str
    sha256: str


class StoredPrompts(Strict):
    """The wordings of a run's prompts by name, and the frame with its slots."""

    frame: str
    prompts: Mapping[str, str]


class Usage(Strict):
    """Usage of one role; None if unknown."""

    model: str
    answers: NonNegativeInt
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    served_by: list[str] = Field(default=[])
    """Names of the models or versions that answered, as reported by the provider."""


class JournalFacts(Strict):
    """The answers from which a run's files were made: how many, and a hash of their keys and contents."""

    answers: NonNegativeInt
    sha256: str


class RunRecord(Strict):
    """A finished run.

    Attributes:
        evaluation: the evaluation, without paths of the user's files.
        number: grows with every run of a workspace.
        samples_sha256: hash of the release's samples.
        model, roles, regime, web, prompt_set: the system; `roles` holds the models of further roles, `web` the
            parameters of the search, None without one.
        settings: all settings of the regime.
        judged, failed, of: numbers of samples answered, failed, and in the release.
        copies: repetitions whose answers are identical to those of an earlier one; scores exclude them.
        usage: usage by role.
        tokens_in, tokens_out, cost_usd: of the whole run, None if unknown.
        counts: outputs asked for, and how many were read, unreadable, cut, empty, tool, refused and failed, which
            add up to it. Empty in records of earlier versions.
        elsewhere, widened, failed_for_good: as in `EvaluationReport`.
        about, kind, knowledge_cutoff, smoke_test, facts: description of the model for the board.
        files: every other file of the run; None while a takedown clears them.
        journal: the answers in the journal.
    """

    version: Literal[1] = 1
    evaluation: StoredEvaluation
    number: NonNegativeInt = 0
    samples_sha256: str
    model: ModelIdentity
    roles: Mapping[str, ModelIdentity] = Field(default={})
    regime: RegimeIdentity
    settings: Parameters = Field(default={})
    web: Parameters | None = None
    prompt_set: PromptSetIdentity
    judged: NonNegativeInt
    failed: NonNegativeInt
    of: NonNegativeInt
    copies: list[int] = Field(default=[])
    usage: Mapping[str, Usage] = Field(default={})
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    counts: Mapping[str, NonNegativeInt] = Field(default={})
    elsewhere: NonNegativeInt = 0
    widened: NonNegativeInt = 0
    failed_for_good: NonNegativeInt = 0
    about: str
    kind: str
    knowledge_cutoff: str
    smoke_test: bool
    facts: ModelFacts = ModelFacts()
    files: list[FileEntry] | None
    journal: JournalFacts

    @property
    def system(self) -> tuple[str, ...]:
        """Identity of the system; of two runs with the same one, the newer supersedes the older."""
        asked = self.evaluation
        roles = (" ".join((f"{role}={model.name}", *model.options)) for role, model in sorted(self.roles.items()))
        # Hashes of prompts change with every version.
        chosen = sorted(item for item in self.regime.parameters.items() if not item[0].endswith("_sha256"))
        settings = (f"{name}={value}" for name, value in chosen)
        names = (self.model.name, self.regime.name, self.prompt_set.name, self.search_provider)
        heat = [] if asked.temperature is None else [f"temperature={asked.temperature:g}"]
        heat += [f"vote={asked.repeat}"] if asked.vote else []
        allowed = [f"allow {group}" for group in asked.allowed]
        further = [f"{name}={value}" for name, value in sorted(asked.further.items())]
        return *names, *self.model.options, *roles, *settings, *asked.blocked, *allowed, *heat, *further

    @property
    def search_provider(self) -> str:
        """Name of the search provider; empty without one, and where the settings leave the search out."""
        return "" if self.web is None or self.settings.get("mode") == "offline" else str(self.web.get("provider", ""))

    def write(self, folder: Path) -> None:
        write_sealed(folder / RECORD, self.model_dump(mode="json"))


def file_entries(folder: Path) -> list[FileEntry]:
    """The files of a run as they are now."""
    found = []
    for path in (folder / name for name in RUN_FILES):
        if path.is_file():
            with path.open("rb") as file:
                rows = sum(1 for _ in file) if path.suffix == ".jsonl" else 1
            found.append(FileEntry(path=path.name, size=path.stat().st_size, sha256=sha256_file(path), rows=rows))
    return found


def run_file(folder: Path, name: str) -> Path | None:
    """A file of a finished run as its record says it is; None if the run has none or is not finished.

    Raises:
        RunError: if the file or the record is damaged.
    """
    return listed_file(folder, name, record=RECORD, error=RunError, fix=_FIX, code="damaged-run")


def is_whole(folder: Path) -> bool:
    """Whether every file of a finished run is as its record says."""
    with suppress(DataError):
        for name in RUN_FILES:
            run_file(folder, name)
        return True
    return False


def read_prompts(folder: Path) -> StoredPrompts | None:
    """The prompts of the run in a folder, None if it has none.

    Raises:
        RunError: if the file is damaged.
    """
    path = run_file(folder, PROMPTS)
    return None if path is None else read_model(path, StoredPrompts, error=RunError, fix=_FIX, code="damaged-run")


class StoredResponse(BaseModel):
    """The needed fields of a line of `responses.jsonl`."""

    sample: str
    prompt: str
    repetition: int
    text: str


def read_responses(folder: Path) -> Iterator[StoredResponse]:
    """The model's raw answers in a run, in the order of its journal; empty without the file.

    Raises:
        RunError: if a line is damaged.
    """
    path = run_file(folder, RESPONSES)
    if path is not None:
        yield from read_models(path, StoredResponse, error=RunError, fix=_FIX, code="damaged-run")


class PredictionRow(Strict):
    """One output: the label of a `Choice`, the text of a `Response` or the documents of a `Ranking`.

    `elsewhere` is the label in an answer that could not be read by the rule, if it states one.
    """

    id: str
    prompt: str
    repetition: int = 1
    status: Status = Field(default=Status.ANSWERED, strict=False)
    label: NonNegativeInt | None = None
    elsewhere: NonNegativeInt | None = None
    probabilities: tuple[float, ...] = Field(default=(), strict=False)
    certainty: float | None = None
    text: str | None = None
    documents: tuple[str, ...] | None = Field(default=None, strict=False)
    scores: tuple[float, ...] | None = Field(default=None, strict=False)
    rationale: str = ""
    sources: tuple[str, ...] = Field(default=(), strict=False)


def read_outputs(folder: Path) -> Iterator[tuple[str, int, Output]]:
    """The outputs of a run, each with its sample's id and its repetition.

    Raises:
        RunError: if a row is damaged.
    """
    for row in read_predictions(folder):
        yield row.id, row.repetition, output_of(row)


def prediction_row(output: Output) -> dict[str, object]:
    """An output as a line of `predictions.jsonl`, without sample, repetition and empty fields."""
    row = {name: value for name, value in to_json(output).items() if value not in (None, "", []) and name != "prompt"}
    if output.status is Status.ANSWERED:
        del row["status"]
    return ({"label": None} | row) if isinstance(output, Choice) else row


def read_predictions(folder: Path) -> Iterator[PredictionRow]:
    """The rows of a run's predictions; none if it is not finished.

    Raises:
        RunError: if a row is damaged.
    """
    path = run_file(folder, PREDICTIONS)
    if path is not None:
        yield from read_models(path, PredictionRow, error=RunError, fix=_FIX, code="damaged-run")


def model_identity(spec: ModelSpec) -> dict[str, object]:
    """The model's part of a run's identity."""
    return {"name": spec.name, "parameters": dict(spec.parameters)}


def read_record(folder: Path) -> RunRecord | None:
    """The record of a run, None if it is not finished.

    Raises:
        RunError: if it is damaged.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    found = read_sealed(path, error=RunError, fix=_FIX, code="damaged-run")
    return as_model(RunRecord, found, where=str(path), error=RunError, fix=_FIX, code="damaged-run")


def finished_runs(runs: Path) -> Iterator[tuple[Path, RunRecord]]:
    """All finished runs in the folder of runs, except those of tasks that are not installed.

    Raises:
        RunError: if a record is damaged.
    """
    for folder in sorted(path.parent for path in runs.glob(f"*/{RECORD}")):
        said = read_json(folder / RECORD)
        facts = said.get("evaluation")
        task = facts.get("task") if isinstance(facts, Mapping) else None
        if not isinstance(task, str) or task in TASKS:
            record = read_record(folder)
            assert record is not None
            yield folder, record
