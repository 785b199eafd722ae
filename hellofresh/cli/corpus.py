"""`hellofresh corpus`: corpora for retrieval, their contents, and comparisons of retrievers on them."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from collectors.labelled import read_claims
from collectors.wikipedia.corpus import LICENSE, DumpDocuments
from hellofresh import __version__
from hellofresh.cli._output import CommandOutput, interval
from hellofresh.config import Settings
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.executors import Pool, asked_pool, completed
from hellofresh.core.files import canonical_json, sha256_file, sha256_text, write_bytes, write_json
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.base import Retriever
from hellofresh.evidence.retrieval.comparison import CAPPED, RetrieverComparison, compare_retrievers
from hellofresh.evidence.retrieval.corpora import (
    IGNORE_IDENTICAL,
    CorpusContent,
    CorpusManifest,
    PoolRule,
    RetrievalCorpus,
    check_corpus,
    list_corpora,
    open_corpus,
    pool_documents,
    write_corpus,
)
from hellofresh.evidence.retrieval.documents import read_qrels
from hellofresh.evidence.retrieval.rerank import FIRST_STAGE
from hellofresh.evidence.retrieval.retrievers import IndexBuild, open_retriever
from hellofresh.evidence.retrieval.sources import open_source, write_beir
from hellofresh.releases.candidates import SourceFile
from hellofresh.releases.draw.frozen import DatasetSource, claim_candidates, evidence_candidates, freeze
from hellofresh.tasks import EvidenceQuery, get_task
from hellofresh.tasks.outputs import Ranking

_FOUND = 10
_SHOWN = ("ndcg@1", "ndcg@3", "recall@3", "ndcg@5", "recall@5", "ndcg@10", "recall@20")


def import_corpus(options: argparse.Namespace, output: CommandOutput) -> int:
    """Import a corpus in one of the formats, or build one from a wiki's dump or other corpora."""
    workspace = Workspace.from_environment()
    if options.format not in {"wiki", "pool"} and len(options.sources) != 1:
        expected = "one, but for the formats wiki and pool"
        raise UsageError(f"{len(options.sources)} sources", expected=expected, code="bad-number")
    make = {"wiki": _of_dump, "pool": _of_corpora}.get(options.format, _of_source)
    content = make(options, workspace)
    folder = workspace.corpora / (options.name or content.source)
    with output.progress(f"import {folder.name}") as bar:
        manifest = write_corpus(
            folder, content, progress=lambda done: bar.line(f"import {folder.name}: {done:,} documents")
        )
    _print_manifest(manifest, folder, output)
    return 0


def _of_source(options: argparse.Namespace, _: Workspace) -> CorpusContent:
    source, own = open_source(options.format, Path(options.sources[0])), options.ignore_identical_ids
    judgements = list(source.judgements())
    others = [item for item in judgements if not (own and item.query == item.document)]

    def left_out() -> Mapping[str, Mapping[str, int]]:
        found = source.left_out()
        itself = {"document-is-the-query": len(judgements) - len(others)}
        return {**found, "judgements": {**found.get("judgements", {}), **itself}}

    return CorpusContent(
        source=source.name,
        license=source.license,
        documents=source.documents(),
        queries=list(source.queries()),
        judgements=others,
        left_out=left_out,
        parameters={IGNORE_IDENTICAL: True} if own else {},
        drop_invalid=options.drop_invalid or source.repeats,
        drop_duplicates=options.drop_invalid or source.repeats,
        keep_copies=options.keep_copies,
    )


def _of_corpora(options: argparse.Namespace, workspace: Workspace) -> CorpusContent:
    if options.name is None or options.name in options.sources:
        what = "a pool has no name" if options.name is None else "a corpus cannot be built from itself"
        raise UsageError(what, where=options.name or "", fix="Name it with --name.", code="same-corpus")
    base, *others = (open_corpus(workspace, name) for name in options.sources)
    rule = PoolRule(base, others, options.size)
    return CorpusContent(
        source="pool",
        license="; ".join(dict.fromkeys(corpus.manifest.license for corpus in (base, *others))),
        documents=pool_documents(rule),
        queries=base.queries(),
        judgements=read_qrels(base.folder / "qrels"),
        parameters=rule.parameters,
    )


def _of_dump(options: argparse.Namespace, _: Workspace) -> CorpusContent:

    if options.chunk < 0:
        raise UsageError(f"a chunk of {options.chunk} words", expected="0 or more", code="bad-number")
    dumps = [Path(path) for path in options.sources]
    documents = DumpDocuments(dumps, options.chunk)
    return CorpusContent(
        source="wiki",
        license=LICENSE,
        documents=documents,
        left_out=documents.left_out,
        parts=documents.paragraphs,
        parameters={"dumps": " ".join(path.name for path in dumps), "chunk_words": options.chunk},
        drop_invalid=True,
    )


def show(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    if options.name is None:
        corpora = list_corpora(workspace)
        output.result([corpus.manifest.model_dump() for corpus in corpora])
        rows = [_row(corpus.manifest) for corpus in corpora]
        output.table("Corpora", ("corpus", "source", "documents", "queries", "judgements", "content"), rows)
        return 0
    corpus = open_corpus(workspace, options.name)
    if options.check:
        check_corpus(corpus)
        output.result({"corpus": corpus.name, "sha256": corpus.manifest.sha256, "ok": True})
        output.text(f"{corpus.name}: {corpus.manifest.documents:,} documents, complete and unchanged")
    elif options.export is not None:
        write_beir(corpus, options.export)
        write_json(options.export / "ir-metadata.yml", _ir_metadata(corpus, {}))
        output.result({"corpus": corpus.name, "folder": str(options.export)})
        output.text(f"{corpus.name}: {options.export}")
    elif options.search is not None:
        found = completed(_open(corpus, ["bm25"], output)[0].retrieve(options.search, _FOUND))
        columns = ("rank", "document", "score", "title")
        rows = [(rank, name, at, corpus.document(name).title) for rank, (name, at) in enumerate(_pairs(found), start=1)]
        output.result([dict(zip(columns, row, strict=True)) for row in rows])
        output.table(f"{corpus.name} by bm25", columns, rows)
    elif options.id is not None:
        _print_one(corpus, options.id, output)
    else:
        _print_manifest(corpus.manifest, corpus.folder, output)
    return 0


def compare(options: argparse.Namespace, output: CommandOutput) -> int:
    """Compare retrievers, or only build their indexes."""
    corpus = open_corpus(Workspace.from_environment(), options.name)
    names = options.retrievers.split(",")
    pool = asked_pool(options.cluster, options.jobs)
    if options.index_only:
        _open(corpus, names, output, pool)
        output.result({"corpus": corpus.name, "retrievers": names})
        output.text(f"indexes: {corpus.folder / 'index'}")
        return 0
    if options.split is None:
        raise UsageError("no split is named", fix="Add --split S, such as --split dev.", code="unknown-split")
    corpus.queries(options.split)  # fails before any index is built
    retrievers = _open(corpus, names, output, pool)
    with output.progress(f"compare on {corpus.name}") as bar:
        found = compare_retrievers(corpus, options.split, retrievers, bar.line)
    if options.runs is not None:
        for retriever, one in zip(retrievers, found.retrievers, strict=True):
            stem = f"{corpus.name}.{options.split}.{one.name}"
            lines = [  # TREC's run format
                f"{query.id} Q0 {document} {rank} {score:.6f} {one.name}\n"
                for query, ranking in zip(found.queries, one.rankings, strict=True)
                for rank, (document, score) in enumerate(_pairs(ranking), start=1)
            ]
            write_bytes(options.runs / f"{stem}.run", "".join(lines).encode())
            ranked = [{"name": retriever.name, **retriever.parameters}]
            facts = {"tag": one.name, "method": {"automatic": True, "retrieval": ranked}}
            write_json(options.runs / f"{stem}.ir-metadata.yml", _ir_metadata(corpus, facts, options.split))
    output.result(_facts(found))
    _print_comparison(found, output)
    return 0


def freeze_split(options: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    corpus, task = open_corpus(workspace, options.name), get_task(options.task)
    if corpus.manifest.parameters.get(IGNORE_IDENTICAL):
        raise UsageError(
            "the corpus's queries are among its documents, and a run would find each query itself",
            where=f"corpus {corpus.name}",
            fix="Measure it with: hellofresh corpus compare",
            code="identical-ids",
        )
    if task.sample_type is not EvidenceQuery:
        raise UsageError(f"{task.name} does not ask about a corpus", expected="a retrieval task", code="other-output")
    # The version contains split (or file), size and pool: another pool is another edition.
    if options.claims is None:
        found = evidence_candidates(corpus, options.split, task, options.published)
        first, content = options.split.replace("_", "-"), corpus.manifest.sha256
    else:
        claims = read_claims(options.claims, options.columns or {}, options.only)
        source = SourceFile(options.claims.name, options.claims.stat().st_size, sha256_file(options.claims))
        found, first = claim_candidates(corpus, claims, task, options.published, source), "own"
        named = [corpus.manifest.sha256, source.sha256, options.columns or {}, options.only]
        content = sha256_text(canonical_json(named))
    edition = Frozen(task.name, f"{first}-{len(found.candidates)}-{content[:8]}")
    about = DatasetSource(task.title, "", options.published, corpus.manifest.license)
    made = freeze(workspace, edition, task, found, about)
    output.result({"edition": str(edition), "task": task.name, "samples": made.samples, "skipped": made.skipped})
    state = "unchanged" if made.skipped else "written"
    output.text(f"{edition}: {made.samples:,} queries, {state}")
    how = "bm25 --regime retrieve" if task.output is Ranking else "MODEL --regime evidence-response"
    output.text(f"next: hellofresh evaluate --edition {edition} --task {task.name} --model {how}")
    return 0


def _open(
    corpus: RetrievalCorpus,
    names: Sequence[str],
    output: CommandOutput,
    pool: Pool | None = None,
) -> list[Retriever]:
    with output.progress(f"open {corpus.name}") as bar:
        return [open_retriever(name, corpus, IndexBuild(pool, bar.line)) for name in names]


def _pairs(found: Ranking) -> Iterator[tuple[str, float]]:
    return zip(found.documents, found.scores, strict=True)


def _row(manifest: CorpusManifest) -> tuple[object, ...]:
    queries = ", ".join(f"{count:,} {split}" for split, count in manifest.queries.items()) or "-"
    return (manifest.name, manifest.source, manifest.documents, queries, manifest.judgements, manifest.sha256[:12])


def _print_manifest(manifest: CorpusManifest, folder: Path, output: CommandOutput) -> None:
    output.result(manifest.model_dump())
    output.table("Corpus", ("corpus", "source", "documents", "queries", "judgements", "content"), [_row(manifest)])
    for ledger in manifest.ledgers:
        output.text(str(ledger))
    output.text(f"{manifest.undated:,} documents without a full date")
    output.text(f"licence of its texts: {manifest.license}")
    output.text(f"files: {folder}")


def _print_one(corpus: RetrievalCorpus, name: str, output: CommandOutput) -> None:
    """Print a document, or a query with its relevant documents."""
    query = next((query for query in corpus.queries() if query.id == name), None)
    shown = [name] if query is None else [key for key, value in corpus.qrels()[name].items() if value > 0]
    if query is not None:
        output.result({"query": query.model_dump(), "relevant": dict(corpus.qrels()[name])})
        output.text(f"{query.id} ({query.split}): {query.text}\n")
    elif name not in corpus.rows:
        raise UsageError(f"no document and no query {name!r}", where=f"corpus {corpus.name}", code="unknown-document")
    for document in map(corpus.document, shown):
        day = None if document.date is None else document.date.isoformat()
        output.result({"id": document.id, "title": document.title, "text": document.text, "date": day})
        output.text(f"{document.id}  {day or ''}\n{document.content}\n")


def _ir_metadata(corpus: RetrievalCorpus, more: Mapping[str, object], split: str = "") -> dict[str, object]:
    """Metadata of a run or collection by https://www.ir-metadata.org; JSON, which is also YAML."""
    collection = {"name": corpus.name, "sha256": corpus.manifest.sha256, "license": corpus.manifest.license}
    collection |= {"split": split} if split else {}
    system = {"kernel": platform.release(), "distribution": platform.system()}
    hardware = {"cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()}}
    software = {"libraries": {"python": [f"python=={platform.python_version()}", f"hellofresh=={__version__}"]}}
    return {
        "platform": {"hardware": hardware, "operating system": system, "software": software},
        "implementation": {"source": {"lang": "python", "repository": Settings.load().site.repository}},
        "data": {"test collection": collection},
        **more,
    }


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
                for metric in found.metrics
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
    shown = [*_SHOWN, *(metric.name for metric in found.metrics if metric in CAPPED)]
    rows = []
    for one in found.retrievers:
        limits = {name: one.intervals[name] for name in shown}
        cells = (f"{one.mean(name):.3f} [{at.low:.2f}, {at.high:.2f}]" for name, at in limits.items())
        rows.append((one.name, *cells))
    output.table(title, ("retriever", *shown), rows)
    for name in ("ndcg@1", "ndcg@5", "ndcg@10"):
        steps = [
            (
                f"{two.name} - {one.name}",
                step.difference,
                interval(step.interval.low, step.interval.high),
                step.adjusted,
            )
            for (one, two), step in zip(pairwise(found.retrievers), found.steps[name], strict=True)
        ]
        output.table(f"Steps in {name}, adjusted together", ("step", "difference", "95% interval", "p"), steps)
    for one in found.retrievers:
        if "+" in one.name:
            ceiling = one.mean(f"recall@{FIRST_STAGE}")
            output.text(f"{one.name}: recall@{FIRST_STAGE} of its first stage, its upper limit, is {ceiling:.3f}")
