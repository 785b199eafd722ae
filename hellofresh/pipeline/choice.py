"""The default edition and task of an evaluation: the newest available, else the bundled sample."""

from __future__ import annotations

from hellofresh.core.editions import Edition, Frozen
from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.answering import Show
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.phases import labels_are_public
from hellofresh.tasks import TASKS, get_task


def choose_edition(
    workspace: Workspace, edition: Edition | None, task: str | None, show: Show, *, builds: bool
) -> tuple[Edition, str]:
    """Choose the edition or task that is not named, and report the choice.

    Of releases with texts, take the newest edition with public labels, else the newest one; where
    nothing is released, take the bundled sample, built now if `builds` allows it.

    Raises:
        UsageError: if nothing fits.
    """
    if task is not None:
        get_task(task)  # reports a mistyped name
    chosen = _newest(workspace, edition, task)
    if chosen is not None:
        public = " with public labels" if labels_are_public(workspace, *chosen) else ""
        where = f"the newest{public} in {workspace.root}"
    else:
        if edition is not None or (task is not None and workspace.released()):
            raise UsageError(
                f"no release of {task if edition is None else edition} with its texts on this machine",
                where=str(workspace.root),
                fix=f"Import it: hellofresh dataset import {get_task(task).source}"
                if task is not None and not get_task(task).is_living
                else "See what exists: hellofresh quarter status. Or leave --edition and --task out.",
                code="no-release",
            )
        if not builds:
            raise UsageError(
                "nothing is released here, and a dry run builds nothing",
                where=str(workspace.root),
                fix="Leave --dry-run out: the bundled sample is built then.",
                code="no-release",
            )
        from hellofresh.pipeline.release import build_bundled  # with all collectors, which only a first run needs

        chosen = build_bundled(workspace, show, task or "x-notes", ("always-yes", "coin"))
        where = "the bundled sample, which shows how it works and ranks no systems"
    show.say(f"{chosen[1]} {chosen[0]}: {where}")
    return chosen


def _newest(workspace: Workspace, edition: Edition | None, task: str | None) -> tuple[Edition, str] | None:
    order = list(TASKS)
    found = [
        which
        for which in workspace.released()
        if edition in (None, which[0]) and task in (None, which[1]) and which[1] in TASKS
    ]
    living = [which for which in found if not isinstance(which[0], Frozen)] or found
    living.sort(key=lambda which: (bool(get_task(which[1]).classes), -order.index(which[1])))
    living.sort(key=lambda which: str(which[0]))
    living.sort(key=lambda which: labels_are_public(workspace, *which))
    for which in reversed(living):
        try:
            load_release(workspace, which[0], get_task(which[1])).with_texts()
        except DataError:
            continue
        return which
    return None
