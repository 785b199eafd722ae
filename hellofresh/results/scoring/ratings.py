"""Publish what is public of a closed study of responses.

`publish_ratings` writes what is public of a closed study in `releases/<edition>/ratings/`, so that a stranger computes
its figures again.

- `<task>.parquet`: people's ratings, a row for each response (or link), criterion and rater. Raters have numbers, links
  are named by a hash, comments and times are left out.
- `<task>.key.parquet`: which system wrote a response, and the SHA-256 of its text.
- `<task>.rubric.toml`: what was rated by.
- `<task>.standings.jsonl`: where every system stands: overall, by part of the samples, and on each criterion.

No text of a sample or response is in them. Ratings of samples that were taken down are left out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from hellofresh.core.files import remove_file, sha256_text, write_bytes, write_jsonl
from hellofresh.core.parquet import Table, write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.judging.predicting import is_prediction_study
from hellofresh.judging.study import JudgeKind, StudyFiles, main_ratings, read_responses, read_study
from hellofresh.releases.life.load import Published
from hellofresh.results.split.rated import rated_standings
from hellofresh.tasks import get_task


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """Which system wrote a response, and the SHA-256 of its text."""

    response: str
    sample: str
    system: str
    text_sha256: str


_KEY = Table(PublishedKey)
# What is published of a person's rating; `link` is the start of the SHA-256 of the link's address, or empty.
_RATING_COLUMNS = ("sample", "response", "link", "judge", "criterion", "value", "weight")


def publish_ratings(workspace: Workspace, published: Published) -> list[Path]:
    """Write the public files of a release's closed study, if it has one; returns the files.

    Raises:
        DataError: if a file of the study is damaged.
    """
    edition, task = published.edition, get_task(published.task)
    files = StudyFiles(workspace, edition, task.name)
    folder = workspace.root / "releases" / str(edition) / "ratings"
    paths = [folder / f"{task.name}.{end}" for end in ("parquet", "key.parquet", "rubric.toml", "standings.jsonl")]
    if not files.is_closed or is_prediction_study(files):
        return []
    study = read_study(files)
    samples = published.samples(task)
    of_people = main_ratings(study.ratings, JudgeKind.PERSON)
    rated = of_people.filter(pl.col("sample").is_in([sample.id for sample in samples]))
    if rated.is_empty():
        for path in paths:
            remove_file(path)
        return []
    hashed = {link: sha256_text(link)[:16] if link else "" for link in rated["link"].unique().to_list()}
    rated = rated.with_columns(pl.col("link").replace_strict(hashed, return_dtype=pl.String))
    table, key, rubric, standings = paths
    write_parquet(table, rated.select(_RATING_COLUMNS).sort(_RATING_COLUMNS[:5]))
    texts = {response.id: response.text for response in read_responses(study.files)}
    rows = study.own_key.filter(pl.col("response").is_in(rated["response"].to_list())).iter_rows(named=True)
    keys = (
        PublishedKey(row["response"], row["sample"], row["system"], sha256_text(texts.get(row["response"], "")))
        for row in rows
    )
    write_parquet(key, _KEY.frame(keys).sort("response"))
    write_bytes(rubric, files.ratings.with_name(f"{task.name}.rubric.toml").read_bytes())
    found = map(asdict, rated_standings(study, task, samples))
    write_jsonl(standings, ({name: value for name, value in row.items() if name != "kind"} for row in found))
    return paths
