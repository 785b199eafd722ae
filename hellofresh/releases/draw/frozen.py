"""Make a frozen edition from a data set: all rows, in their original class balance, with labels public at once.

It has no quarter, calendar, escrow or balancing. A version is never rewritten: its manifest has a hash of its content,
and other content needs another version. The queries of a corpus can form one too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from itertools import pairwise
from pathlib import Path

from hellofresh import __version__
from hellofresh.core.data_sets import DatasetFacts
from hellofresh.core.editions import ALL_ROWS, Frozen
from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import canonical_json, sha256_text, write_jsonl
from hellofresh.core.net.lock import locked
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus
from hellofresh.evidence.retrieval.documents import Query
from hellofresh.releases.candidates import Collection, CollectionFacts, Drop, Funnel, SourceFile
from hellofresh.releases.life.manifest import (
    DATASET,
    FORMAT,
    MANIFEST,
    Manifest,
    file_entry,
    read_manifest,
    write_manifest,
)
from hellofresh.tasks import EvidenceQuery, Task
from hellofresh.tasks.samples import Candidate, Label, to_json


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """The source and licence of a data set.

    Attributes:
        name: its authors' name for it.
        address: where they publish it.
        published: the day from which its labels have been public.
        licence: SPDX name, or a phrase with the terms.
        texts: whether its texts may be redistributed; if not, the release holds ids and hashes.
    """

    name: str
    address: str
    published: date
    licence: str
    texts: bool = True


@dataclass(frozen=True, slots=True)
class FrozenRelease:
    """The result of freezing: samples by label, and whether the same content existed already (`skipped`)."""

    edition: Frozen
    task: str
    folder: Path
    samples: int
    labels: tuple[int, ...]
    skipped: bool


def freeze(
    workspace: Workspace, edition: Frozen, task: Task, found: Collection, source: DatasetSource
) -> FrozenRelease:
    """Write a version of a data set as a release: samples, labels and manifest, all public at once.

    Samples get the edition's name and its only period. Freezing the same content again changes nothing, except that
    withheld texts are filled in on this machine.

    Args:
        workspace: where it is written.
        edition: name and version.
        task: the task of the samples.
        found: all rows of the data set, in any order, with the account of how they were read.

    Raises:
        ReleaseError: if the version exists with other content, a sample is of another task or duplicated, a label is
            not one of the task's classes, or texts must be withheld and the task has no form without texts.
        WorkspaceError: if another process freezes the same version, or files cannot be written.
    """
    rows = _rows(edition, task, found.candidates)
    content = _Content.of(task, rows, withheld=not source.texts)
    folder = workspace.release(edition, task.name)
    lock = workspace.root / "locks" / "freeze" / str(edition) / f"{task.name}.lock"
    with locked(lock, what=f"freezing {task.name} {edition}"):
        skipped = (folder / MANIFEST).is_file()
        if skipped:
            _check_same(folder, edition, task, content)
        else:
            _write(folder, _manifest(edition, task, found, source, content), content)
        if not source.texts:  # the private copy keeps the texts of samples that were not taken down
            gone = {item.id for item in read_manifest(folder).takedowns}
            kept = (to_json(item.sample) for item in rows if item.sample.id not in gone)
            write_jsonl(workspace.private(edition, task.name) / "samples.jsonl", kept, mode=0o600)
    return FrozenRelease(edition, task.name, folder, len(rows), content.counts, skipped)


def _rows(edition: Frozen, task: Task, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates as the edition's samples, sorted by id; raises ReleaseError on an invalid one."""
    if not candidates:
        raise _refused(edition, task, "no samples", "at least one", "empty-release")
    rows = [
        replace(item, sample=replace(item.sample, edition=str(edition), period=ALL_ROWS))
        for item in sorted(candidates, key=lambda item: item.sample.id)
    ]
    for before, after in pairwise(rows):
        if before.sample.id == after.sample.id:
            raise _refused(edition, task, f"sample {after.sample.id} appears twice", "ids that differ", "duplicate-id")
    for item in rows:
        _check_row(edition, task, item)
    return rows


def _check_row(edition: Frozen, task: Task, item: Candidate) -> None:
    sample, label = item.sample, item.label
    if not isinstance(sample, task.sample_type) or sample.task != task.name:
        raise _refused(edition, task, f"{sample.id} is a sample of {sample.task}", f"one of {task.name}", "bad-sample")
    if not sample.id.startswith(task.id_prefix) or label.id != sample.id:
        what = f"sample {sample.id} with the label of {label.id}"
        raise _refused(edition, task, what, f"one id for both that begins with {task.id_prefix}", "bad-sample")
    if task.classes and not 0 <= label.label < len(task.classes):
        classes = ", ".join(f"{number} ({name})" for number, name in enumerate(task.classes))
        raise _refused(edition, task, f"{sample.id} has the label {label.label}", f"one of {classes}", "bad-label")


def _refused(edition: Frozen, task: Task, what: str, expected: str, code: str) -> ReleaseError:
    return ReleaseError(what, where=f"{task.name} {edition}", expected=expected, code=code)


@dataclass(frozen=True, slots=True)
class _Content:
    """The published content: the lines of both files, and the number of samples by label."""

    samples: Sequence[dict[str, object]]
    labels: Sequence[dict[str, object]]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, task: Task, rows: Sequence[Candidate], *, withheld: bool) -> _Content:
        """The content of rows sorted by id; raises ReleaseError if the task has no form without texts."""
        if withheld and task.public_type is None:
            raise ReleaseError(
                f"texts of {task.name} are to be withheld",
                where=f"the task {task.name}",
                expected="a form of its samples without texts (Task.public_type)",
                code="no-public-form",
            )
        public = [task.public(item.sample) if withheld else item.sample for item in rows]
        labels: list[dict[str, object]] = [
            {"id": item.label.id, "label": item.label.label, **item.label.facts} for item in rows
        ]
        found = Counter(item.label.label for item in rows)
        counts = tuple(found[number] for number in range(len(task.classes)))
        return cls([to_json(sample) for sample in public], labels, counts)

    @property
    def sha256(self) -> str:
        """Hash that identifies the content."""
        files = {"labels": self.labels, "samples": self.samples}
        texts = {name: "".join(f"{canonical_json(row)}\n" for row in rows) for name, rows in files.items()}
        return sha256_text(canonical_json({name: sha256_text(text) for name, text in texts.items()}))


def _check_same(folder: Path, edition: Frozen, task: Task, content: _Content) -> None:
    """Refuse content that differs from that of the existing version."""
    dataset = read_manifest(folder).dataset
    if dataset is None or dataset.content != content.sha256:
        has = "no content hash" if dataset is None else f"the content {dataset.content[:12]}"
        raise ReleaseError(
            f"{task.name} {edition} exists with {has}, but this is {content.sha256[:12]}",
            where=str(folder),
            expected="the same samples and labels: a version is never rewritten",
            fix=f"Give the new content a version of its own, such as {edition.name}@{len(content.samples)}.",
            code="other-content",
        )


def _write(folder: Path, manifest: Manifest, content: _Content) -> None:
    """Write the files, the manifest last, so that an interrupted write is repeated."""
    samples, labels = folder / "samples.jsonl", folder / "labels.jsonl"
    files = [(samples, write_jsonl(samples, content.samples)), (labels, write_jsonl(labels, content.labels))]
    write_manifest(folder, manifest.amended(files=tuple(file_entry(folder, path, rows) for path, rows in files)))


def _manifest(edition: Frozen, task: Task, found: Collection, source: DatasetSource, content: _Content) -> Manifest:
    """The first version of the manifest, without its files."""
    return Manifest(
        format=FORMAT,
        version=1,
        task=task.name,
        edition=str(edition),
        code=f"hellofresh {__version__}",
        source=DATASET,
        collection=CollectionFacts(
            sources=tuple(found.sources),
            parameters=to_json(found.parameters),
            funnel=found.funnel,
            warnings=tuple(found.warnings),
        ),
        texts="included" if source.texts else "withheld",
        revealed=True,
        dataset=DatasetFacts(
            name=source.name,
            address=source.address,
            published=source.published.isoformat(),
            licence=source.licence,
            classes=task.classes,
            labels=content.counts,
            content=content.sha256,
        ),
        files=(),
    )


def evidence_candidates(corpus: RetrievalCorpus, split: str, task: Task, published: date) -> Collection:
    """The queries of a corpus's split, with their relevance judgements, as candidates of an evidence task.

    Args:
        published: the day from which the judgements have been public, which is also the date of the queries.

    Raises:
        UsageError: if the corpus has no such split.
    """
    queries = corpus.queries(split)
    others = Drop("other-split", f"queries of other splits than {split}", len(corpus.queries()) - len(queries))
    return _of_corpus(corpus, queries, task, published, unit="queries", parameters={"split": split}, drops=(others,))


def claim_candidates(
    corpus: RetrievalCorpus, claims: Sequence[Query], task: Task, published: date, source: SourceFile
) -> Collection:
    """Claims from a file as candidates of an evidence task; the corpus may be of another origin.

    Args:
        published: the date of the claims.
        source: the file of the claims.
    """
    parameters = {"claims_sha256": source.sha256}
    return _of_corpus(corpus, claims, task, published, unit="claims", parameters=parameters, sources=(source,))


def _of_corpus(
    corpus: RetrievalCorpus,
    queries: Sequence[Query],
    task: Task,
    published: date,
    *,
    unit: str,
    parameters: Mapping[str, object],
    drops: tuple[Drop, ...] = (),
    sources: Sequence[SourceFile] = (),
) -> Collection:
    qrels, candidates = corpus.qrels(), []
    for query in queries:
        name = f"{task.id_prefix}{query.id}"
        sample = EvidenceQuery(
            id=name,
            task=task.name,
            edition="",
            period=ALL_ROWS,
            date=datetime.combine(published, time(), UTC),
            group=query.group,
            license=corpus.manifest.license,
            query=query.text,
            corpus=corpus.name,
            corpus_sha256=corpus.manifest.sha256,
        )
        label = Label(name, 0, {"relevance": canonical_json(dict(qrels.get(query.id, {})))})
        candidates.append(Candidate(sample, label))
    rows = len(queries) + sum(drop.count for drop in drops)
    own = [
        SourceFile(name, (corpus.folder / name).stat().st_size, sha256)
        for name, sha256 in corpus.manifest.files.items()
    ]
    known = {"corpus": corpus.name, "corpus_sha256": corpus.manifest.sha256}
    return Collection(
        candidates=candidates,
        funnel=Funnel(unit, rows, drops, Funnel.count_kept(candidates)),
        parameters={**known, **parameters},
        sources=[*own, *sources],
    )
