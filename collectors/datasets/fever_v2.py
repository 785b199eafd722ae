"""FEVER 2.0 (Thorne et al. 2019): adversarial claims of the shared task, three labels, with the kind of attack."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from collectors.datasets._files import json_rows, known_label, optional_text, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from collectors.datasets.fever import LABELS, evidence_pages


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=required_text(row, "id"),
            statement=required_text(row, "claim"),
            label=known_label(row, "label", LABELS),
            language=language,
            facts={"attack": optional_text(row, "attack") or None, "evidence_pages": evidence_pages(row)},
        )


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
