"""What the tasks of a folder for lm-eval-harness import: samples, the reading of answers, and our metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hellofresh.core.files import read_jsonl
from hellofresh.models import Answer, Finish
from hellofresh.runs.prompts import load_prompt_set
from hellofresh.runs.regimes import read_choice
from hellofresh.stats import cluster_tables, metric_interval
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.tasks import get_task

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["Part", "aggregation", "loader", "processor"]

Part = Literal["value", "low", "high"]
Item = tuple[int, int, str]
"""Of a sample: the label, what was chosen, and the group."""


def loader(folder: Path) -> Callable[..., Mapping[str, Dataset]]:
    """Loads the samples of a folder; lm-eval-harness calls it with its own options."""

    def load(**_: object) -> Mapping[str, Dataset]:
        from datasets import Dataset  # which lm-eval-harness brings

        return {"test": Dataset.from_list(list(read_jsonl(folder / "samples.jsonl")))}

    return load


def processor(task: str) -> Callable[[Mapping[str, object], Sequence[str]], dict[str, Item]]:
    """Reads the answer to a sample, for every metric of the task."""
    answers = load_prompt_set(task, "zero-shot", None).answers
    names = [f"{metric.name}{end}" for metric in get_task(task).metrics for end in ("", "_low", "_high")]

    def process(doc: Mapping[str, object], results: Sequence[str]) -> dict[str, Item]:
        choice = read_choice("", Answer(results[0], Finish.STOP), answers)
        label = NO_ANSWER if choice.label is None else choice.label
        return dict.fromkeys(names, (int(str(doc["label"])), label, str(doc["group"])))

    return process


def aggregation(task: str, metric: str, part: Part) -> Callable[[Sequence[Item]], float]:
    """A metric of the task over samples, or a limit of its 95% interval; samples of one group are a cluster."""
    (chosen,) = (one for one in get_task(task).metrics if one.name == metric)

    def aggregate(items: Sequence[Item]) -> float:
        targets, said = (np.array([item[place] for item in items], dtype=np.int8) for place in (0, 1))
        groups = np.unique([item[2] for item in items], return_inverse=True)[1].astype(np.int64)
        sums = cluster_tables(chosen.statistics(targets, said), groups)
        if part == "value":
            return float(chosen.value(sums.sum(axis=0)))
        interval = metric_interval(sums, chosen, n=len(items))
        return interval.low if part == "low" else interval.high

    return aggregate
