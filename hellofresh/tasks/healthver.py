"""healthver: does this passage support the health claim?

HealthVer (Sarrouti et al. 2021): health claims, each with a passage that supports, refutes or leaves it open.

The label is about claim and passage, so the passage is evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, table_rows
from hellofresh.tasks._statements import statement_task

_LABELS = ("Refutes", "Neutral", "Supports")
_COLUMNS = ("id", "evidence", "claim", "label", "topic_ip", "question")
_COPY = "https://raw.githubusercontent.com/sarrouti/HealthVer/b20ac99ceed62f5264a319fa25a854df1668d85b/data/"


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in table_rows(path, _COLUMNS):
        yield StatementRow(
            key=row.text("id"),
            statement=row.text("claim"),
            label=row.label("label", _LABELS),
            language=language,
            context=row.optional_text("question"),
            group=f"topic {row.text('topic_ip')}",
            evidence=(row.text("evidence"),),
        )


TASK = statement_task(
    "healthver",
    "HealthVer",
    prefix="hv-",
    classes=("refuted", "neutral", "supported"),
    evidence=True,
    withheld=True,
)
DATASET = DataSet(
    name="healthver",
    title="HealthVer (Sarrouti et al. 2021)",
    home="https://github.com/sarrouti/HealthVer, folder data",
    licence="LicenseRef-not-stated",
    published=date(2021, 11, 1),
    labels=_LABELS,
    files=(
        OriginalFile(
            name="healthver_dev.csv",
            rows=1_917,
            labels={"Neutral": 993, "Refutes": 391, "Supports": 533},
            url=_COPY + "healthver_dev.csv",
            sha256="6f8ea31cbcf2ea5a2d3c82d65587d66e96de4f70e72642bbf7f61fec6ef8a93a",
        ),
        OriginalFile(name="healthver_train.csv", rows=10_590),
        OriginalFile(name="healthver_test.csv"),
    ),
    read=_read,
    tasks={"healthver": {label: number for number, label in enumerate(_LABELS)}},
    texts=False,
)
