"""What every scored system said of every sample: rankings, comparisons and the site's answers are made of it.

`judgements/<quarter>.parquet` has one row for each task, system, prompt and sample, and `judgements/<quarter>.receipts.
parquet` one for each task and submission; `judgements/<quarter>.numbers.parquet` has the numbers that metrics are means
of. All are written together with the scores and about the same systems, those of the prospective split in
`judgements/prospective/`. They hold no label of a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from hellofresh.errors import DataError
from hellofresh.outputs import Choice, Output, Ranking, Response, Status
from hellofresh.parquet import write_parquet
from hellofresh.quarters import Quarter, utc_text
from hellofresh.results.entries import Entry
from hellofresh.workspace import Workspace

__all__ = [
    "NUMBERS",
    "RECEIPTS",
    "SCHEMA",
    "WAITING",
    "judgements_file",
    "numbers_file",
    "outputs_of",
    "read_judgements",
    "read_numbers",
    "read_receipts",
    "read_waiting",
    "receipts_file",
    "waiting_file",
    "write_judgements",
    "write_waiting",
]

SCHEMA = pl.Schema(
    {
        "task": pl.String, "origin": pl.String, "prompt": pl.String, "headline": pl.Boolean, "id": pl.String,
        "status": pl.String, "label": pl.Int64, "probabilities": pl.List(pl.Float64), "certainty": pl.Float64,
        "text": pl.String, "documents": pl.List(pl.String), "scores": pl.List(pl.Float64), "rationale": pl.String,
        "sources": pl.List(pl.String),
    }
)  # fmt: skip
"""`origin` is the system's as in the scores, `headline` marks the prompt that stands for it; the rest is the output
(`hellofresh.outputs`): a choice has a label, unless its status is none or blocked, a response a text, a ranking
documents with scores. What is not there is empty."""
NUMBERS = pl.Schema(
    {
        **dict.fromkeys(("task", "origin", "prompt", "metric", "id"), pl.String), "value": pl.Float64,
        "weight": pl.Float64,
    }
)  # fmt: skip
"""The value of an output and its weight, for metrics that are means of a number."""
RECEIPTS = pl.Schema(
    {
        **dict.fromkeys(("task", "origin", "sha256", "received", "code", "tasks"), pl.String), "earlier": pl.Int64,
    }
)  # fmt: skip
"""Receipts as the submissions have them; `tasks` are joined by commas, `earlier` counts those that it replaces."""


def judgements_file(workspace: Workspace, quarter: Quarter, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of what was said on a split, of tasks whose labels are public or of the others."""
    folder = workspace.side(private=private) / "judgements"
    return (folder if split == "main" else folder / split) / f"{quarter}.parquet"


def receipts_file(workspace: Workspace, quarter: Quarter, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of receipts."""
    return judgements_file(workspace, quarter, split, private=private).with_suffix(".receipts.parquet")


WAITING = pl.Schema(
    dict.fromkeys(("task", "origin", "system", "team", "regime", "knowledge_cutoff", "received"), pl.String)
)
"""Who handed predictions in that may not be used yet; what they predict is not in it."""


def waiting_file(workspace: Workspace, quarter: Quarter) -> Path:
    """The quarter's file of who handed predictions in for the main split that wait for the deadline."""
    return judgements_file(workspace, quarter, private=True).with_suffix(".waiting.parquet")


def numbers_file(workspace: Workspace, quarter: Quarter, split: str = "main", *, private: bool = False) -> Path:
    """The quarter's file of numbers."""
    return judgements_file(workspace, quarter, split, private=private).with_suffix(".numbers.parquet")


def write_waiting(workspace: Workspace, quarter: Quarter, waiting: Mapping[str, Sequence[Entry]]) -> Path:
    """Write who waits, by task; gives the file."""
    rows = [
        (task, entry.origin, entry.system, entry.team, entry.regime, entry.knowledge_cutoff,
         "" if entry.receipt is None else utc_text(entry.receipt.received))
        for task, entries in waiting.items() for entry in entries
    ]  # fmt: skip
    path = waiting_file(workspace, quarter)
    write_parquet(path, pl.DataFrame(rows, schema=WAITING, orient="row"), mode=0o600)
    return path


def read_waiting(workspace: Workspace, quarter: Quarter, split: str = "main") -> pl.DataFrame:
    """Who waits, with the columns of `WAITING`; without a file nobody does.

    Raises:
        DataError: as `read_judgements`.
    """
    return _read(waiting_file(workspace, quarter), WAITING) if split == "main" else WAITING.to_frame()


def write_judgements(
    workspace: Workspace,
    quarter: Quarter,
    entries: Mapping[str, Sequence[Entry]],
    split: str = "main",
    *,
    private: bool = False,
) -> list[Path]:
    """Write what the systems said, by task, and their receipts; gives the files."""
    said = [part for task, systems in entries.items() for entry in systems for part in _parts(task, entry)]
    numbers = [row for task, systems in entries.items() for entry in systems for row in _numbers(task, entry)]
    receipts = [row for task, systems in entries.items() for entry in systems for row in _receipt(task, entry)]
    file = judgements_file(workspace, quarter, split, private=private)
    tables = {
        file: pl.concat([SCHEMA.to_frame(), *said]),
        file.with_suffix(".receipts.parquet"): pl.DataFrame(receipts, schema=RECEIPTS, orient="row"),
        file.with_suffix(".numbers.parquet"): pl.DataFrame(numbers, schema=NUMBERS, orient="row"),
    }
    for path, table in tables.items():
        write_parquet(path, table, mode=0o600 if private else 0o644)
    return list(tables)


def _parts(task: str, entry: Entry) -> Iterator[pl.DataFrame]:
    for number, (prompt, outputs) in enumerate(entry.outputs.items()):
        rows = [(key, *_cells(outputs[key])) for key in sorted(outputs)]
        said = pl.DataFrame(rows, schema={name: SCHEMA[name] for name in ("id", *_OUTPUT)}, orient="row")
        same = {"task": task, "origin": entry.origin, "prompt": prompt, "headline": number == 0}
        yield said.select(**{name: pl.lit(value) for name, value in same.items()}, **{name: name for name in said.columns})


_OUTPUT = SCHEMA.names()[5:]
_Cell = str | int | float | list[str] | list[float] | None


def _cells(output: Output) -> tuple[_Cell, ...]:
    """The columns from `status` on."""
    label, stated, certainty, text, documents, scores = (None,) * 6
    match output:
        case Choice(label=label, probabilities=stated, certainty=certainty):
            pass
        case Response(text=text):
            pass
        case Ranking(documents=documents, scores=scores):
            pass
    lists = ([*part] if part else None for part in (stated, documents, scores, output.sources))
    probabilities, ranked, marks, sources = lists
    return str(output.status), label, probabilities, certainty, text, ranked, marks, output.rationale or None, sources


def outputs_of(said: pl.DataFrame) -> dict[str, dict[str, Output]]:
    """The outputs of one entry again, by prompt and sample id, the prompt that stands for it first."""
    found: dict[str, dict[str, Output]] = {}
    ordered = said.sort("headline", descending=True, maintain_order=True)
    for prompt, key, *cells in ordered.select("prompt", "id", *_OUTPUT).iter_rows():
        found.setdefault(prompt, {})[key] = _output(prompt, *cells)
    return found


def _output(
    prompt: str,
    status: str,
    label: int | None,
    probabilities: Sequence[float] | None,
    certainty: float | None,
    text: str | None,
    documents: Sequence[str] | None,
    scores: Sequence[float] | None,
    rationale: str | None,
    sources: Sequence[str] | None,
) -> Output:
    known, why, rests_on = Status(status), rationale or "", tuple(sources or ())
    if text is not None:
        return Response(prompt=prompt, status=known, rationale=why, sources=rests_on, text=text)
    if documents is not None:
        return Ranking(prompt=prompt, status=known, rationale=why, sources=rests_on, documents=tuple(documents),
                       scores=tuple(scores or ()))  # fmt: skip
    return Choice(prompt=prompt, status=known, rationale=why, sources=rests_on, label=label,
                  probabilities=tuple(probabilities or ()), certainty=certainty)  # fmt: skip


def _numbers(task: str, entry: Entry) -> Iterator[tuple[str | float, ...]]:
    for prompt, metrics in entry.numbers.items():
        for metric, values in metrics.items():
            for key, (value, weight) in sorted(values.items()):
                yield task, entry.origin, prompt, metric, key, value, weight


def _receipt(task: str, entry: Entry) -> Iterator[tuple[str | int, ...]]:
    if (found := entry.receipt) is not None:
        yield (task, entry.origin, found.sha256, utc_text(found.received), found.code, ", ".join(found.tasks),
               len(found.earlier))  # fmt: skip


def read_judgements(path: Path) -> pl.DataFrame:
    """Read a quarter's file, with the columns of `SCHEMA`; without the file there are no rows.

    Raises:
        DataError: if it is damaged, or of an earlier version.
    """
    return _read(path, SCHEMA)


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


def _read(path: Path, schema: pl.Schema) -> pl.DataFrame:
    if not path.is_file():
        return schema.to_frame()
    try:
        return pl.read_parquet(path).select(schema.names()).cast(schema)
    except (pl.exceptions.PolarsError, OSError) as error:
        which = path.name.partition(".")[0]
        option = " --split prospective" if path.parent.name != "judgements" else ""
        fix = f"Recreate it: hellofresh score --quarter {which}{option}"
        what = "the file cannot be read, or an earlier version wrote it"
        raise DataError(what, where=str(path), fix=fix, code="damaged-judgements") from error
