"""`hellofresh evaluate`: evaluate a model on a release, with defaults for omitted arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput, duration
from hellofresh.core.workspace import Workspace
from hellofresh.models.catalogue import check_model_name, models_at
from hellofresh.pipeline.answering import answer
from hellofresh.pipeline.choice import choose_edition
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.runs.dry_run import SECONDS_A_CALL, Forecast
from hellofresh.runs.evaluate import look_ahead
from hellofresh.runs.evaluation import Evaluation, given_values
from hellofresh.runs.regimes import get_regime, usual_regime
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Output, Status
from hellofresh.tasks.samples import to_json


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    more = {}
    if options.agent:
        from hellofresh.runs.regimes.agents import agent_regime  # with the tools that agents get

        more["regime"] = agent_regime(options.agent)
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
    if evaluation.split == "main" and is_scored and labels_are_public(workspace, evaluation.edition, task.name):
        from hellofresh.cli._show import show_beside  # with what scores, which takes longer to load than a request

        show_beside(output, workspace, evaluation, evaluated)
    passing = evaluated.failed - evaluated.failed_for_good
    if boards and not passing:
        from hellofresh.cli.board import put_on_board  # with the site

        put_on_board(output, workspace, evaluation)
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


def show_forecast(output: CommandOutput, what: str, ahead: Forecast) -> None:
    """Show the forecast of requests and cost, in total and by role."""
    totals = ("calls", "cost_usd", "most_calls", "most_usd")
    output.result({**to_json(ahead), **{name: getattr(ahead, name) for name in totals}})
    expected = f"{ahead.calls:,} requests, {_cost_ahead(ahead.cost_usd)}"
    rows = [
        ("samples", f"{ahead.samples:,}" + (f", {ahead.repetitions} times" if ahead.repetitions > 1 else "")),
        ("already stored", f"{ahead.known:,} answers"),
        ("time", f"about {duration(ahead.seconds)}, at {SECONDS_A_CALL:g} s a request and within the model's limits"),
        ("expected", expected if ahead.measured else "at most the ceiling; the first answers give a better estimate"),
        ("ceiling", f"{ahead.most_calls:,} requests, {_cost_ahead(ahead.most_usd)}"),
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
            _cost_ahead(item.uncut_usd),
        )
        for role, item in ahead.roles.items()
    ]
    heads = ("role", "model", "requests", "tokens in", "tokens out", "cost", "most requests", "at most", "uncut")
    output.table("By role: expected, at most, and at most if no answer is cut off (uncut)", heads, by_role)
    output.say("Nothing was sent or written.")


def _cost_ahead(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "cost unknown"
    return f"about {cost_usd:.4f} USD" if cost_usd else "no cost"
