"""The one table of ratings, by people, models, classifiers and rules alike, and the key that says who wrote what.

`ratings/<edition>/<task>.parquet` holds a rating a row, of a blinded response. Which system wrote a response is in the
key, which lies in the private folder until the study is closed, and beside the ratings from then on. Raters have
numbers here; their names and tokens stay in the private folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError, Table, write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.judging.rubric import Rubric

__all__ = [
    "KEY",
    "RATINGS",
    "JudgeKind",
    "KeyRow",
    "Rating",
    "RatingPhase",
    "StudyFiles",
    "check_ratings",
    "read_table",
    "with_weights",
    "write_table",
]


class JudgeKind(StrEnum):
    """What a judge is."""

    PERSON = "person"
    MODEL = "model"
    CLASSIFIER = "classifier"
    RULE = "rule"


class RatingPhase(StrEnum):
    """Onboarding ratings are kept, and no figure counts them."""

    MAIN = "main"
    ONBOARDING = "onboarding"


@dataclass(frozen=True, slots=True)
class Rating:
    """What one judge says of one response, or of one of its links, on one criterion.

    Attributes:
        sample: id of the sample.
        response: blinded id of the response.
        link: address of the link, empty where the whole response is rated.
        judge: number of a person, name of a model, classifier or rule.
        kind: see `JudgeKind`.
        criterion: id in the rubric.
        value: on the criterion's scale; None where it was not asked, or cannot be told.
        weight: ratings of one response (or link) and criterion by judges of one kind weigh 1 together.
        phase: see `RatingPhase`.
        comment: the judge's own words.
        at: when (ISO 8601, UTC), empty where not known.
    """

    sample: str
    response: str
    link: str
    judge: str
    kind: str
    criterion: str
    value: float | None
    weight: float
    phase: str
    comment: str
    at: str


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Which system wrote a response.

    Attributes:
        response, sample, system: as elsewhere.
        same_as: the system under whose name it was rated, where two have the same response; else empty.
    """

    response: str
    sample: str
    system: str
    same_as: str


RATINGS = Table(Rating)
KEY = Table(KeyRow)
_UNIT = ("response", "link", "criterion", "kind", "phase")


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Where the ratings of one edition and task lie.

    Attributes:
        workspace, edition, task: which.
    """

    workspace: Workspace
    edition: Edition
    task: str

    @property
    def ratings(self) -> Path:
        """The table of ratings."""
        return self.workspace.root / "ratings" / str(self.edition) / f"{self.task}.parquet"

    @property
    def key(self) -> Path:
        """The key once the study is closed."""
        return self.ratings.with_name(f"{self.task}.key.parquet")

    @property
    def responses(self) -> Path:
        """The blinded responses of a closed study."""
        return self.ratings.with_name(f"{self.task}.responses.jsonl")

    @property
    def private(self) -> Path:
        """The folder of the key before that, of raters' names, tokens and what they submit."""
        return self.workspace.root / "private" / "ratings" / str(self.edition) / self.task


def with_weights(ratings: pl.DataFrame) -> pl.DataFrame:
    """Ratings whose weights are shared among the judges of one kind of each response (or link) and criterion."""
    return ratings.with_columns((1.0 / pl.len().over(_UNIT)).alias("weight"))


def check_ratings(ratings: pl.DataFrame, rubric: Rubric, *, where: str) -> None:
    """Check that all ratings are by the rubric.

    Raises:
        DataError: if a criterion is unknown, a value is not on its scale, a unit is wrong, or a rating is there twice.
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
        ("a rating that is there twice", twice),
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


def write_table(path: Path, table: Table[Rating] | Table[KeyRow], frame: pl.DataFrame, *, mode: int = 0o644) -> None:
    """Write ratings or a key, in the one order that their content gives them."""
    columns = table.schema.names()
    write_parquet(path, frame.select(columns).sort(columns[:-2] if table is RATINGS else columns), mode=mode)


def read_table(path: Path, table: Table[Rating] | Table[KeyRow]) -> pl.DataFrame:
    """Read ratings or a key.

    Raises:
        DataError: if the file is missing or another table.
    """
    if not path.is_file():
        raise DataError(
            "no such table", where=str(path), fix="Run 'hellofresh rate import' first.", code="missing-file"
        )
    try:
        return table.read(path)
    except BadTableError as error:
        raise DataError(str(error), where=str(path), expected="a table of ratings", code="bad-parquet") from None
