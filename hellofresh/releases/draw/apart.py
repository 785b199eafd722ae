"""Samples of two tasks that tell of each other: such groups are in one of them only.

That a post is a sample of x-posts tells how readers rated notes on it, and what is revealed of it names them. So no
sample of x-notes, whose labels are still to come, may be on the same post. The task that asks for the decisions comes
first: the other one leaves out the groups of its release of the quarter and of the one before, and it leaves out the
groups that the other one released for earlier quarters.
"""

from __future__ import annotations

from collections.abc import Iterator

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.samples import PROSPECTIVE

__all__ = ["groups_apart", "groups_told_of"]


def groups_apart(workspace: Workspace, quarter: Quarter, task: Task) -> frozenset[str]:
    """Groups that a release of the task must not have.

    Raises:
        ReleaseError: if the tasks were released in the wrong order.
    """
    telling = [name for name, other in TASKS.items() if task.name in other.tells_of]
    if not _is_released(workspace, quarter, task.name):
        for name in filter(lambda name: _is_released(workspace, quarter, name), telling):
            raise _wrong_order(workspace, quarter, first=task.name, second=name)
    released = {name for _, name in workspace.released()}
    for name in task.tells_of:
        # Where the other task is released at all, its release of this quarter comes first, however late its source is.
        expected = name in released or workspace.candidates(name, quarter).is_file()
        if expected and not _is_released(workspace, quarter, name):
            raise _wrong_order(workspace, quarter, first=name, second=task.name)
    asked = frozenset(group for name in task.tells_of for group in _recent(workspace, quarter, name))
    return asked | groups_told_of(workspace, task, before=quarter)


def groups_told_of(workspace: Workspace, task: Task, *, before: Quarter) -> frozenset[str]:
    """Groups whose labels releases of other tasks tell of, of all quarters before this one."""
    return frozenset(
        group
        for edition, name in workspace.released()
        if name in TASKS and task.name in TASKS[name].tells_of and isinstance(edition, Quarter) and edition < before
        for group in _groups(workspace, edition, name)
    )


def _recent(workspace: Workspace, quarter: Quarter, name: str) -> Iterator[str]:
    """Groups of the quarter's release, and of all splits of the quarter before: these may still be open."""
    yield from _groups(workspace, quarter, name)
    yield from _groups(workspace, quarter.previous(), name)
    yield from _groups(workspace, quarter.previous(), name, PROSPECTIVE)


def _groups(workspace: Workspace, quarter: Quarter, name: str, split: str = "") -> Iterator[str]:
    path = workspace.release(quarter, name) / split / "samples.jsonl"
    if path.is_file():
        yield from (str(row["group"]) for row in read_jsonl(path))


def _is_released(workspace: Workspace, quarter: Quarter, name: str) -> bool:
    return (workspace.release(quarter, name) / "manifest.json").is_file()


def _wrong_order(workspace: Workspace, quarter: Quarter, *, first: str, second: str) -> ReleaseError:
    return ReleaseError(
        f"{first} must be released before {second}, whose samples tell of its labels",
        where=str(workspace.release(quarter, second)),
        fix=f"Remove the release of {second} if there is one; then: hellofresh release build --quarter {quarter} "
        f"--task {first}",
        code="wrong-order",
    )
