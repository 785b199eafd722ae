"""Standings of systems by ratings of their responses, by criterion and part of the samples.

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

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.files import remove_file, sha256_text, write_bytes, write_jsonl
from hellofresh.core.parquet import Table, write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.judging.predicting import is_prediction_study
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import (
    JudgeKind,
    RatedStudy,
    StudyFiles,
    main_ratings,
    read_responses,
    read_samples,
    read_study,
)
from hellofresh.releases.life.load import Published
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.rated_entries import rated_entries
from hellofresh.results.split.tables import RatedStanding
from hellofresh.results.standings import standings_of
from hellofresh.stats.metrics import mean
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Label, Sample

PARTS = ("modality", "domain")
"""Fields of samples by which the board divides them."""
_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _RatedPost(Sample):
    modality: str
    domain: str


def samples_of_study(study: RatedStudy) -> list[Sample]:
    """The samples of a study that was set up from files, and has no release."""
    return [
        _RatedPost(
            id=item.id, task=study.files.task, edition=str(study.files.edition), period="", date=item.moment,
            group=item.id, license="", modality=item.facts.get("modality", ""), domain=item.facts.get("domain", ""),
        )
        for item in read_samples(study.files)
    ]  # fmt: skip


def rated_standings(
    study: RatedStudy, task: Task, samples: Sequence[Sample], kind: JudgeKind = JudgeKind.PERSON
) -> list[RatedStanding]:
    """Standings of all systems: by the overall criterion on all samples and on each part, then by each criterion.

    Args:
        study: the rated study.
        task: what its samples are of.
        samples: of the release.
        kind: whose ratings.
    """
    overall = study.rubric.criterion(study.rubric.overall)
    found = list(_standings(study, task, samples, kind, overall))
    for part in PARTS:
        values = sorted({str(getattr(sample, part, "")) for sample in samples} - {""})
        for value in values if len(values) > 1 else ():
            some = [sample for sample in samples if getattr(sample, part) == value]
            found += [replace(item, part=part, value=value) for item in _standings(study, task, some, kind, overall)]
    for criterion in study.rubric.criteria:
        if criterion.id != overall.id:
            found += _standings(study, task, samples, kind, criterion)
    return found


def _standings(
    study: RatedStudy, task: Task, samples: Sequence[Sample], kind: JudgeKind, criterion: Criterion
) -> list[RatedStanding]:
    """The systems on one criterion, by the board's one rule; those ranked first, in the order of their ranks."""
    low, high = criterion.limits
    metric = mean(criterion.id, (float(low), float(high)), title=criterion.title)
    of_criterion = replace(task, metrics=(metric,), output=Response, classes=())
    entries = rated_entries(study, of_criterion, kind, criterion)
    labels = {sample.id: Label(sample.id, 0, {}) for sample in samples}
    panel = panel_of(of_criterion, study.files.edition, samples, labels, entries)
    ranks = {standing.origin: standing for standing in standings_of(panel, resamples=_RESAMPLES).ranked}
    rows = []
    names = {entry.origin: entry.system for entry in entries}
    for system in panel.systems:
        asked = system.headline.asked
        if not asked.any():
            continue
        value, made = panel.measured(system.headline, asked)
        found = ranks.get(system.origin)
        place = (None,) * 4 if found is None else (found.rank, found.low, found.high, found.tie_group)
        measured = names[system.origin], int(asked.sum()), value, made.low, made.high
        rows.append(RatedStanding(kind, criterion.id, "", "", *measured, *place))
    return sorted(rows, key=lambda row: (row.rank or np.inf, -row.mean, row.system))


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """Which system wrote a response, and the SHA-256 of its text."""

    response: str
    sample: str
    system: str
    text_sha256: str


_KEY = Table(PublishedKey)
_RATING_COLUMNS = ("sample", "response", "link", "judge", "criterion", "value", "weight")
"""What is published of a person's rating; `link` is the start of the SHA-256 of the link's address, or empty."""


def publish_ratings(workspace: Workspace, edition: Edition, task: Task) -> list[Path]:
    """Write the public files of a release's closed study, if it has one; returns the files.

    Raises:
        DataError: if a file of the study is damaged.
    """
    files = StudyFiles(workspace, edition, task.name)
    folder = workspace.root / "releases" / str(edition) / "ratings"
    paths = [folder / f"{task.name}.{end}" for end in ("parquet", "key.parquet", "rubric.toml", "standings.jsonl")]
    if not (files.key.is_file() and files.ratings.is_file()) or is_prediction_study(files):
        return []
    study, samples = (
        read_study(workspace, edition, task.name),
        Published.open(workspace, edition, task.name).samples(task),
    )
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
