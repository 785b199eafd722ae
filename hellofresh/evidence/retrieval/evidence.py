"""The documents of a corpus that are given to a model as evidence for a claim."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, document_address, open_exact
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.retrievers import open_retriever

__all__ = ["FoundEvidence", "find_evidence"]


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """A document that was found.

    Attributes:
        document: as in the corpus.
        address: by which it is cited.
        score: the retriever's.
    """

    document: CorpusDocument
    address: str
    score: float


async def find_evidence(
    workspace: Workspace, corpus: str, sha256: str, retriever: str, *, claim: str, count: int
) -> list[FoundEvidence]:
    """The documents that fit a claim best.

    Args:
        workspace: where corpora are.
        corpus, sha256: which corpus, with which content.
        retriever: as on the command line, such as `bm25+minilm`.
        claim: what is looked for.
        count: how many.

    Raises:
        UsageError: if the corpus has other content, or what the retriever needs is not there.
        UnknownNameError: if there is no such retriever.
    """
    opened, finder = _opened(workspace.root, corpus, sha256, retriever)
    found = await finder.retrieve(claim, count)
    return [
        FoundEvidence(_document(opened, name), document_address(corpus, name), score)
        for name, score in zip(found.documents, found.scores, strict=True)
    ]


def _document(corpus: RetrievalCorpus, name: str) -> CorpusDocument:
    row = corpus.rows[name]
    return next(corpus.documents(row, row + 1))


@lru_cache(maxsize=4)
def _opened(root: Path, corpus: str, sha256: str, retriever: str) -> tuple[RetrievalCorpus, Retriever]:
    """Opened once for all samples of a run."""
    found = open_exact(Workspace(root), corpus, sha256)
    return found, open_retriever(retriever, found)
