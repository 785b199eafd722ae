"""The queries of a corpus as candidates of a task about evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time

from hellofresh.core.editions import ALL_ROWS
from hellofresh.core.files import canonical_json
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.releases.candidates.funnel import Drop, Funnel
from hellofresh.releases.candidates.rows import Collection, SourceFile
from hellofresh.tasks import EvidenceQuery, Task
from hellofresh.tasks.samples import Candidate, Label


def evidence_candidates(corpus: RetrievalCorpus, split: str, task: Task, published: date) -> Collection:
    """The queries of a split, with their judgements.

    Args:
        corpus: with the queries.
        task: a task about evidence.
        published: the day from which the judgements have been public; it dates the queries too.

    Raises:
        UsageError: if the corpus has no such split.
    """
    queries, everything = corpus.queries(split), corpus.queries()
    candidates = _candidates(corpus, queries, task, published)
    others = Drop("other-split", f"queries of other splits than {split}", len(everything) - len(queries))
    funnel = Funnel("queries", len(everything), (others,), Funnel.count_kept(candidates))
    return _collection(corpus, candidates, funnel, {"split": split}, [])


def claim_candidates(
    corpus: RetrievalCorpus, claims: Sequence[Query], task: Task, published: date, source: SourceFile
) -> Collection:
    """Claims from a file, to be looked up in a corpus that need not have been made for them.

    Args:
        corpus: what is searched.
        claims: what is asked about.
        task: a task about evidence.
        published: dates the claims.
        source: their file.
    """
    candidates = _candidates(corpus, claims, task, published)
    funnel = Funnel("claims", len(claims), (), Funnel.count_kept(candidates))
    return _collection(corpus, candidates, funnel, {"claims_sha256": source.sha256}, [source])


def _candidates(corpus: RetrievalCorpus, queries: Sequence[Query], task: Task, published: date) -> list[Candidate]:
    qrels = corpus.qrels()
    moment = datetime.combine(published, time(), UTC)
    candidates = []
    for query in queries:
        name = f"{task.id_prefix}{query.id}"
        sample = EvidenceQuery(
            id=name,
            task=task.name,
            edition="",
            period=ALL_ROWS,
            date=moment,
            group=query.group,
            license=corpus.manifest.license,
            query=query.text,
            corpus=corpus.name,
            corpus_sha256=corpus.manifest.sha256,
        )
        label = Label(name, 0, {"relevance": canonical_json(dict(qrels.get(query.id, {})))})
        candidates.append(Candidate(sample, label))
    return candidates


def _collection(
    corpus: RetrievalCorpus,
    candidates: Sequence[Candidate],
    funnel: Funnel,
    parameters: Mapping[str, object],
    sources: Sequence[SourceFile],
) -> Collection:
    own = [
        SourceFile(name, (corpus.folder / name).stat().st_size, sha256)
        for name, sha256 in corpus.manifest.files.items()
    ]
    known = {"corpus": corpus.name, "corpus_sha256": corpus.manifest.sha256}
    return Collection(
        candidates=candidates, funnel=funnel, parameters={**known, **parameters}, sources=[*own, *sources]
    )
