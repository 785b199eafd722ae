"""liar and liar-new: how true did PolitiFact find this statement (six degrees, or two)?

LIAR (Wang 2017): 12,800 short statements checked by PolitiFact from 2007 to 2016, six labels. Tab-separated, no header,
no quoting: a reader of CSV would take quotes in the texts for delimiters and swallow rows.

LIAR-New (Pelrine et al. 2023): 1,957 statements checked by PolitiFact since October 2021, with a French translation.
Half true counts as true, as in the paper; `liar-new-six` keeps the six labels. The possibility label says whether a
statement can be checked without more context. The categories of missing evidence, if available, go into the field
`missing_evidence` of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from hellofresh.tasks._datasets import DataSet, OriginalFile, StatementRow, json_rows, tsv_rows
from hellofresh.tasks._statements import statement_task, two_classes

_LABELS = ("pants-fire", "false", "barely-true", "half-true", "mostly-true", "true")
# Labels from half true upwards count as true.
_BINARY_LABELS = {"pants-fire": 0, "false": 0, "barely-true": 0, "half-true": 1, "mostly-true": 1, "true": 1}
_SIX_LABELS = {label: number for number, label in enumerate(_LABELS)}
_COUNTS = tuple(f"{label}_count" for label in ("barely-true", "false", "half-true", "mostly-true", "pants-fire"))
_COLUMNS = ("id", "label", "statement", "subjects", "speaker", "job", "state", "party", *_COUNTS, "context")
_COPY = "https://raw.githubusercontent.com/thiagorainmaker77/liar_dataset/b6f55d759d525f7150637fcdbc2c517d049408b7/"


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    for row in tsv_rows(path, _COLUMNS, header=False):
        yield StatementRow(
            key=row.text("id").removesuffix(".json"),
            statement=row.text("statement"),
            label=row.label("label", _LABELS),
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
    labels=_LABELS,
    files=(
        OriginalFile(
            name="train.tsv",
            rows=10_269,
            labels=dict(zip(_LABELS, (842, 1998, 1657, 2123, 1966, 1683), strict=True)),
            url=_COPY + "train.tsv",
            sha256="23ef8cb7ff57b25c941100d0744039cebc595d65a67ea190f72b330a658d8c36",
        ),
        OriginalFile(
            name="valid.tsv",
            rows=1_284,
            labels=dict(zip(_LABELS, (116, 263, 237, 248, 251, 169), strict=True)),
            url=_COPY + "valid.tsv",
            sha256="8dd3d7ed1a11e78ed7df090c9eddb0f91147f895850c78d49dd7b4e88fd09a16",
        ),
        OriginalFile(name="test.tsv"),
    ),
    read=_read,
    tasks={
        "liar": _SIX_LABELS,
        "liar-binary": _BINARY_LABELS,
    },
    texts=False,
)

_POSSIBILITY = {"p": "possible", "h": "hard", "i": "impossible"}
_TEXTS = {"en": "statement", "fr": "french"}


def _read_new(path: Path, language: str) -> Iterator[StatementRow]:
    for row in json_rows(path):
        yield StatementRow(
            key=row.text("example_id"),
            statement=row.text(_TEXTS[language]),
            label=row.label("label", _LABELS),
            language=language,
            day=row.day("date", "%B %d, %Y"),
            facts={
                "possibility": _POSSIBILITY[row.label("possibility_label", tuple(_POSSIBILITY))],
                "missing_evidence": row.optional_text("missing_evidence") or None,
            },
        )


NEW = statement_task(
    "liar-new",
    "LIAR-New",
    prefix="ln-",
    classes=("false", "true"),
    facts=("possibility", "missing_evidence"),
    subgroups=("possibility", "missing_evidence"),
)
NEW_SIX = replace(
    NEW,
    name="liar-new-six",
    title="LIAR-New, six labels",
    id_prefix="ln6-",
    classes=TASK.classes,
    metrics=TASK.metrics,
)
NEW_DATASET = DataSet(
    name="liar-new",
    title="LIAR-New (Pelrine et al. 2023)",
    home="https://github.com/ComplexData-MILA/MitigateMisinfo, LIAR-New/LIAR-New.jsonl",
    licence="MIT",
    published=date(2023, 5, 24),
    labels=_LABELS,
    files=(
        OriginalFile(
            name="LIAR-New.jsonl",
            rows=1_957,
            labels=dict(zip(_LABELS, (359, 1067, 237, 147, 99, 48), strict=True)),
        ),
    ),
    read=_read_new,
    tasks={"liar-new": _BINARY_LABELS, "liar-new-six": _SIX_LABELS},
    languages=("en", "fr"),
)
