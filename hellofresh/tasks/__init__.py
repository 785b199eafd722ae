"""The tasks of the benchmark. A new task is a file here, a line in `TASKS`, its prompts and its collector."""

from __future__ import annotations

from hellofresh.errors import UnknownNameError
from hellofresh.tasks import (
    averitec,
    check_covid,
    claims,
    corrections,
    covid_fact,
    faviq,
    fever,
    fever_v2,
    healthver,
    liar,
    liar_new,
    wikipedia_edits,
    x_fact,
    x_notes,
)
from hellofresh.tasks._base import Task

__all__ = ["TASKS", "Task", "get_task"]

_STATEMENTS = (claims, liar, liar_new, fever, fever_v2, faviq, x_fact, averitec, check_covid, healthver, covid_fact)
_ALL = (
    x_notes.TASK,
    wikipedia_edits.TASK,
    *(module.TASK for module in _STATEMENTS),
    corrections.TASK,
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
