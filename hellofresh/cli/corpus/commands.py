"""`hellofresh corpus`: corpora for retrieval, what is in them, and how well retrievers find it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from collectors.datasets.own_claims import read_claims
from hellofresh.cli._output import CommandOutput
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.executors import cluster_pool, process_pool
from hellofresh.core.files import canonical_json, sha256_file, sha256_text, write_bytes
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.comparison import ComparedRetriever, RetrieverComparison, compare_retrievers
from hellofresh.evidence.retrieval.corpora import (
    CorpusManifest,
    RetrievalCorpus,
    check_corpus,
    list_corpora,
    open_corpus,
    write_corpus,
)
from hellofresh.evidence.retrieval.documents import CorpusDocument
from hellofresh.evidence.retrieval.judgements import read_qrels
from hellofresh.evidence.retrieval.pools import PoolRule, pool_documents
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE
from hellofresh.evidence.retrieval.retrievers import Opening, open_retriever
from hellofresh.evidence.retrieval.sources import open_source
from hellofresh.releases.candidates.evidence import claim_candidates, evidence_candidates
from hellofresh.releases.candidates.rows import Collection, SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.stats import Interval
from hellofresh.stats.retrieval import METRICS
from hellofresh.tasks import EvidenceQuery, Task, get_task
from hellofresh.tasks.outputs import Ranking

__all__ = ["build", "check", "compare", "freeze_split", "import_corpus", "index", "search", "show"]

_SHOWN = ("ndcg@1", "ndcg@3", "recall@3", "ndcg@5", "recall@5", "ndcg@10", "recall@20")


def import_corpus(options: argparse.Namespace, output: CommandOutput) -> int:
    source = open_source(options.format, options.path)
    folder = Workspace.from_environment().corpora / (options.name or source.name)
    with output.progress(f"import {folder.name}") as bar:
        manifest = write_corpus(
            folder,
            source=source.name,
            license=source.license,
            documents=source.documents(),
            queries=list(source.queries()),
            judgements=source.judgements(),
            drop_invalid=options.drop_invalid or source.repeats,
            drop_duplicates=options.drop_invalid or source.repeats,
            keep_copies=options.keep_copies,
            progress=lambda done: bar.line(f"import {folder.name}: {done:,} documents"),
        )
    _print_manifest(manifest, folder, output)
    return 0


def build(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if options.dump:
        return _build_from_dump(options, workspace.corpora / options.name, output)
    if options.name in {options.base, *options.add}:
        raise UsageError("a corpus cannot be built from itself", where=options.name, code="same-corpus")
    base, others = open_corpus(workspace, options.base), [open_corpus(workspace, name) for name in options.add]
    rule = PoolRule(base, others, options.size, options.seed)
    folder = workspace.corpora / options.name
    with output.progress(f"build {options.name}") as bar:
        manifest = write_corpus(
            folder,
            source="pool",
            license="; ".join(dict.fromkeys(corpus.manifest.license for corpus in (base, *others))),
            documents=pool_documents(rule),
            queries=base.queries(),
            judgements=read_qrels(base.folder / "qrels"),
            parameters=rule.parameters,
            progress=lambda done: bar.line(f"build {options.name}: {done:,} documents"),
        )
    _print_manifest(manifest, folder, output)
    return 0


def _build_from_dump(options: argparse.Namespace, folder: Path, output: CommandOutput) -> int:
    from collectors.wikipedia.corpus import LICENSE, dump_documents

    if options.chunk < 0:
        raise UsageError(f"a chunk of {options.chunk} words", expected="0 or more", code="bad-number")
    with output.progress(f"build {folder.name}") as bar:
        manifest = write_corpus(
            folder,
            source="wiki",
            license=LICENSE,
            documents=dump_documents(options.dump, options.chunk),
            parameters={"dumps": " ".join(path.name for path in options.dump), "chunk_words": options.chunk},
            drop_invalid=True,
            progress=lambda done: bar.line(f"build {folder.name}: {done:,} documents"),
        )
    _print_manifest(manifest, folder, output)
    return 0


def index(options: argparse.Namespace, output: CommandOutput) -> int:
    corpus = open_corpus(Workspace.from_environment(), options.name)
    pool = cluster_pool(options.cluster) if options.cluster else process_pool(max(1, options.jobs))
    with output.progress(f"index {corpus.name}") as bar:
        for name in options.retrievers.split(","):
            open_retriever(name, corpus, Opening(pool, bar.line))
    output.result({"corpus": corpus.name, "retrievers": options.retrievers.split(",")})
    output.text(f"indexes: {corpus.folder / 'index'}")
    return 0


def check(options: argparse.Namespace, output: CommandOutput) -> int:
    corpus = open_corpus(Workspace.from_environment(), options.name)
    check_corpus(corpus)
    output.result({"corpus": corpus.name, "sha256": corpus.manifest.sha256, "ok": True})
    output.text(f"{corpus.name}: {corpus.manifest.documents:,} documents, unchanged and whole")
    return 0


def show(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if options.name is None:
        corpora = list_corpora(workspace)
        output.result([corpus.manifest.model_dump() for corpus in corpora])
        rows = [_row(corpus.manifest) for corpus in corpora]
        output.table("Corpora", ("corpus", "source", "documents", "queries", "judgements", "content"), rows)
        return 0
    corpus = open_corpus(workspace, options.name)
    if options.document is not None:
        _print_documents([_document(corpus, options.document)], output)
    elif options.query is not None:
        _print_query(corpus, options.query, output)
    else:
        _print_manifest(corpus.manifest, corpus.folder, output)
    return 0


def search(options: argparse.Namespace, output: CommandOutput) -> int:
    corpus = open_corpus(Workspace.from_environment(), options.name)
    retriever = _open(corpus, [options.retriever], output)[0]
    found = asyncio.run(retriever.retrieve(options.text, options.count))
    titles = {name: _document(corpus, name).title for name in found.documents}
    rows = [(rank, name, score, titles[name]) for rank, (name, score) in enumerate(_pairs(found), start=1)]
    output.result([dict(zip(("rank", "document", "score", "title"), row, strict=True)) for row in rows])
    output.table(f"{corpus.name} by {retriever.name}", ("rank", "document", "score", "title"), rows)
    return 0


def compare(options: argparse.Namespace, output: CommandOutput) -> int:
    corpus = open_corpus(Workspace.from_environment(), options.name)
    corpus.queries(options.split)  # before any index is built
    retrievers = _open(corpus, options.retrievers.split(","), output)
    with output.progress(f"compare on {corpus.name}") as bar:
        found = compare_retrievers(corpus, options.split, retrievers, bar.line)
    if options.runs is not None:
        for one in found.retrievers:
            write_bytes(options.runs / f"{corpus.name}.{options.split}.{one.name}.run", _run_form(found, one).encode())
    output.result(_facts(found))
    _print_comparison(found, output)
    return 0


def freeze_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    corpus, task = open_corpus(workspace, options.name), get_task(options.task)
    if task.sample_type is not EvidenceQuery:
        raise UsageError(f"{task.name} does not ask about a corpus", expected="a retrieval task", code="other-output")
    # The version tells split (or file), size and pool: another pool is another edition.
    if options.claims is None:
        found = evidence_candidates(corpus, options.split, task, options.published)
        first, content = options.split.replace("_", "-"), corpus.manifest.sha256
    else:
        found, content = _own_claims(options, corpus, task)
        first = "own"
    edition = Frozen(task.name, f"{first}-{len(found.candidates)}-{content[:8]}")
    source = DatasetSource(task.title, options.home, options.published, corpus.manifest.license)
    made = freeze(workspace, edition, task, found, source)
    output.result({"edition": str(edition), "task": task.name, "samples": made.samples, "skipped": made.skipped})
    state = "unchanged" if made.skipped else "written"
    output.text(f"{edition}: {made.samples:,} queries, {state}")
    how = "bm25 --regime retrieve" if task.output is Ranking else "MODEL --regime evidence-response"
    output.text(f"next: hellofresh evaluate --edition {edition} --task {task.name} --model {how}")
    return 0


def _own_claims(options: argparse.Namespace, corpus: RetrievalCorpus, task: Task) -> tuple[Collection, str]:
    """Claims of a file, and the hash that names them with the corpus."""
    columns = options.columns or {}
    claims = read_claims(options.claims, columns, options.only)
    source = SourceFile(options.claims.name, options.claims.stat().st_size, sha256_file(options.claims))
    found = claim_candidates(corpus, claims, task, options.published, source)
    return found, sha256_text(canonical_json([corpus.manifest.sha256, source.sha256, columns, options.only]))


def _open(corpus: RetrievalCorpus, names: Sequence[str], output: CommandOutput) -> list[Retriever]:
    with output.progress(f"open {corpus.name}") as bar:
        return [open_retriever(name, corpus, Opening(progress=bar.line)) for name in names]


def _pairs(found: Ranking) -> Iterator[tuple[str, float]]:
    return zip(found.documents, found.scores, strict=True)


def _row(manifest: CorpusManifest) -> tuple[object, ...]:
    queries = ", ".join(f"{count:,} {split}" for split, count in manifest.queries.items()) or "-"
    return (manifest.name, manifest.source, manifest.documents, queries, manifest.judgements, manifest.sha256[:12])


def _print_manifest(manifest: CorpusManifest, folder: Path, output: CommandOutput) -> None:
    output.result(manifest.model_dump())
    output.table("Corpus", ("corpus", "source", "documents", "queries", "judgements", "content"), [_row(manifest)])
    counts = [(name.replace("_", " "), count) for name, count in manifest.counts.items()]
    output.table("Documents in the source", ("", "documents"), counts)
    output.text(f"licence of its texts: {manifest.license}")
    output.text(f"files: {folder}")


def _document(corpus: RetrievalCorpus, name: str) -> CorpusDocument:
    row = corpus.rows.get(name)
    if row is None:
        raise UsageError(f"no document {name!r}", where=f"corpus {corpus.name}", code="unknown-document")
    return next(corpus.documents(row, row + 1))


def _print_documents(documents: Sequence[CorpusDocument], output: CommandOutput) -> None:
    for document in documents:
        day = None if document.date is None else document.date.isoformat()
        output.result({"id": document.id, "title": document.title, "text": document.text, "date": day})
        output.text(f"{document.id}  {day or ''}\n{document.content}\n")


def _print_query(corpus: RetrievalCorpus, name: str, output: CommandOutput) -> None:
    found = next((query for query in corpus.queries() if query.id == name), None)
    if found is None:
        raise UsageError(f"no query {name!r}", where=f"corpus {corpus.name}", code="unknown-query")
    output.result({"query": found.model_dump(), "relevant": dict(corpus.qrels()[name])})
    output.text(f"{found.id} ({found.split}): {found.text}\n")
    relevant = [document for document, value in corpus.qrels()[name].items() if value > 0]
    _print_documents([_document(corpus, document) for document in relevant], output)


def _run_form(found: RetrieverComparison, one: ComparedRetriever) -> str:
    """TREC's run form: query, Q0, document, rank, score, name."""
    lines = []
    for query, ranking in zip(found.queries, one.rankings, strict=True):
        for rank, (document, score) in enumerate(_pairs(ranking), start=1):
            lines.append(f"{query.id} Q0 {document} {rank} {score:.6f} {one.name}\n")
    return "".join(lines)


def _facts(found: RetrieverComparison) -> object:
    return {
        "corpus": found.corpus,
        "split": found.split,
        "queries": len(found.queries),
        "groups": found.groups,
        "retrievers": {
            one.name: {
                metric.name: {
                    "value": one.mean(metric.name),
                    "low": one.intervals[metric.name].low,
                    "high": one.intervals[metric.name].high,
                }
                for metric in METRICS
            }
            for one in found.retrievers
        },
        "steps": {
            name: [
                {"difference": step.difference, "low": step.interval.low, "high": step.interval.high, "p": step.p_value}
                for step in steps
            ]
            for name, steps in found.steps.items()
        },
    }


def _print_comparison(found: RetrieverComparison, output: CommandOutput) -> None:
    title = f"{found.corpus}, {found.split}: {len(found.queries):,} queries in {found.groups:,} groups"
    rows = [(one.name, *(_value(one, name) for name in _SHOWN)) for one in found.retrievers]
    output.table(title, ("retriever", *_SHOWN), rows)
    for name in ("ndcg@1", "ndcg@5", "ndcg@10"):
        steps = [
            (f"{later.name} - {earlier.name}", step.difference, _limits(step.interval), step.adjusted)
            for (earlier, later), step in zip(pairwise(found.retrievers), found.steps[name], strict=True)
        ]
        output.table(f"Steps in {name}, adjusted together", ("step", "difference", "95% interval", "p"), steps)
    for one in found.retrievers:
        if "+" in one.name:
            ceiling = one.mean(f"recall@{FIRST_STAGE}")
            output.text(f"{one.name}: recall@{FIRST_STAGE} of its first stage, its ceiling, is {ceiling:.3f}")


def _value(one: ComparedRetriever, metric: str) -> str:
    interval = one.intervals[metric]
    return f"{one.mean(metric):.3f} [{interval.low:.2f}, {interval.high:.2f}]"


def _limits(interval: Interval) -> str:
    return f"[{interval.low:.3f}, {interval.high:.3f}]"
