"""The tasks of the benchmark. A new task is a file here, a line in `TASKS`, its prompts and its collector."""

from __future__ import annotations

from hellofresh.errors import UnknownNameError
from hellofresh.tasks import wikipedia_edits, x_notes
from hellofresh.tasks._base import Task

__all__ = ["TASKS", "Task", "get_task"]

TASKS: dict[str, Task] = {task.name: task for task in (x_notes.TASK, wikipedia_edits.TASK)}


def get_task(name: str) -> Task:
    """The task of that name.

    Raises:
        UnknownNameError: if there is none.
    """
    try:
        return TASKS[name]
    except KeyError:
        raise UnknownNameError("task", name, TASKS) from None
