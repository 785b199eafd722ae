"""What every scored system said of every sample: rankings, comparisons and the site's answers are made of it.

`judgements/<quarter>.parquet` has one row for each task, system, prompt and sample, and `judgements/<quarter>.receipts.
parquet` one for each task and submission; `judgements/<quarter>.numbers.parquet` has the numbers that metrics are means
of. All are written together with the scores and about the same systems, those of the prospective split in
`judgements/prospective/`. They hold no label of a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError, Row, Table, write_parquet
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.results.entries import Entry
from hellofresh.results.tables import (
    JUDGEMENTS,
    NUMBERS,
    RECEIPTS,
    WAITING,
    AnswerRow,
    NumberRow,
    ReceiptRow,
    WaitingRow,
)
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response, Status

__all__ = [
    "entry_numbers",
    "entry_outputs",
    "judgements_file",
    "numbers_file",
    "read_judgements",
    "read_numbers",
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


def numbers_file(workspace: Workspace, edition: Edition, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of numbers."""
    return judgements_file(workspace, edition, split, private=private).with_suffix(".numbers.parquet")


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
    numbers = (NUMBERS.frame(_numbers(systems), task=task) for task, systems in entries.items())
    receipts = (RECEIPTS.frame(_receipts(systems), task=task) for task, systems in entries.items())
    file = judgements_file(workspace, edition, split, private=private)
    tables = {
        file: pl.concat([JUDGEMENTS.schema.to_frame(), *said]),
        file.with_suffix(".receipts.parquet"): pl.concat([RECEIPTS.schema.to_frame(), *receipts]),
        file.with_suffix(".numbers.parquet"): pl.concat([NUMBERS.schema.to_frame(), *numbers]),
    }
    for path, table in tables.items():
        write_parquet(path, table, mode=0o600 if private else 0o644)
    return list(tables)


def _parts(task: str, entry: Entry) -> Iterator[pl.DataFrame]:
    for number, (prompt, outputs) in enumerate(entry.published.items()):
        rows = (_answer(key, entry.origin, prompt, number == 0, outputs[key]) for key in sorted(outputs))
        yield JUDGEMENTS.frame(rows, task=task)


def _answer(key: str, origin: str, prompt: str, headline: bool, output: Output) -> AnswerRow:
    choice = output if isinstance(output, Choice) else Choice(prompt=prompt)
    ranking = output if isinstance(output, Ranking) else None
    return AnswerRow(
        key, origin, prompt, headline, str(output.status), choice.label, choice.probabilities, choice.certainty,
        output.text if isinstance(output, Response) else None, ranking.documents if ranking else None,
        ranking.scores if ranking else None, output.rationale, output.sources,
    )  # fmt: skip


def entry_outputs(said: pl.DataFrame) -> dict[str, dict[str, Output]]:
    """The outputs of one entry again, by prompt and sample id, the prompt that stands for it first.

    Choices come without rationale and sources.
    """
    found: dict[str, dict[str, Output]] = {}
    ordered = said.sort("headline", descending=True, maintain_order=True)
    choices = ordered.filter(pl.col("text").is_null(), pl.col("documents").is_null())
    if choices.height < ordered.height:
        for row in JUDGEMENTS.rows(ordered):
            found.setdefault(row.prompt, {})[row.id] = _output(row)
        return found
    # Millions of rows: without a dataclass for each, and without the texts beside them.
    columns = ("prompt", "id", "status", "label", "probabilities", "certainty")
    plain: dict[tuple[str, str, int | None], Choice] = {}  # equal choices are one object
    for prompt, key, status, label, probabilities, certainty in choices.select(columns).iter_rows():
        choice = None if probabilities or certainty is not None else plain.get((prompt, status, label))
        if choice is None:
            choice = Choice(prompt=prompt, status=_STATUS[status], label=label, probabilities=tuple(probabilities),
                            certainty=certainty)  # fmt: skip
            if not probabilities and certainty is None:
                plain[prompt, status, label] = choice
        found.setdefault(prompt, {})[key] = choice
    return found


_STATUS = {str(status): status for status in Status}


def _output(row: AnswerRow) -> Output:
    prompt, status, rationale, sources = row.prompt, _STATUS[row.status], row.rationale, row.sources
    if row.text is not None:
        return Response(prompt=prompt, status=status, rationale=rationale, sources=sources, text=row.text)
    if row.documents is not None:
        return Ranking(prompt=prompt, status=status, rationale=rationale, sources=sources, documents=row.documents,
                       scores=row.scores or ())  # fmt: skip
    return Choice(prompt=prompt, status=status, rationale=rationale, sources=sources, label=row.label,
                  probabilities=row.probabilities, certainty=row.certainty)  # fmt: skip


def entry_numbers(rows: pl.DataFrame) -> dict[str, dict[str, dict[str, tuple[float, float]]]]:
    """The numbers of one entry again, by prompt, metric and sample id."""
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


def read_judgements(path: Path) -> pl.DataFrame:
    """Read a quarter's file, with the columns of `JUDGEMENTS`; without the file there are no rows.

    Raises:
        DataError: if it is damaged, or of an earlier version.
    """
    return _read(path, JUDGEMENTS)


def read_numbers(path: Path) -> pl.DataFrame:
    """Read a quarter's numbers, with the columns of `NUMBERS`; without the file there are no rows.

    Raises:
        DataError: as `read_judgements`.
    """
    return _read(path, NUMBERS)


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
