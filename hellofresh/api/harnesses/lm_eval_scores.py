"""Tasks for lm-eval-harness: a folder with a task per zero-shot prompt and their group, and the code they import.

Source of the format: https://github.com/EleutherAI/lm-evaluation-harness/blob/main/docs/task_guide.md. The folder holds
the evaluator's questions; this package, which must be installed, reads and scores the answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hellofresh.core.editions import Edition
from hellofresh.core.errors import UsageError
from hellofresh.core.files import read_jsonl, write_bytes, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish
from hellofresh.releases.life.load import Release, load_labels, load_release
from hellofresh.releases.life.phases import labels_are_public, not_public
from hellofresh.runs.prompts import Prompt, PromptSet, load_prompt_set
from hellofresh.runs.regimes import read_choice
from hellofresh.runs.regimes.zero_shot import VISIBLE_TOKENS, ZeroShot
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Choice
from hellofresh.tasks.samples import Label

if TYPE_CHECKING:
    from datasets import Dataset


_CODE = '''"""Made by `hellofresh release export`: samples, the reading of answers, and metrics of the task."""

from pathlib import Path

from hellofresh.api.harnesses.lm_eval_scores import aggregation, loader, processor

load = loader(Path(__file__).parent)
process = processor({task!r})
{aggregations}
'''
Part = Literal["value", "low", "high"]
Item = tuple[int, int, str]
"""Label, choice and group of a sample."""


def _rows(release: Release, labels: Mapping[str, Label], prompt_set: PromptSet) -> Iterator[Mapping[str, object]]:
    """The samples with texts, each with its label and all prompts."""
    task, with_texts = release.task, {sample.id for sample in release.with_texts()}
    for sample in release.first(None):
        if sample.id in with_texts and sample.id in labels:
            label = labels[sample.id].label
            said = {"id": sample.id, "group": sample.group, "label": label, "target": task.classes[label]}
            prompts = prompt_set.prompts
            yield said | {_column(one): prompt_set.message(one, task.slots(sample)).text for one in prompts}


def write_folder(workspace: Workspace, edition: Edition, task: Task, folder: Path) -> Sequence[str]:
    """Write the folder; returns the names of its tasks, the group first.

    Raises:
        UsageError: if the task has no choices.
        ReleaseError: if the release does not exist, or its labels are not public.
    """
    if task.output is not Choice:
        raise UsageError(f"{task.name} has no choices", expected="a task with classes", code="other-output")
    if not labels_are_public(workspace, edition, task.name):
        raise not_public(task, edition)
    prompt_set = load_prompt_set(task.name, "zero-shot", None)
    group = _spelled(f"hellofresh_{task.name}_{edition}")
    names = {prompt: f"{group}_{_spelled(prompt.id)}" for prompt in prompt_set.prompts}
    release, labels = load_release(workspace, edition, task), load_labels(workspace, edition, task)
    write_jsonl(folder / "samples.jsonl", _rows(release, labels, prompt_set))
    aggregations = [
        f"{_spelled(figure)} = aggregation({task.name!r}, {metric!r}, {part!r})"
        for figure, metric, part in _functions(task)
    ]
    write_bytes(folder / "utils.py", _CODE.format(task=task.name, aggregations="\n".join(aggregations)).encode())
    for prompt, name in names.items():
        write_bytes(folder / f"{name}.yaml", "\n".join(_task_lines(task, prompt, name)).encode())
    lines = [f"group: {group}", "task:", *(f"  - {name}" for name in names.values()), ""]
    write_bytes(folder / f"_{group}.yaml", "\n".join(lines).encode())
    return [group, *names.values()]


def _column(prompt: Prompt) -> str:
    return f"asked_{_spelled(prompt.id)}"


def _spelled(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _functions(task: Task) -> Iterator[tuple[str, str, str]]:
    """Name of each figure, its metric, and its part of the interval (estimate or limit)."""
    for metric in task.metrics:
        for part, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            yield f"{metric.name}{end}", metric.name, part


def _task_lines(task: Task, prompt: Prompt, name: str) -> Iterator[str]:
    yield f"task: {name}"
    yield "custom_dataset: !function utils.load"
    yield "test_split: test"
    yield "output_type: generate_until"
    yield f"doc_to_text: {_column(prompt)}"
    yield "doc_to_target: target"
    yield "process_results: !function utils.process"
    options = {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": VISIBLE_TOKENS}
    yield f"generation_kwargs: {json.dumps(options)}"
    yield "metric_list:"
    for figure, _, _ in _functions(task):
        yield f"  - metric: {figure}"
        yield f"    aggregation: !function utils.{_spelled(figure)}"
        yield "    higher_is_better: true"
    yield "metadata:"
    yield f"  version: {ZeroShot.version}"
    yield ""


def loader(folder: Path) -> Callable[..., Mapping[str, Dataset]]:
    """A function that loads the samples of a folder; lm-eval-harness calls it with its own options."""

    def load(**_: object) -> Mapping[str, Dataset]:
        from datasets import Dataset  # a dependency of lm-eval-harness

        return {"test": Dataset.from_list(list(read_jsonl(folder / "samples.jsonl")))}

    return load


def processor(task: str) -> Callable[[Mapping[str, object], Sequence[str]], dict[str, Item]]:
    """A function that reads a sample's answer for every metric of the task."""
    answers = load_prompt_set(task, "zero-shot", None).answers
    names = [f"{metric.name}{end}" for metric in get_task(task).metrics for end in ("", "_low", "_high")]

    def process(doc: Mapping[str, object], results: Sequence[str]) -> dict[str, Item]:
        choice = read_choice("", Answer(results[0], Finish.STOP), answers)
        label = NO_ANSWER if choice.label is None else choice.label
        return dict.fromkeys(names, (int(str(doc["label"])), label, str(doc["group"])))

    return process


def aggregation(task: str, metric: str, part: Part) -> Callable[[Sequence[Item]], float]:
    """A function that computes a metric, or a limit of its 95% interval; samples of one group are a cluster."""
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
