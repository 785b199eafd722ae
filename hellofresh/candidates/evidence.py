"""The queries of a corpus as candidates of a task about evidence."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from hellofresh.candidates.funnel import Drop, Funnel
from hellofresh.candidates.rows import Collection, SourceFile
from hellofresh.editions import ALL_ROWS
from hellofresh.files import canonical_json
from hellofresh.retrieval.corpora import RetrievalCorpus
from hellofresh.samples import Candidate, Label
from hellofresh.tasks import EvidenceQuery, Task

__all__ = ["evidence_candidates"]


def evidence_candidates(corpus: RetrievalCorpus, split: str, task: Task, published: date) -> Collection:
    """The queries of a split, with their judgements.

    Args:
        corpus: with the queries.
        split: which of them.
        task: a task about evidence.
        published: the day from which the judgements have been public; it dates the queries too.

    Raises:
        UsageError: if the corpus has no such split.
    """
    queries, everything, qrels = corpus.queries(split), corpus.queries(), corpus.qrels()
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
        label = Label(name, 0, {"relevance": canonical_json(dict(qrels[query.id]))})
        candidates.append(Candidate(sample, label))
    others = Drop("other-split", f"queries of other splits than {split}", len(everything) - len(queries))
    return Collection(
        candidates=candidates,
        funnel=Funnel("queries", len(everything), (others,), Funnel.count_kept(candidates)),
        parameters={"corpus": corpus.name, "corpus_sha256": corpus.manifest.sha256, "split": split},
        sources=[
            SourceFile(name, (corpus.folder / name).stat().st_size, sha256)
            for name, sha256 in corpus.manifest.files.items()
        ],
    )
