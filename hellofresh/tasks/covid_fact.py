"""covid-fact: do these sentences support the claim?

COVID-Fact (Saakyan et al. 2021): claims from a forum with sentences of web pages; refuted ones are machine-made.

The label is about claim and sentences, so the latter are evidence. Claims of one source, true and made, are one group.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.core.files import sha256_text
from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_LABELS = ("REFUTED", "SUPPORTED")


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        statement, source = row.text("claim"), row.optional_text("gold_source")
        evidence = tuple(filter(None, row.texts("evidence")))
        yield StatementRow(
            key=sha256_text("|".join((statement, source, *evidence)))[:16],
            statement=statement,
            label=row.label("label", _LABELS),
            language=language,
            group=f"source {source}" if source else "",
            evidence=evidence,
            facts={"flair": row.optional_text("flair") or None, "source": source or None},
        )


TASK = statement_task(
    "covid-fact",
    "COVID-Fact",
    prefix="cf-",
    classes=("refuted", "supported"),
    facts=("flair", "source"),
    subgroups=("flair",),
    evidence=True,
    withheld=True,
)
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
