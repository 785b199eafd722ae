"""liar-new: did PolitiFact find this statement true? Half true counts as true, as in the paper.

LIAR-New (Pelrine et al. 2023): 1,957 statements checked by PolitiFact since October 2021, with a French translation.

The possibility label says whether a statement can be checked without more context. Who has the categories of missing
evidence puts them in a field `missing_evidence` of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.tasks import liar
from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_POSSIBILITY = {"p": "possible", "h": "hard", "i": "impossible"}
_TEXTS = {"en": "statement", "fr": "french"}


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=row.text("example_id"),
            statement=row.text(_TEXTS[language]),
            label=row.label("label", liar.LABELS),
            language=language,
            day=row.day("date", "%B %d, %Y"),
            facts={
                "possibility": _POSSIBILITY[row.label("possibility_label", tuple(_POSSIBILITY))],
                "missing_evidence": row.optional_text("missing_evidence") or None,
            },
        )


TASK = statement_task(
    "liar-new",
    "LIAR-New",
    prefix="ln-",
    classes=("false", "true"),
    facts=("possibility", "missing_evidence"),
    subgroups=("possibility", "missing_evidence"),
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
