"""The tasks of the benchmark. A new task is a file here, a line in `_ALL`, its prompts and its collector.

A task of another package is named by an entry point of the group `hellofresh.tasks`, or given to `register_task`; see
docs/extending.md.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from hellofresh.core.errors import UnknownNameError, UsageError
from hellofresh.tasks import (
    averitec,
    check_covid,
    check_covid_retrieval,
    claim_responses,
    claims,
    corrections,
    covid_fact,
    faviq,
    fever,
    fever_v2,
    healthver,
    liar,
    liar_new,
    scifact_retrieval,
    wikipedia_edits,
    x_fact,
    x_notes,
    x_notes_media,
    x_posts,
)
from hellofresh.tasks._base import MOST_CLASSES, SamplePage, Task, TextPart, Track
from hellofresh.tasks._evidence import EvidenceQuery, evidence_task, relevance_of
from hellofresh.tasks._statements import CheckedStatement, Statement, statement_task, with_evidence

__all__ = [
    "MOST_CLASSES",
    "TASKS",
    "CheckedStatement",
    "EvidenceQuery",
    "SamplePage",
    "Statement",
    "Task",
    "TextPart",
    "Track",
    "evidence_task",
    "get_task",
    "register_task",
    "relevance_of",
    "statement_task",
    "with_evidence",
]

_STATEMENTS = (claims, liar, liar_new, fever, fever_v2, faviq, x_fact, averitec, check_covid, healthver, covid_fact)
_ALL = (
    x_notes.TASK,
    x_notes_media.TASK,
    wikipedia_edits.TASK,
    *(module.TASK for module in _STATEMENTS),
    corrections.TASK,
    x_posts.TASK,
    claim_responses.TASK,
    check_covid_retrieval.TASK,
    scifact_retrieval.TASK,
    *(module.BINARY for module in (liar, fever, fever_v2, x_fact)),
)
TASKS: dict[str, Task] = {task.name: task for task in _ALL}


def get_task(name: str) -> Task:
    """The task of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    try:
        return TASKS[name]
    except KeyError:
        raise UnknownNameError("task", name, TASKS) from None


def register_task(task: Task) -> None:
    """Add a task from outside; the same task again changes nothing.

    Raises:
        UsageError: if another task has its name, or ids that begin alike.
    """
    if TASKS.get(task.name) is task:
        return
    for other in TASKS.values():
        alike = task.id_prefix.startswith(other.id_prefix) or other.id_prefix.startswith(task.id_prefix)
        if alike or task.name == other.name:
            raise UsageError(
                f"the task {task.name} with ids {task.id_prefix}... cannot stand beside {other.name} with "
                f"{other.id_prefix}...",
                expected="another name, and ids that begin otherwise",
                code="task-exists",
            )
    TASKS[task.name] = task


for _point in entry_points(group="hellofresh.tasks"):
    register_task(_point.load())
