"""Display of results: funnels, releases, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from hellofresh.cli._output import CommandOutput, estimate
from hellofresh.core.texts import one_line
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionReport
from hellofresh.releases.draw.release import Built
from hellofresh.releases.life.load import Release, load_labelled
from hellofresh.releases.publish.folder import Publication
from hellofresh.results.scoring.people import people_beside_run
from hellofresh.results.scoring.scores import ScoredSplit, beside_others
from hellofresh.results.split.panel import ALL_PERIODS, is_hollow, section_of, short_names
from hellofresh.results.split.tables import PEOPLE_NAMES, WITHOUT_LABELS, PeopleRow, Score
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport, deciding
from hellofresh.runs.journal import snapshot
from hellofresh.runs.record import read_predictions
from hellofresh.stats.intervals import few_clusters
from hellofresh.stats.metrics import Metric
from hellofresh.tasks import get_task
from hellofresh.tasks._base import added_metrics
from hellofresh.tasks.outputs import Choice, output_of
from hellofresh.tasks.samples import Label, to_json

if TYPE_CHECKING:
    from hellofresh.results.analyses.base import AnalysisResult

_WIDE = 140  # characters from which on all metrics fit in a row
_UNCHANGED = " (nothing has changed, skipped)"
_HIDDEN_COLUMNS = frozenset({"team", "kind", "smoke_test", "prompt"})
_SHOWN = 4  # maximum metrics of ours in a table, the headline first
_EXCERPT = 300  # about four lines of a terminal


def state_of(skipped: bool, why: str = "", done: str = "written") -> str:
    """What a stage did, in words, and what had changed since it last ran."""
    return "unchanged, skipped" if skipped else f"{done} again: {why}" if why else done


def show_made(output: CommandOutput, made: object, *, private: bool) -> None:
    """Show what a step has made."""
    match made:
        case CollectionReport():
            summarise_collected(output, made)
        case ScoredSplit():
            show_scored(output, made, private=private)
        case Publication():
            _show_published(output, made)
        case [*releases]:
            show_built(output, [one for one in releases if isinstance(one, Built)])


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
                "has their group: its labels would reveal theirs."
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
    columns = ("system", "regime", "none", "blocked", "samples")
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
    shown, further = known.metrics[:_SHOWN], (*added_metrics(known.classes), *known.fact_metrics)
    metrics = [*shown, *(metric for metric in further if metric.name in there and metric not in shown)]
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
    columns, what = ("system", *before, *titles, *after, "samples"), f"{task} {scored.edition}"
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
            "rarest class; fewer of skewed numbers): read their intervals with care."
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


def show_beside(output: CommandOutput, workspace: Workspace, evaluation: Evaluation, report: EvaluationReport) -> None:
    """Show the headline metric of a run with public labels beside those of baselines and scored systems, also people,
    and one sample that it judged wrongly and one that it judged rightly.
    """
    metric = evaluation.task.headline
    release, labels = load_labelled(workspace, evaluation.edition, evaluation.task)
    scores = beside_others(workspace, release, labels, report.run_id)
    rows = [(one.system, estimate(one.value, one.low, one.high), f"{one.n}/{one.n_split}") for one in scores]
    if rows:
        output.table(
            f"{metric.title} beside the baselines and others", ("system", f"{metric.title} [95%]", "samples"), rows
        )
        if scores[0].n < scores[0].n_split:
            part = f"{scores[0].n} of {scores[0].n_split} samples"
            output.say(f"note: {part}: not comparable with the board; others are scored on the same samples.")
        people = people_beside_run(workspace, release, labels, report.run_id)
        _show_people(output, people, metric.title, {**PEOPLE_NAMES, report.run_id: scores[0].system})
    if evaluation.task.classes and not output.as_json:
        _show_examples(output, release, labels, report.folder)


def _show_people(output: CommandOutput, people: Sequence[PeopleRow], title: str, names: Mapping[str, str]) -> None:
    """Show the run beside people in a separate table, since people predicted only some of the samples.

    `title` is that of the metric, `names` has what is shown by origin.
    """
    rows = [
        (names[row.origin], f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]")
        for row in people
        if row.value is not None
    ]
    if rows:
        output.table(f"{title} beside people, on their {people[0].samples} samples", ("", f"{title} [95%]"), rows)
        absent = "; the run did not judge all of them" if len(rows) == len(PEOPLE_NAMES) else ""
        output.say(f"note: these are the samples that three people or more predicted{absent}.")
    for row in people:
        if row.missing:
            output.say(f"note: the predictions of people are not shown: {row.missing}.")


def _show_examples(output: CommandOutput, release: Release, labels: Mapping[str, Label], folder: Path) -> None:
    """Show one wrongly and one rightly answered sample of the run in a folder."""
    task, samples = release.task, {sample.id: sample for sample in release.with_texts()}
    with snapshot(folder) as journal:
        said = deciding(journal.entries())
    left, prompt = {"wrong": False, "right": True}, ""
    for row in read_predictions(folder):
        given, prompt = output_of(row), prompt or row.prompt
        if not isinstance(given, Choice) or row.prompt != prompt or row.id not in labels or row.id not in samples:
            continue
        right = given.label == labels[row.id].label
        name = next((name for name, wanted in left.items() if wanted is right), "")
        if name:
            del left[name]
            answer = str(given.status) if given.label is None else task.classes[given.label]
            output.text(f"{name}: {row.id}")
            for part in task.page_of(samples[row.id]).parts:
                output.text(f"  {part.name}: {one_line(part.text, _EXCERPT)}")
            decided = said.get((row.id, row.repetition, row.prompt)) or said.get((row.id, row.repetition, ""))
            words = one_line(decided.answer.text if decided else "", _EXCERPT)
            output.text(f"  people decided: {task.classes[labels[row.id].label]}; the answer: {answer} ({words!r})")
        if not left:
            break
