"""Scores of a quarter: every run, prompt and period, the majority vote of the prompts, and every submission.

The prospective split is a split like the main one: its scores lie in `scores/prospective/`. The two hold different
samples, so nothing compares their scores or ranks them together. There, choices are scored as forecasts first
(`hellofresh.tasks.Task.on`, `hellofresh.results.split.entries.with_forecasts`).

`scores/<edition>.parquet`, or `private/scores/<edition>.parquet` for tasks whose labels are not public, has one row for
each task, system, prompt, period (`all` for the whole edition) and metric. A missing or blocked answer counts as
wrong (see `hellofresh.stats.metrics`) and is shown in its own columns. Intervals take groups of samples as the unit
(see `hellofresh.stats.intervals` for the method, the one that covers best); those of the bootstrap stand beside them
(`hellofresh.stats.draws`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError, SubmissionError
from hellofresh.core.files import sha256_file, write_json
from hellofresh.core.intake import Intake
from hellofresh.core.makers import makers
from hellofresh.core.parquet import write_parquet
from hellofresh.core.quarters import utc_text
from hellofresh.core.stages import Stage
from hellofresh.core.systems import Provenance
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import OUTCOMES, prospective_outcomes, prospective_splits
from hellofresh.releases.life.load import Published, Release, load_labels, load_release, released_tasks
from hellofresh.results.scoring.published import check_published
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.entries import (
    Entry,
    entries_of_runs,
    entries_of_submissions,
    lenient_entries,
    of_submission,
    with_forecasts,
)
from hellofresh.results.split.judgements import Part, judgements_file, write_judgements, write_waiting
from hellofresh.results.split.panel import ALL_PERIODS, BLOCKED, Panel, PromptOutputs
from hellofresh.results.split.rated_entries import counted_entries, scorable
from hellofresh.results.split.tables import SCORES, Score, score_command, score_stage
from hellofresh.stats.draws import bootstrap_limits
from hellofresh.stats.intervals import metric_interval, repetition_interval
from hellofresh.stats.metrics import NO_ANSWER, Metric
from hellofresh.submissions.check import Due, Submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import Task, get_task, task_makers
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Label, Split, to_json

_HOW = {
    MAIN: "Ask a model first: hellofresh evaluate --edition {edition} --model always-yes",
    PROSPECTIVE: "Resolve it with a later collection: hellofresh release prospective --quarter {edition} --resolve",
}
_PARTS: tuple[Part, ...] = ("", "receipts", "numbers")


@dataclass(frozen=True, slots=True)
class ScoredSplit:
    """The result of scoring a split of a quarter.

    `notes` says what was left out and why, `entries` what was scored and `waiting` what will be, by task; `public`
    names the tasks whose labels are public: of the others nothing is shown or published that follows from `scores`.
    `why` is what has changed since they were last scored, `ledgers` what became of the systems' answers, by task.
    """

    edition: Edition
    scores: Sequence[Score]
    notes: Sequence[str] = ()
    skipped: bool = False
    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict, repr=False)
    split: Split = MAIN
    public: frozenset[str] = frozenset()
    waiting: Mapping[str, Sequence[Entry]] = field(default_factory=dict, repr=False)
    why: str = ""
    ledgers: Mapping[str, Intake] = field(default_factory=dict, repr=False)


def score_quarter(
    workspace: Workspace,
    edition: Edition,
    submissions: Path,
    moment: datetime | None = None,
    *,
    split: Split = MAIN,
    changes: Collection[str] = (),
) -> ScoredSplit:
    """Score all runs and submissions on a split of a quarter.

    Submissions to the main split are scored only after the deadline, so that they cannot probe labels. The prospective
    split is scored once it is resolved, on the decided samples.

    Args:
        submissions: folder of submissions.
        moment: the time that counts as now.
        changes: entries whose published predictions may go, change or be added.

    Raises:
        ReleaseError: if the quarter has no release, or published predictions would change.
        DataError: if there is nothing to score, or a file of a run or release is damaged.
    """
    read = _read_main if split == MAIN else _read_prospective
    found = read(workspace, edition, submissions, moment or now())
    public = frozenset(release.task.name for release in found.releases if release.revealed)
    made_by = makers(__name__) | task_makers(*(release.task for release in found.releases))
    stage = Stage.of(workspace, score_stage(edition, split), _inputs(found, public), made_by)
    scored = ScoredSplit(
        edition, (), found.notes, entries=found.entries, split=split, public=public, waiting=found.waiting
    )
    since = stage.changes()
    if since == []:
        stored = _stored(workspace, edition, split)
        notes = [*found.notes, *_read_anywhere(workspace, scored, stored, found.releases)]
        return replace(scored, scores=stored, notes=notes, skipped=True, waiting={})
    redo = score_command(edition, split)
    for task, entries in found.entries.items() if edition.is_living else ():
        published = Published.open(workspace, edition, task, split)
        check_published(published, entries, changes, redo, submissions / str(edition))
    read_labels = load_labels if split == MAIN else prospective_outcomes
    scores: list[Score] = []
    ledgers: dict[str, Intake] = {}
    for release in found.releases:
        labels, entries = read_labels(workspace, edition, release.task), found.entries[release.task.name]
        made = list(_scores_of(release, labels, entries, split))
        ledgers[release.task.name] = _ledger(release, labels, entries, made)
        scores += made
    if not scores:
        what, fix = f"nothing to score in the {split} split of {edition}", _HOW[split].format(edition=edition)
        raise DataError(what, fix=fix, code="nothing-to-score")
    notes = [*found.notes, *_read_anywhere(workspace, scored, scores, found.releases)]
    scored = replace(scored, scores=scores, notes=notes, why="; ".join(since or ()), ledgers=ledgers)
    stage.record(write_scores(workspace, scored))
    return scored


def _read_anywhere(
    workspace: Workspace, scored: ScoredSplit, scores: Sequence[Score], releases: Sequence[Release]
) -> Iterator[str]:
    """The headline score of each run some of whose answers stand elsewhere in the text, and the one with them read."""
    for release in releases if scored.split == MAIN else ():
        task, edition = release.task, scored.edition
        own = {score.origin: score for score in scores if score.task == task.name and _stands_for_all(score, task)}
        runs = [own[entry.origin] for entry in scored.entries[task.name] if entry.origin in own]
        of_runs = [run for run in runs if task.name in scored.public and run.provenance == Provenance.RUN]
        read = {run.origin: entry for run in of_runs for entry in lenient_entries(workspace.runs / run.origin)}
        labels = load_labels(workspace, edition, task) if read else {}
        for origin, entry in read.items():
            panel = panel_of(task, edition, release.samples, labels, [entry])
            value, _ = panel.measured(said := panel.systems[0].headline, said.asked)
            both = f"{own[origin].value:.3f} and, with answers read anywhere in the text, {value:.3f}"
            yield f"{task.name} {edition}: {own[origin].system} has {task.headline.title} {both}"


def _stands_for_all(score: Score, task: Task) -> bool:
    """Whether it is the headline metric of a system in the whole edition."""
    return (score.metric, score.period, score.headline) == (task.headline.name, ALL_PERIODS, True)


def write_scores(workspace: Workspace, scored: ScoredSplit) -> list[Path]:
    """Write scores and judgements, those of tasks whose labels are not public below `private/`; gives the files.

    Files of a side without tasks are removed, so that no private files stay after a reveal.
    """
    written = []
    if any(scored.waiting.values()):
        written.append(write_waiting(workspace, scored.edition, scored.waiting))
    elif scored.split == MAIN:
        judgements_file(workspace, scored.edition, part="waiting", private=True).unlink(missing_ok=True)
    for private in (False, True):
        rows = [score for score in scored.scores if (score.task not in scored.public) is private]
        entries = {task: its for task, its in scored.entries.items() if (task not in scored.public) is private}
        table = workspace.scores(scored.edition, scored.split, private=private)
        ledger, mode = table.with_suffix(".json"), 0o600 if private else 0o644
        if rows:
            write_parquet(table, SCORES.frame(rows), mode=mode)
            own = {task: to_json(one) for task, one in scored.ledgers.items() if task in entries}
            write_json(ledger, own, mode=mode)
            written += [table, ledger]
            written += write_judgements(workspace, scored.edition, entries, scored.split, private=private)
        else:
            parts = [judgements_file(workspace, scored.edition, scored.split, one, private=private) for one in _PARTS]
            for path in (table, ledger, *parts):
                path.unlink(missing_ok=True)
    return written


def _stored(workspace: Workspace, edition: Edition, split: str) -> list[Score]:
    tables = [workspace.scores(edition, split, private=private) for private in (False, True)]
    return [score for table in tables if table.is_file() for score in SCORES.rows(SCORES.read(table))]


def score_submission(
    workspace: Workspace, submission: Submission, moment: datetime | None = None, *, private: bool = False
) -> list[Score]:
    """Score one submission, in its place among the submissions or not.

    Args:
        workspace: where the releases are.
        submission: what is scored.
        moment: the time that counts as now.
        private: whether the caller may know what follows from labels that are not public.

    Raises:
        SubmissionError: before the deadline, so that none can try what scores well; and before the reveal, unless
            in private.
        DataError: if the labels are not available.
    """
    moment = moment or now()
    scores: list[Score] = []
    for edition, name in workspace.released():
        if edition != submission.edition:
            continue
        release = load_release(workspace, edition, get_task(name))
        ids = {sample.id for sample in release.samples}
        if not ids & submission.labels.keys():
            continue
        if not release.is_over(moment):
            raise SubmissionError(
                f"{name} {edition} is scored after the deadline, {utc_text(release.days.deadline)}",
                fix="Try again then. Until then 'hellofresh submission check' shows what would be scored.",
                code="before-deadline",
            )
        if not (private or release.revealed):
            raise SubmissionError(
                f"{name} {edition} is scored after its labels are revealed, {utc_text(release.days.reveals)}",
                fix="Try again then. Maintainers can add --private; keep the results private.",
                code="not-revealed",
            )
        labels = load_labels(workspace, edition, release.task)
        entry = of_submission(submission, ids)
        rated, unrated = scorable(workspace, release, [entry])
        if unrated:
            fix = f"Have them rated first: hellofresh rate assign --prepare DIR --edition {edition} --task {name}"
            raise SubmissionError(unrated[0], fix=fix, code="not-rated")
        scores += _scores_of(release, labels, [item for item in rated if item.origin == entry.origin])
    return scores


def beside_others(workspace: Workspace, release: Release, labels: Mapping[str, Label], origin: str) -> list[Score]:
    """The headline metric of a run in the whole edition, then those of others on the samples that it answered, the best
    first: of the baselines that were run and, if it judged all, of all that was scored before, such as people and
    published systems.

    Nothing where the labels are not public, the run does not stand for its system, or its responses are not rated.

    Args:
        workspace: where runs and earlier scores are.
        release, labels: what the run is on, and its labels.
        origin: the run.
    """
    if not release.revealed:
        return []
    task = release.task
    runs, _ = scorable(workspace, release, entries_of_runs(workspace, release)[0])
    entries = [item for item in runs if item.origin == origin or item.kind == "baseline"]
    own = next((entry for entry in entries if entry.origin == origin), None)
    if own is None:
        return []
    judged = next(iter(own.outputs.values())).keys()
    entries += lenient_entries(workspace.runs / origin)
    first = []
    for entry in entries:
        prompt, said = next(iter(entry.outputs.items()))
        if same := {key: output for key, output in said.items() if key in judged}:
            first.append(replace(entry, outputs={prompt: same}, repeated=()))
    scores = [
        score
        for score in _scores_of(release, labels, first)
        if score.period == ALL_PERIODS and score.metric == task.headline.name
    ]
    shown = {score.origin for score in scores}
    whole = all(score.n == score.n_split for score in scores if score.origin == origin)
    scores += [
        score
        for score in _stored(workspace, release.edition, MAIN)
        if score.task == task.name and _stands_for_all(score, task) and score.origin not in shown and whole
    ]
    return sorted(scores, key=lambda score: (score.origin != origin, -task.headline.sign * score.value))


@dataclass(frozen=True, slots=True)
class _Read:
    """What is scored on a split of a quarter.

    Attributes:
        releases: those with labels that may be scored, and the files of these.
        label_files: what their labels are read from.
        entries: all systems, by task.
        waiting: submissions that wait for the deadline, by task.
        notes: what was left out.
    """

    releases: Sequence[Release]
    label_files: Sequence[Path]
    entries: Mapping[str, Sequence[Entry]]
    waiting: Mapping[str, Sequence[Entry]]
    notes: Sequence[str]


def _inputs(found: _Read, public: Iterable[str]) -> list[object]:
    """All inputs of the scores."""
    waiting = {task: [(entry.origin, entry.receipt) for entry in its] for task, its in found.waiting.items()}
    return [
        sorted(public),
        [
            [release.samples_sha256, *release.taken_down, *map(to_json, release.corrections)]
            for release in found.releases
        ],
        [sha256_file(path) for path in found.label_files if path.is_file()],
        to_json(found.entries),
        to_json(waiting),
    ]


def _read_main(workspace: Workspace, edition: Edition, submissions: Path, moment: datetime) -> _Read:
    tasks = released_tasks(workspace, edition)
    releases = [load_release(workspace, edition, task) for task in tasks]
    ids = {release.task.name: tuple(sample.id for sample in release.samples) for release in releases}
    taken_down = frozenset(key for release in releases for key in release.taken_down)
    due = Due(edition, ids, {item.task.name: item.calendar for item in releases if item.calendar}, taken_down)
    # Flags for copied errors are shown, so they wait for the reveal.
    truth = {}
    if all(release.revealed for release in releases):
        for task in tasks:
            labels = load_labels(workspace, edition, task)
            truth[task.name] = {key: label.label for key, label in labels.items()}
    handed_in, notes = entries_of_submissions(submissions, due, moment, truth)
    entries, waiting = {}, {}
    for release in releases:
        name = release.task.name
        entries[name], waiting[name], about = counted_entries(workspace, release, handed_in[name], moment)
        notes += about
    files = [workspace.private(edition, task.name) / "labels.jsonl" for task in tasks]
    return _Read(releases, files, entries, waiting, notes)


def _read_prospective(workspace: Workspace, edition: Edition, submissions: Path, moment: datetime) -> _Read:
    known = [task for quarter, task in prospective_splits(workspace) if quarter == edition]
    drawn = [Published.open(workspace, edition, task, PROSPECTIVE) for task in known]
    releases = [one.release(workspace, get_task(one.task)) for one in drawn if one.manifest.has_labels]
    unresolved = [one.task for one in drawn if not one.manifest.has_labels]
    notes = [f"the prospective split of {task} {edition} has no labels yet" for task in unresolved]
    handed_in: Mapping[str, Sequence[Entry]] = {}
    if releases:
        # Without truth, since samples without an outcome would look like common errors.
        due = due_in(workspace, edition, PROSPECTIVE)
        handed_in, about = entries_of_submissions(submissions, due, moment, {})
        notes += about
    entries = {}
    for release in releases:
        runs, about = entries_of_runs(workspace, release, split=PROSPECTIVE)
        both = [*runs, *handed_in.get(release.task.name, ())]
        entries[release.task.name] = [with_forecasts(entry, len(release.task.classes)) for entry in both]
        notes += about
    files = [one.folder / OUTCOMES for one in drawn if one.manifest.has_labels]
    return _Read(releases, files, entries, {}, notes)


def _scores_of(
    release: Release, labels: Mapping[str, Label], entries: Sequence[Entry], split: Split = MAIN
) -> Iterator[Score]:
    """The scores of each entry, prompt and period, the whole edition first."""
    panel = panel_of(
        release.task, release.edition, release.samples, labels, entries, split=split, bundled=release.bundled
    )
    systems = {system.origin: system for system in panel.systems}
    found: dict[tuple[int, int, int], list[Score]] = {}
    for place, period in enumerate([ALL_PERIODS, *panel.period_names]):
        where = np.ones(panel.labels.shape, dtype=np.bool_) if period == ALL_PERIODS else panel.periods == period
        cells: dict[tuple[int, int, int], _Cell] = {}
        for number, entry in enumerate(entries):
            for k, (prompt, said) in enumerate(zip(entry.outputs, systems[entry.origin].said, strict=True)):
                if (said.asked & where).any():
                    cells[number, k, place] = _Cell(panel, entry, said, prompt, period, where, headline=k == 0)
        limits = _bootstrapped(list(cells.values()))
        found |= {key: list(cell.scores(limits)) for key, cell in cells.items()}
    for key in sorted(found):
        yield from found[key]


def _ledger(release: Release, labels: Mapping[str, Label], entries: Sequence[Entry], scores: Sequence[Score]) -> Intake:
    """What became of the answers that stand for the systems; those that went on are what the scores rest on."""
    said = [sample for entry in entries for sample in next(iter(entry.outputs.values()))]
    # a system counts once, by the score that ranks it
    rests = {one.origin: one.n for one in scores if one.headline and one.period == ALL_PERIODS}
    scored = {sample.id for sample in release.samples} & labels.keys()
    why = Counter(
        "taken-down" if sample in release.taken_down else "no-outcome" for sample in said if sample not in scored
    )
    return Intake("answers", len(said), sum(rests.values()), why)


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """What an entry said with one prompt in one period: one score for each metric of the task.

    Attributes:
        where: shape (n,), the samples of the period.
        headline: whether the prompt stands for the entry.
        tables: sums by cluster, see `table`.
    """

    panel: Panel
    entry: Entry
    said: PromptOutputs
    prompt: str
    period: str
    where: NDArray[np.bool_]
    headline: bool
    tables: dict[object, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Shape (n,), where it was asked."""
        return self.said.asked & self.where

    def table(self, metric: Metric) -> NDArray[np.float64]:
        """A metric's sums by cluster, shape (g, k), made once for all metrics of these statistics."""
        key = _statistics_of(metric)
        if key not in self.tables:
            self.tables[key] = self.panel.table(self.said, self.judged, metric)
        return self.tables[key]

    def scores(self, limits: Mapping[tuple[_Cell, str], NDArray[np.float64]]) -> Iterator[Score]:
        """The scores; `limits` has those of the bootstrap by cell and metric."""
        common = {
            "edition": str(self.panel.edition),
            "task": self.panel.task.name,
            **self.entry.identity,
            "prompt": self.prompt,
            "period": self.period,
            "headline": self.headline,
            "bundled": self.panel.bundled,
            "n_split": int(self.where.sum()),
            "none": int((self.said.answers[self.where] == NO_ANSWER).sum()),
            "blocked": int((self.said.answers[self.where] == BLOCKED).sum()),
        }
        for metric in self.panel.metrics:
            if not (table := self.table(metric)).any():  # of a fact that nothing here has
                continue
            made = metric_interval(table, metric, n=int(self.judged.sum()))
            low, high = limits[self, metric.name].tolist()
            own = {name: getattr(made, name) for name in ("n", "clusters", "effective_clusters", "low", "high")}
            yield Score(
                **common, **own, metric=metric.name, value=float(metric.value(table.sum(axis=0))),
                bootstrap_low=low, bootstrap_high=high, method=str(made.method), **self._over_repetitions(metric),
            )  # fmt: skip

    def _over_repetitions(self, metric: Metric) -> Mapping[str, Any]:
        """Numbers are given for the first repetition only, and a forecast is made of all of them."""
        if not self.said.repeated or metric.of_numbers or metric.of_forecasts:
            return {}
        tables = (self.panel.table(one, one.asked & self.judged, metric) for one in (self.said, *self.said.repeated))
        values = np.array([float(metric.value(one.sum(axis=0))) for one in tables])
        again = repetition_interval(values, limits=metric.limits)
        return {"repetitions": again.repetitions, "mean": again.mean, "mean_low": again.low, "mean_high": again.high}


def _statistics_of(metric: Metric) -> object:
    """The same for metrics of which one table gives all."""
    return metric.statistics, metric.fact, metric.name if metric.of_numbers else ""


def _bootstrapped(cells: Sequence[_Cell]) -> dict[tuple[_Cell, str], NDArray[np.float64]]:
    """The bootstrap's limits by cell and metric; resamples are joint for those who judged the same samples."""
    together: dict[bytes, list[_Cell]] = {}
    for cell in cells:
        together.setdefault(cell.judged.tobytes(), []).append(cell)
    metrics: dict[object, list[Metric]] = {}
    for metric in cells[0].panel.metrics if cells else ():
        metrics.setdefault(_statistics_of(metric), []).append(metric)
    found: dict[tuple[_Cell, str], NDArray[np.float64]] = {}
    for those in together.values():
        for same in metrics.values():
            limits = bootstrap_limits(np.stack([cell.table(same[0]) for cell in those]), same)
            for row, metric in enumerate(same):
                found |= {(cell, metric.name): limits[row, number] for number, cell in enumerate(those)}
    return found
