"""A rated study on disk: one table of ratings, by people, models, classifiers and rules alike, and what lies beside.

`ratings/<edition>/<task>.parquet` holds a rating a row, of a blinded response. Which system wrote a response is in the
key, which lies in the private folder until the study is closed, and beside the ratings from then on. Raters have
numbers here; their names and tokens stay in the private folder. Beside the tables lie `<task>.responses.jsonl` (the
blinded responses, as judges see them), `<task>.samples.jsonl` (what they respond to) and `<task>.rubric.toml` (what
they were rated by). A study that is closed while its labels are secret tells which notes a post has: all of it stays
in the private folder, as `closed/`.
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


PREDICTIONS = "predictions"
"""Name of the rubric by which people predict labels, and rate no response."""
UNREADABLE = "unreadable"
"""The comment of a judge's answer that could not be read: it has no value, and does not count as a skipped one."""
SMOKE_TEST = "tfidf-ridge"
"""The name of the embedded classifier; a judge of this name is marked as a smoke test."""
NOT_VALIDATED = "not validated: "
"""How the comment of a rating begins whose judge has failed a check of its own; the reason follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What one judge says of one response, or of one of its links, on one criterion.

    Attributes:
        sample: id of the sample.
        response: blinded id of the response.
        link: address of the link, empty where the whole response is rated.
        judge: number of a person, name of a model, classifier or rule.
        kind: see `JudgeKind`.
        criterion: id in the rubric.
        value: on the criterion's scale; None where it was not asked, is undecided, or is `UNREADABLE`.
        weight: ratings of one response (or link) and criterion by judges of one kind weigh 1 together.
        phase: see `RatingPhase`.
        comment: the judge's own words.
        at: when (ISO 8601, UTC), empty where not known.
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
    """Which system wrote a response, and under whose name it was rated, where another has the same (else empty)."""

    response: str
    sample: str
    system: str
    same_as: str


RATINGS = Table(Rating)
KEY = Table(KeyRow)
_UNIT = ("response", "link", "criterion", "kind", "phase")


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Where the ratings of one edition and task lie."""

    workspace: Workspace
    edition: Edition
    task: str

    @property
    def closed(self) -> Path:
        """Where a study lies that was closed while its labels were secret."""
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
    def responses(self) -> Path:
        """The blinded responses of a closed study."""
        return self.ratings.with_name(f"{self.task}.responses.jsonl")

    @property
    def private(self) -> Path:
        """The folder of the key before that, of raters' names, tokens and what they submit."""
        return self.workspace.root / "private" / "ratings" / str(self.edition) / self.task


def main_ratings(ratings: pl.DataFrame, *kinds: JudgeKind) -> pl.DataFrame:
    """The ratings that figures count, without those of the onboarding; by judges of these kinds, or by all."""
    main = ratings.filter(pl.col("phase") == str(RatingPhase.MAIN))
    return main.filter(pl.col("kind").is_in([str(kind) for kind in kinds])) if kinds else main


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


def write_table(path: Path, table: Table[Rating] | Table[KeyRow], frame: pl.DataFrame, *, mode: int) -> None:
    """Write ratings or a key, in the one order that their content gives them."""
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
    """What is responded to.

    Attributes:
        text: as raters read it; empty where it may not be kept.
        address: where it can be seen.
        date: when it was written (ISO 8601, UTC), empty where not known.
        media: addresses of its images.
        facts: what it is grouped by on the board, such as modality and domain.
        parts: names and texts, where it is shown in parts and not as `text`.
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
    """A closed study, so that who wrote what is known, with its tables of `Rating` and `KeyRow`."""

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
        """Those with a response of their own to most samples come first, then by name."""
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
            fix="Close it first: hellofresh rate close.",
            code="missing-file",
        )
    return parse_rubric(path.read_bytes(), where=str(path))


def read_study(workspace: Workspace, edition: Edition, task: str) -> RatedStudy:
    """Read a closed study; raises DataError if a file is missing or damaged, or the ratings are not by the rubric."""
    files = StudyFiles(workspace, edition, task)
    rubric = study_rubric(files)
    if rubric.name == PREDICTIONS:
        fix = "How people fared stands on the page Leaderboard, once labels are public."
        raise DataError(f"{task} has no rated responses: people predict its labels", fix=fix, code="predictions")
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
