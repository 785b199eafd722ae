"""averitec: does evidence on the web support this claim? Searches end with the day of the claim.

AVeriTeC (Schlichtkrull et al. 2023): real claims with questions, answers and their sources, four labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from hellofresh.core.files import sha256_text
from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_LABELS = ("Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking", "Supported")
_ARCHIVE = "https://web.archive.org/web/"


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        statement = row.text("claim")
        review, day = row.optional_text("fact_checking_article"), row.day("claim_date", "%d-%m-%Y")
        yield StatementRow(
            key=sha256_text(f"{statement}|{review}|{day}")[:16],
            statement=statement,
            label=row.label("label", _LABELS),
            language=language,
            speaker=row.optional_text("speaker"),
            context=row.optional_text("reporting_source"),
            day=day,
            facts={
                "publisher": _site(review) or None,
                "review_url": review or None,
                "questions": len(row.listed("questions")),
                "claim_types": "; ".join(sorted(map(str, row.listed("claim_types")))),
            },
        )


def _site(address: str) -> str:
    """The site of the review, behind the archive's prefix."""
    if address.startswith(_ARCHIVE):
        address = address.removeprefix(_ARCHIVE).partition("/")[2]
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


TASK = statement_task(
    "averitec",
    "AVeriTeC",
    prefix="av-",
    classes=("refuted", "not enough evidence", "conflicting evidence", "supported"),
    facts=("publisher", "review_url", "questions", "claim_types"),
    subgroups=("publisher",),
    question="Does the evidence on the web support the statement?",
    withheld=True,
)
DATASET = DataSet(
    name="averitec",
    title="AVeriTeC (Schlichtkrull et al. 2023)",
    home="https://github.com/MichSchli/AVeriTeC, data/dev.json",
    licence="CC-BY-NC-4.0",
    published=date(2023, 5, 22),
    labels=_LABELS,
    files=(OriginalFile(name="dev.json", rows=500), OriginalFile(name="train.json", rows=3_068)),
    read=_read,
    tasks={"averitec": {label: number for number, label in enumerate(_LABELS)}},
    texts=False,
)
