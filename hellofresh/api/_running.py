"""Evaluating a model from Python, as `hellofresh evaluate` does."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from html import escape
from inspect import Parameter, Signature, signature
from pathlib import Path

import polars as pl

from hellofresh.api._loading import LoadedEdition, workspace_for_runs
from hellofresh.api._progress import outside_loop, shown_progress
from hellofresh.api._scoring import scored
from hellofresh.api._tables import ScoreTable
from hellofresh.core.errors import UsageError
from hellofresh.results.entries import entry_of_run
from hellofresh.runs.evaluate import evaluate as _evaluate
from hellofresh.runs.evaluation import HINTS, OPTIONS, Evaluation, given_values
from hellofresh.runs.export import EvaluationReport
from hellofresh.runs.plan import read_evaluation
from hellofresh.runs.regimes import agent_regime, usual_regime
from hellofresh.runs.regimes.agents import Solver


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
        return scored(self.edition, [entry_of_run(self.folder)])

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.predictions.head(5)._repr_html_()}"

    def __repr__(self) -> str:
        cost = "unknown" if self.report.cost_usd is None else f"{self.report.cost_usd:.4f} USD"
        return f"{self.report.run_id}: {self.report.judged} of {self.report.of} samples judged, cost {cost}"


def evaluate(
    edition: LoadedEdition,
    model: str,
    *,
    agent: str | Solver | type | None = None,
    progress: bool = True,
    **options: object,
) -> EvaluatedRun:
    """Evaluate a model, as `hellofresh evaluate` does; what was answered before is not asked again.

    It works within a running event loop too, such as a notebook's.

    Args:
        edition: on what, from `load`.
        model: a name from `hellofresh models`.
        agent: an agent of one's own, instead of a regime: `FILE:FUNCTION`, or a function or class of this process.
        progress: whether to show a bar.
        options: the fields of `hellofresh.runs.evaluation.Evaluation`, which are the options of the command, such as
            `regime`, `limit`, `repeat`, `temperature` and `budget_usd`. `prompts` and `blocked` may be lists,
            `settings` and `roles` mappings.

    Raises:
        TypeError: if there is no such option.
        HelloFreshError: what the command reports.
    """
    if unknown := sorted(options.keys() - OPTIONS.keys()):
        raise TypeError(f"evaluate() got an unexpected keyword argument {unknown[0]!r}")
    given = {**options, "model": model, **({} if agent is None else {"regime": agent_regime(agent)})}
    given.setdefault("regime", usual_regime(edition.task))
    named = {"edition": str(edition.edition), "task": edition.task.name}
    try:
        asked = read_evaluation(given_values(given) | named)
    except ValueError as error:
        raise UsageError(str(error), where="evaluate", code="bad-option") from None
    workspace = workspace_for_runs(edition)
    title = f"{model} on {edition.task.name} {edition.edition}"
    with shown_progress(title, hidden=not progress) as bar:
        report = outside_loop(lambda: _evaluate(workspace, asked, bar.told, bar.say), bar)
    return EvaluatedRun(edition, report)


def _signature() -> Signature:
    """The parameters, with those that are fields of `Evaluation`."""
    own = [item for item in signature(evaluate).parameters.values() if item.kind is not Parameter.VAR_KEYWORD]
    defaults = {item.name: item.default for item in fields(Evaluation) if item.default_factory is MISSING}
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=HINTS[name])
        for name in OPTIONS
        if name not in ("task", "model")
    ]
    return Signature([*own, *more], return_annotation=EvaluatedRun)


evaluate.__signature__ = _signature()  # type: ignore[attr-defined]
