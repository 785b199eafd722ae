"""What `evaluate` fills in where nothing is said, and what it shows of a first result besides numbers."""

from __future__ import annotations

import argparse
import json

from hellofresh.cli._output import CommandOutput
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, Frozen
from hellofresh.core.errors import DataError, ReleaseError, UsageError
from hellofresh.core.texts import one_line
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.state import labels_are_public, reveal
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.record import read_predictions
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.outputs import Choice

_SHOWN = 300
_BASELINES = ("always-yes", "coin")


def fill_in(options: argparse.Namespace, workspace: Workspace, output: CommandOutput) -> None:
    """Choose edition and task where the command line names none, and say which.

    Of what is released and has its texts at hand, the newest edition whose labels are public, else the newest; where
    nothing is released, the bundled sample, which is built then.

    Raises:
        UsageError: if nothing fits.
    """
    named: str | None = getattr(options, "task", None)
    if options.edition is not None and named is not None:
        return
    chosen = _at_hand(workspace, options.edition, named)
    where = f"the newest in {workspace.root}"
    if chosen is None:
        if options.edition is not None or (named is not None and named in TASKS and workspace.released()):
            which = f"of {options.edition}" if options.edition is not None else f"of {named}"
            raise UsageError(
                f"no release {which} whose texts are at hand",
                where=str(workspace.root),
                fix="See what is there: hellofresh quarter status. Or leave --edition and --task out.",
                code="no-release",
            )
        if options.dry_run:
            raise UsageError(
                "nothing is released here, and a dry run builds nothing",
                where=str(workspace.root),
                fix="Leave --dry-run out: the bundled sample is built then.",
                code="no-release",
            )
        chosen = _bundled(workspace, output, named or "x-notes")
        where = "the bundled sample, which shows how it works and ranks no systems"
    options.edition, options.task = chosen[0], chosen[1]
    output.say(f"{chosen[1]} {chosen[0]}: {where}")


def _at_hand(workspace: Workspace, edition: Edition | None, task: str | None) -> tuple[Edition, str] | None:
    order = list(TASKS)
    found = [
        which
        for which in workspace.released()
        if edition in (None, which[0]) and task in (None, which[1]) and which[1] in TASKS
    ]
    living = [which for which in found if not isinstance(which[0], Frozen)] or found
    living.sort(key=lambda which: (bool(get_task(which[1]).classes), -order.index(which[1])))
    living.sort(key=lambda which: str(which[0]))
    living.sort(key=lambda which: labels_are_public(workspace, *which))
    for which in reversed(living):
        try:
            load_release(workspace, which[0], get_task(which[1])).with_texts()
        except DataError:
            continue
        return which
    return None


def _bundled(workspace: Workspace, output: CommandOutput, name: str) -> tuple[Edition, str]:
    """Build the first quarter of the bundled sample of a task, and have two baselines answer it."""
    # Only an empty workspace needs what collects and builds.
    from collectors.jobs import bundled_jobs
    from hellofresh.cli.release.steps import ShownSteps
    from hellofresh.config import Settings
    from hellofresh.pipeline.release import collect_and_build

    jobs = [job for job in bundled_jobs(workspace) if job.task.name == name]
    if not jobs:
        raise UsageError(
            f"nothing of {name} is released here, and the bundled sample has none",
            where=str(workspace.root),
            expected="a task of the bundled sample, such as x-notes",
            fix="Import a data set (hellofresh dataset import), or name another task.",
            code="no-release",
        )
    job = min(jobs, key=lambda job: str(job.quarter))  # its labels are public
    collect_and_build(ShownSteps(workspace, workspace.submissions(), output), Settings.load(), job, named=True)
    reveal(workspace, job.quarter, job.task, now())
    for baseline in _BASELINES:
        evaluate(workspace, Evaluation(job.quarter, job.task, baseline), lambda _: None)
    return job.quarter, name


def show_examples(
    output: CommandOutput, workspace: Workspace, evaluation: Evaluation, report: EvaluationReport
) -> None:
    """One sample that was judged wrongly and one that was judged rightly, where labels are public."""
    task, edition = evaluation.task, evaluation.edition
    if not task.classes or output.as_json or not labels_are_public(workspace, edition, task.name):
        return
    try:
        labels = load_labels(workspace, edition, task)
    except ReleaseError:
        return
    samples = {sample.id: sample for sample in load_release(workspace, edition, task).with_texts()}
    said = {}
    for line in (report.folder / "responses.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said[row["sample"], row["prompt"]] = row["text"]
    left, prompt = {"wrong": False, "right": True}, ""
    for row in read_predictions(report.folder):
        given, prompt = row.output, prompt or row.prompt
        if not isinstance(given, Choice) or row.prompt != prompt or row.id not in labels or row.id not in samples:
            continue
        right = given.label == labels[row.id].label
        name = next((name for name, wanted in left.items() if wanted is right), "")
        if name:
            del left[name]
            answer = str(given.status) if given.label is None else task.classes[given.label]
            output.text(f"{name}: {row.id}: {one_line(task.text(samples[row.id]), _SHOWN)}")
            words = one_line(said.get((row.id, row.prompt), ""), _SHOWN)
            output.text(f"  people decided: {task.classes[labels[row.id].label]}; the answer: {answer} ({words!r})")
        if not left:
            break
