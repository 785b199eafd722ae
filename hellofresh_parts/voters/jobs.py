"""Fit the ratings of a quarter: of a named dump, or of the configured one unless nothing has changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from collectors.jobs import Progress, configured_notes_source
from collectors.notes.dump_files import find_shards
from hellofresh.config import Settings
from hellofresh.core.errors import SourceError
from hellofresh.core.executors import process_pool
from hellofresh.core.makers import makers
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import stamp
from hellofresh.releases.draw.escrow import Escrow
from hellofresh_parts.voters.fit import TABLES, BridgingReport, collect_bridging


def collect_ratings(workspace: Workspace, dump: Path, quarter: Quarter, **options: Any) -> BridgingReport:
    """Fit a dump's ratings into the workspace's table of a quarter; options as of `collect_bridging`."""
    return collect_bridging(
        dump,
        quarter,
        output=workspace.bridging(quarter),
        folder=workspace.root / "private" / "ratings",
        key=bytes.fromhex(Escrow.of_workspace(workspace).salt("participants")),
        **options,
    )


def configured_ratings(workspace: Workspace, settings: Settings, quarter: Quarter, progress: Progress) -> str:
    """Fit the ratings of the configured notes unless nothing has changed; returns a sentence on the outcome, or ''.

    Raises:
        HelloFreshError: if a file is broken.
    """
    source = configured_notes_source(workspace, settings)
    if source is None or settings.sources.x_notes is None:
        return ""
    shards = {table: find_shards(source.dump, table.stem, table.subfolder) for table in TABLES}
    if not shards[TABLES[-1]]:
        fix = "set ratings = true under [sources.x-notes], or run: hellofresh archive x-notes --ratings"
        return f"no voters are fitted for {quarter}: the dump has no ratings. To download them, {fix}"
    claimed = settings.sources.x_notes.claimed
    names = sorted(Path(claimed).glob("*.json")) if claimed else []
    files = [*(shard.path for found in shards.values() for shard in found), *names]
    inputs = [*(stamp(path) for path in files), *sorted(source.columns.items())]
    stage = Stage.of(workspace, f"ratings/{quarter}", inputs, makers(collect_bridging.__module__))
    if stage.is_current():
        return ""
    # Another process for a single shard takes longer to start than to read it.
    pool = process_pool(min(2, os.cpu_count() or 1)) if len(shards[TABLES[-1]]) > 1 else None
    more = {"claims": Path(claimed) if claimed else None, "aliases": source.aliases}
    try:
        found = collect_ratings(workspace, source.dump, quarter, pool=pool, progress=progress, **more)
    except SourceError as error:
        if error.code not in {"no-ratings", "too-few-ratings"}:
            raise
        return f"no voters are fitted for {quarter}: {error.what}"
    stage.record([workspace.bridging(quarter)])
    return f"{found.ratings:,} ratings fitted: {found.fitted:,} of {found.notes:,} notes of {quarter} have an intercept"
