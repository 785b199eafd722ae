"""faviq: is this claim, made from a question to a search engine, right?

FaVIQ (Park et al. 2022): claims made from questions that people asked a search engine, two labels.

The files have the form that the authors document; all texts are in lower case in the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_LABELS = ("REFUTES", "SUPPORTS")


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        positive = row.get("positive_evidence")
        title = positive.get("title") if isinstance(positive, dict) else None
        yield StatementRow(
            key=row.text("id"),
            statement=row.text("claim"),
            label=row.label("label", _LABELS),
            language=language,
            facts={"evidence_pages": title if isinstance(title, str) else None},
        )


TASK = statement_task(
    "faviq", "FaVIQ", prefix="fq-", classes=("refuted", "supported"), facts=("evidence_pages",), withheld=True
)
DATASET = DataSet(
    name="faviq",
    title="FaVIQ (Park et al. 2022)",
    home="https://github.com/faviq/faviq",
    licence="LicenseRef-not-stated",
    published=date(2022, 5, 1),
    labels=_LABELS,
    files=(OriginalFile(name="train.jsonl"), OriginalFile(name="dev.jsonl"), OriginalFile(name="test.jsonl")),
    read=_read,
    tasks={"faviq": {"REFUTES": 0, "SUPPORTS": 1}},
    texts=False,
)
