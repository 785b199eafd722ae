"""A rated study on disk: ratings, key, responses and samples, each one file with one reader.

Beside the tables of `hellofresh.judging.table` lie `<task>.responses.jsonl` (the blinded responses, as judges see
them), `<task>.samples.jsonl` (what they respond to) and `<task>.rubric.toml` (what they were rated by).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.files import read_models, write_bytes, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.judging.rubric import Rubric, parse_rubric
from hellofresh.judging.table import KEY, RATINGS, StudyFiles, check_ratings, read_table
from hellofresh.tasks.samples import to_json

__all__ = [
    "BlindedResponse",
    "RatedStudy",
    "StudySample",
    "read_responses",
    "read_rubric",
    "read_samples",
    "read_study",
    "write_responses",
    "write_rubric",
    "write_samples",
]


@dataclass(frozen=True, slots=True)
class BlindedResponse:
    """A response without its system."""

    id: str
    sample: str
    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudySample:
    """What is responded to.

    Attributes:
        id: of the sample.
        text: as raters read it; empty where it may not be kept.
        address: where it can be seen.
        date: when it was written (ISO 8601, UTC), empty where not known.
        media: addresses of its images.
        facts: what it is grouped by on the board, such as modality and domain.
    """

    id: str
    text: str = ""
    address: str = ""
    date: str = ""
    media: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RatedStudy:
    """A study that is closed: who wrote what is known.

    Attributes:
        files: where it lies.
        rubric: what was rated by.
        ratings, key: tables of `Rating` and `KeyRow`.
    """

    files: StudyFiles
    rubric: Rubric
    ratings: pl.DataFrame
    key: pl.DataFrame

    @property
    def systems(self) -> list[str]:
        """Those with a response of their own to most samples come first, then by name."""
        own = self.key.filter(pl.col("same_as") == "")
        return own.group_by("system").len().sort(["len", "system"], descending=[True, False])["system"].to_list()

    @property
    def main_systems(self) -> list[str]:
        """The systems that have a response of their own to at least half of the samples."""
        own = self.key.filter(pl.col("same_as") == "").group_by("system").len()
        least = self.key["sample"].n_unique() / 2
        return [system for system in self.systems if own.filter(pl.col("system") == system)["len"].item() >= least]


def read_study(workspace: Workspace, edition: Edition, task: str) -> RatedStudy:
    """Read a closed study.

    Raises:
        DataError: if a file is missing or damaged, or the ratings are not by the rubric.
    """
    files = StudyFiles(workspace, edition, task)
    ratings = read_table(files.ratings, RATINGS)
    rubric = read_rubric(files)
    check_ratings(ratings, rubric, where=files.ratings.name)
    return RatedStudy(files, rubric, ratings, read_table(files.key, KEY))


def _beside(files: StudyFiles, what: str) -> Path:
    return files.ratings.with_name(f"{files.task}.{what}")


def write_rubric(files: StudyFiles, content: bytes) -> None:
    """Keep the rubric's file as it is: its hash is its version."""
    write_bytes(_beside(files, "rubric.toml"), content)


def read_rubric(files: StudyFiles) -> Rubric:
    """The rubric that a study is rated by.

    Raises:
        DataError: if it is missing or no rubric.
    """
    path = _beside(files, "rubric.toml")
    if not path.is_file():
        raise DataError("no rubric of this study", where=str(path), code="missing-file")
    return parse_rubric(path.read_bytes(), where=str(path))


def write_samples(files: StudyFiles, samples: Iterable[StudySample]) -> None:
    """Keep the samples, in the order of their ids."""
    rows = sorted(samples, key=lambda sample: sample.id)
    write_jsonl(_beside(files, "samples.jsonl"), map(to_json, rows))


def read_samples(files: StudyFiles) -> list[StudySample]:
    """The samples of a study.

    Raises:
        DataError: if the file is missing or damaged.
    """
    return list(read_models(_beside(files, "samples.jsonl"), StudySample))


def write_responses(files: StudyFiles, responses: Iterable[BlindedResponse]) -> None:
    """Keep the responses, in the order of their ids."""
    rows = sorted(responses, key=lambda response: response.id)
    write_jsonl(files.responses, map(to_json, rows))


def read_responses(files: StudyFiles) -> list[BlindedResponse]:
    """The blinded responses of a study.

    Raises:
        DataError: if the file is missing or damaged.
    """
    return list(read_models(files.responses, BlindedResponse))
