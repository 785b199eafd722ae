"""A small corpus, invented for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import FoundDocument, RetrievalCorpus, open_corpus, write_corpus
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import Judgement, Query

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


def write_small(
    workspace: Workspace, documents: Iterable[CorpusDocument] | None = None, name: str = "small"
) -> RetrievalCorpus:
    """The small corpus, or other documents with its queries left out."""
    own = documents is None
    judged = [Judgement(f"q{number}", item.id, 1) for number, item in enumerate(small_documents())]
    write_corpus(
        workspace.corpora / name,
        source="jsonl",
        license="CC0-1.0",
        documents=(FoundDocument(item, name) for item in (small_documents() if documents is None else documents)),
        queries=small_queries() if own else (),
        judgements=judged if own else (),
    )
    return open_corpus(workspace, name)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def small(workspace: Workspace) -> RetrievalCorpus:
    return write_small(workspace)


def write_rows(path: Path, rows: Sequence[object]) -> None:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
