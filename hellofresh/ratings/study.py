"""A rated study on disk: ratings, key, responses and samples, each one file with one reader.

Beside the tables of `hellofresh.ratings.table` lie `<task>.responses.jsonl` (the blinded responses, as judges see
them), `<task>.samples.jsonl` (what they respond to) and `<task>.rubric.toml` (what they were rated by).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import polars as pl

from hellofresh.candidates.rows import Collection
from hellofresh.editions import ALL_ROWS, Edition, Frozen
from hellofresh.errors import DataError
from hellofresh.files import read_rows, write_bytes, write_jsonl
from hellofresh.quarters import utc_text
from hellofresh.ratings.muse import MusePost, MuseStudy
from hellofresh.ratings.rubric import Rubric, parse_rubric, rubric_source
from hellofresh.ratings.table import KEY, RATINGS, Phase, StudyFiles, check_ratings, read_table, write_table
from hellofresh.releases import DatasetSource, freeze
from hellofresh.samples import Candidate, Label, to_json
from hellofresh.tasks import corrections, get_task
from hellofresh.tasks.corrections import MisleadingPost
from hellofresh.workspace import Workspace

__all__ = [
    "MUSE_EDITION",
    "MUSE_RUBRIC",
    "MUSE_TASK",
    "BlindedResponse",
    "RatedStudy",
    "StudySample",
    "import_muse",
    "read_responses",
    "read_rubric",
    "read_samples",
    "read_study",
    "write_responses",
    "write_rubric",
    "write_samples",
]

MUSE_EDITION = Frozen("muse-study", "94662cc")
"""The study at the commit of the authors' repository that released it."""
MUSE_TASK = corrections.TASK.name
MUSE_RUBRIC = corrections.RUBRIC
_SOURCE = DatasetSource(
    name="MUSE study (Zhou, Sharma, Zhang and Althoff 2024)",
    address="https://github.com/Social-Futures-Lab/MUSE, eval/data",
    published=date(2024, 3, 17),
    licence="Apache-2.0",
)


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


def import_muse(workspace: Workspace, study: MuseStudy, edition: Frozen = MUSE_EDITION) -> RatedStudy:
    """Keep the released study of MUSE in the workspace, in place of what was kept of it, and freeze its posts.

    Raises:
        DataError: if its ratings are not by the rubric.
        ReleaseError: if the edition is there with other posts.
    """
    files = StudyFiles(workspace, edition, MUSE_TASK)
    content = rubric_source(MUSE_RUBRIC)
    rubric = parse_rubric(content, where=MUSE_RUBRIC)
    check_ratings(study.ratings, rubric, where="the study")
    write_rubric(files, content)
    samples = (
        StudySample(
            id=post.sample,
            address=post.address,
            date=utc_text(post.date),
            facts={"modality": post.modality, "domain": post.domain, "leaning": post.leaning, "phase": post.phase},
        )
        for post in study.posts
    )
    write_samples(files, samples)
    responses = (
        BlindedResponse(id=item.id, sample=item.sample, text=item.text, sources=item.sources)
        for item in study.responses
    )
    write_responses(files, responses)
    write_table(files.key, KEY, study.key)
    write_table(files.ratings, RATINGS, study.ratings)
    posts = [_candidate(post, edition) for post in study.posts if post.phase is Phase.MAIN]
    found = Collection.whole(posts, study.sources, unit="posts")
    freeze(workspace, edition, get_task(MUSE_TASK), found, _SOURCE)
    return RatedStudy(files, rubric, study.ratings, study.key)


def _candidate(post: MusePost, edition: Frozen) -> Candidate:
    sample = MisleadingPost(
        id=post.sample,
        task=MUSE_TASK,
        edition=str(edition),
        period=ALL_ROWS,
        date=post.date,
        group=f"x-{post.tweet}",
        license=_SOURCE.licence,
        post=post.tweet,
        address=post.address,
        text="",
        modality=post.modality,
        domain=post.domain,
    )
    return Candidate(sample, Label(sample.id, 0, {}))


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
    return list(read_rows(_beside(files, "samples.jsonl"), StudySample))


def write_responses(files: StudyFiles, responses: Iterable[BlindedResponse]) -> None:
    """Keep the responses, in the order of their ids."""
    rows = sorted(responses, key=lambda response: response.id)
    write_jsonl(_beside(files, "responses.jsonl"), map(to_json, rows))


def read_responses(files: StudyFiles) -> list[BlindedResponse]:
    """The blinded responses of a study.

    Raises:
        DataError: if the file is missing or damaged.
    """
    return list(read_rows(_beside(files, "responses.jsonl"), BlindedResponse))
