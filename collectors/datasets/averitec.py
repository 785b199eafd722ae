"""AVeriTeC (Schlichtkrull et al. 2023): real claims with questions, answers and their sources, four labels."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from collectors.datasets._files import json_rows, known_label, listed, optional_text, read_day, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from hellofresh.core.files import sha256_text

__all__ = ["DATASET"]

_LABELS = ("Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking", "Supported")
_ARCHIVE = "https://web.archive.org/web/"


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        statement = required_text(row, "claim")
        review, day = optional_text(row, "fact_checking_article"), read_day(row, "claim_date", "%d-%m-%Y")
        yield StatementRow(
            key=sha256_text(f"{statement}|{review}|{day}")[:16],
            statement=statement,
            label=known_label(row, "label", _LABELS),
            language=language,
            speaker=optional_text(row, "speaker"),
            context=optional_text(row, "reporting_source"),
            day=day,
            facts={
                "publisher": _site(review) or None,
                "review_url": review or None,
                "questions": len(listed(row, "questions")),
                "claim_types": "; ".join(sorted(map(str, listed(row, "claim_types")))),
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
