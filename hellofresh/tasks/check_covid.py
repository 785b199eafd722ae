"""check-covid: does this abstract support the claim?

Check-COVID (Wang et al. 2023): claims about COVID-19 from news, each with one abstract that it is checked against.

The label is about claim and abstract, so the abstract's sentences are evidence. They come from `corpus.json` (or
`corpus.jsonl`) of the authors, which must lie beside the claims; the original splits claims by kind into two files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from hellofresh.core.errors import SourceError
from hellofresh.tasks._datasets import DataSet, FileRow, OriginalFile, StatementRow, json_rows
from hellofresh.tasks._statements import statement_task

_LABELS = ("REFUTE", "NOTENOUGHINFO", "SUPPORT")
_CORPORA = ("corpus.json", "corpus.jsonl", "corpus.json.gz", "corpus.jsonl.gz")
_KINDS = ("composed", "extracted")


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    abstracts = read_abstracts(path.parent)
    for row in json_rows(path):
        document = row.text("cord_id")
        if document not in abstracts:
            raise row.fault(f"no abstract {document}", "missing-evidence", "it in corpus.json, beside the claims")
        yield StatementRow(
            key=f"{row.text('id')}-{_kind(row, path)}",
            statement=row.text("claim"),
            label=row.label("label", _LABELS),
            language=language,
            group=f"document {document}",
            evidence=abstracts[document],
            facts={"document": document, "kind": _kind(row, path)},
        )


def _kind(row: FileRow, path: Path) -> str:
    """The kind of claim, from a field or the file's name."""
    named = next((kind for kind in _KINDS if kind in path.name), "")
    kind = row.get("kind") or named
    if kind not in _KINDS:
        raise row.fault("the kind of claim is missing", "bad-field", f"a field kind: {' or '.join(_KINDS)}")
    return str(kind)


def read_abstracts(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Sentences of each abstract of the corpus in a folder, by the document's id.

    Raises:
        SourceError: if the corpus is missing.
    """
    for name in _CORPORA:
        if (folder / name).is_file():
            return {row.text("cord_id"): row.texts("abstract") for row in json_rows(folder / name)}
    raise SourceError(
        "no abstracts",
        where=str(folder),
        expected=" or ".join(_CORPORA[:2]),
        fix="Put the authors' corpus beside the claims.",
        code="missing-evidence",
    )


def _split(name: str) -> tuple[OriginalFile, ...]:
    return tuple(OriginalFile(name=f"covidCheck_{name}_{kind}.json") for kind in _KINDS)


TASK = statement_task(
    "check-covid",
    "Check-COVID",
    prefix="cc-",
    classes=("refuted", "not enough information", "supported"),
    facts=("document", "kind"),
    subgroups=("kind",),
    evidence=True,
)
DATASET = DataSet(
    name="check-covid",
    title="Check-COVID (Wang et al. 2023)",
    home="https://github.com/posuer/Check-COVID, folder Check-COVID and corpus.json",
    licence="MIT",
    published=date(2023, 5, 29),
    labels=_LABELS,
    files=(
        OriginalFile(
            name="claims_train.jsonl",
            rows=1_068,
            labels={"NOTENOUGHINFO": 351, "REFUTE": 358, "SUPPORT": 359},
        ),
        OriginalFile(name="claims_dev.jsonl", rows=207, labels={"NOTENOUGHINFO": 68, "REFUTE": 70, "SUPPORT": 69}),
        *_split("train"),
        *_split("dev"),
        *_split("test"),
    ),
    read=_read,
    tasks={"check-covid": {label: number for number, label in enumerate(_LABELS)}},
)
