"""liar: how true did PolitiFact find this statement (six degrees, or two)?

LIAR (Wang 2017): 12,800 short statements checked by PolitiFact from 2007 to 2016, six labels.

Tab-separated, no header, no quoting: a reader of CSV would take quotes in the texts for delimiters and swallow rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, tsv_rows
from hellofresh.tasks._statements import statement_task, two_classes

LABELS = ("pants-fire", "false", "barely-true", "half-true", "mostly-true", "true")
BINARY_LABELS = {"pants-fire": 0, "false": 0, "barely-true": 0, "half-true": 1, "mostly-true": 1, "true": 1}
"""Half true and what is truer counts as true."""
_COUNTS = tuple(f"{label}_count" for label in ("barely-true", "false", "half-true", "mostly-true", "pants-fire"))
_COLUMNS = ("id", "label", "statement", "subjects", "speaker", "job", "state", "party", *_COUNTS, "context")
_COPY = "https://raw.githubusercontent.com/thiagorainmaker77/liar_dataset/b6f55d759d525f7150637fcdbc2c517d049408b7/"


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in tsv_rows(path, _COLUMNS, header=False):
        yield StatementRow(
            key=row.text("id").removesuffix(".json"),
            statement=row.text("statement"),
            label=row.label("label", LABELS),
            language=language,
            speaker=row.optional_text("speaker").replace("-", " "),
            context=row.optional_text("context"),
            facts={"subjects": row.optional_text("subjects"), "party": row.optional_text("party")},
        )


TASK = statement_task(
    "liar",
    "LIAR",
    prefix="li-",
    classes=("pants on fire", "false", "barely true", "half true", "mostly true", "true"),
    facts=("subjects", "party"),
    subgroups=("party",),
    withheld=True,
)
BINARY = two_classes(TASK, prefix="lib-")
DATASET = DataSet(
    name="liar",
    title="LIAR (Wang 2017)",
    home="https://www.cs.ucsb.edu/~william/data/liar_dataset.zip",
    licence="LicenseRef-research-only",
    published=date(2017, 5, 1),
    labels=LABELS,
    files=(
        OriginalFile(
            name="train.tsv",
            rows=10_269,
            labels=dict(zip(LABELS, (842, 1998, 1657, 2123, 1966, 1683), strict=True)),
            url=_COPY + "train.tsv",
            sha256="23ef8cb7ff57b25c941100d0744039cebc595d65a67ea190f72b330a658d8c36",
        ),
        OriginalFile(
            name="valid.tsv",
            rows=1_284,
            labels=dict(zip(LABELS, (116, 263, 237, 248, 251, 169), strict=True)),
            url=_COPY + "valid.tsv",
            sha256="8dd3d7ed1a11e78ed7df090c9eddb0f91147f895850c78d49dd7b4e88fd09a16",
        ),
        OriginalFile(name="test.tsv"),
    ),
    read=_read,
    tasks={
        "liar": {"pants-fire": 0, "false": 1, "barely-true": 2, "half-true": 3, "mostly-true": 4, "true": 5},
        "liar-binary": BINARY_LABELS,
    },
    texts=False,
)
