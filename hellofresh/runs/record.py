"""What a finished run writes for others: `run.json`, and the rows of `predictions.jsonl`.

Like everything that is made from the journal, they do not tell when, how fast or in which order answers came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from hellofresh.core.errors import RunError
from hellofresh.core.files import read_json, read_jsonl, write_json
from hellofresh.models import ModelSpec
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.tasks.samples import EditionName, to_json

__all__ = [
    "ModelIdentity",
    "PredictionRow",
    "PromptSetIdentity",
    "RegimeIdentity",
    "RunRecord",
    "Usage",
    "model_identity",
    "prediction_row",
    "read_outputs",
    "read_predictions",
    "read_record",
]

RECORD = "run.json"
Parameters = Mapping[str, str | int | float | bool]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ModelIdentity(_Strict):
    """The model, and what is sent with every request."""

    name: str
    parameters: Parameters


class RegimeIdentity(_Strict):
    """The regime, its version and its settings."""

    name: str
    version: int
    parameters: Parameters


class PromptSetIdentity(_Strict):
    """The prompt set and the hash of its file."""

    name: str
    sha256: str


class Usage(_Strict):
    """What one role took; None where not known."""

    model: str
    answers: NonNegativeInt
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


class RunRecord(_Strict):
    """A finished run.

    Attributes:
        task, edition, split, samples_sha256: the samples.
        model, roles, regime, web, prompt_set: the system; `roles` holds the models of further roles, `web` the
            parameters of the search, None without one.
        settings: all settings of the regime.
        blocked: domains that were not read, besides those that hold the task's answers.
        allowed: groups of those that could be read all the same.
        usage: by role.
        number: grows with every run of a workspace.
        judged, failed, of: samples that were judged, that could not be, and that the release has.
        samples, prompts, repeat: what was asked for.
        temperature: of all requests, None for the regime's own (0).
        vote: whether the vote of all repetitions is scored, not the first.
        copies: repetitions whose answers are, word by word, those of an earlier one; they count in no score.
        tokens_in, tokens_out, cost_usd: of the whole run, None where not known.
        about, kind, knowledge_cutoff, smoke_test: of the model, for the board.
    """

    task: str
    edition: EditionName
    samples_sha256: str
    model: ModelIdentity
    regime: RegimeIdentity
    web: Parameters | None = None
    prompt_set: PromptSetIdentity
    roles: Mapping[str, ModelIdentity] = {}
    settings: Parameters = {}
    blocked: list[str] = []
    allowed: list[str] = []
    usage: Mapping[str, Usage] = {}
    split: Literal["main", "prospective"] = "main"
    number: NonNegativeInt = 0
    judged: NonNegativeInt
    failed: NonNegativeInt
    of: NonNegativeInt
    samples: NonNegativeInt
    prompts: list[str]
    repeat: NonNegativeInt
    temperature: float | None = None
    copies: list[int] = []
    vote: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    about: str
    kind: str
    knowledge_cutoff: str
    smoke_test: bool

    @property
    def system(self) -> tuple[str, ...]:
        """What two runs must share for one to supersede the other."""
        roles = (f"{role}={model.name}" for role, model in sorted(self.roles.items()))
        # Records from before settings have them among the parameters, as all have; hashes change with every version.
        chosen = sorted(item for item in self.regime.parameters.items() if not item[0].endswith("_sha256"))
        settings = (f"{name}={value}" for name, value in chosen)
        names = (self.model.name, self.regime.name, self.prompt_set.name, self.search_provider)
        heat = [] if self.temperature is None else [f"temperature={self.temperature:g}"]
        heat += [f"vote={self.repeat}"] if self.vote else []
        allowed = [f"allow {group}" for group in self.allowed]
        return *names, *roles, *settings, *self.blocked, *allowed, *heat

    @property
    def search_provider(self) -> str:
        """Name of the search provider, empty without one."""
        return "" if self.web is None else str(self.web.get("provider", ""))

    def write(self, folder: Path) -> None:
        """Write it into the run's folder."""
        write_json(folder / RECORD, self.model_dump(mode="json"))


class PredictionRow(_Strict):
    """One output: of a `Choice` the label, of a `Response` the text, of a `Ranking` the documents."""

    id: str
    prompt: str
    repetition: int = 1
    status: Status = Field(default=Status.ANSWERED, strict=False)
    label: NonNegativeInt | None = None
    probabilities: tuple[float, ...] = Field(default=(), strict=False)
    certainty: float | None = None
    text: str | None = None
    documents: tuple[str, ...] | None = Field(default=None, strict=False)
    scores: tuple[float, ...] | None = Field(default=None, strict=False)
    rationale: str = ""
    sources: tuple[str, ...] = Field(default=(), strict=False)

    @property
    def output(self) -> Output:
        """What the row says, as the regime gave it."""
        prompt, status, rationale, sources = self.prompt, self.status, self.rationale, self.sources
        if self.text is not None:
            return Response(prompt=prompt, status=status, rationale=rationale, sources=sources, text=self.text)
        if self.documents is not None:
            return Ranking(prompt=prompt, status=status, rationale=rationale, sources=sources,
                           documents=self.documents, scores=self.scores or ())  # fmt: skip
        return Choice(prompt=prompt, status=status, rationale=rationale, sources=sources, label=self.label,
                      probabilities=self.probabilities, certainty=self.certainty)  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _from_verdict(cls, row: object) -> object:
        """Rows of earlier versions hold a verdict in words, and the probability of label 1."""
        if not isinstance(row, dict) or "verdict" not in row:
            return row
        row = dict(row)
        verdict, positive = row.pop("verdict"), row.pop("confidence", None)
        if verdict not in ("yes", "no", "none", "blocked"):
            raise ValueError("the verdict must be yes, no, none or blocked")
        more = {} if positive is None else {"probabilities": [1 - positive, positive]}
        if verdict in ("yes", "no"):
            return {**row, **more, "label": int(verdict == "yes")}
        return {**row, **more, "status": verdict, "label": None}


def read_outputs(folder: Path) -> Iterator[tuple[str, int, Output]]:
    """The outputs of the run in a folder, each with its sample's id and its repetition.

    Raises:
        RunError: if a row is damaged.
    """
    for row in read_predictions(folder):
        yield row.id, row.repetition, row.output


def prediction_row(output: Output) -> dict[str, object]:
    """An output as a line of `predictions.jsonl`, without sample and repetition; what is empty is left out."""
    row = {name: value for name, value in to_json(output).items() if value not in (None, "", []) and name != "prompt"}
    if output.status is Status.ANSWERED:
        del row["status"]
    return ({"label": None} | row) if isinstance(output, Choice) else row


def read_predictions(folder: Path) -> Iterator[PredictionRow]:
    """The outputs of the run in a folder.

    Raises:
        RunError: if a row is damaged.
    """
    path = folder / "predictions.jsonl"
    for line in read_jsonl(path):
        try:
            yield PredictionRow.model_validate(line)
        except ValidationError as error:
            raise _damaged(path, error) from None


def model_identity(spec: ModelSpec) -> dict[str, object]:
    """A model as a run's identity names it."""
    return {"name": spec.name, "parameters": dict(spec.parameters)}


def read_record(folder: Path) -> RunRecord | None:
    """The record of the run in a folder, None where the run was not finished.

    Raises:
        RunError: if it is damaged.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        return RunRecord.model_validate(read_json(path))
    except ValidationError as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: ValidationError) -> RunError:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    return RunError(
        f"{place}: {first['msg'].lower()}",
        where=str(path),
        fix="Run the same evaluation again: the journal still has the answers.",
        code="damaged-run",
    )
