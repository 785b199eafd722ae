"""Scores in inspect_ai: our metrics with our intervals, over the outputs that the solver left with each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from hellofresh.models import Answer, Finish
from hellofresh.results.split.entries import plurality
from hellofresh.runs.record import PredictionRow, prediction_row
from hellofresh.runs.regimes import read_choice
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Choice, Output, output_of

OUTPUTS = "hellofresh:outputs"
"""Key of the outputs in a sample's store, one row per prompt."""


def headline_of(rows: object, completion: str, answers: Sequence[str]) -> Choice:
    """The choice for a sample: the prompts' majority, as on the board, or the choice read from another solver's text.

    Args:
        rows: outputs as the regime solver stored them, None for another solver.
        completion: the final text of the sample.
        answers: the allowed answers by label.
    """
    if not isinstance(rows, list):
        return read_choice("", Answer(completion, Finish.STOP), answers)
    choices = [output for row in rows if isinstance(output := output_of(PredictionRow.model_validate(row)), Choice)]
    return choices[0] if len(choices) == 1 else plurality(choices)


def stored_rows(sample: str, outputs: Sequence[Output]) -> list[dict[str, object]]:
    """Outputs as rows for the sample's store."""
    return [{"id": sample, "prompt": output.prompt, **prediction_row(output)} for output in outputs]


@metric
def task_metrics() -> Metric:
    """Every metric of the task, with the limits of its 95% interval; samples of one group are a cluster."""

    def compute(scores: list[SampleScore]) -> Value:
        found = [item.score.metadata or {} for item in scores]
        if not found:
            return {}
        return dict(metric_values(found))

    return compute


def metric_values(found: Sequence[Mapping[str, object]]) -> dict[str, float]:
    task = get_task(str(found[0]["task"]))
    targets = np.array([item["target"] for item in found], dtype=np.int8)
    said = np.array([item["label"] for item in found], dtype=np.int8)
    groups = np.unique([str(item["group"]) for item in found], return_inverse=True)[1].astype(np.int64)
    values: dict[str, float] = {}
    for one in task.metrics:
        sums = cluster_tables(one.statistics(targets, said), groups)
        interval = metric_interval(sums, one, n=len(found))
        values[one.name] = float(one.value(sums.sum(axis=0)))
        values[f"{one.name}_low"], values[f"{one.name}_high"] = interval.low, interval.high
    return values


@scorer(metrics=[task_metrics()])
def verdict(task: str, answers: list[str]) -> Scorer:
    """Score whether the choice equals the label; missing answers and refusals count as wrong.

    Args:
        task: name of the task.
        answers: the allowed answers of another solver, by label.
    """
    chosen = get_task(task)

    async def score(state: TaskState, target: Target) -> Score:
        choice = headline_of(state.store.get(OUTPUTS), state.output.completion, answers)
        return judged(chosen, choice, chosen.classes.index(target.text), str(state.metadata["group"]))

    return score


def judged(task: Task, choice: Choice, target: int, group: str) -> Score:
    """Whether a choice is right, with what the task's metrics need."""
    label = NO_ANSWER if choice.label is None else choice.label
    return Score(
        value=float(label == target),
        answer=str(choice.status) if choice.label is None else task.classes[choice.label],
        metadata={"task": task.name, "target": target, "label": label, "group": group},
    )
