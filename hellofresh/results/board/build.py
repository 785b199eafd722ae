"""The tables that the site reads, made once so that no page computes what could be ready.

`board/` holds `scores.parquet` (all scores of all quarters and splits), `periods.parquet` (what each period offered and
gave), `funnels.parquet` (what each filter dropped), the tables of `hellofresh.results.board.assemble` and
`hellofresh.results.board.tables.due`, `analyses/` (see `hellofresh.results.board.tables.analyses`), `released/` (see
`hellofresh.results.board.released`) and `manifest.json` (size and hash
of each, rows of tables).

Of a split whose labels are not public it holds only what does not depend on labels, not even by a hash or the order of
rows. The maintainers' own view, with all figures, is another board: `private/board/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from hellofresh import __version__
from hellofresh.config import Settings
from hellofresh.core.clock import now
from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import DataError
from hellofresh.core.files import sha256_file
from hellofresh.core.parquet import write_parquet
from hellofresh.core.stages import Stage, input_key
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.manifest import MANIFEST, Manifest, read_counts, read_manifest
from hellofresh.results.board.assemble import add_splits, split_inputs
from hellofresh.results.board.manifest import (
    FORMAT,
    BoardAddresses,
    BoardFile,
    BoardManifest,
    describe_file,
    read_board_manifest,
)
from hellofresh.results.board.released import opened_places, put_released, released_inputs
from hellofresh.results.board.rows import BoardRows
from hellofresh.results.board.schema import TABLES, FunnelStep, PeriodBalance
from hellofresh.results.board.scores import read_scores, score_files
from hellofresh.results.board.tables.analyses import analyses_to_show
from hellofresh.results.board.tables.due import add_due, due_inputs

__all__ = ["BoardBuilt", "build_board"]


@dataclass(frozen=True, slots=True)
class BoardBuilt:
    """What was built: rows by table, quarters on the board, and whether it was there already."""

    folder: Path
    rows: Mapping[str, int]
    quarters: Sequence[str]
    skipped: bool


def build_board(workspace: Workspace, *, private: bool = False) -> BoardBuilt:
    """Write the board's tables from all scored quarters.

    Args:
        workspace: where everything lives.
        private: whether to write the maintainers' own board, with the figures of quarters that are not revealed.

    Raises:
        DataError: if no quarter has been scored.
    """
    scored, moment = read_scores(workspace), now()
    if scored.is_empty():
        raise DataError(
            "no edition has been scored", where=str(workspace.root), fix="Run: hellofresh score --edition ...",
            code="nothing-scored",
        )  # fmt: skip
    released = [workspace.release(edition, task) for edition, task in workspace.released()]
    quarters = sorted(set(scored["edition"].to_list()))
    analyses = analyses_to_show(workspace, [parse_edition(name) for name in quarters], private=private)
    used = [*(path for _, path in score_files(workspace)), *(release / MANIFEST for release in released)]
    opened, addresses = opened_places(workspace, moment), Settings.load().site
    inputs: list[object] = [[path.relative_to(workspace.root).as_posix(), sha256_file(path)] for path in used]
    inputs += [
        FORMAT,
        [[name, str(table.schema)] for name, table in TABLES.items()],
        *(one.inputs for one in analyses),
        released_inputs(workspace, opened),
        addresses.model_dump(mode="json"),
        split_inputs(workspace, moment),
        due_inputs(workspace, moment),
    ]
    folder = workspace.private_board if private else workspace.board
    stage = Stage(workspace, "private board" if private else "board", input_key(inputs))
    if stage.is_current():
        there = read_board_manifest(folder)
        return BoardBuilt(folder, there.rows, there.quarters, skipped=True)
    rows = _rows(workspace, scored, [read_manifest(release) for release in released], moment, private=private)
    mode = 0o600 if private else 0o644
    files = [_written(folder, name, table, mode) for name, table in rows.tables().items()]
    shown = [path for one in analyses for path in one.copy_to(folder, mode)]
    _drop_others(folder / "analyses", shown)
    released = put_released(workspace, opened, folder, mode)
    manifest = BoardManifest(
        format=FORMAT,
        code=f"hellofresh {__version__}",
        quarters=tuple(quarters),
        files=tuple(files),
        analyses=tuple(describe_file(folder, path) for path in shown),
        released=tuple(describe_file(folder, path) for path in released),
        addresses=BoardAddresses(**addresses.model_dump()),
        private=private,
    )
    stage.record([*(folder / entry.path for entry in files), *shown, *released, manifest.write(folder, mode)])
    return BoardBuilt(folder, manifest.rows, quarters, skipped=False)


def _rows(
    workspace: Workspace, scored: pl.DataFrame, releases: Sequence[Manifest], moment: datetime, *, private: bool
) -> BoardRows:
    """The rows of all tables."""
    rows = BoardRows()
    rows.add_frame("scores", {}, scored if private else scored.filter("public"))
    for manifest in releases:
        keys = {"edition": manifest.edition, "task": manifest.task}
        rows.add("periods", keys, _periods(workspace, manifest, private=private))
        rows.add("funnels", keys, _funnel(manifest))
    add_splits(rows, workspace, scored, moment, private=private)
    add_due(rows, workspace, moment)
    return rows


def _drop_others(folder: Path, shown: Sequence[Path]) -> None:
    """Remove analyses that are shown no more."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in shown:
            path.unlink()


def _written(folder: Path, name: str, table: pl.DataFrame, mode: int) -> BoardFile:
    """Write a table; gives what the manifest says of it."""
    path = folder / f"{name}.parquet"
    write_parquet(path, table, mode=mode)
    return describe_file(folder, path, table.height)


def _periods(workspace: Workspace, manifest: Manifest, *, private: bool) -> Iterator[PeriodBalance]:
    """What each period gave and, once labels are public, what it offered of each."""
    counts = manifest.label_counts if manifest.revealed or private else {}
    if private and not counts and manifest.selection is not None:
        counts = read_counts(workspace.private(parse_edition(manifest.edition), manifest.task))
    if manifest.selection is None:
        return
    for name, period in manifest.selection.periods.items():
        found = counts[name].by_label if name in counts else None
        yield PeriodBalance(manifest.source, name, found, period.taken_per_class, manifest.selection.classes)


def _funnel(manifest: Manifest) -> Iterator[FunnelStep]:
    """One row a step, from rows in to candidates kept, in the order in which the filters apply."""
    funnel = manifest.collection.funnel
    steps = [
        ("rows in", f"{funnel.unit} found in the source", funnel.rows_in, False),
        *((drop.reason, drop.meaning, drop.count, True) for drop in funnel.drops),
        ("candidates", "kept by every filter", funnel.total_kept, False),
    ]
    for number, step in enumerate(steps):
        yield FunnelStep(manifest.source, number, *step)
