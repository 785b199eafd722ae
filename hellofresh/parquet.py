"""The one way to write a table as Parquet: whole or not at all, and a full disk is a plain error."""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl

from hellofresh.files import atomic_path

__all__ = ["write_parquet"]

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")


def write_parquet(path: Path, table: pl.DataFrame, *, statistics: bool = True, mode: int = 0o644) -> None:
    """Write a table atomically, compressed by zstd; the same table gives the same bytes.

    Raises:
        WorkspaceError: if the file cannot be written, such as on a full disk.
    """
    with atomic_path(path, mode=mode) as temporary:
        try:
            table.write_parquet(temporary, compression="zstd", statistics=statistics)
        except pl.exceptions.PolarsError as error:
            failed = _SYSTEM_ERROR.search(str(error))
            if failed is None:
                raise
            # Polars reports a failed write as a failed computation.
            number = int(failed[1])
            raise OSError(number, os.strerror(number)) from error
