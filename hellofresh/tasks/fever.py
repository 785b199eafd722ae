"""fever and fever-v2: does Wikipedia support this claim? In fever-v2, claims are written to mislead systems.

FEVER (Thorne et al. 2018): claims written from Wikipedia's introductions, three labels. FEVER 2.0 (Thorne et al. 2019):
adversarial claims of the shared task, with the kind of attack.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path

from hellofresh.core.errors import DataError
from hellofresh.core.files import as_model
from hellofresh.tasks._datasets import DataSet, FileRow, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task, two_classes

_LABELS = {"REFUTES": 0, "NOT ENOUGH INFO": 1, "SUPPORTS": 2}
_BINARY_LABELS = {"REFUTES": 0, "SUPPORTS": 1}
_CLASSES = ("refuted", "not enough information", "supported")
_QUESTION = "Does Wikipedia support the statement, refute it, or hold too little information?"
_MOST_PAGES = 20  # a few claims have very many


def _evidence_pages(row: FileRow) -> str:
    """The titles of the annotators' evidence pages in Wikipedia, joined by `; `."""
    try:
        items = as_model(list[list[tuple[object, object, str | None, object]]], row["evidence"], where=row.where)
    except DataError:
        raise row.fault("the evidence has another form", "bad-field", "[[[annotation, id, page, sentence]]]") from None
    titles = {title for group in items for _, _, title, _ in group if title is not None}
    return "; ".join(sorted(titles)[:_MOST_PAGES])


def _read(path: Path, language: str, attacks: bool = False) -> Iterator[StatementRow]:
    for row in json_rows(path):
        # FEVER's rows say whether a claim is verifiable; FEVER 2.0's rows name the kind of attack.
        if row.get("attack" if not attacks else "verifiable") is not None:
            mine, other = ("fever-v2", "fever") if attacks else ("fever", "fever-v2")
            raise row.fault(f"this is a file of {other}", "other-dataset", f"a file of {mine}")
        attack = {"attack": row.optional_text("attack") or None} if attacks else {}
        yield StatementRow(
            key=row.text("id"),
            statement=row.text("claim"),
            label=row.label("label", tuple(_LABELS)),
            language=language,
            facts={**attack, "evidence_pages": _evidence_pages(row)},
        )


TASK = statement_task("fever", "FEVER", prefix="fe-", classes=_CLASSES, facts=("evidence_pages",), question=_QUESTION)
BINARY = two_classes(TASK, prefix="feb-", classes=("refuted", "supported"))
DATASET = DataSet(
    name="fever",
    title="FEVER (Thorne et al. 2018)",
    home="https://fever.ai/dataset/fever.html",
    licence="CC-BY-SA-3.0",
    published=date(2018, 6, 1),
    labels=tuple(_LABELS),
    files=(
        OriginalFile(name="paper_dev.jsonl", rows=9_999),
        OriginalFile(name="paper_test.jsonl", rows=9_999),
        OriginalFile(name="shared_task_dev.jsonl", rows=19_998),
    ),
    read=_read,
    tasks={"fever": _LABELS, "fever-binary": _BINARY_LABELS},
)
V2 = statement_task(
    "fever-v2",
    "FEVER 2.0",
    prefix="fa-",
    classes=_CLASSES,
    facts=("attack", "evidence_pages"),
    subgroups=("attack",),
    question=_QUESTION,
)
V2_BINARY = two_classes(V2, prefix="fab-", classes=("refuted", "supported"))
V2_DATASET = DataSet(
    name="fever-v2",
    title="FEVER 2.0 (Thorne et al. 2019)",
    home="https://fever.ai/dataset/adversarial.html",
    licence="CC-BY-SA-3.0",
    published=date(2019, 11, 1),
    labels=tuple(_LABELS),
    files=(OriginalFile(name="fever2-fixers-dev.jsonl", rows=1_174),),
    read=partial(_read, attacks=True),
    tasks={"fever-v2": _LABELS, "fever-v2-binary": _BINARY_LABELS},
)
