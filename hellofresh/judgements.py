"""What every scored system said of every sample: rankings, comparisons and the site's answers are made of it.

`judgements/<quarter>.parquet` has one row for each task, system, prompt and sample, written together with the scores
and about the same systems. It holds no label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from hellofresh.entries import Entry
from hellofresh.errors import DataError
from hellofresh.files import atomic_path
from hellofresh.quarters import Quarter
from hellofresh.workspace import Workspace

__all__ = ["SCHEMA", "judgements_file", "read_judgements", "write_judgements"]

SCHEMA = pl.Schema(
    {
        "task": pl.String, "origin": pl.String, "prompt": pl.String, "headline": pl.Boolean, "id": pl.String,
        "verdict": pl.String,
    }
)  # fmt: skip
"""`origin` is the system's as in the scores, `headline` marks the prompt that stands for it, `verdict` is one of yes,
no, none and blocked."""


def judgements_file(workspace: Workspace, quarter: Quarter) -> Path:
    """The quarter's file."""
    return workspace.root / "judgements" / f"{quarter}.parquet"


def write_judgements(workspace: Workspace, quarter: Quarter, entries: Mapping[str, Sequence[Entry]]) -> Path:
    """Write what the systems said, by task; gives the file."""
    parts = [part for task, systems in entries.items() for entry in systems for part in _parts(task, entry)]
    path = judgements_file(workspace, quarter)
    with atomic_path(path) as temporary:
        pl.concat([SCHEMA.to_frame(), *parts]).write_parquet(temporary)
    return path


def _parts(task: str, entry: Entry) -> Iterator[pl.DataFrame]:
    for number, (prompt, verdicts) in enumerate(entry.verdicts.items()):
        ids = sorted(verdicts)
        said = pl.DataFrame({"id": ids, "verdict": [str(verdicts[key]) for key in ids]}, schema_overrides=_TEXTS)
        same = {"task": task, "origin": entry.origin, "prompt": prompt, "headline": number == 0}
        yield said.select(**{name: pl.lit(value) for name, value in same.items()}, id="id", verdict="verdict")


_TEXTS = {"id": pl.String, "verdict": pl.String}


def read_judgements(path: Path) -> pl.DataFrame:
    """Read a quarter's file, with the columns of `SCHEMA`; without the file there are no rows.

    Raises:
        DataError: if it is damaged.
    """
    if not path.is_file():
        return SCHEMA.to_frame()
    try:
        return pl.read_parquet(path).cast(SCHEMA).select(SCHEMA.names())
    except (pl.exceptions.PolarsError, OSError) as error:
        fix = "Delete it and run: hellofresh score --quarter ..."
        raise DataError("the file cannot be read", where=str(path), fix=fix, code="damaged-judgements") from error
