"""Scores of a quarter: every run, prompt and period, the majority vote of the prompts, and every submission.

`scores/<quarter>.parquet` has one row for each task, system, prompt and period (`all` for the whole quarter). An answer
that is none or blocked counts as wrong (see `hellofresh.stats.counts`) and is shown in its own columns. Intervals are
bootstrap intervals over groups of samples (see `hellofresh.stats.intervals`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from hellofresh.answers import Verdict, majority
from hellofresh.errors import DataError, ReleaseError, RunError
from hellofresh.files import Json, atomic_path, read_json, read_jsonl, sha256_file
from hellofresh.quarters import Quarter
from hellofresh.releases import Release, load_labels, load_release
from hellofresh.stages import Stage, input_key
from hellofresh.stats import METRICS, bootstrap_intervals, count
from hellofresh.submissions import Submission, find_submissions, read_submission
from hellofresh.tasks import get_task
from hellofresh.workspace import Workspace

__all__ = ["ALL_PERIODS", "MAJORITY", "SINGLE", "Score", "Scored", "score_quarter"]

MAJORITY = "majority"
"""Prompt name of the majority vote of all prompts."""
SINGLE = "single"
"""Prompt name where there is one prediction a sample and no choice of prompts: baselines and submissions."""
ALL_PERIODS = "all"

SEED = 20240
RESAMPLES = 10_000

Lane = Literal["harness", "submitted"]


@dataclass(frozen=True, slots=True)
class Score:
    """One cell: a system's score with one prompt in one period, with intervals at 95%.

    `n` of `n_split` samples were judged; `none` and `blocked` of them had no answer; `low` and `high` are the limits of
    the interval of the metric named before them; `headline` marks the row that stands for the system.
    """

    quarter: str
    task: str
    system: str
    team: str
    lane: Lane
    kind: str
    regime: str
    prompt: str
    period: str
    headline: bool
    bundled: bool
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    run_id: str
    n: int
    n_split: int
    clusters: int
    tp: int
    fp: int
    tn: int
    fn: int
    none: int
    blocked: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float
    f1_low: float
    f1_high: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    interval_method: str
    interval_seed: int
    interval_resamples: int


@dataclass(frozen=True, slots=True)
class Scored:
    """What scoring a quarter came to; `notes` says what was left out, and why."""

    quarter: Quarter
    scores: Sequence[Score]
    notes: Sequence[str] = ()
    skipped: bool = False


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Model(_Strict):
    name: str


class _Regime(_Strict):
    name: str


class _PromptSet(_Strict):
    name: str


class _RunRecord(_Strict):
    """What scoring reads of a run's `run.json`."""

    task: str
    quarter: str
    samples_sha256: str
    model: _Model
    regime: _Regime
    prompt_set: _PromptSet
    judged: int
    kind: str
    smoke_test: bool
    knowledge_cutoff: str
    about: str

    @property
    def system(self) -> tuple[str, str, str]:
        """What two runs must share for one to supersede the other."""
        return self.model.name, self.regime.name, self.prompt_set.name


class _VerdictRow(_Strict):
    id: str
    prompt: str
    verdict: Literal["yes", "no", "none", "blocked"]


_Row = TypeVar("_Row", bound=_Strict)


def _parse(kind: type[_Row], value: Json, path: Path) -> _Row:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "a value"
        raise _damaged(path, f"{field}: {first['msg'].lower()}") from None


def _damaged(path: Path, what: str) -> RunError:
    fix = "Run the same evaluation again: the journal still has the answers."
    return RunError(what, where=str(path), fix=fix, code="damaged-run")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A system's verdicts on the samples of one release, by prompt, and how the board names it."""

    system: str
    team: str
    lane: Lane
    kind: str
    regime: str
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    run_id: str
    verdicts: Mapping[str, Mapping[str, Verdict]] = field(repr=False)


def score_quarter(workspace: Workspace, quarter: Quarter, submissions: Path) -> Scored:
    """Score all runs and submissions of a quarter.

    Raises:
        ReleaseError: if the quarter has no release.
        DataError: if a file of a run or release is damaged.
    """
    tasks = [get_task(name) for released, name in workspace.released() if released == quarter]
    if not tasks:
        raise ReleaseError(
            f"no release of {quarter}",
            where=str(workspace.root),
            fix=f"Build one: hellofresh release build --quarter {quarter}",
            code="no-release",
        )
    releases = [load_release(workspace, quarter, task) for task in tasks]
    stage = Stage(workspace, f"score/{quarter}", input_key(_inputs(workspace, releases, submissions)))
    table = workspace.scores(quarter)
    ids = {release.task.name: [sample.id for sample in release.samples] for release in releases}
    handed_in, notes = _submitted(submissions, quarter, ids)
    if stage.is_current():
        stored = pl.read_parquet(table).to_dicts()
        return Scored(quarter, [Score(**row) for row in stored], notes, skipped=True)
    scores: list[Score] = []
    for release in releases:
        runs, run_notes = _harness_entries(workspace, release)
        notes += run_notes
        mine = {sample.id for sample in release.samples}
        entries = [*runs, *(_submitted_entry(item, mine) for item in handed_in if mine & item.labels.keys())]
        labels = {key: label.label for key, label in load_labels(workspace, quarter, release.task).items()}
        scores += (cell for entry in entries for cell in _cells(release, labels, entry))
    if not scores:
        raise DataError(
            f"nothing to score in {quarter}",
            fix=f"Ask a model first: hellofresh evaluate --quarter {quarter} --task {tasks[0].name} --model always-yes",
            code="nothing-to-score",
        )
    with atomic_path(table) as temporary:
        pl.DataFrame([asdict(score) for score in scores], infer_schema_length=None).write_parquet(temporary)
    stage.record([table])
    return Scored(quarter, scores, notes)


def _inputs(workspace: Workspace, releases: Sequence[Release], submissions: Path) -> Json:
    labels = [workspace.private(r.quarter, r.task.name) / "labels.jsonl" for r in releases]
    runs = [folder / "predictions.jsonl" for release in releases for folder, _ in _run_records(workspace, release)[0]]
    folders = find_submissions(submissions, releases[0].quarter)
    handed_in = [folder / name for folder in folders for name in ("predictions.jsonl", "system.toml")]
    return {
        "seed": SEED,
        "resamples": RESAMPLES,
        "releases": [release.samples_sha256 for release in releases],
        "files": [[path.parent.name, sha256_file(path)] for path in [*labels, *runs, *handed_in] if path.is_file()],
    }


def _run_records(workspace: Workspace, release: Release) -> tuple[list[tuple[Path, _RunRecord]], list[str]]:
    """Finished runs on this release: for each system the one that judged most samples, the newest among equals."""
    best: dict[tuple[str, ...], tuple[tuple[float, ...], Path, _RunRecord]] = {}
    notes = []
    for path in sorted(workspace.runs.glob("*/run.json")):
        record = _parse(_RunRecord, read_json(path), path)
        if (record.task, record.quarter) != (release.task.name, str(release.quarter)):
            continue
        if record.samples_sha256 != release.samples_sha256:
            notes.append(f"{path.parent.name} was run on other samples than are released now, and is left out")
            continue
        key = record.system
        rank = (record.judged, path.stat().st_mtime)
        if key in best:
            worse = path if rank <= best[key][0] else best[key][1]
            notes.append(f"{worse.parent.name} is superseded by another run of the same system, and is left out")
        if key not in best or rank > best[key][0]:
            best[key] = (rank, path, record)
    return [(path.parent, record) for _, path, record in best.values()], notes


def _harness_entries(workspace: Workspace, release: Release) -> tuple[list[_Entry], list[str]]:
    records, notes = _run_records(workspace, release)
    return [_harness_entry(folder, record) for folder, record in records], notes


def _harness_entry(folder: Path, record: _RunRecord) -> _Entry:
    verdicts = _read_verdicts(folder / "predictions.jsonl")
    name = record.model.name
    if record.prompt_set.name != "standard":
        name += f" ({record.prompt_set.name} prompts)"
    baseline = record.kind == "baseline"
    return _Entry(
        system=name,
        team="HelloFresh",
        lane="harness",
        kind=record.kind,
        regime="none" if baseline else record.regime.name,
        smoke_test=record.smoke_test,
        knowledge_cutoff=record.knowledge_cutoff,
        about=record.about,
        run_id=folder.name,
        verdicts={SINGLE: next(iter(verdicts.values()))} if baseline else _with_majority(verdicts),
    )


def _read_verdicts(path: Path) -> Mapping[str, Mapping[str, Verdict]]:
    verdicts: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for line in read_jsonl(path):
        row = _parse(_VerdictRow, line, path)
        verdicts[row.prompt][row.id] = Verdict(row.verdict)
    if not verdicts:
        raise _damaged(path, "no predictions")
    return verdicts


def _with_majority(verdicts: Mapping[str, Mapping[str, Verdict]]) -> Mapping[str, Mapping[str, Verdict]]:
    """The prompts' verdicts and, over the samples that every prompt judged, their vote."""
    everywhere = set.intersection(*(set(by_sample) for by_sample in verdicts.values()))
    vote = {key: majority(by_sample[key] for by_sample in verdicts.values()) for key in sorted(everywhere)}
    return {MAJORITY: vote, **verdicts}


def _submitted(root: Path, quarter: Quarter, ids: Mapping[str, Iterable[str]]) -> tuple[list[Submission], list[str]]:
    found, notes = [], []
    for folder in find_submissions(root, quarter):
        try:
            found.append(read_submission(folder, quarter, ids))
        except DataError as error:
            notes.append(f"the submission {folder.parent.name}/{folder.name} is left out: {error}")
    return found, notes


def _submitted_entry(submission: Submission, ids: set[str]) -> _Entry:
    verdict = {1: Verdict.YES, 0: Verdict.NO, None: Verdict.NONE}
    info = submission.info
    return _Entry(
        system=info.name,
        team=info.team,
        lane="submitted",
        kind="submission",
        regime=info.regime,
        smoke_test=False,
        knowledge_cutoff=str(info.knowledge_cutoff),
        about=info.notes,
        run_id="",
        verdicts={SINGLE: {key: verdict[label] for key, label in submission.labels.items() if key in ids}},
    )


def _cells(release: Release, labels: Mapping[str, int], entry: _Entry) -> Iterator[Score]:
    """A score for each prompt and period, the whole quarter first."""
    headline = next(iter(entry.verdicts))
    for prompt, verdicts in entry.verdicts.items():
        judged = [sample for sample in release.samples if sample.id in verdicts]
        periods = sorted({sample.period for sample in judged})
        for period in [ALL_PERIODS, *periods]:
            part = [sample for sample in judged if period in (ALL_PERIODS, sample.period)]
            split = sum(1 for sample in release.samples if period in (ALL_PERIODS, sample.period))
            if part:
                groups = np.unique([sample.group for sample in part], return_inverse=True)[1]
                truth = np.array([labels[sample.id] for sample in part], dtype=np.int8)
                said = [verdicts[sample.id] for sample in part]
                yield _score(release, entry, _Cell(prompt, period, prompt == headline, split, truth, said, groups))


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one score is computed from; the last three have an entry for every sample judged."""

    prompt: str
    period: str
    headline: bool
    n_split: int
    truth: NDArray[np.int8]
    said: Sequence[Verdict]
    groups: NDArray[np.int64]


def _score(release: Release, entry: _Entry, cell: _Cell) -> Score:
    said = cell.said
    predictions = np.array([-1 if verdict.label is None else verdict.label for verdict in said], dtype=np.int8)
    counts = count(cell.truth, predictions)
    values = counts.metrics
    intervals = bootstrap_intervals(cell.truth, predictions, cell.groups, seed=SEED, resamples=RESAMPLES)
    limits = {f"{name}_{end}": getattr(intervals[name], end) for name in METRICS for end in ("low", "high")}
    some = intervals["f1"]
    return Score(
        quarter=str(release.quarter),
        task=release.task.name,
        system=entry.system,
        team=entry.team,
        lane=entry.lane,
        kind=entry.kind,
        regime=entry.regime,
        prompt=cell.prompt,
        period=cell.period,
        headline=cell.headline,
        bundled=release.bundled,
        smoke_test=entry.smoke_test,
        knowledge_cutoff=entry.knowledge_cutoff,
        about=entry.about,
        run_id=entry.run_id,
        n=len(said),
        n_split=cell.n_split,
        clusters=some.clusters,
        tp=counts.tp,
        fp=counts.fp,
        tn=counts.tn,
        fn=counts.fn,
        none=sum(1 for verdict in said if verdict is Verdict.NONE),
        blocked=sum(1 for verdict in said if verdict is Verdict.BLOCKED),
        **values,
        **limits,
        interval_method=some.method,
        interval_seed=some.seed,
        interval_resamples=some.resamples,
    )
