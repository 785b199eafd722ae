"""Evaluating a model from Python, as `hellofresh evaluate` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from hellofresh.api._loading import LoadedEdition, workspace_for_runs
from hellofresh.api._progress import outside_loop, shown_progress
from hellofresh.api._scoring import scored
from hellofresh.api._tables import ScoreTable
from hellofresh.results.entries import entry_of_run
from hellofresh.runs.evaluate import Evaluation, EvaluationReport
from hellofresh.runs.evaluate import evaluate as _evaluate
from hellofresh.runs.regimes import agent_regime
from hellofresh.runs.web_access import with_web

__all__ = ["EvaluatedRun", "evaluate"]


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
    workspace = workspace_for_runs(edition)
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
    title = f"{model} on {edition.task.name} {edition.edition}"
    with shown_progress(title, hidden=not progress) as bar:
        report = outside_loop(lambda: _evaluate(workspace, with_web(asked), bar.told, bar.say), bar)
    return EvaluatedRun(edition, report)
