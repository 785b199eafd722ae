"""Deleting the pictures of samples that are taken down from the workspace."""

from __future__ import annotations

from collections.abc import Collection

from hellofresh.core.editions import Edition
from hellofresh.core.files import canonical_json, read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.tasks import Task
from hellofresh.tasks.images import media_of
from hellofresh.tasks.samples import MAIN

__all__ = ["forget_pictures"]


def forget_pictures(
    workspace: Workspace, edition: Edition, task: Task, ids: Collection[str], *, split: str = MAIN
) -> None:
    """Delete the pictures that these samples name; to be called while the samples are still there.

    Raises:
        DataError: if the samples or the pictures are damaged.
    """
    if not workspace.pictures.is_dir():
        return
    from hellofresh.evidence.web.pictures import PictureCache  # with the way to the web, which few takedowns need

    below = "" if split == MAIN else split
    texts = [workspace.private(edition, task.name) / below / "samples.jsonl", workspace.hydrated(edition, task.name)]
    with PictureCache(workspace.pictures) as cache:
        for path in texts:
            rows = read_jsonl(path) if path.is_file() else ()
            for line in [canonical_json(row) for row in rows if row["id"] in ids and row.get("media")]:
                cache.forget(media_of(task.parse_sample(line, where=str(path))))
