"""Where systems whose responses were rated stand: by criterion, and by part of the samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import JudgeKind, RatedStudy, read_samples
from hellofresh.results.build import panel_of
from hellofresh.results.entries import Entry
from hellofresh.results.panel import Panel
from hellofresh.results.rated_entries import rated_entries
from hellofresh.results.standings import Standing, standings_of
from hellofresh.stats import Interval, metric_interval
from hellofresh.stats.metrics import mean
from hellofresh.tasks import Task
from hellofresh.tasks.samples import Label, Sample

PARTS = ("modality", "domain")
"""Fields of samples by which the board is split."""
_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class RatedStanding:
    """Where a system stands on one criterion, on all samples or on a part of them.

    Attributes:
        kind: whose ratings.
        criterion: id in the rubric.
        part, value: field of the samples and its value; both empty for all samples.
        system: its name.
        n: samples of its that were rated.
        mean, interval: of its ratings.
        standing: its rank, rank interval and tie group; None where it is not ranked.
    """

    kind: str
    criterion: str
    part: str
    value: str
    system: str
    n: int
    mean: float
    interval: Interval
    standing: Standing | None


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
    """Where every system stands: by the overall criterion on all samples and on each part, then by each criterion.

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
) -> Iterator[RatedStanding]:
    """The systems on one criterion, by the board's one rule; those ranked first, in the order of their ranks."""
    low, high = criterion.limits
    metric = mean(criterion.id, (float(low), float(high)), title=criterion.title)
    of_criterion = replace(task, metrics=(metric,))
    entries = rated_entries(study, of_criterion, kind, criterion)
    labels = {sample.id: Label(sample.id, 0, {}) for sample in samples}
    panel = panel_of(of_criterion, study.files.edition, samples, labels, entries)
    ranks = {standing.origin: standing for standing in standings_of(panel, resamples=_RESAMPLES).ranked}
    rows = []
    for system, entry in zip(panel.systems, _in_order(panel, entries), strict=True):
        asked = system.headline.asked
        if not asked.any():
            continue
        table = panel.table(system.headline, asked)
        value = float(metric.value(table.sum(axis=0)))
        rows.append(RatedStanding(kind, criterion.id, "", "", entry.system, int(asked.sum()), value,
                                  metric_interval(table, metric), ranks.get(system.origin)))  # fmt: skip
    yield from sorted(rows, key=_order)


def _order(row: RatedStanding) -> tuple[float, float, str]:
    return (float("inf") if row.standing is None else row.standing.rank), -row.mean, row.system


def _in_order(panel: Panel, entries: Sequence[Entry]) -> Iterator[Entry]:
    of_origin = {entry.origin: entry for entry in entries}
    return (of_origin[system.origin] for system in panel.systems)
