"""Display of results: funnels, releases, scores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from operator import attrgetter
from textwrap import fill
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput, ProgressBar, estimate
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionReport
from hellofresh.releases.draw.release import Built
from hellofresh.releases.publish.folder import Publication
from hellofresh.results.scoring.scores import ScoredSplit
from hellofresh.results.split.panel import ALL_PERIODS, is_hollow, section_of, short_names
from hellofresh.results.split.tables import WITHOUT_LABELS, Score
from hellofresh.runs.export import EvaluationReport
from hellofresh.stats.intervals import few_clusters
from hellofresh.stats.metrics import Metric
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import to_json

if TYPE_CHECKING:
    from hellofresh.results.analyses.base import AnalysisResult

_WIDE = 140
_NARROW, _BRIEF = 80, 69
"""Characters of a line on any terminal, and of a step's line before its seconds."""
_UNCHANGED = " (nothing has changed, skipped)"
_HIDDEN_COLUMNS = frozenset({"team", "kind", "smoke_test", "prompt"})
_SHOWN = 4
"""Maximum metrics in a table, the headline first."""


def state_of(skipped: bool, why: str = "", done: str = "written") -> str:
    """What a stage did, in words, and what had changed since it last ran."""
    return "unchanged, skipped" if skipped else f"{done} again: {why}" if why else done


@dataclass(frozen=True, slots=True)
class ConsoleShow:
    """Shows messages and results of the pipeline; see `hellofresh.pipeline.steps.Show`."""

    output: CommandOutput
    private: bool = False

    def say(self, line: str) -> None:
        self.output.say(line)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return self.output.progress(what)

    def step(self, what: str, seconds: float) -> None:
        """Nothing more: all messages of the step are shown."""

    def last(self, line: str) -> None:
        self.say(line)

    def published(self, made: object) -> None:
        match made:
            case CollectionReport():
                summarise_collected(self.output, made)
            case EvaluationReport():
                self.output.result({**to_json(made), "folder": str(made.folder)})
            case ScoredSplit():
                show_scored(self.output, made, private=self.private)
            case Publication():
                _show_published(self.output, made)
            case [*releases]:
                show_built(self.output, [one for one in releases if isinstance(one, Built)])


@dataclass(frozen=True, slots=True)
class BriefShow(ConsoleShow):
    """Shows one line a step, and bars on a terminal; everything else goes to a log."""

    log: ConsoleShow = field(kw_only=True)

    def progress(self, what: str) -> AbstractContextManager[ProgressBar]:
        return (self.output if sys.stderr.isatty() else self.log.output).progress(what)

    def say(self, line: str) -> None:
        self.log.say(line)

    def published(self, made: object) -> None:
        self.log.published(made)

    def step(self, what: str, seconds: float) -> None:
        self.output.say(f"{what[:_BRIEF]:{_BRIEF}} {seconds:6.1f} s")

    def last(self, line: str) -> None:
        self.output.say(fill(line, _NARROW, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def _show_published(output: CommandOutput, published: Publication) -> None:
    state = state_of(published.skipped)
    revision = f" (revision {published.revision[:12]})" if published.revision else ""
    output.say(
        f"Published {', '.join(str(edition) for edition in published.quarters)} to {published.target}{revision}: "
        f"{published.files} files, {published.size / 1e6:.1f} MB, {state}"
    )
    if published.bundled:
        output.say("note: the bundled sample is part of it; card and file names say so.")


def show_collected(output: CommandOutput, collected: CollectionReport, *, written: bool = True) -> None:
    """Show the funnel, the samples kept by period and label, and the warnings."""
    funnel = collected.funnel
    task = get_task(collected.task)
    output.result(to_json(collected) | {"quarter": str(collected.quarter)})
    state = " (nothing has changed, skipped)" if collected.skipped else "" if written else " (explained, not written)"
    rows = [("", f"{funnel.unit} found", funnel.rows_in)]
    rows += [(f"- {drop.reason}", drop.meaning, drop.count) for drop in funnel.drops]
    rows += [("= candidates", "kept", funnel.total_kept)]
    output.table(f"{collected.task} {collected.quarter}: collected{state}", ("", "what", funnel.unit), rows)
    names = tuple(reversed(task.classes)) or (funnel.unit,)
    order = range(len(names) - 1, -1, -1)
    kept = [(period, *(labels.get(label, 0) for label in order)) for period, labels in funnel.kept.items()]
    output.table("Candidates by period", (str(task.period_kind), *names), kept)
    for name, number in funnel.context.items():
        output.text(f"{name}: {number:,}")
    _warn(output, collected)


def summarise_collected(output: CommandOutput, collected: CollectionReport) -> None:
    """Show the funnel in one line."""
    state = state_of(collected.skipped, collected.why, "collected")
    output.say(f"{collected.task} {collected.quarter}: {state}: {collected.funnel.ledger()}")
    _warn(output, collected)


def _warn(output: CommandOutput, collected: CollectionReport) -> None:
    workspace = Workspace.from_environment()
    for warning in collected.warnings:
        output.say(f"warning: {workspace.located(warning)}")


def show_built(output: CommandOutput, built: Sequence[Built]) -> None:
    """Show the sizes of releases."""
    output.result([{**to_json(item), "quarter": str(item.quarter)} for item in built])
    rows = []
    for item in built:
        state = "frozen" if item.frozen else state_of(item.skipped, item.why)
        rows.append((item.task, str(item.quarter), item.samples, item.periods, state))
    output.table("Releases", ("task", "quarter", "samples", "periods", ""), rows)
    for item in built:
        if item.empty:
            output.say(
                f"warning: {item.task} {item.quarter}: nothing of {', '.join(item.empty)} is in the release, because "
                "all candidates of that time have the same label. The release covers the rest of the quarter."
            )
        if not item.skipped and item.left_out:
            output.say(
                f"note: {item.task} {item.quarter}: {item.left_out} candidates were left out because another release "
                "has their group: its labels would give theirs away."
            )
        if item.unseen:
            output.say(
                f"warning: {item.task} {item.quarter}: of {item.unseen} samples of other releases neither texts nor "
                "sketches are here, so only equal texts were left out. Restore data/private from a backup, build again."
            )
        for name in item.withdrawn:
            output.say(f"note: {name} has samples of the same groups and has not opened: build it again.")
        if item.frozen:
            output.say(
                f"note: {item.task} {item.quarter} has opened, so its release is frozen. Candidates or settings "
                "have changed since. To rebuild it, remove its folder; do this only if it has not been used."
            )


def show_scored(output: CommandOutput, scored: ScoredSplit, *, private: bool = False) -> None:
    """Show the headline scores of every system with intervals, the best first, and what was left out.

    For tasks without public labels, show only each system's share of answers, by name, unless `private`.
    """
    hidden = frozenset() if private else frozenset(score.task for score in scored.scores) - scored.public
    first = {task: get_task(task).on(scored.split).headline.name for task in hidden}
    public = ("edition", "task", *WITHOUT_LABELS)  # the fields of a score that do not depend on labels
    output.result(
        [
            {**{name: getattr(score, name) for name in public}, "revealed": False}
            if score.task in hidden
            else to_json(score)
            for score in scored.scores
            if first.get(score.task, score.metric) == score.metric
        ]
    )
    for task in sorted(hidden):
        _show_answered(output, scored, task)
    for task in sorted({score.task for score in scored.scores} - hidden):
        _show_scores(output, scored, task)
    for task, ledger in scored.ledgers.items():
        output.say(f"{task} {scored.edition}: {ledger}")
    if scored.why:
        output.say(f"note: {scored.edition} is scored again: {scored.why}")
    for note in scored.notes:
        output.say(f"note: {note}")


def _show_answered(output: CommandOutput, scored: ScoredSplit, task: str) -> None:
    """Show each system's share of answers for a task without public labels, by name."""
    chosen = _headline(scored, task, get_task(task).on(scored.split).headline)
    shown = zip(short_names(chosen), chosen, strict=True)
    answered = [(name, s.regime, s.none, s.blocked, f"{s.n}/{s.n_split}") for name, s in shown]
    columns = ("system", "regime", "none", "blocked", "judged")
    title = f"{task} {scored.edition}: scored, not revealed{_UNCHANGED if scored.skipped else ''}"
    output.table(title, columns, sorted(answered))
    output.say(
        f"note: scores of {task} {scored.edition} are in data/private until its labels are revealed; "
        "maintainers see them with --private."
    )


def _show_scores(output: CommandOutput, scored: ScoredSplit, task: str) -> None:
    """Show the scores of a task, the best system first, and notes on their intervals."""
    known, wide = get_task(task).on(scored.split), output.width >= _WIDE
    there = {score.metric for score in scored.scores if score.task == task}
    metrics = [*known.metrics[:_SHOWN], *(metric for metric in known.fact_metrics if metric.name in there)]
    others = [{score.origin: score for score in _headline(scored, task, metric)} for metric in metrics]
    ordered = sorted(others[0].values(), key=attrgetter("system"))
    ordered.sort(key=attrgetter("value"), reverse=metrics[0].higher_is_better)
    hollow = {score.origin for score in ordered if is_hollow(score.provenance, task, scored.split)}
    ordered.sort(key=lambda score: score.origin in hollow)
    names = short_names(ordered)
    rows = [
        _row(name, one, [of[one.origin] for of in others], wide=wide) for name, one in zip(names, ordered, strict=True)
    ]
    titles = [metric.title if wide else metric.title[:6] for metric in metrics]
    titles.insert(1, "bootstrap")
    before, after = (("regime", "prompt"), ("none", "blocked")) if wide else ((), ("none",))
    columns, what = ("system", *before, *titles, *after, "judged"), f"{task} {scored.edition}"
    output.table(f"{what}: scores{_UNCHANGED if scored.skipped else ''}", columns, rows)
    _show_repetitions(output, what, [score for score in ordered if score.repetitions > 1], metrics[0])
    _warn_of_few(output, task, ordered)
    if hollow:
        systems = {s.origin for s in ordered if section_of(s.kind, s.regime, smoke_test=s.smoke_test) == "system"}
        some = f"{len(hollow)} uploads, below the others" if systems - hollow else "only uploads"
        output.say(f"note: {what}: {some}; answers can be looked up.")


def _warn_of_few(output: CommandOutput, task: str, scores: Sequence[Score]) -> None:
    if scores[0].bundled:
        output.say("note: this is the bundled sample: it demonstrates the pipeline and ranks no systems.")
    few = min(scores, key=lambda score: score.effective_clusters)
    if few.clusters == 1:
        output.say(f"note: some {task} scores rest on samples of one group only: no interval can be given.")
    elif few_clusters(few.clusters, few.effective_clusters):
        output.say(
            f"note: some {task} scores rest on samples of {few.clusters} groups (same post, same article) that "
            f"weigh as much as {few.effective_clusters:.1f} of one size (of a mean over classes: those of its "
            "rarest class): read their intervals with care."
        )


def _show_repetitions(output: CommandOutput, what: str, scores: Sequence[Score], metric: Metric) -> None:
    """Show the mean over repetitions with its interval, beside the score with its interval over samples."""
    rows = [
        (
            score.system,
            score.repetitions,
            f"{score.mean:.3f} [{score.mean_low:.3f}, {score.mean_high:.3f}]",
            estimate(score.value, score.low, score.high),
        )
        for score in scores
    ]
    if rows:
        output.table(
            f"{what}: {metric.title} over repetitions",
            ("system", "repetitions", "mean [95% over repetitions]", "first [95% over samples]"),
            rows,
        )


def _headline(scored: ScoredSplit, task: str, metric: Metric) -> list[Score]:
    """The scores of a metric that represent each system in the whole edition."""
    return [
        score
        for score in scored.scores
        if score.task == task and score.headline and score.period == ALL_PERIODS and score.metric == metric.name
    ]


def _row(name: str, score: Score, metrics: Sequence[Score], *, wide: bool) -> tuple[object, ...]:
    """A row of the table; on a narrow screen with two decimals and an interval for the headline metric only."""
    name += " (smoke test)" if score.smoke_test else ""
    digits = 3 if wide else 2

    def value(one: Score) -> str:
        point, low, high = (f"{part:.{digits}f}" for part in (one.value, one.low, one.high))
        return f"{point} [{low}, {high}]" if wide or one is metrics[0] else point

    values = list(map(value, metrics))
    values.insert(1, f"[{score.bootstrap_low:.{digits}f}, {score.bootstrap_high:.{digits}f}]")
    judged = f"{score.n}/{score.n_split}"
    if not wide:
        return (name, *values, score.none + score.blocked, judged)
    return (name, score.regime, score.prompt, *values, score.none, score.blocked, judged)


def show_table(output: CommandOutput, title: str, result: AnalysisResult) -> None:
    """Print a table with values and their limits in one column, or why it is missing."""
    if result.missing:
        output.text(f"{title} {result.missing}\n")
        return
    names = [name for name in result.table.columns if name not in _HIDDEN_COLUMNS]
    limits = {f"{name}_{end}" for name in names for end in ("low", "high") if f"{name}_low" in names}
    limits |= {"low", "high"} if {"value", "low", "high"} <= set(names) else set()
    kept = [name for name in names if name not in limits]
    rows = [[_table_cell(row, name) for name in kept] for row in result.table.iter_rows(named=True)]
    output.table(title, [name.replace("_", " ") for name in kept], rows)
    for note in result.notes:
        output.text(f"note: {note}")


def _table_cell(row: dict[str, object], name: str) -> str:
    value = row[name]
    prefix = "" if name == "value" else f"{name}_"
    low, high = row.get(f"{prefix}low"), row.get(f"{prefix}high")
    if value is None:
        return ""
    if isinstance(value, float):
        return estimate(value, low, high) if isinstance(low, float) and isinstance(high, float) else f"{value:.3f}"
    return str(value)
