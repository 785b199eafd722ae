"""COVID-Fact (Saakyan et al. 2021): claims from a forum with sentences of web pages; refuted ones are machine-made.

The label is about claim and sentences, so these are evidence. Claims of one source, true and made, are one group.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from collectors.datasets._files import FileRow, json_rows, known_label, optional_text, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from hellofresh.core.files import sha256_text

__all__ = ["DATASET"]

_LABELS = ("REFUTED", "SUPPORTED")


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        statement, source, evidence = required_text(row, "claim"), optional_text(row, "gold_source"), _evidence(row)
        yield StatementRow(
            key=sha256_text("|".join((statement, source, *evidence)))[:16],
            statement=statement,
            label=known_label(row, "label", _LABELS),
            language=language,
            group=f"source {source}" if source else "",
            evidence=evidence,
            facts={"flair": optional_text(row, "flair") or None, "source": source or None},
        )


def _evidence(row: FileRow) -> tuple[str, ...]:
    value = row["evidence"]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise row.fault("the evidence is no list of texts", "bad-field", "a list of texts")
    return tuple(text for item in value if (text := " ".join(item.split())))


DATASET = DataSet(
    name="covid-fact",
    title="COVID-Fact (Saakyan et al. 2021)",
    home="https://github.com/asaakyan/covidfact, COVIDFACT_dataset.jsonl",
    licence="LicenseRef-not-stated",
    published=date(2021, 8, 1),
    labels=_LABELS,
    files=(OriginalFile(name="COVIDFACT_dataset.jsonl", rows=4_086),),
    read=_read,
    tasks={"covid-fact": {label: number for number, label in enumerate(_LABELS)}},
    texts=False,
)
