"""What `import hellofresh as hf` gives: load an edition, evaluate a model or an agent on it, score predictions.

    edition = hf.load("2026Q2", "x-notes")
    run = hf.evaluate(edition, model="gpt-4.1-mini", regime="zero-shot", limit=100)
    run.score()
    hf.score(edition, {"xn-1": 1, "xn-2": None})

Tables are polars data frames; `.to_pandas()` and Arrow's stream protocol work on them. Scores are those of the
leaderboard: the same metrics, the same intervals, beside the answers that always name one class.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from rich.progress import Progress

from hellofresh.editions import Edition, parse_edition
from hellofresh.errors import ReleaseError, UsageError
from hellofresh.figures.charts import Axis, Chart, Figure, Mark, Series
from hellofresh.figures.vega import place
from hellofresh.net.lock import locked
from hellofresh.outputs import Choice, Output, Status
from hellofresh.regimes import agent_regime
from hellofresh.releases import labels_are_public, load_labels, load_release
from hellofresh.releases.life.load import Release
from hellofresh.releases.life.manifest import MANIFEST
from hellofresh.results.build import panel_of
from hellofresh.results.entries import Entry, entry_of_run
from hellofresh.results.panel import SINGLE, Panel
from hellofresh.runs import Tally
from hellofresh.runs.evaluate import Evaluation, EvaluationReport
from hellofresh.runs.evaluate import evaluate as _evaluate
from hellofresh.runs.web_access import with_web
from hellofresh.samples import Label, Sample, to_json
from hellofresh.stats import metric_interval
from hellofresh.submissions.intake.faults import Fault
from hellofresh.submissions.intake.predictions import read_predictions
from hellofresh.tasks import Task, get_task
from hellofresh.workspace import Workspace

__all__ = ["EvaluatedRun", "LoadedEdition", "ScoreTable", "evaluate", "load", "score"]

Predictions = Mapping[str, int | None] | pl.DataFrame | str | Path
"""Labels by sample id; a frame with the columns `id` and `label`; or a file as it is submitted."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LoadedEdition:
    """The samples of an edition of a task, with their labels where these are public.

    Attributes:
        task, edition: which.
        samples: one row a sample, as in `samples.jsonl`.
    """

    task: Task
    edition: Edition
    samples: pl.DataFrame = field(repr=False)
    _release: Release = field(repr=False)
    _workspace: Workspace = field(repr=False)
    _labels: Mapping[str, Label] | None = field(repr=False)

    @property
    def labels(self) -> pl.DataFrame | None:
        """Id and label of each sample, None while labels are not public."""
        if self._labels is None:
            return None
        rows = [(key, label.label) for key, label in sorted(self._labels.items())]
        return pl.DataFrame(rows, schema={"id": pl.String, "label": pl.Int64}, orient="row")

    def __len__(self) -> int:
        return len(self._release.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._release.samples)

    def __repr__(self) -> str:
        labels = "labels are public" if self._labels is not None else "labels are not public yet"
        return f"{self.task.name} {self.edition}: {len(self):,} samples, {labels}"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.samples.head(5)._repr_html_()}"


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """A run on an edition.

    Attributes:
        edition: on what.
        report: what it came to: samples judged and failed, tokens, cost.
    """

    edition: LoadedEdition
    report: EvaluationReport

    @property
    def folder(self) -> Path:
        """Where its answers, transcripts and predictions are."""
        return self.report.folder

    @property
    def predictions(self) -> pl.DataFrame:
        """One row a sample, prompt and repetition."""
        return pl.read_ndjson(self.folder / "predictions.jsonl")

    def score(self) -> ScoreTable:
        """Its scores.

        Raises:
            ReleaseError: if labels are not public yet.
        """
        return _scored(self.edition, [entry_of_run(self.folder)])

    def __repr__(self) -> str:
        cost = "unknown" if self.report.cost_usd is None else f"{self.report.cost_usd:.4f} USD"
        return f"{self.report.run_id}: {self.report.judged} of {self.report.of} samples judged, cost {cost}"


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores with 95% intervals.

    Attributes:
        table: one row a system, prompt and metric, the headline metric first.
        headline: the metric that systems are ranked by.
    """

    table: pl.DataFrame = field(repr=False)
    headline: str

    def to_pandas(self) -> object:
        """The table as a pandas data frame; needs pandas and pyarrow."""
        return self.table.to_pandas()

    def chart(self, metric: str = "") -> ScoreChart:
        """A chart of one metric, the headline metric if none is named."""
        return ScoreChart(self.table, metric or self.headline)

    def __repr__(self) -> str:
        rows = self.table.filter(pl.col("metric") == self.headline)
        return "\n".join(
            f"{row['system']}, {row['prompt']}: {self.headline} {row['value']:.3f} "
            f"(95% interval {row['low']:.3f} to {row['high']:.3f}, {row['n']:,} samples)"
            for row in rows.iter_rows(named=True)
        )

    def _repr_html_(self) -> str:
        return str(self.table.filter(pl.col("metric") == self.headline)._repr_html_())


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """Scores of one metric as the site draws them; notebooks show it.

    Attributes:
        table: the scores.
        metric: which metric.
    """

    table: pl.DataFrame = field(repr=False)
    metric: str

    @property
    def specification(self) -> dict[str, object]:
        """The chart in Vega-Lite."""
        rows = self.table.filter(pl.col("metric") == self.metric)
        marks = [
            Mark(
                row["system"],
                "",
                row["value"],
                row["low"],
                row["high"],
                row["n"],
                row=f"{row['system']}, {row['prompt']}",
            )
            for row in rows.iter_rows(named=True)
        ]  # fmt: skip
        figure = Figure((Chart("intervals", Axis.share(self.metric, marks), series=Series()),), ())
        placed = place(figure, marks, f"{self.metric} of each system and prompt")
        return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "width": 600, **placed[0].spec}

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {"application/vnd.vegalite.v6+json": self.specification, "text/plain": repr(self)}


def load(edition: str, task: str, *, source: str | Path | None = None) -> LoadedEdition:
    """Load an edition of a task.

    Args:
        edition: a quarter such as `2026Q2`, or a data set such as `liar-new@588`.
        task: name of the task.
        source: a workspace or a published folder; `hub:OWNER/NAME` for a data set of the Hugging Face hub; the
            workspace that HELLOFRESH_DATA names, or `data`, if left out.

    Raises:
        UsageError: if the edition or the task is none.
        ReleaseError: if there is no such release, or its files are not the ones that its manifest names.
    """
    workspace, chosen, which = _workspace(source), get_task(task), parse_edition(edition)
    release = load_release(workspace, which, chosen)
    labels = load_labels(workspace, which, chosen) if labels_are_public(workspace, which, chosen.name) else None
    rows = pl.DataFrame([to_json(sample) for sample in release.samples], infer_schema_length=None)
    return LoadedEdition(chosen, which, rows, release, workspace, labels)


def evaluate(
    edition: LoadedEdition,
    model: str,
    *,
    regime: str = "zero-shot",
    agent: str | None = None,
    prompts: str | Sequence[str] = "all",
    limit: int | None = None,
    repeat: int = 1,
    settings: Mapping[str, object] | None = None,
    roles: Mapping[str, str] | None = None,
    blocked: Sequence[str] = (),
    budget_usd: float | None = None,
    progress: bool = True,
) -> EvaluatedRun:
    """Evaluate a model, as `hellofresh evaluate` does; what was answered before is not asked again.

    It works within a running event loop too, such as a notebook's.

    Args:
        edition: on what, from `load`.
        model: a name from `hellofresh models list`.
        regime: how the model is asked.
        agent: `FILE:FUNCTION` of an agent of one's own, instead of a regime.
        prompts: `all`, or ids.
        limit: samples to judge; the model's own limit if left out.
        repeat: how often each question is asked.
        settings: of the regime, by name.
        roles: models of further roles, by role.
        blocked: domains that are not read.
        budget_usd: most that the run may cost.
        progress: whether to show a bar.

    Raises:
        HelloFreshError: what the command reports.
    """
    workspace = _for_runs(edition)
    asked = Evaluation(
        edition=edition.edition,
        task=edition.task,
        model=model,
        regime=regime if agent is None else agent_regime(agent),
        prompts=prompts if isinstance(prompts, str) else ",".join(prompts),
        limit=limit,
        repeat=repeat,
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
        roles=dict(roles or {}),
        blocked=tuple(blocked),
        budget_usd=budget_usd,
    )
    with Progress(disable=not progress, transient=True) as bar:
        line = bar.add_task(f"{model} on {edition.task.name} {edition.edition}", total=None)

        def tell(tally: Tally) -> None:
            bar.update(line, completed=tally.done, total=tally.samples)

        report = _outside_loop(lambda: _evaluate(workspace, with_web(asked), tell, bar.console.print))
    return EvaluatedRun(edition, report)


def score(edition: LoadedEdition, predictions: Predictions, *, name: str = "predictions") -> ScoreTable:
    """Score predictions with the leaderboard's own scorer.

    Args:
        edition: on what, from `load`.
        predictions: labels by sample id, a frame with the columns `id` and `label`, or a file of predictions. A label
            of None is no answer and counts as wrong; samples that are not named are not counted.
        name: what to call the system.

    Raises:
        UsageError: if an id is unknown, or a label is none of the task's.
        ReleaseError: if labels are not public yet.
    """
    outputs = _outputs(edition, predictions)
    return _scored(edition, [_entry(name, "submission", outputs)])


def _outputs(edition: LoadedEdition, predictions: Predictions) -> dict[str, Output]:
    if isinstance(predictions, str | Path):
        faults: list[Fault] = []
        found = read_predictions(Path(predictions), len(edition) * 20 + 1, faults)
        if found is None or faults:
            raise UsageError(faults[0].what, where=faults[0].where, fix=faults[0].fix, code=faults[0].code)
        labels: Mapping[str, int | None] = {line.prediction.id: line.prediction.label for line in found.lines}
    elif isinstance(predictions, pl.DataFrame):
        labels = dict(predictions.select("id", "label").iter_rows())
    else:
        labels = predictions
    if not labels:
        raise UsageError("no predictions", expected="a label for each sample", code="no-predictions")
    known = {sample.id for sample in edition}
    if unknown := sorted(labels.keys() - known):
        raise UsageError(
            f"{len(unknown)} ids are unknown, such as {unknown[0][:80]!r}",
            where=f"{edition.task.name} {edition.edition}",
            expected="ids of this edition's samples",
            code="unknown-id",
        )
    classes = edition.task.classes
    for key, label in labels.items():
        if label is not None and label not in range(len(classes)):
            expected = ", ".join(f"{k} ({name})" for k, name in enumerate(classes)) + ", or None"
            raise UsageError(f"label {label!r}", where=key, expected=expected, code="bad-label")
    return {key: _choice(label) for key, label in labels.items()}


def _choice(label: int | None) -> Choice:
    return Choice(status=Status.NONE) if label is None else Choice(label=int(label))


def _entry(name: str, kind: str, outputs: Mapping[str, Output]) -> Entry:
    return Entry(
        system=name, team="", lane="submitted", kind=kind, regime="none", smoke_test=False, knowledge_cutoff="unknown",
        about="", origin=name, outputs={SINGLE: outputs},
    )  # fmt: skip


def _scored(edition: LoadedEdition, entries: Sequence[Entry]) -> ScoreTable:
    """The entries beside the answers that always name one class."""
    labels = _labels(edition)
    ids = {sample.id for sample in edition}
    always = [
        _entry(f"always {name}", "baseline", dict.fromkeys(ids, Choice(label=number)))
        for number, name in enumerate(edition.task.classes)
    ]
    release = edition._release
    panel = panel_of(release.task, release.edition, release.samples, labels, [*entries, *always])
    order = {entry.origin: number for number, entry in enumerate([*entries, *always])}
    rows = sorted(_rows(panel), key=lambda row: order[str(row["origin"])])
    table = pl.DataFrame(rows).drop("origin")
    return ScoreTable(table, edition.task.headline.name)


def _rows(panel: Panel) -> Iterator[dict[str, object]]:
    for system in panel.systems:
        for said in system.said:
            for metric in panel.task.metrics:
                sums = panel.table(said, said.asked, metric)
                some = metric_interval(sums, metric, n=int(said.asked.sum()))
                yield {
                    "origin": system.origin,
                    "system": system.name,
                    "regime": system.regime,
                    "prompt": said.prompt,
                    "metric": metric.name,
                    "value": float(metric.value(sums.sum(axis=0))),
                    "low": some.low,
                    "high": some.high,
                    "n": int(said.asked.sum()),
                    "silent": int(np.count_nonzero(said.predictions(said.asked) < 0)),
                    "clusters": some.clusters,
                }


def _labels(edition: LoadedEdition) -> Mapping[str, Label]:
    if edition._labels is None:
        raise ReleaseError(
            f"the labels of {edition.task.name} {edition.edition} are not public",
            expected="a quarter that is revealed, or a frozen data set",
            fix="See when it is revealed: hellofresh quarter status",
            code="not-revealed",
        )
    return edition._labels


def _workspace(source: str | Path | None) -> Workspace:
    if source is None:
        return Workspace.from_environment()
    if isinstance(source, str) and source.startswith("hub:"):
        try:
            from huggingface_hub import snapshot_download
        except ImportError:
            raise UsageError(
                "data sets of the hub need huggingface_hub, which is not installed",
                fix="Install it with: python -m pip install 'hellofresh[publish]'",
                code="missing-extra",
            ) from None
        return Workspace(Path(snapshot_download(source.removeprefix("hub:"), repo_type="dataset")))
    return Workspace(Path(source))


def _for_runs(edition: LoadedEdition) -> Workspace:
    """The workspace that keeps runs, with the release in it."""
    workspace = Workspace.from_environment()
    source = edition._workspace.release(edition.edition, edition.task.name)
    target = workspace.release(edition.edition, edition.task.name)
    if source.resolve() == target.resolve():
        return workspace
    with locked(workspace.root / "locks" / "loaded.lock", what="copying a release", wait_s=60):
        if not (target / MANIFEST).is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".loaded.", dir=target.parent) as folder:
                copy = Path(folder) / "release"
                shutil.copytree(source, copy)
                copy.rename(target)
    if load_release(workspace, edition.edition, edition.task).samples_sha256 != edition._release.samples_sha256:
        raise UsageError(
            f"the workspace has other samples of {edition.task.name} {edition.edition} than were loaded",
            where=str(target),
            fix="Load the edition from the workspace, or set HELLOFRESH_DATA to another folder.",
            code="other-release",
        )
    return workspace


def _outside_loop(work: Callable[[], _T]) -> _T:
    """Do what runs an event loop of its own, also where one is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
