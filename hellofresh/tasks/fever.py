"""fever: does Wikipedia support this claim?

FEVER (Thorne et al. 2018): claims written from Wikipedia's introductions, three labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.core.errors import DataError
from hellofresh.core.files import as_model
from hellofresh.tasks._datasets import DataSet, FileRow, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task, two_classes

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
            key=row.text("id"),
            statement=row.text("claim"),
            label=row.label("label", LABELS),
            language=language,
            facts={"evidence_pages": evidence_pages(row)},
        )


TASK = statement_task(
    "fever",
    "FEVER",
    prefix="fe-",
    classes=("refuted", "not enough information", "supported"),
    facts=("evidence_pages",),
    question="Does Wikipedia support the statement, refute it, or hold too little information?",
)
BINARY = two_classes(TASK, prefix="feb-", classes=("refuted", "supported"))
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
