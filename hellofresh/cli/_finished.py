"""What `evaluate` shows of a finished run: beside baselines and people, and by examples."""

from __future__ import annotations

from hellofresh.cli._output import CommandOutput, estimate
from hellofresh.core.errors import ReleaseError
from hellofresh.core.texts import one_line
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.results.scoring.people import people_beside_run
from hellofresh.results.scoring.scores import beside_others
from hellofresh.results.split.tables import PEOPLE_NAMES
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport, deciding
from hellofresh.runs.journal import snapshot
from hellofresh.runs.record import read_predictions
from hellofresh.tasks.outputs import Choice, output_of

_SHOWN = 300


def show_beside(output: CommandOutput, workspace: Workspace, evaluation: Evaluation, report: EvaluationReport) -> None:
    """Show the headline metric of a run with public labels beside those of baselines and scored systems, also people,
    and one sample that it judged wrongly and one that it judged rightly.
    """
    metric = evaluation.task.headline
    scores = beside_others(workspace, evaluation.edition, evaluation.task, report.run_id)
    rows = [(one.system, estimate(one.value, one.low, one.high), f"{one.n}/{one.n_split}") for one in scores]
    if rows:
        output.table(
            f"{metric.title} beside the baselines and others", ("system", f"{metric.title} [95%]", "judged"), rows
        )
        if scores[0].n < scores[0].n_split:
            part = f"{scores[0].n} of {scores[0].n_split} samples"
            output.say(f"note: {part}: not comparable with the board; others are scored on the same samples.")
        _compare_people(output, workspace, evaluation, report.run_id, scores[0].system)
    _show_examples(output, workspace, evaluation, report)


def _compare_people(
    output: CommandOutput, workspace: Workspace, evaluation: Evaluation, run_id: str, system: str
) -> None:
    """Show the run beside people in a separate table, since people predicted only some of the samples."""
    people = people_beside_run(workspace, evaluation.edition, evaluation.task, run_id)
    names = {**PEOPLE_NAMES, run_id: system}
    rows = [
        (names[row.origin], f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]")
        for row in people
        if row.value is not None
    ]
    if rows:
        title = evaluation.task.headline.title
        output.table(f"{title} beside people, on their {people[0].samples} samples", ("", f"{title} [95%]"), rows)
        absent = "; the run did not judge all of them" if len(rows) == len(PEOPLE_NAMES) else ""
        output.say(f"note: these are the samples that three people or more predicted{absent}.")
    for row in people:
        if row.missing:
            output.say(f"note: the predictions of people are not shown: {row.missing}.")


def _show_examples(
    output: CommandOutput, workspace: Workspace, evaluation: Evaluation, report: EvaluationReport
) -> None:
    """Show one wrongly and one rightly judged sample."""
    task, edition = evaluation.task, evaluation.edition
    if not task.classes or output.as_json:
        return
    try:
        labels = load_labels(workspace, edition, task)
    except ReleaseError:
        return
    samples = {sample.id: sample for sample in load_release(workspace, edition, task).with_texts()}
    with snapshot(report.folder) as journal:
        said = deciding(journal.entries())
    left, prompt = {"wrong": False, "right": True}, ""
    for row in read_predictions(report.folder):
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
                output.text(f"  {part.name}: {one_line(part.text, _SHOWN)}")
            decided = said.get((row.id, row.repetition, row.prompt)) or said.get((row.id, row.repetition, ""))
            words = one_line(decided.answer.text if decided else "", _SHOWN)
            output.text(f"  people decided: {task.classes[labels[row.id].label]}; the answer: {answer} ({words!r})")
        if not left:
            break
