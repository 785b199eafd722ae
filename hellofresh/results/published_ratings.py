"""What is published of a closed study, in `releases/<edition>/ratings/`, so that a stranger computes its figures again.

- `<task>.parquet`: people's ratings, a row for each response (or link), criterion and rater. Raters have numbers, links
  are named by a hash, comments and times are left out.
- `<task>.key.parquet`: which system wrote a response, and the SHA-256 of its text.
- `<task>.rubric.toml`: what was rated by.
- `<task>.standings.jsonl`: where every system stands: overall, by part of the samples, and on each criterion.

No text of a sample or response is in them. Ratings of samples that were taken down are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.files import remove_file, sha256_text, write_bytes, write_jsonl
from hellofresh.core.parquet import Table, write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.judging.study import JudgeKind, RatedStudy, RatingPhase, StudyFiles, read_responses, read_study
from hellofresh.releases.life.load import load_public
from hellofresh.results.rated import RatedStanding, rated_standings
from hellofresh.tasks import Task


@dataclass(frozen=True, slots=True)
class PublishedRating:
    """One person's rating of a response; `link` is the start of the SHA-256 of the link's address, or empty."""

    sample: str
    response: str
    link: str
    judge: str
    criterion: str
    value: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """Which system wrote a response, and the SHA-256 of its text."""

    response: str
    sample: str
    system: str
    text_sha256: str


_RATINGS, _KEY = Table(PublishedRating), Table(PublishedKey)


def publish_ratings(workspace: Workspace, edition: Edition, task: Task) -> list[Path]:
    """Write what a closed study of a release publishes, where there is one; gives the files.

    Raises:
        DataError: if a file of the study is damaged.
    """
    files = StudyFiles(workspace, edition, task.name)
    folder = workspace.root / "releases" / str(edition) / "ratings"
    paths = [folder / f"{task.name}.{end}" for end in ("parquet", "key.parquet", "rubric.toml", "standings.jsonl")]
    if not (files.key.is_file() and files.ratings.is_file()):
        return []
    study, samples = read_study(workspace, edition, task.name), load_public(workspace, edition, task)[0]
    of_people = (pl.col("kind") == str(JudgeKind.PERSON)) & (pl.col("phase") == str(RatingPhase.MAIN))
    rated = study.ratings.filter(of_people & pl.col("sample").is_in([sample.id for sample in samples]))
    if rated.is_empty():
        for path in paths:
            remove_file(path)
        return []
    hashed = {link: sha256_text(link)[:16] if link else "" for link in rated["link"].unique().to_list()}
    rated = rated.with_columns(pl.col("link").replace_strict(hashed, return_dtype=pl.String))
    table, key, rubric, standings = paths
    columns = _RATINGS.schema.names()
    write_parquet(table, rated.select(columns).sort(columns[:5]))
    write_parquet(key, _KEY.frame(_key_rows(study, set(rated["response"].to_list()))).sort("response"))
    write_bytes(rubric, files.ratings.with_name(f"{task.name}.rubric.toml").read_bytes())
    write_jsonl(standings, map(_row, rated_standings(study, task, samples)))
    return paths


def _key_rows(study: RatedStudy, rated: set[str]) -> Iterator[PublishedKey]:
    texts = {response.id: response.text for response in read_responses(study.files)}
    for row in study.own_key.iter_rows(named=True):
        if row["response"] in rated:
            text = sha256_text(texts.get(row["response"], ""))
            yield PublishedKey(row["response"], row["sample"], row["system"], text)


def _row(standing: RatedStanding) -> dict[str, object]:
    place = standing.standing
    return {
        **{name: getattr(standing, name) for name in ("criterion", "part", "value", "system", "n", "mean")},
        **{"low": standing.interval.low, "high": standing.interval.high},
        "rank": None if place is None else place.rank,
        "rank_low": None if place is None else place.low,
        "rank_high": None if place is None else place.high,
        "tie_group": None if place is None else place.tie_group,
    }
