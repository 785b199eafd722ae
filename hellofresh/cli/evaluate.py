"""`hellofresh evaluate`: evaluate a model on a release, with defaults for omitted arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from hellofresh.cli._output import CommandOutput, duration, estimate
from hellofresh.cli._show import ConsoleShow
from hellofresh.cli.board import run_build
from hellofresh.core.errors import ReleaseError
from hellofresh.core.texts import one_line
from hellofresh.core.workspace import Workspace
from hellofresh.models.catalogue import check_model_name, models_at
from hellofresh.pipeline.choice import choose_edition
from hellofresh.pipeline.steps import Steps, answer, score
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.state import labels_are_public
from hellofresh.results.scoring.people import people_beside_run
from hellofresh.results.scoring.scores import beside_others
from hellofresh.results.split.tables import PEOPLE_NAMES
from hellofresh.runs.dry_run import SECONDS_A_CALL, Forecast
from hellofresh.runs.evaluate import look_ahead
from hellofresh.runs.evaluation import Evaluation, given_values
from hellofresh.runs.export import EvaluationReport, deciding
from hellofresh.runs.journal import snapshot
from hellofresh.runs.record import read_predictions
from hellofresh.runs.regimes import agent_regime, get_regime, usual_regime
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Choice, Output, Status, output_of
from hellofresh.tasks.samples import to_json

_SHOWN = 300


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    more = {"regime": agent_regime(options.agent)} if options.agent else {}
    workspace = Workspace.from_environment()
    models_given(options)  # refuses a wrong address before anything is built
    check_model_name(options.model)
    if options.edition is None or getattr(options, "task", None) is None:
        options.edition, options.task = choose_edition(
            workspace, options.edition, getattr(options, "task", None), ConsoleShow(output), builds=not options.dry_run
        )
    evaluation = evaluation_of(options, **more)
    return carry_out(output, workspace, evaluation, dry_run=options.dry_run, boards=options.board)


def evaluation_of(options: argparse.Namespace, **more: Any) -> Evaluation:
    """The evaluation of a command line; `more` overrides its options."""
    given = {**given_values(vars(options)), **more}
    if "model" in vars(options):
        given |= models_given(options)
    edition, task = given.pop("edition", getattr(options, "edition", None)), given.pop("task")
    task = task if isinstance(task, Task) else get_task(task)
    given.setdefault("regime", usual_regime(task))
    return Evaluation(edition, task, **given)


def models_given(options: argparse.Namespace) -> dict[str, Any]:
    """The model fields of an evaluation, with `--base-url` applied to those of the form `openai:NAME`."""
    given = given_values(vars(options))
    roles: Mapping[str, str] = given.get("roles", {})
    main = [given["model"]] if "model" in given else []
    found = models_at(options.base_url, *main, *roles.values())
    named = dict(zip(roles, found[len(main) :], strict=True))
    return {**({"model": found[0]} if main else {}), **({"roles": named} if named else {})}


def _put_on_board(output: CommandOutput, workspace: Workspace, evaluation: Evaluation) -> None:
    """Score the split and build the board."""

    submissions = workspace.submissions()
    try:
        score(Steps(workspace, submissions, ConsoleShow(output)), evaluation.edition, evaluation.split)
    except ReleaseError as error:
        if error.code != "published":
            raise
        raise ReleaseError(
            error.what,
            where=str(submissions),
            expected=f"the submissions that were published, in {submissions}",
            fix=f"The run is kept. Say where they are: hellofresh score --edition {evaluation.edition} --submissions "
            "DIR, then hellofresh board build",
            code=error.code,
        ) from None
    run_build(output, workspace)
    if workspace.analyses(evaluation.edition, evaluation.task.name).is_dir():
        output.say(
            f"note: the analyses of {evaluation.edition} do not have this run yet. Make them again: "
            f"hellofresh analyse all --edition {evaluation.edition}"
        )
    output.text("next: hellofresh board serve")


def carry_out(
    output: CommandOutput, workspace: Workspace, evaluation: Evaluation, *, dry_run: bool, boards: bool = False
) -> int:
    """Evaluate, show the verdicts and update the board on request, or only forecast. Returns the exit code."""
    if dry_run:
        show_forecast(output, evaluation.title, look_ahead(workspace, evaluation))
        return 0
    evaluated = answer(workspace, evaluation, ConsoleShow(output))
    task = evaluation.task
    is_scored = get_regime(evaluation.regime).gives in (Output, task.output)  # else its responses are rated instead
    names = (*(reversed(task.classes) if is_scored else ()), Status.NONE, Status.BLOCKED)
    rows = [(prompt, *(counts.get(name, 0) for name in names)) for prompt, counts in evaluated.verdicts.items()]
    output.table("Answers", ("prompt", *map(str, names)), rows)
    kinds = ", ".join(
        f"{number} {name}" for name, number in evaluated.counts.items() if number or name in ("asked", "read")
    )
    output.text(f"of all answers: {kinds}")
    if evaluated.elsewhere:
        output.say(
            f"note: {evaluated.elsewhere} of {evaluated.counts['asked']} answers state an answer elsewhere than "
            "at their beginning, where the benchmark reads."
        )
    output.text(f"responses: {evaluated.folder / 'responses.jsonl'}")
    if evaluation.split == "main" and is_scored:
        _compare(output, workspace, evaluation, evaluated.run_id)
        _show_examples(output, workspace, evaluation, evaluated)
    passing = evaluated.failed - evaluated.failed_for_good
    if boards and not passing:
        _put_on_board(output, workspace, evaluation)
    else:
        split = "" if evaluation.split == "main" else f" --split {evaluation.split}"
        then = [f"hellofresh score --edition {evaluation.edition}{split}", "hellofresh board build"]
        if not is_scored:
            named = f"--edition {evaluation.edition} --task {task.name} --run {evaluated.run_id}"
            then = [f"hellofresh rate assign {named} --prepare FOLDER"]
        commands = (f"hellofresh runs show {evaluated.run_id}", *then)
        for command in (f"hellofresh runs resume {evaluated.run_id}",) if passing else commands:
            output.text(f"next: {command}")
    nothing_read = not evaluated.counts["read"]
    if nothing_read:
        output.say("error: not one answer could be read; the notes above say why.")
    if evaluated.commonest_error:
        output.say(f"commonest error: {evaluated.commonest_error}")
    return 1 if passing or (nothing_read and not evaluation.go_on) else 0


def _compare(output: CommandOutput, workspace: Workspace, evaluation: Evaluation, run_id: str) -> None:
    """Show the headline metric beside those of baselines and scored systems (also people), if labels are public."""

    metric = evaluation.task.headline
    scores = beside_others(workspace, evaluation.edition, evaluation.task, run_id)
    rows = [(one.system, estimate(one.value, one.low, one.high), f"{one.n}/{one.n_split}") for one in scores]
    if rows:
        output.table(
            f"{metric.title} beside the baselines and others", ("system", f"{metric.title} [95%]", "judged"), rows
        )
        if scores[0].n < scores[0].n_split:
            part = f"{scores[0].n} of {scores[0].n_split} samples"
            output.say(f"note: {part}: not comparable with the board; others are scored on the same samples.")
        _compare_people(output, workspace, evaluation, run_id, scores[0].system)


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


def show_forecast(output: CommandOutput, what: str, ahead: Forecast) -> None:
    """Show the forecast of requests and cost, in total and by role."""
    totals = ("calls", "cost_usd", "most_calls", "most_usd", "uncut_calls", "uncut_usd")
    output.result({**to_json(ahead), **{name: getattr(ahead, name) for name in totals}})
    expected = f"{ahead.calls:,} requests, {_cost_ahead(ahead.cost_usd)}"
    rows = [
        ("samples", f"{ahead.samples:,}" + (f", {ahead.repetitions} times" if ahead.repetitions > 1 else "")),
        ("already stored", f"{ahead.known:,} answers"),
        ("time", f"about {duration(ahead.seconds)}, at {SECONDS_A_CALL:g} s a request and within the model's limits"),
        ("expected", expected if ahead.measured else "at most the ceiling; the first answers will tell more"),
        ("ceiling", f"{ahead.most_calls:,} requests, {_cost_ahead(ahead.most_usd)}"),
        ("if none is cut off", f"{ahead.uncut_calls:,} requests, {_cost_ahead(ahead.uncut_usd)}"),
    ]
    output.table(f"Planned run: {what}", ("", ""), rows)
    by_role = [
        (
            role,
            item.model,
            f"{item.calls:,}",
            f"{item.tokens_in:,}",
            f"{item.tokens_out:,}",
            _cost_ahead(item.cost_usd),
            f"{item.most_calls:,}",
            _cost_ahead(item.most_usd),
        )
        for role, item in ahead.roles.items()
    ]
    heads = ("role", "model", "requests", "tokens in", "tokens out", "cost", "most requests", "at most")
    output.table("By role, expected and at most", heads, by_role)
    output.say("Nothing was sent or written.")


def _cost_ahead(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "cost unknown"
    return f"about {cost_usd:.4f} USD" if cost_usd else "no cost"


def _show_examples(
    output: CommandOutput, workspace: Workspace, evaluation: Evaluation, report: EvaluationReport
) -> None:
    """Show one wrongly and one rightly judged sample, if labels are public."""
    task, edition = evaluation.task, evaluation.edition
    if not task.classes or output.as_json or not labels_are_public(workspace, edition, task.name):
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
