"""Outputs of every scored system on every sample, the input of rankings, comparisons and the site's answers.

`judgements/<quarter>.parquet` has one row for each task, system, prompt and sample, and `judgements/<quarter>.receipts.
parquet` one for each task and submission; `judgements/<quarter>.numbers.parquet` has the numbers that metrics are means
of. All are written together with the scores and about the same systems, those of the prospective split in
`judgements/prospective/`. They hold no label of a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError, Table, write_parquet
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.results.split.entries import Entry
from hellofresh.results.split.tables import (
    JUDGEMENTS,
    NUMBERS,
    RECEIPTS,
    WAITING,
    AnswerRow,
    NumberRow,
    ReceiptRow,
    WaitingRow,
    score_command,
)
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, output_of
from hellofresh.tasks.samples import MAIN

Part = Literal["", "receipts", "numbers", "waiting"]
"""Kind of a quarter's file: outputs, receipts, numbers, or submissions that wait for the deadline (main split)."""
_TABLES: Mapping[Part, Table[Any]] = {"": JUDGEMENTS, "receipts": RECEIPTS, "numbers": NUMBERS, "waiting": WAITING}


def judgements_file(
    workspace: Workspace, edition: Edition, split: str = MAIN, part: Part = "", *, private: bool = False
) -> Path:
    """The quarter's file of a split, for tasks with public or with secret labels; the waiting list is private."""
    folder = workspace.side(private=private) / "judgements"
    path = (folder if split == MAIN else folder / split) / f"{edition}.parquet"
    return path.with_suffix(f".{part}.parquet") if part else path


def write_waiting(workspace: Workspace, edition: Edition, waiting: Mapping[str, Sequence[Entry]]) -> Path:
    """Write the waiting submissions by task; returns the file."""
    path, found = judgements_file(workspace, edition, part="waiting", private=True), [WAITING.schema.to_frame()]
    for task, entries in waiting.items():
        received = [utc_text(entry.receipt.received) if entry.receipt else "" for entry in entries]
        rows = (
            WaitingRow(entry.origin, entry.system, entry.team, entry.regime, entry.knowledge_cutoff, when)
            for entry, when in zip(entries, received, strict=True)
        )
        found.append(WAITING.frame(rows, task=task))
    write_parquet(path, pl.concat(found), mode=0o600)
    return path


def write_judgements(
    workspace: Workspace,
    edition: Edition,
    entries: Mapping[str, Sequence[Entry]],
    split: str = MAIN,
    *,
    private: bool = False,
) -> list[Path]:
    """Write the systems' outputs, by task, and their receipts; returns the files."""
    said = [
        JUDGEMENTS.frame(_answers(entry, prompt), task=task)
        for task, systems in entries.items()
        for entry in systems
        for prompt in entry.outputs
    ]
    tables: dict[Part, Iterable[pl.DataFrame]] = {
        "": said,
        "receipts": (RECEIPTS.frame(_receipts(systems), task=task) for task, systems in entries.items()),
        "numbers": (NUMBERS.frame(_numbers(systems), task=task) for task, systems in entries.items()),
    }
    written = []
    for part, frames in tables.items():
        written.append(judgements_file(workspace, edition, split, part, private=private))
        whole = pl.concat([_TABLES[part].schema.to_frame(), *frames])
        write_parquet(written[-1], whole, mode=0o600 if private else 0o644)
    return written


def _answers(entry: Entry, prompt: str) -> Iterator[AnswerRow]:
    headline = prompt == next(iter(entry.outputs))
    for key, output in sorted(entry.published[prompt].items()):
        choice = output if isinstance(output, Choice) else Choice(prompt=prompt)
        ranking = output if isinstance(output, Ranking) else None
        yield AnswerRow(
            key, entry.origin, prompt, headline, str(output.status), choice.label, choice.probabilities,
            choice.certainty, output.text if isinstance(output, Response) else None,
            ranking.documents if ranking else None, ranking.scores if ranking else None, output.rationale,
            output.sources,
        )  # fmt: skip


def entry_outputs(said: pl.DataFrame) -> dict[str, dict[str, Output]]:
    """The outputs of one entry from its rows, by prompt and sample id, the headline prompt first."""
    found: dict[str, dict[str, Output]] = {}
    for row in JUDGEMENTS.rows(said.sort("headline", descending=True, maintain_order=True)):
        found.setdefault(row.prompt, {})[row.id] = output_of(row)
    return found


def entry_numbers(rows: pl.DataFrame) -> dict[str, dict[str, dict[str, tuple[float, float]]]]:
    """The numbers of one entry from its rows, by prompt, metric and sample id."""
    found: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for row in NUMBERS.rows(rows):
        found.setdefault(row.prompt, {}).setdefault(row.metric, {})[row.id] = (row.value, row.weight)
    return found


def _numbers(entries: Iterable[Entry]) -> Iterator[NumberRow]:
    for entry in entries:
        for prompt, metrics in entry.numbers.items():
            for metric, values in metrics.items():
                for key, (value, weight) in sorted(values.items()):
                    yield NumberRow(entry.origin, prompt, metric, key, value, weight)


def _receipts(entries: Iterable[Entry]) -> Iterator[ReceiptRow]:
    for entry in entries:
        if (found := entry.receipt) is not None:
            yield ReceiptRow(entry.origin, found.sha256, utc_text(found.received), found.code, ", ".join(found.tasks),
                             len(found.earlier))  # fmt: skip


def scan_kept(workspace: Workspace, edition: Edition, split: str, part: Part, task: str) -> pl.LazyFrame:
    """The rows of a task in one of these files, public or private: after a reveal they move with the next scoring.

    The file is checked now and read lazily, since millions of judgements may not fit in memory.

    Raises:
        DataError: if a file is damaged, or of an earlier version.
    """
    table = _TABLES[part]
    found = [table.schema.to_frame().lazy()]
    for path in (judgements_file(workspace, edition, split, part, private=private) for private in (False, True)):
        try:
            found += [table.scan(path)] if path.is_file() else []
        except BadTableError as error:
            fix = f"Recreate it: {score_command(edition, split)}"
            what = f"{error}; an earlier version may have written it"
            raise DataError(what, where=str(path), fix=fix, code="damaged-judgements") from error
    return pl.concat(found).filter(pl.col("task") == task)
