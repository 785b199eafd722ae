"""`hellofresh sweep`: run variants of an evaluation one at a time, and compare them in a table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from math import prod

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import ConsoleShow, show_table
from hellofresh.cli.evaluate import evaluation_of, forecast_facts
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import load_publishers
from hellofresh.models.catalogue import models_at
from hellofresh.pipeline.steps import answer
from hellofresh.releases.life.load import load_labels, load_release
from hellofresh.releases.life.state import labels_are_public
from hellofresh.results.analyses.agents import AgentPanel, compare_variants, read_traces
from hellofresh.results.build import panel_of
from hellofresh.results.entries import entry_of_run
from hellofresh.runs.dry_run import Forecast
from hellofresh.runs.evaluate import look_ahead
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.export import EvaluationReport
from hellofresh.tasks.samples import to_json

_MOST = 64
_Change = Callable[[Evaluation], Evaluation]
"""A change of an evaluation by one alternative."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One run of a sweep, with a distinguishing name, which is empty if it is the only one."""

    name: str
    evaluation: Evaluation


def run(options: argparse.Namespace, output: CommandOutput) -> int:
    """Plan, show the forecast, run and compare."""
    workspace = Workspace.from_environment()
    roles = dict(_alternatives(text, "role") for text in options.role)
    models = options.models.split(",")
    asked = [*models, *chain(*roles.values())]
    named = dict(zip(asked, models_at(options.base_url, *asked), strict=True))
    planned = variants(
        evaluation_of(options, model=""),
        models=[named[model] for model in models],
        settings=dict(_alternatives(text, "setting") for text in options.set),
        roles={role: [named[model] for model in own] for role, own in roles.items()},
        blocked=[[domain for domain in one.split("+") if domain] for one in options.block.split(",")],
        providers=options.providers.split(","),
    )
    _look_ahead(output, workspace, planned)
    if options.dry_run:
        output.say("Nothing was sent or written.")
        return 0
    done = _run_all(output, workspace, planned)
    _compare(output, workspace, planned, done, private=options.private)
    return 1 if any(report.failed for report in done) else 0


def variants(
    base: Evaluation,
    *,
    models: Sequence[str],
    settings: Mapping[str, Sequence[str]],
    roles: Mapping[str, Sequence[str]],
    blocked: Sequence[Sequence[str]],
    providers: Sequence[str],
) -> list[Variant]:
    """All combinations, the last axis varying fastest; the first variant is the reference for the others.

    Args:
        base: the common evaluation.
        models, providers: alternatives; a provider may be empty for the configured one.
        settings, roles: alternatives by name of the setting or role.
        blocked: alternative lists of domains.

    Raises:
        UsageError: if two variants are the same, or there are too many.
    """
    axes: list[list[tuple[str, _Change]]] = [[(model, partial(replace, model=model)) for model in models]]
    for name, own in settings.items():
        axes.append([(f"{name}={value}", partial(_set, f"{name}={value}")) for value in own])
    for role, own in roles.items():
        axes.append([(f"{role} {model}", partial(_give_role, role, model)) for model in own])
    named = ((f"without {', '.join(some)}" if some else "nothing blocked", tuple(some)) for some in blocked)
    axes.append([(name, partial(replace, blocked=domains)) for name, domains in named])
    axes.append([(provider or "configured search", partial(replace, provider=provider)) for provider in providers])
    if (number := prod(map(len, axes))) > _MOST:
        raise UsageError(f"{number} variants", expected=f"at most {_MOST}", code="too-many-variants")
    found = []
    for choices in product(*axes):
        evaluation = base
        for _, changed in choices:
            evaluation = changed(evaluation)
        names = (name for (name, _), axis in zip(choices, axes, strict=True) if len(axis) > 1)
        found.append(Variant(", ".join(names), evaluation))
    if len({variant.name for variant in found}) < len(found):
        raise UsageError("two variants are the same", expected="each alternative once", code="twice-the-same")
    return found


def _set(setting: str, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, settings=(*evaluation.settings, setting))


def _give_role(role: str, model: str, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, roles={**evaluation.roles, role: model})


def _alternatives(text: str, what: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise UsageError(f"the {what} {text!r} has no value", expected="NAME=VALUE[,VALUE]", code="bad-alternatives")
    return name, values.split(",")


def _look_ahead(output: CommandOutput, workspace: Workspace, planned: Sequence[Variant]) -> None:
    """Show the forecast of each variant alone, and of all together at most, since equal requests are sent once."""
    ahead = [look_ahead(workspace, item.evaluation) for item in planned]
    rows = [(item.name or "the only one", *_row(one)) for item, one in zip(planned, ahead, strict=True)]
    total = (
        "all, at most",
        f"{sum(one.calls for one in ahead):,}",
        _usd([one.cost_usd for one in ahead]),
        f"{sum(one.most_calls for one in ahead):,}",
        _usd([one.most_usd for one in ahead]),
        f"{sum(one.known for one in ahead):,}",
    )
    heads = ("variant", "expected requests", "expected cost", "most requests", "at most", "stored")
    output.table(f"{len(planned)} planned runs; what is equal between them is asked once", heads, [*rows, total])
    output.result(
        {"plan": [{"variant": item.name, **forecast_facts(one)} for item, one in zip(planned, ahead, strict=True)]}
    )


def _row(one: Forecast) -> tuple[str, ...]:
    return f"{one.calls:,}", _usd([one.cost_usd]), f"{one.most_calls:,}", _usd([one.most_usd]), f"{one.known:,}"


def _usd(costs: Sequence[float | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return "unknown"
    return f"{sum(known):.4f} USD" if sum(known) else "no cost"


def _run_all(output: CommandOutput, workspace: Workspace, planned: Sequence[Variant]) -> list[EvaluationReport]:
    done: list[EvaluationReport] = []
    budget = planned[0].evaluation.budget_usd
    for number, item in enumerate(planned, start=1):
        output.say(f"{number} of {len(planned)}: {item.name or item.evaluation.model}")
        left = None if budget is None else max(0.0, budget - sum(report.cost_usd or 0.0 for report in done))
        evaluation = replace(item.evaluation, earlier=tuple(report.folder for report in done), budget_usd=left)
        done.append(answer(workspace, evaluation, ConsoleShow(output)))
        if done[-1].shared:
            output.say(f"{done[-1].shared:,} answers were those of earlier variants, and were not asked for again.")
    return done


def _compare(
    output: CommandOutput,
    workspace: Workspace,
    planned: Sequence[Variant],
    done: Sequence[EvaluationReport],
    *,
    private: bool,
) -> None:

    edition, task = planned[0].evaluation.edition, planned[0].evaluation.task
    if not (private or labels_are_public(workspace, edition, task.name)):
        output.say(f"The labels of {task.name} {edition} are not revealed, so there are no scores to compare.")
        return
    release = load_release(workspace, edition, task)
    entries = [entry_of_run(report.folder) for report in done]
    labels = load_labels(workspace, edition, task)
    panel = panel_of(task, edition, release.samples, labels, entries, bundled=release.bundled)
    given = AgentPanel(panel, read_traces(workspace, panel), load_publishers(workspace))
    names = {report.run_id: item.name or item.evaluation.model for item, report in zip(planned, done, strict=True)}
    result = compare_variants(given, names)
    output.result({"comparison": to_json(result.table.to_dicts()), "notes": list(result.notes)})
    show_table(output, "Variants; differences are to the first one, on the same samples", result)
