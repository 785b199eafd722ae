"""The scores that a board is made from, and which of them may be shown to everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hellofresh.core.editions import parse_edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError
from hellofresh.core.workspace import Workspace
from hellofresh.releases import labels_are_public
from hellofresh.results.score import SCORES, WITHOUT_LABELS
from hellofresh.tasks.samples import MAIN, PROSPECTIVE

__all__ = ["read_scores", "score_files", "systems_of"]

_KEYS = ("edition", "task", "split")


def score_files(workspace: Workspace) -> list[tuple[str, Path]]:
    """The files of scores with the split that each is about, in order."""
    folders = [workspace.side(private=private) / "scores" for private in (False, True)]
    main = [(MAIN, path) for folder in folders for path in folder.glob("*.parquet")]
    others = [(PROSPECTIVE, path) for folder in folders for path in (folder / PROSPECTIVE).glob("*.parquet")]
    return [*sorted(main, key=_place), *sorted(others, key=_place)]


def _place(file: tuple[str, Path]) -> tuple[str, Path]:
    return file[1].name, file[1]


def read_scores(workspace: Workspace) -> pl.DataFrame:
    """All scores, with the columns `split` and `public`: whether labels of the row's split are; wherever it lies.

    Without scores the table has no columns.

    Raises:
        DataError: if a file is damaged, or an earlier version wrote it.
    """
    tables = [_read(path, split).with_columns(split=pl.lit(split)) for split, path in score_files(workspace)]
    if not tables:
        return pl.DataFrame()
    found = pl.concat(tables)
    splits = found.select(_KEYS).unique(maintain_order=True).rows()
    public = [labels_are_public(workspace, parse_edition(key[0]), *key[1:]) for key in splits]
    known = pl.DataFrame(splits, schema=dict.fromkeys(_KEYS, pl.String), orient="row")
    return found.join(known.with_columns(public=pl.Series(public)), on=_KEYS, how="left", maintain_order="left")


def _read(path: Path, split: str) -> pl.DataFrame:
    """The scores of a file, with the columns of `Score`."""
    try:
        return SCORES.read(path)
    except BadTableError as error:
        option = "" if split == MAIN else f" --split {split}"
        fix = f"Recreate it: hellofresh score --edition {path.stem}{option}"
        what = f"{error}; an earlier version may have written it"
        raise DataError(what, where=str(path), fix=fix, code="damaged-scores") from error


def systems_of(scores: pl.DataFrame, keys: Mapping[str, str], *, shown: bool) -> Sequence[Mapping[str, Any]]:
    """One row for each system of a split, of its headline metric in the whole quarter.

    Of a split that is not shown it has only what no label decides.
    """
    mine = [pl.col(name) == value for name, value in keys.items()]
    rows = scores.filter("headline", pl.col("period") == "all", *mine).unique(
        "origin", keep="first", maintain_order=True
    )
    return (rows if shown else rows.select(WITHOUT_LABELS)).to_dicts()
