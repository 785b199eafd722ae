"""The tasks of the benchmark. A new task is a file here and a line in `_ALL`.

A frozen data set, perhaps with its later version, is one file: its task (`TASK`, perhaps `BINARY`), and where it is
from and how it is read (`DATASET`). `collectors.datasets` imports it. A living task has a collector, see
`collectors.LIVING`. A task of another package is named by an entry point of the group `hellofresh.tasks`, or
given to `register_task`; see docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.core.makers import plugin_makers
from hellofresh.core.plugins import Registry, plugins
from hellofresh.tasks import (
    averitec,
    check_covid,
    corrections,
    covid_fact,
    evidence,
    faviq,
    fever,
    healthver,
    liar,
    post_domains,
    wikipedia_edits,
    x_fact,
    x_notes,
)
from hellofresh.tasks._base import MOST_CLASSES, DataStatement, SamplePage, Task, TextPart, Track
from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow
from hellofresh.tasks._statements import CLAIMS, CheckedStatement, Statement, statement_task, with_evidence
from hellofresh.tasks.evidence import EvidenceQuery, evidence_task, relevance_of
from hellofresh.tasks.outputs import Choice

__all__ = [
    "CLAIMS",
    "DATASETS",
    "MOST_CLASSES",
    "TASKS",
    "CheckedStatement",
    "DataSet",
    "DataStatement",
    "EvidenceQuery",
    "OriginalFile",
    "SamplePage",
    "Statement",
    "StatementRow",
    "Task",
    "TextPart",
    "Track",
    "evidence_task",
    "get_task",
    "register_task",
    "relevance_of",
    "statement_task",
    "task_makers",
    "with_evidence",
]

_ALL = (
    x_notes.TASK,
    x_notes.MEDIA_TASK,
    wikipedia_edits.TASK,
    CLAIMS,
    liar.TASK,
    liar.NEW,
    fever.TASK,
    fever.V2,
    faviq.TASK,
    x_fact.TASK,
    averitec.TASK,
    check_covid.TASK,
    healthver.TASK,
    covid_fact.TASK,
    post_domains.TASK,
    corrections.TASK,
    corrections.NOTED_TASK,
    evidence.CLAIM_RESPONSES,
    evidence.CHECK_COVID,
    evidence.SCIFACT,
    liar.BINARY,
    liar.NEW_SIX,
    fever.BINARY,
    fever.V2_BINARY,
    x_fact.BINARY,
)


def _stands_beside(task: Task, others: Iterable[Task]) -> None:
    for other in others:
        alike = task.id_prefix.startswith(other.id_prefix) or other.id_prefix.startswith(task.id_prefix)
        if alike or task.name == other.name:
            raise UsageError(
                f"the task {task.name} with ids {task.id_prefix}... conflicts with {other.name} with "
                f"{other.id_prefix}...",
                expected="another name, and another beginning of ids",
                code="task-exists",
            )


TASKS: Registry[Task] = Registry("task", "hellofresh.tasks", _ALL, _stands_beside)
_DATASETS = (
    averitec.DATASET,
    check_covid.DATASET,
    covid_fact.DATASET,
    faviq.DATASET,
    fever.DATASET,
    fever.V2_DATASET,
    healthver.DATASET,
    liar.DATASET,
    liar.NEW_DATASET,
    post_domains.DATASET,
    x_fact.DATASET,
)
DATASETS = {dataset.name: dataset for dataset in _DATASETS}
"""This package's frozen data sets; `collectors.datasets.DATASETS` also has those of other packages."""


def get_task(name: str) -> Task:
    """The task of that name.

    >>> get_task("x-notes").id_prefix
    'xn-'

    Raises:
        UnknownNameError: if no task has that name.
    """
    try:
        return TASKS[name]
    except KeyError:
        raise UnknownNameError("task", name, TASKS) from None


def register_task(task: Task) -> None:
    """Add a task from outside; adding the same task again has no effect.

    Raises:
        UsageError: if another task has its name, or an overlapping id prefix.
    """
    TASKS.add(task)


def task_makers(*tasks: Task) -> dict[str, str]:
    """The packages that bring these tasks, or metrics of them."""
    names = {task.name for task in tasks}
    brought = [name for name, task in plugins("hellofresh.tasks").items() if task.name in names]
    classes = {task.classes for task in tasks if task.output is Choice}
    measuring = [name for name, make in plugins("hellofresh.metrics").items() if any(map(make, classes))]
    return plugin_makers("hellofresh.tasks", brought) | plugin_makers("hellofresh.metrics", measuring)
