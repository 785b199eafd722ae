"""The door of the export: a harmed result of the board is counted in the ledger of the copy."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.intake import Intake
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.manifest import describe_file, read_board_manifest
from leaderboard.data.board import SplitKey, load_board
from leaderboard.export.copy import Site
from leaderboard.export.records import LEDGER, record_files
from tests.doors import Door, Passed

SPLIT = SplitKey("2022Q4", "x-notes")
SPLIT_COLUMNS = {"edition": SPLIT.edition, "task": SPLIT.task, "split": SPLIT.kind}
Rows = list[dict[str, Any]]


def test_no_result_is_lost_in_silence_on_its_way_to_other_boards(hostile_board: Workspace, tmp_path: Path) -> None:
    """A record is all that the table of scores says of one system on a split."""
    board, copies = hostile_board.board, count()
    scores, standings = (pl.read_parquet(board / f"{name}.parquet") for name in ("scores", "standings"))
    mine = (pl.col("edition") == SPLIT.edition) & (pl.col("task") == SPLIT.task) & (pl.col("split") == SPLIT.kind)
    records: list[Rows] = [part.to_dicts() for part in scores.filter(mine).partition_by("origin", maintain_order=True)]
    ranked = [standings.row(0, named=True) | {"origin": rows[0]["origin"], **SPLIT_COLUMNS} for rows in records]
    standings = pl.concat([standings, pl.DataFrame(ranked, schema=standings.schema)])

    def opened(given: Sequence[Rows]) -> Passed:
        folder = Path(shutil.copytree(board, tmp_path / str(next(copies))))
        table = pl.DataFrame([row for rows in given for row in rows], schema=scores.schema)
        pl.concat([scores.filter(~mine), table]).write_parquet(folder / "scores.parquet")
        standings.write_parquet(folder / "standings.parquet")
        manifest = read_board_manifest(folder)
        entries = tuple(describe_file(folder, folder / one.path, one.rows) for one in manifest.files)
        manifest.model_copy(update={"files": entries}).write(folder, 0o644)
        files = list(record_files(Site.of(load_board(folder), "0" * 12)))
        texts = dict(files)
        ledger = Intake(**json.loads(texts.pop(LEDGER)))
        assert ledger.went_on == len(texts) == len(files) - 1
        mine_alone = (json.loads(text) for text in texts.values() if f"/{SPLIT.task}-{SPLIT.edition}/" in text)
        return Passed(ledger, {one["model_info"]["name"]: one for one in mine_alone})

    def every(**values: Any) -> Any:
        return lambda rows: [{**row, **values} for row in rows]

    first = scores.filter(mine)["metric"][0]
    harms = {
        "other origin": every(origin="elsewhere"), "no headline": every(headline=False),
        "period": every(period="2026-11"),
        "without the first metric": lambda rows: [row for row in rows if row["metric"] != first],
        "no number": every(value=math.nan), "infinite": every(high=math.inf), "other task": every(task="fever"),
        "unknown task": every(task="blorple"), "edition": every(edition="2026Q9"),
        "metric": lambda rows: [{**row, "metric": "blorple"} if row["metric"] == first else row for row in rows],
    }  # fmt: skip
    import pprint

    pprint.pprint(Door(opened, records, lambda rows: rows[0]["system"], harms).answers())
