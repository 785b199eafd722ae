"""fever-v2: does Wikipedia support this claim, which was written to mislead systems?

FEVER 2.0 (Thorne et al. 2019): adversarial claims of the shared task, three labels, with the kind of attack.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task, two_classes
from hellofresh.tasks.fever import LABELS, evidence_pages


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=row.text("id"),
            statement=row.text("claim"),
            label=row.label("label", LABELS),
            language=language,
            facts={"attack": row.optional_text("attack") or None, "evidence_pages": evidence_pages(row)},
        )


TASK = statement_task(
    "fever-v2",
    "FEVER 2.0",
    prefix="fa-",
    classes=("refuted", "not enough information", "supported"),
    facts=("attack", "evidence_pages"),
    subgroups=("attack",),
    question="Does Wikipedia support the statement, refute it, or hold too little information?",
)
BINARY = two_classes(TASK, prefix="fab-", classes=("refuted", "supported"))
DATASET = DataSet(
    name="fever-v2",
    title="FEVER 2.0 (Thorne et al. 2019)",
    home="https://fever.ai/dataset/adversarial.html",
    licence="CC-BY-SA-3.0",
    published=date(2019, 11, 1),
    labels=LABELS,
    files=(OriginalFile(name="fever2-fixers-dev.jsonl", rows=1_174),),
    read=_read,
    tasks={
        "fever-v2": {"REFUTES": 0, "NOT ENOUGH INFO": 1, "SUPPORTS": 2},
        "fever-v2-binary": {"REFUTES": 0, "SUPPORTS": 1},
    },
)
