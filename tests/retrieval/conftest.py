"""A small corpus, invented for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import CorpusContent, FoundDocument, RetrievalCorpus, write_corpus
from hellofresh.evidence.retrieval.documents import CorpusDocument, Judgement, Query

SUBJECTS = ("otters", "kites", "lanterns", "barley", "glaciers", "violins", "harbours", "beetles")
PLACES = ("river", "hill", "valley", "market", "island", "forest")
ACTS = ("gather", "vanish", "sing", "shine", "freeze", "travel")


def small_documents() -> list[CorpusDocument]:
    """48 documents, each with a subject and a place of its own."""
    found = []
    for number, subject in enumerate(SUBJECTS):
        for other, place in enumerate(PLACES):
            act = ACTS[(number + other) % len(ACTS)]
            text = f"People of the {place} say that {subject} {act} at dawn. " + f"The {place} is old. " * (other + 1)
            found.append(CorpusDocument(f"{subject}-{place}", f"{subject} of the {place}", text, None, "made"))
    return found


def small_queries() -> list[Query]:
    """One a document; a third are for development."""
    return [
        Query(
            id=f"q{number}",
            text=f"Do {document.id.split('-')[0]} come to the {document.id.split('-')[1]}?",
            split="dev" if number % 3 == 0 else "train",
            group=document.id.split("-")[0],
        )
        for number, document in enumerate(small_documents())
    ]


def stored(folder: Path, documents: Iterable[CorpusDocument | FoundDocument], **more: Any) -> RetrievalCorpus:
    """Documents as a corpus, with what is said of its content besides."""
    found = (FoundDocument(item, "here") if isinstance(item, CorpusDocument) else item for item in documents)
    common: dict[str, Any] = {"source": "jsonl", "license": "CC0-1.0"}
    return RetrievalCorpus(folder, write_corpus(folder, CorpusContent(documents=found, **(common | more))))


def write_small(
    workspace: Workspace, documents: Iterable[CorpusDocument] | None = None, name: str = "small"
) -> RetrievalCorpus:
    """The small corpus, or other documents with its queries left out."""
    if documents is not None:
        return stored(workspace.corpora / name, documents)
    judged = [Judgement(f"q{number}", item.id, 1) for number, item in enumerate(small_documents())]
    return stored(workspace.corpora / name, small_documents(), queries=small_queries(), judgements=judged)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def small(workspace: Workspace) -> RetrievalCorpus:
    return write_small(workspace)


def write_rows(path: Path, rows: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
