"""The corpora that published queries are searched in: as they are where their licences let them be passed on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, open_corpus
from hellofresh.releases.publish._parts import PublishedPart
from hellofresh.releases.publish._tables import Column
from hellofresh.tasks.outputs import Ranking

__all__ = ["CORPUS_COLUMNS", "SearchedCorpus", "licences_in", "searched_corpora", "searched_corpus"]

CORPUS_COLUMNS = (
    Column("id", "string"), Column("title", "string"), Column("text", "string"), Column("date", "date32"),
    Column("source", "string"),
)  # fmt: skip
_PASSED_ON = {"Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "MIT", "ODC-By-1.0"}


@dataclass(frozen=True, slots=True)
class SearchedCorpus:
    """A corpus that queries of a publication name.

    Attributes:
        name, sha256: as the queries name it: another content is another corpus.
        corpus: None where it is not at hand, or only another content of that name.
    """

    name: str
    sha256: str
    corpus: RetrievalCorpus | None

    @property
    def licences(self) -> tuple[str, ...]:
        """The licences of its texts; none where it is not at hand."""
        return () if self.corpus is None else tuple(licences_in(self.corpus.manifest.license))

    @property
    def is_published(self) -> bool:
        """Whether it is at hand, and each of its licences lets anybody pass it on."""
        return bool(self.licences) and set(self.licences) <= _PASSED_ON

    @property
    def config(self) -> str:
        """Name of its configuration; two contents of one name have two."""
        return f"corpus-{self.name}-{self.sha256[:8]}"

    @property
    def table(self) -> PurePosixPath:
        """Where its documents are in a publication."""
        return PurePosixPath("data", self.config, "documents.parquet")


def licences_in(phrase: str) -> list[str]:
    """The licences that a phrase such as `CC-BY-4.0 AND MIT; CC0-1.0` names."""
    return [name.strip() for name in re.split(r";| AND ", phrase)]


def searched_corpora(workspace: Workspace, parts: Iterable[PublishedPart]) -> list[SearchedCorpus]:
    """The corpora that the parts' queries name, in order of their names."""
    named = {
        (str(row["corpus"]), str(row["corpus_sha256"]))
        for part in parts
        if part.task.output is Ranking
        for row in read_jsonl(part.folder / "samples.jsonl")
    }
    return [searched_corpus(workspace, name, sha256) for name, sha256 in sorted(named)]


def searched_corpus(workspace: Workspace, name: str, sha256: str) -> SearchedCorpus:
    """A corpus that queries name."""
    try:
        corpus = open_corpus(workspace, name)
    except HelloFreshError:
        return SearchedCorpus(name, sha256, None)
    same = (corpus.manifest.name, corpus.manifest.sha256) == (name, sha256)
    return SearchedCorpus(name, sha256, corpus if same else None)
