"""What every scored system said of every sample: rankings, comparisons and the site's answers are made of it.

`judgements/<quarter>.parquet` has one row for each task, system, prompt and sample, and `judgements/<quarter>.receipts.
parquet` one for each task and submission. Both are written together with the scores and about the same systems, those
of the prospective split in `judgements/prospective/`. They hold no label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from hellofresh.editions import Edition
from hellofresh.errors import DataError
from hellofresh.parquet import BadTableError, Row, Table, write_parquet
from hellofresh.quarters import utc_text
from hellofresh.results.entries import Entry
from hellofresh.results.tables import JUDGEMENTS, RECEIPTS, WAITING, ReceiptRow, WaitingRow
from hellofresh.workspace import Workspace

__all__ = [
    "judgements_file",
    "read_judgements",
    "read_receipts",
    "read_waiting",
    "receipts_file",
    "waiting_file",
    "write_judgements",
    "write_waiting",
]


def judgements_file(workspace: Workspace, edition: Edition, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of what was said on a split, of tasks whose labels are public or of the others."""
    folder = workspace.side(private=private) / "judgements"
    return (folder if split == "main" else folder / split) / f"{edition}.parquet"


def receipts_file(workspace: Workspace, edition: Edition, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of receipts."""
    return judgements_file(workspace, edition, split, private=private).with_suffix(".receipts.parquet")


def waiting_file(workspace: Workspace, edition: Edition) -> Path:
    """The quarter's file of who handed predictions in for the main split that wait for the deadline."""
    return judgements_file(workspace, edition, private=True).with_suffix(".waiting.parquet")


def write_waiting(workspace: Workspace, edition: Edition, waiting: Mapping[str, Sequence[Entry]]) -> Path:
    """Write who waits, by task; gives the file."""
    path = waiting_file(workspace, edition)
    found = (WAITING.frame(map(_waiting, entries), task=task) for task, entries in waiting.items())
    write_parquet(path, pl.concat([WAITING.schema.to_frame(), *found]), mode=0o600)
    return path


def _waiting(entry: Entry) -> WaitingRow:
    received = "" if entry.receipt is None else utc_text(entry.receipt.received)
    return WaitingRow(entry.origin, entry.system, entry.team, entry.regime, entry.knowledge_cutoff, received)


def read_waiting(workspace: Workspace, edition: Edition, split: str = "main") -> pl.DataFrame:
    """Who waits, with the columns of `WAITING`; without a file nobody does.

    Raises:
        DataError: as `read_judgements`.
    """
    return _read(waiting_file(workspace, edition), WAITING) if split == "main" else WAITING.schema.to_frame()


def write_judgements(
    workspace: Workspace,
    edition: Edition,
    entries: Mapping[str, Sequence[Entry]],
    split: str = "main",
    *,
    private: bool = False,
) -> list[Path]:
    """Write what the systems said, by task, and their receipts; gives the files."""
    said = [part for task, systems in entries.items() for entry in systems for part in _parts(task, entry)]
    receipts = (RECEIPTS.frame(_receipts(systems), task=task) for task, systems in entries.items())
    file = judgements_file(workspace, edition, split, private=private)
    tables = {
        file: pl.concat([JUDGEMENTS.schema.to_frame(), *said]),
        file.with_suffix(".receipts.parquet"): pl.concat([RECEIPTS.schema.to_frame(), *receipts]),
    }
    for path, table in tables.items():
        write_parquet(path, table, mode=0o600 if private else 0o644)
    return list(tables)


def _parts(task: str, entry: Entry) -> Iterator[pl.DataFrame]:
    schema = JUDGEMENTS.schema
    for number, (prompt, verdicts) in enumerate(entry.verdicts.items()):
        ids, stated = sorted(verdicts), entry.confidences.get(prompt, {})
        columns = {"id": ids, "verdict": [str(verdicts[key]) for key in ids], "confidence": list(map(stated.get, ids))}
        same = {"task": task, "origin": entry.origin, "prompt": prompt, "headline": number == 0}
        said = pl.DataFrame(columns, schema_overrides={name: schema[name] for name in columns})
        yield said.with_columns(**{name: pl.lit(value) for name, value in same.items()}).select(schema.names())


def _receipts(entries: Iterable[Entry]) -> Iterator[ReceiptRow]:
    for entry in entries:
        if (found := entry.receipt) is not None:
            yield ReceiptRow(entry.origin, found.sha256, utc_text(found.received), found.code, ", ".join(found.tasks),
                             len(found.earlier))  # fmt: skip


def read_judgements(path: Path) -> pl.DataFrame:
    """Read a quarter's file, with the columns of `JUDGEMENTS`; without the file there are no rows.

    Raises:
        DataError: if it is damaged, or of an earlier version.
    """
    return _read(path, JUDGEMENTS)


def read_receipts(path: Path) -> pl.DataFrame:
    """Read a quarter's receipts, with the columns of `RECEIPTS`; without the file there are no rows.

    Raises:
        DataError: as `read_judgements`.
    """
    return _read(path, RECEIPTS)


def _read(path: Path, table: Table[Row]) -> pl.DataFrame:
    if not path.is_file():
        return table.schema.to_frame()
    try:
        return table.read(path)
    except BadTableError as error:
        which = path.name.partition(".")[0]
        option = " --split prospective" if path.parent.name != "judgements" else ""
        fix = f"Recreate it: hellofresh score --edition {which}{option}"
        what = f"{error}; an earlier version may have written it"
        raise DataError(what, where=str(path), fix=fix, code="damaged-judgements") from error
