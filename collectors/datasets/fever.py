"""FEVER (Thorne et al. 2018): claims written from Wikipedia's introductions, three labels."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from collectors.datasets._files import FileRow, json_rows, known_label, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from hellofresh.core.errors import DataError
from hellofresh.core.files import as_model

__all__ = ["DATASET", "LABELS", "evidence_pages"]

LABELS = ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS")
_MOST_PAGES = 20


def evidence_pages(row: FileRow) -> str:
    """The titles of Wikipedia pages that the annotators took as evidence, `; ` between them."""
    try:
        items = as_model(list[list[tuple[object, object, str | None, object]]], row["evidence"], where=row.where)
    except DataError:
        raise row.fault("the evidence has another form", "bad-field", "[[[annotation, id, page, sentence]]]") from None
    titles = {title for group in items for _, _, title, _ in group if title is not None}
    return "; ".join(sorted(titles)[:_MOST_PAGES])


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=required_text(row, "id"),
            statement=required_text(row, "claim"),
            label=known_label(row, "label", LABELS),
            language=language,
            facts={"evidence_pages": evidence_pages(row)},
        )


DATASET = DataSet(
    name="fever",
    title="FEVER (Thorne et al. 2018)",
    home="https://fever.ai/dataset/fever.html",
    licence="CC-BY-SA-3.0",
    published=date(2018, 6, 1),
    labels=LABELS,
    files=(
        OriginalFile(name="paper_dev.jsonl", rows=9_999),
        OriginalFile(name="paper_test.jsonl", rows=9_999),
        OriginalFile(name="shared_task_dev.jsonl", rows=19_998),
    ),
    read=_read,
    tasks={
        "fever": {"REFUTES": 0, "NOT ENOUGH INFO": 1, "SUPPORTS": 2},
        "fever-binary": {"REFUTES": 0, "SUPPORTS": 1},
    },
)
