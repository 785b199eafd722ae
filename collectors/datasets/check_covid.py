"""Check-COVID (Wang et al. 2023): claims about COVID-19 from news, each with one abstract that it is checked against.

The label is about claim and abstract, so the abstract's sentences are evidence. They are in `corpus.json` (or
`corpus.jsonl`) of the authors, which must lie beside the claims; the original splits claims by kind into two files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from collectors.datasets._files import FileRow, json_rows, known_label, required_text
from collectors.datasets._rows import DataSet, OriginalFile, StatementRow
from hellofresh.core.errors import SourceError

__all__ = ["DATASET", "read_abstracts"]

_LABELS = ("REFUTE", "NOTENOUGHINFO", "SUPPORT")
_CORPORA = ("corpus.json", "corpus.jsonl", "corpus.json.gz", "corpus.jsonl.gz")
_KINDS = ("composed", "extracted")


def _read(path: Path, language: str) -> Iterator[StatementRow]:
    abstracts = read_abstracts(path.parent)
    for row in json_rows(path):
        document = required_text(row, "cord_id")
        if document not in abstracts:
            raise row.fault(f"no abstract {document}", "missing-evidence", "it in corpus.json, beside the claims")
        yield StatementRow(
            key=f"{required_text(row, 'id')}-{_kind(row, path)}",
            statement=required_text(row, "claim"),
            label=known_label(row, "label", _LABELS),
            language=language,
            group=f"document {document}",
            evidence=abstracts[document],
            facts={"document": document, "kind": _kind(row, path)},
        )


def _kind(row: FileRow, path: Path) -> str:
    """How the claim was made: as a field, or in the file's name."""
    named = next((kind for kind in _KINDS if kind in path.name), "")
    kind = row.get("kind") or named
    if kind not in _KINDS:
        raise row.fault("not said how the claim was made", "bad-field", f"a field kind: {' or '.join(_KINDS)}")
    return str(kind)


def read_abstracts(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Sentences of each abstract of the corpus in a folder, by the document's id.

    Raises:
        SourceError: if there is no corpus.
    """
    for name in _CORPORA:
        if (folder / name).is_file():
            return {required_text(row, "cord_id"): _sentences(row) for row in json_rows(folder / name)}
    raise SourceError(
        "no abstracts", where=str(folder), expected=" or ".join(_CORPORA[:2]),
        fix="Put the authors' corpus beside the claims.", code="missing-evidence",
    )  # fmt: skip


def _sentences(row: FileRow) -> tuple[str, ...]:
    value = row["abstract"]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise row.fault("the abstract is no list of sentences", "bad-field", "a list of texts")
    return tuple(" ".join(item.split()) for item in value)


def _split(name: str) -> tuple[OriginalFile, ...]:
    return tuple(OriginalFile(name=f"covidCheck_{name}_{kind}.json") for kind in _KINDS)


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
