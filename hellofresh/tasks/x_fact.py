"""x-fact: how true did fact-checkers in 25 languages find this statement (seven classes, or two)?

X-FACT (Gupta and Srikumar 2021): claims in 25 languages with the labels of their fact-checkers, seven of them.

Tab-separated with a header of 17 columns, no quoting, as in the authors' repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.core.files import sha256_text
from hellofresh.tasks._datasets import DataSet, FileRow, OriginalFile, StatementRow, tsv_rows
from hellofresh.tasks._statements import statement_task, two_classes

_LABELS = (
    "false",
    "mostly false",
    "partly true/misleading",
    "mostly true",
    "true",
    "complicated/hard to categorise",
    "other",
)
_COLUMNS = (
    "language",
    "site",
    *(f"evidence_{number}" for number in range(1, 6)),
    *(f"link_{number}" for number in range(1, 6)),
    "claimDate",
    "reviewDate",
    "claimant",
    "claim",
    "label",
)
_ISO_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def _read(path: Path, _: str) -> Iterator[StatementRow]:
    for row in tsv_rows(path, _COLUMNS, header=True):
        statement, site = row.text("claim"), row.text("site")
        yield StatementRow(
            key=sha256_text(f"{path.name.removesuffix('.gz')}|{site}|{statement}")[:16],
            statement=statement,
            label=_label(row),
            language=row.text("language"),
            speaker=_known(row.optional_text("claimant")),
            day=_day(row),
            facts={"publisher": site, "review_date": _known(row.optional_text("reviewDate")) or None},
        )


def _label(row: FileRow) -> str:
    label = row.text("label").lower()
    if label not in _LABELS:
        raise row.fault(f"unknown label {label[:60]!r}", "unknown-label", f"one of {', '.join(_LABELS)}")
    return label


def _known(text: str) -> str:
    return "" if text.lower() in {"none", "nan", "null"} else text


def _day(row: FileRow) -> date | None:
    """The claim's date, else the review's; dates not in ISO 8601 are ignored."""
    for name in ("claimDate", "reviewDate"):
        if match := _ISO_DAY.match(row.optional_text(name)):
            try:
                return date(int(match[1]), int(match[2]), int(match[3]))
            except ValueError:
                continue
    return None


TASK = statement_task(
    "x-fact",
    "X-FACT",
    prefix="xf-",
    classes=("false", "mostly false", "partly true", "mostly true", "true", "complicated", "other"),
    facts=("publisher", "review_date"),
    subgroups=("publisher",),
)
BINARY = two_classes(TASK, prefix="xfb-")
DATASET = DataSet(
    name="x-fact",
    title="X-FACT (Gupta and Srikumar 2021)",
    home="https://github.com/utahnlp/x-fact, data/x-fact",
    licence="MIT",
    published=date(2021, 8, 1),
    labels=_LABELS,
    files=(
        OriginalFile(name="train.all.tsv"),
        OriginalFile(name="dev.all.tsv"),
        OriginalFile(name="test.all.tsv"),
        OriginalFile(name="ood.tsv"),
        OriginalFile(name="zeroshot.tsv"),
    ),
    read=_read,
    tasks={
        "x-fact": {label: number for number, label in enumerate(_LABELS)},
        "x-fact-binary": {
            "false": 0,
            "mostly false": 0,
            "partly true/misleading": 0,
            "mostly true": 1,
            "true": 1,
        },
    },
)
