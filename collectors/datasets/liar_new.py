"""LIAR-New (Pelrine et al. 2023): 1,957 statements checked by PolitiFact since October 2021, with a French translation.

The possibility label says whether a statement can be checked without more context. Who has the categories of missing
evidence puts them in a field `missing_evidence` of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from collectors.datasets import liar
from collectors.datasets._files import json_rows, known_label, optional_text, read_day, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow

_POSSIBILITY = {"p": "possible", "h": "hard", "i": "impossible"}
_TEXTS = {"en": "statement", "fr": "french"}


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=required_text(row, "example_id"),
            statement=required_text(row, _TEXTS[language]),
            label=known_label(row, "label", liar.LABELS),
            language=language,
            day=read_day(row, "date", "%B %d, %Y"),
            facts={
                "possibility": _POSSIBILITY[known_label(row, "possibility_label", tuple(_POSSIBILITY))],
                "missing_evidence": optional_text(row, "missing_evidence") or None,
            },
        )


DATASET = DataSet(
    name="liar-new",
    title="LIAR-New (Pelrine et al. 2023)",
    home="https://github.com/ComplexData-MILA/MitigateMisinfo, LIAR-New/LIAR-New.jsonl",
    licence="MIT",
    published=date(2023, 5, 24),
    labels=liar.LABELS,
    files=(
        OriginalFile(
            name="LIAR-New.jsonl",
            rows=1_957,
            labels=dict(zip(liar.LABELS, (359, 1067, 237, 147, 99, 48), strict=True)),
        ),
    ),
    read=_read,
    tasks={"liar-new": liar.BINARY_LABELS},
    languages=("en", "fr"),
)
