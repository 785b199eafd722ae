"""The ledger of exposure: which groups have a public label or will have one, over all tasks, editions and splits.

Two samples tell of each other's labels where they have the same id or group, or where the texts that they are about
are near-equal. So no group is in two splits: a draw leaves out what another split has. Where two splits share a group
all the same (they were drawn by an earlier version, or a text was not at hand), the labels of one wait until
predictions on the other are closed. The labels of the bundled sample are not secret, so its splits stand apart.
"""

from __future__ import annotations

from datetime import datetime

from hellofresh.core.editions import Edition, Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import calendar_of, read_manifest
from hellofresh.tasks.samples import MAIN


def waits(workspace: Workspace, edition: Edition, task: str, split: str = MAIN) -> datetime | None:
    """Until when nothing may be published that follows from the labels of a split; None where they are public.

    Whatever shows labels, or figures that follow from them, asks this: a reveal, a resolution, ratings, reports. A time
    that has passed says that the labels may be published, and are not yet.

    Raises:
        DataError, ReleaseError: if there is no such split, or its manifest is damaged.
    """
    folder = workspace.release(edition, task, split)
    manifest = read_manifest(folder)
    if manifest.has_labels or isinstance(edition, Frozen):
        return None
    return calendar_of(manifest, folder).reveals
