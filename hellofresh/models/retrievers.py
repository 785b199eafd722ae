"""A retriever as a model: it answers a query with documents and scores, so that runs can record and resume it."""

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

_DEPTH = 100  # the metrics look at the first 20
_PACKAGES = ("numpy", "pystemmer", "onnxruntime", "tokenizers")


class RetrieverModel:
    """A retriever over a sample's corpus; the first query opens or builds its index.

    Args:
        name: as in `open_retriever`.
        workspace: of the corpora.
        about: a description in one sentence; its name if left out.
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
            RunError: if the request has no query, or the corpus differs from the sample's.
            UsageError: if the corpus or a requirement of the retriever is missing.
        """
        sample = request.sample
        if not isinstance(sample, EvidenceQuery):
            raise RunError("a retriever was asked without a query", where=self.spec.name, code="no-query")
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
    """A name without the folder of the trained model."""
    kind, _, folder = name.partition(":")
    return f"{kind}-{folder.rstrip('/').rsplit('/', 1)[-1]}"[:100] if folder else kind
