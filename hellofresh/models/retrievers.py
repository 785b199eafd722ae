"""A retriever as a model: it reads a query and answers with documents and scores, so that runs keep and resume it."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from hellofresh.core.errors import RunError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.corpora import open_exact
from hellofresh.evidence.retrieval.retrievers import open_retriever
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.tasks import EvidenceQuery

_DEPTH = 100
_PACKAGES = ("numpy", "pystemmer", "onnxruntime", "tokenizers")


class RetrieverModel:
    """A retriever over the corpus that a sample names; its index is opened, or built, with the first query.

    Args:
        name: as `open_retriever` takes it.
        workspace: where corpora are.
        about: what it is, in one sentence; its name where nothing is said.
    """

    def __init__(self, name: str, workspace: Workspace, about: str = "") -> None:
        self._name, self._workspace = name, workspace
        versions = {}
        for package in _PACKAGES:
            with suppress(PackageNotFoundError):
                versions[package] = version(package)
        self._opened: dict[str, Retriever] = {}
        self.spec = ModelSpec(
            name=name if ":" not in name else _short(name),
            kind="retriever",
            about=about or f"Retriever: {_short(name)}.",
            parameters={"retriever": name, "depth": _DEPTH, **versions},
            free=True,
            knowledge_cutoff="none",
        )

    async def ask(self, request: Request) -> Answer:
        """Rank the documents for the request's query.

        Raises:
            RunError: if the request is not about a query, or the corpus is another one than the sample's.
            UsageError: if the corpus or what the retriever needs is not there.
        """
        sample = request.sample
        if not isinstance(sample, EvidenceQuery):
            raise RunError("a retriever was asked about no query", where=self.spec.name, code="no-query")
        found = await self._retriever(sample).retrieve(sample.query, _DEPTH)
        text = json.dumps({"documents": found.documents, "scores": [round(score, 6) for score in found.scores]})
        return Answer(text, Finish.STOP, tokens_in=0, tokens_out=0)

    def _retriever(self, sample: EvidenceQuery) -> Retriever:
        if sample.corpus not in self._opened:
            corpus = open_exact(self._workspace, sample.corpus, sample.corpus_sha256)
            self._opened[sample.corpus] = open_retriever(self._name, corpus)
        return self._opened[sample.corpus]

    async def close(self) -> None:
        self._opened.clear()


def _short(name: str) -> str:
    """A name without the folder of what was trained."""
    kind, _, folder = name.partition(":")
    return f"{kind}-{folder.rstrip('/').rsplit('/', 1)[-1]}"[:100] if folder else kind
