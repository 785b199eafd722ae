"""Standings of systems by ratings of their responses, by criterion and part of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hellofresh.judging.comparison import compare_systems, counted_values, mean_rating, of_systems
from hellofresh.judging.judges import judge_quality, known_judges
from hellofresh.judging.predicting import is_prediction_study
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import (
    BlindedResponse,
    JudgeKind,
    RatedStudy,
    StudyFiles,
    main_ratings,
    read_responses,
    read_samples,
    read_study,
)
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.panel import Panel
from hellofresh.results.split.rated_entries import rated_as, rated_entries
from hellofresh.results.split.tables import RatedStanding
from hellofresh.results.standings import RaterTests, standings_of
from hellofresh.stats.metrics import mean
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import Label, Sample

PARTS = ("modality", "domain")
"""Fields of samples by which the board divides them."""
_RESAMPLES = 2_000  # resampled over posts and raters for every criterion, which is slow


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
    study: RatedStudy, task: Task, samples: Sequence[Sample], kind: JudgeKind = JudgeKind.PERSON, *,
    over_raters: bool = False,
) -> list[RatedStanding]:  # fmt: skip
    """Standings of all systems: by the overall criterion on all samples and on each part, then by each criterion.

    Args:
        study: the rated study.
        task: what its samples are of.
        samples: of the release.
        kind: whose ratings.
        over_raters: intervals and pairs over other posts and other raters, as for reading; a release's are over posts
            alone.
    """
    overall = study.rubric.criterion(study.rubric.overall)
    rated = of_systems(study.ratings, study.key, kind=kind) if over_raters else None
    found = list(_standings(study, task, samples, kind, overall, rated=rated))
    for part in PARTS:
        values = sorted({str(getattr(sample, part, "")) for sample in samples} - {""})
        for value in values if len(values) > 1 else ():
            some = [sample for sample in samples if getattr(sample, part) == value]
            found += [
                replace(item, part=part, value=value)
                for item in _standings(study, task, some, kind, overall, rated=rated)
            ]
    for criterion in study.rubric.criteria:
        if criterion.id != overall.id:
            found += _standings(study, task, samples, kind, criterion, rated=rated)
    return found


def _standings(
    study: RatedStudy, task: Task, samples: Sequence[Sample], kind: JudgeKind, criterion: Criterion,
    *, rated: pl.DataFrame | None,
) -> list[RatedStanding]:  # fmt: skip
    """The systems on one criterion, by the board's one rule; those ranked first, in the order of their ranks."""
    low, high = criterion.limits
    metric = mean(criterion.id, (float(low), float(high)), title=criterion.title)
    of_criterion = replace(task, metrics=(metric,), output=Response, classes=())
    entries = rated_entries(study, of_criterion, kind, criterion)
    labels = {sample.id: Label(sample.id, 0, {}) for sample in samples}
    panel = panel_of(of_criterion, study.files.edition, samples, labels, entries)
    tests = None if rated is None else rater_tests(panel, study, kind, criterion)
    ranks = {one.origin: one for one in standings_of(panel, resamples=_RESAMPLES, tests=tests).ranked}
    rows = []
    names = {entry.origin: entry.system for entry in entries}
    for system in panel.systems:
        asked = system.headline.asked
        if not asked.any():
            continue
        value, made = panel.measured(system.headline, asked)
        ends = made.low, made.high
        if rated is not None:
            own = rated.filter(pl.col("system") == names[system.origin], pl.col("sample").is_in(list(labels)))
            wide = mean_rating(counted_values(own, criterion), criterion)
            ends = ends if wide.few else (wide.low, wide.high)
        found = ranks.get(system.origin)
        place = (None,) * 4 if found is None else (found.rank, found.low, found.high, found.tie_group)
        measured = names[system.origin], int(asked.sum()), value, *ends
        rows.append(RatedStanding(kind, criterion.id, "", "", *measured, *place))
    return sorted(rows, key=lambda row: (row.rank or np.inf, -row.mean, row.system))


def rater_tests(
    panel: Panel, study: RatedStudy | None, kind: JudgeKind = JudgeKind.PERSON, criterion: Criterion | None = None
) -> RaterTests:
    """Differences of systems by the same raters; without those of too few posts or raters for an interval."""
    if study is None or (criterion and criterion.unit == "link"):  # two responses have different links
        return {}
    origins = {rated_as(system, study): system.origin for system in panel.systems}
    rated = of_systems(study.ratings, study.key, kind=kind)
    own = rated.filter(pl.col("sample").is_in([sample.id for sample in panel.samples]))
    tests = compare_systems(own, criterion or study.rubric.criterion(study.rubric.overall), study.main_systems)
    return {
        (origins[test.first], origins[test.second]): (test.difference, test.difference_adjusted)
        for test in tests
        if test.difference and not test.difference.few and {test.first, test.second} <= origins.keys()
    }


@dataclass(frozen=True, slots=True)
class Study:
    """A closed study of a split's responses, opened.

    Attributes:
        rated: its rubric, ratings and key.
        responses: the blinded responses.
        addresses: of its samples, by id.
    """

    rated: RatedStudy
    responses: Sequence[BlindedResponse]
    addresses: Mapping[str, str]

    @property
    def kinds(self) -> list[JudgeKind]:
        """The kinds of judges that rated, people first."""
        kinds = [JudgeKind(kind) for kind in self.rated.ratings["kind"].unique().sort().to_list()]
        return sorted(kinds, key=lambda kind: kind is not JudgeKind.PERSON)

    def may_rank(self, kind: JudgeKind) -> Mapping[str, bool]:
        """By criterion, whether ratings of this kind may rank systems: people's do, judges' if all of them may."""
        criteria = self.rated.rubric.criteria
        if kind is JudgeKind.PERSON:
            return {criterion.id: True for criterion in criteria}
        own = [judge for judge, its in known_judges(self.rated) if its == kind]
        found = [{item.criterion: item.ranks for item in judge_quality(self.rated, judge)} for judge in own]
        return {
            criterion.id: bool(found) and all(quality.get(criterion.id, False) for quality in found)
            for criterion in criteria
        }

    @property
    def overall_means(self) -> Sequence[Mapping[str, tuple[float, int]]]:
        """By response, the mean overall rating and the number of ratings: of people, then of judges."""
        overall = self.rated.rubric.criterion(self.rated.rubric.overall)
        found = []
        for kinds in ((JudgeKind.PERSON,), (JudgeKind.MODEL, JudgeKind.CLASSIFIER)):
            counted = counted_values(main_ratings(self.rated.ratings, *kinds), overall).group_by("response")
            rows = counted.agg(pl.col("value").mean(), pl.len().alias("count")).iter_rows()
            found.append({name: (value, count) for name, value, count in rows})
        return found


def read_study_of(files: StudyFiles, task: Task) -> Study | None:
    """The closed study of a release's responses, None if there is none; raises DataError if a file is damaged."""
    if not task.takes(Response) or not files.is_closed or is_prediction_study(files):
        return None
    return Study(read_study(files), read_responses(files), {item.id: item.address for item in read_samples(files)})
