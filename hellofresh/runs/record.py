"""What a finished run says of itself: `run.json` in its folder, written once the journal is complete.

Like everything that is made from the journal, it does not tell when, how fast or in which order answers came.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from hellofresh.errors import RunError
from hellofresh.files import read_json, write_json

__all__ = ["ModelIdentity", "PromptSetIdentity", "RegimeIdentity", "RunRecord", "read_record"]

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


class RunRecord(_Strict):
    """A finished run.

    Attributes:
        task, quarter, split, samples_sha256: the samples.
        model, regime, web, prompt_set: the system; `web` holds the parameters of the search, None without one.
        number: grows with every run of a workspace.
        judged, failed, of: samples that were judged, that could not be, and that the release has.
        samples, prompts, repeat: what was asked for.
        tokens_in, tokens_out, cost_usd: of the whole run, None where not known.
        about, kind, knowledge_cutoff, smoke_test: of the model, for the board.
    """

    task: str
    quarter: str
    samples_sha256: str
    model: ModelIdentity
    regime: RegimeIdentity
    web: Parameters | None = None
    prompt_set: PromptSetIdentity
    split: Literal["main", "prospective"] = "main"
    number: NonNegativeInt = 0
    judged: NonNegativeInt
    failed: NonNegativeInt
    of: NonNegativeInt
    samples: NonNegativeInt
    prompts: list[str]
    repeat: NonNegativeInt
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
        return self.model.name, self.regime.name, self.prompt_set.name, self.search_provider

    @property
    def search_provider(self) -> str:
        """Name of the search provider, empty without one."""
        return "" if self.web is None else str(self.web.get("provider", ""))

    def write(self, folder: Path) -> None:
        """Write it into the run's folder."""
        write_json(folder / RECORD, self.model_dump(mode="json"))


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
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise RunError(
            f"{place}: {first['msg'].lower()}",
            where=str(path),
            fix="Run the same evaluation again: the journal still has the answers.",
            code="damaged-run",
        ) from None
