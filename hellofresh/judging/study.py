"""Rated studies on disk: a table of ratings by people, models, classifiers and rules, and the files beside it.

`ratings/<edition>/<task>.parquet` has one rating of a blinded response per row. The key to the systems of responses is
in the private folder until the study is closed, then beside the ratings. Raters have numbers here; their names and
tokens stay in the private folder. Beside the tables are `<task>.responses.jsonl` (the blinded responses),
`<task>.samples.jsonl` (the samples that they respond to) and `<task>.rubric.toml`. A study closed while its labels are
secret would reveal which notes a post has, so it stays in the private folder, as `closed/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, missing_file
from hellofresh.core.files import read_models, write_bytes, write_jsonl
from hellofresh.core.parquet import BadTableError, Table, write_parquet
from hellofresh.core.quarters import parse_utc
from hellofresh.core.workspace import Workspace
from hellofresh.judging.rubric import Rubric, parse_rubric
from hellofresh.tasks.samples import to_json

PREDICTIONS = "predictions"
"""Name of the rubric for people's predictions of labels."""
UNREADABLE = "unreadable"
"""Comment of a rating whose answer could not be read: it has no value but does not count as skipped."""
SMOKE_TEST = "tfidf-ridge"
"""The name of the embedded classifier; a judge of this name is marked as a smoke test."""
NOT_VALIDATED = "not validated: "
"""Prefix of the comment of ratings by a judge that failed its own check; the reason follows."""


class JudgeKind(StrEnum):
    """The kind of a judge."""

    PERSON = "person"
    MODEL = "model"
    CLASSIFIER = "classifier"
    RULE = "rule"


class RatingPhase(StrEnum):
    """Phase of a rating; onboarding ratings are stored but not counted."""

    MAIN = "main"
    ONBOARDING = "onboarding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One judge's rating of one response, or of one of its links, on one criterion.

    Attributes:
        sample: id of the sample.
        response: blinded id of the response.
        link: address of the link, empty where the whole response is rated.
        judge: number of a person, name of a model, classifier or rule.
        kind: see `JudgeKind`.
        criterion: id in the rubric.
        value: on the criterion's scale; None if it was not asked, is undecided, or is `UNREADABLE`.
        weight: weights of one response (or link) and criterion sum to 1 over judges of one kind.
        phase: see `RatingPhase`.
        comment: the judge's own words.
        at: time (ISO 8601, UTC), empty if unknown.
    """

    sample: str
    response: str
    link: str = ""
    judge: str
    kind: str
    criterion: str
    value: float | None
    weight: float = 1.0
    phase: str = RatingPhase.MAIN
    comment: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The system of a response and, if another one has the same response, the one it was rated under (else empty)."""

    response: str
    sample: str
    system: str
    same_as: str


RATINGS = Table(Rating)
KEY = Table(KeyRow)
_UNIT = ("response", "link", "criterion", "kind", "phase")


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Paths of the ratings of one edition and task."""

    workspace: Workspace
    edition: Edition
    task: str

    @property
    def closed(self) -> Path:
        """Folder of a study that was closed while its labels were secret."""
        return self.private / "closed"

    @property
    def mode(self) -> int:
        """The access rights of a closed study's files."""
        return 0o600 if self.closed.is_dir() else 0o644

    @property
    def ratings(self) -> Path:
        """The table of ratings."""
        public = self.workspace.root / "ratings" / str(self.edition)
        return (self.closed if self.closed.is_dir() else public) / f"{self.task}.parquet"

    @property
    def key(self) -> Path:
        """The key once the study is closed."""
        return self.ratings.with_name(f"{self.task}.key.parquet")

    @property
    def is_closed(self) -> bool:
        """Whether there is a closed study."""
        return self.ratings.is_file() and self.key.is_file()

    @property
    def responses(self) -> Path:
        """The blinded responses of a closed study."""
        return self.ratings.with_name(f"{self.task}.responses.jsonl")

    @property
    def private(self) -> Path:
        """The private folder, with raters' names, tokens and submissions, and the key before the study is closed."""
        return self.workspace.root / "private" / "ratings" / str(self.edition) / self.task


def main_ratings(ratings: pl.DataFrame, *kinds: JudgeKind) -> pl.DataFrame:
    """The ratings without the onboarding, by judges of these kinds, or by all."""
    main = ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))
    return main.filter(pl.col("kind").is_in([str(kind) for kind in kinds])) if kinds else main


def with_weights(ratings: pl.DataFrame) -> pl.DataFrame:
    """Ratings whose weights are shared among the judges of one kind of each response (or link) and criterion."""
    return ratings.with_columns((1.0 / pl.len().over(_UNIT)).alias("weight"))


def check_ratings(ratings: pl.DataFrame, rubric: Rubric, *, where: str) -> None:
    """Check that all ratings fit the rubric.

    Raises:
        DataError: if a criterion is unknown, a value is not on its scale, a unit is wrong, or a rating appears twice.
    """
    known = {criterion.id: criterion for criterion in rubric.criteria}
    table = pl.DataFrame(
        {
            "criterion": list(known),
            "_low": [float(item.limits[0]) for item in known.values()],
            "_high": [float(item.limits[1]) for item in known.values()],
            "_link": [item.unit == "link" for item in known.values()],
        }
    )
    joined = ratings.join(table, on="criterion", how="left")
    value = pl.col("value")
    off_scale = value.is_nan() | (value != value.round()) | (value < pl.col("_low")) | (value > pl.col("_high"))
    twice = pl.struct("response", "link", "judge", "criterion", "phase").is_duplicated()
    faults = (
        ("a criterion that the rubric does not have", pl.col("_low").is_null()),
        ("a value that is not on the criterion's scale", off_scale),
        ("a link where the response is rated, or none where a link is", (pl.col("link") != "") != pl.col("_link")),
        ("a rating that appears twice", twice),
        ("a response of two samples", pl.col("sample").n_unique().over("response") > 1),
        ("an unknown kind of judge", ~pl.col("kind").is_in([str(kind) for kind in JudgeKind])),
        ("an unknown phase", ~pl.col("phase").is_in([str(phase) for phase in RatingPhase])),
        ("a weight that is not above 0", ~(pl.col("weight") > 0)),
    )
    for what, fault in faults:
        found = joined.filter(fault.fill_null(value=False))
        if found.height:
            row = found.row(0, named=True)
            place = f"{where}: {row['criterion']} of {row['response']} by {row['judge']}"
            raise DataError(what, where=place, expected=f"ratings by {rubric.name}", code="bad-rating")


def write_table(path: Path, table: Table[Rating] | Table[KeyRow], frame: pl.DataFrame, *, mode: int) -> None:
    """Write ratings or a key in canonical order."""
    columns = table.schema.names()
    write_parquet(path, frame.select(columns).sort(columns[:-2] if table is RATINGS else columns), mode=mode)


def read_table(path: Path, table: Table[Rating] | Table[KeyRow]) -> pl.DataFrame:
    """Read ratings or a key; raises DataError if the file is missing or another table."""
    if not path.is_file():
        raise missing_file(path, fix="Run 'hellofresh dataset import muse' first.")
    try:
        return table.read(path)
    except BadTableError as error:
        raise DataError(str(error), where=str(path), expected="a table of ratings", code="bad-parquet") from None


@dataclass(frozen=True, slots=True)
class BlindedResponse:
    """A response without its system."""

    id: str
    sample: str
    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudySample:
    """A sample that responses answer.

    Attributes:
        text: text for raters; empty if it may not be stored.
        address: its web address.
        date: time of writing (ISO 8601, UTC), empty if unknown.
        media: addresses of its images.
        facts: values for grouping on the board, such as modality and domain.
        parts: names and texts if it is shown in parts instead of as `text`.
    """

    id: str
    text: str = ""
    address: str = ""
    date: str = ""
    media: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def moment(self) -> datetime:
        """When it was written; the beginning of 1970 where that is not known."""
        return parse_utc(self.date) if self.date else datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RatedStudy:
    """A closed study with its tables of `Rating` and `KeyRow`."""

    files: StudyFiles
    rubric: Rubric
    ratings: pl.DataFrame
    key: pl.DataFrame

    @property
    def own_key(self) -> pl.DataFrame:
        """The key without the systems that have the response of another."""
        return self.key.filter(pl.col("same_as") == "")

    @property
    def _counted(self) -> pl.DataFrame:
        return self.own_key.group_by("system").len().sort(["len", "system"], descending=[True, False])

    @property
    def systems(self) -> list[str]:
        """The systems, sorted by the number of own responses, most first, then by name."""
        return self._counted["system"].to_list()

    @property
    def main_systems(self) -> list[str]:
        """The systems that have a response of their own to at least half of the samples."""
        return self._counted.filter(pl.col("len") >= self.key["sample"].n_unique() / 2)["system"].to_list()


def study_rubric(files: StudyFiles) -> Rubric:
    """The rubric of a closed study; raises DataError if it is missing or damaged."""
    path = _beside(files, "rubric.toml")
    if not path.is_file():
        raise DataError(
            f"no closed study of {files.task} {files.edition}",
            where=str(path),
            expected="its rubric",
            fix="Close it first: hellofresh rate close. The released one of MUSE: hellofresh dataset import muse PATH.",
            code="missing-file",
        )
    return parse_rubric(path.read_bytes(), where=str(path))


def read_study(files: StudyFiles) -> RatedStudy:
    """Read a closed study; raises DataError if a file is missing or damaged, or the ratings are not by the rubric."""
    rubric = study_rubric(files)
    if rubric.name == PREDICTIONS:
        fix = "People's results are on the page Leaderboard once labels are public."
        raise DataError(f"{files.task} has no rated responses: people predict its labels", fix=fix, code="predictions")
    ratings = read_table(files.ratings, RATINGS)
    check_ratings(ratings, rubric, where=files.ratings.name)
    return RatedStudy(files, rubric, ratings, read_table(files.key, KEY))


def _beside(files: StudyFiles, what: str) -> Path:
    return files.ratings.with_name(f"{files.task}.{what}")


def write_study(  # noqa: PLR0917 - one argument a file
    files: StudyFiles,
    rubric: bytes,
    samples: Iterable[StudySample],
    responses: Iterable[BlindedResponse],
    ratings: pl.DataFrame,
    key: pl.DataFrame,
) -> None:
    """Write a closed study: the rubric's file as it is, as its hash is its version, and all rows in one order."""
    write_bytes(_beside(files, "rubric.toml"), rubric, mode=files.mode)
    for path, rows in ((_beside(files, "samples.jsonl"), samples), (files.responses, responses)):
        write_jsonl(path, [to_json(row) for row in sorted(rows, key=lambda row: row.id)], mode=files.mode)
    write_table(files.key, KEY, key, mode=files.mode)
    write_table(files.ratings, RATINGS, ratings, mode=files.mode)


def read_samples(files: StudyFiles) -> list[StudySample]:
    """The samples of a study; raises DataError if the file is missing or damaged."""
    return list(read_models(_beside(files, "samples.jsonl"), StudySample))


def read_responses(files: StudyFiles) -> list[BlindedResponse]:
    """The blinded responses of a study; raises DataError if the file is missing or damaged."""
    return list(read_models(files.responses, BlindedResponse))
