"""The parts of a publication: files in the manifests of opened quarters, tables made from them, and searched corpora.

A table has the same columns for every quarter of a task, with or without texts. Documents are published if their
licences permit redistribution.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal, Union, get_args, get_origin, get_type_hints

import polars as pl
from polars.datatypes import DataTypeClass

from hellofresh.core.editions import Edition, split_name
from hellofresh.core.errors import HelloFreshError, ReleaseError
from hellofresh.core.files import read_jsonl, sha256_file
from hellofresh.core.folders import ListedFile
from hellofresh.core.parquet import write_parquet
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.retrieval.corpora import RetrievalCorpus, open_corpus
from hellofresh.releases.draw.prospective import OUTCOMES
from hellofresh.releases.exposure import places
from hellofresh.releases.life.manifest import MANIFEST, Manifest, calendar_of, read_manifest, read_version
from hellofresh.releases.life.phases import Phase, phase_of
from hellofresh.tasks import Task, get_task, relevance_of
from hellofresh.tasks.outputs import Ranking
from hellofresh.tasks.samples import PROSPECTIVE

Kind = pl.DataType | DataTypeClass
Columns = Mapping[str, Kind]
"""The columns of a table; dates and times of samples are texts."""
_KINDS: Mapping[object, Kind] = {str: pl.String(), datetime: pl.String(), int: pl.Int64()}
_JUDGED = pl.List(pl.Struct({"document": pl.String(), "relevance": pl.Int64()}))
ACCOUNT = "publication.json"
"""File that lists the files of a publication."""
ABOUT_CORPUS = "corpus.json"
"""The manifest of a corpus, under a name by which no verifier takes it for that of a release."""
CORPUS_COLUMNS: Columns = {
    **dict.fromkeys(("id", "title", "text"), pl.String()),
    "date": pl.Date(),
    "source": pl.String(),
}
_PASSED_ON = {"Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "MIT", "ODC-By-1.0"}


def columns_of(task: Task) -> Columns:
    """The columns of a task's samples, the same with and without texts; columns that do not apply are empty."""
    whole = _kind(task.sample_type)
    both = whole if task.public_type is None else _united(whole, _kind(task.public_type))
    return dict(both) if isinstance(both, pl.Struct) else {}


def answer_columns(task: Task) -> Columns:
    """The columns added once labels are public: the label, or judged documents; none if responses are rated."""
    if task.classes:
        return {"label": pl.Int64()}
    return {"relevance": _JUDGED} if task.output is Ranking else {}


def _kind(hint: object) -> Kind:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(arg for arg in get_args(hint) if arg is not type(None))
    if get_origin(hint) is tuple:
        return pl.List(_kind(get_args(hint)[0]))
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return pl.Struct({item.name: _kind(hints[item.name]) for item in fields(hint)})
    return pl.String() if get_origin(hint) is Literal else _KINDS[hint]


def _united(one: Kind, two: Kind) -> Kind:
    """A type with the fields of both types."""
    if isinstance(one, pl.List) and isinstance(two, pl.List):
        return pl.List(_united(one.inner, two.inner))
    if not (isinstance(one, pl.Struct) and isinstance(two, pl.Struct)):
        return one
    mine, others = dict(one), dict(two)
    both = {**mine, **others}.items()
    return pl.Struct({name: _united(mine.get(name, kind), others.get(name, kind)) for name, kind in both})


def write_table(path: Path, columns: Columns, rows: Iterable[Mapping[str, object]]) -> int:
    """Write rows in order; returns their number. The same rows give the same bytes."""
    frame = pl.DataFrame(list(rows), schema=columns)
    write_parquet(path, frame, statistics=False)
    return frame.height


@dataclass(frozen=True, slots=True)
class PublishedAccount:
    """Content of `ACCOUNT`.

    Attributes:
        format: format of the publication.
        made_from: hash of all inputs.
        files: every file but this one.
        code: the version that wrote it, which is part of `made_from`.
    """

    format: int
    made_from: str
    files: tuple[ListedFile, ...]
    code: str


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """The release of one task in one opened quarter, or its prospective split."""

    task: Task
    edition: Edition
    prospective: bool
    folder: Path
    manifest: Manifest
    manifest_sha256: str
    phase: Phase

    @property
    def bundled(self) -> bool:
        """Whether it was made from the bundled sample sources."""
        return self.manifest.bundled

    @property
    def config(self) -> str:
        """Name of its configuration."""
        return f"{self.task.name}-{PROSPECTIVE}" if self.prospective else self.task.name

    @property
    def split(self) -> str:
        """Name of the split: the quarter, or a data set's name and version in word characters, as the hub requires."""
        return split_name(str(self.edition))

    @property
    def opened(self) -> datetime:
        """Time of publication: the quarter's opening, or the publication of the data set."""
        if self.manifest.dataset is not None:
            return datetime.fromisoformat(self.manifest.dataset.published).replace(tzinfo=UTC)
        return calendar_of(self.manifest, self.folder).opens

    @property
    def table(self) -> PurePosixPath:
        """The Parquet file; its name shows whether it is of the bundled sample."""
        return PurePosixPath("data", self.config, f"{self.split}{'.bundled-sample' if self.bundled else ''}.parquet")

    @property
    def place(self) -> PurePosixPath:
        """The folder of its released files."""
        below = PurePosixPath("releases", str(self.edition), self.task.name)
        return below / PROSPECTIVE if self.prospective else below

    @property
    def has_labels(self) -> bool:
        """Whether its labels are public."""
        return self.manifest.file(self._labels) is not None

    @property
    def _labels(self) -> str:
        return OUTCOMES if self.prospective else "labels.jsonl"

    def rows(self) -> Iterator[dict[str, object]]:
        """The released samples, with answers once labels are public; null for a sample without one."""
        answers, unknown = dict(self._answers()), dict.fromkeys(self._answer_columns)
        for row in read_jsonl(self.folder / "samples.jsonl"):
            yield {**row, **unknown, **answers.get(str(row["id"]), {})}

    @property
    def columns(self) -> Columns:
        """The columns of its table: those of the samples, and of the answers once these are public."""
        return {**columns_of(self.task), **self._answer_columns}

    @property
    def _answer_columns(self) -> Columns:
        return answer_columns(self.task) if self.has_labels else {}

    def _answers(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Id and answer of each sample with a public label."""
        for row in read_jsonl(self.folder / self._labels) if self.has_labels else ():
            if self.task.classes:
                yield str(row["id"]), {"label": self.manifest.corrected.get(str(row["id"]), row["label"])}
            elif self.task.output is Ranking:
                judged = sorted(relevance_of(row).items())
                yield str(row["id"]), {"relevance": [{"document": name, "relevance": value} for name, value in judged]}

    @property
    def ratings(self) -> list[Path]:
        """Files of people's ratings and predictions, in order; before the reveal, the list of their samples."""
        ends = ["asked.jsonl"]
        if self.has_labels:
            ends += ["parquet", "key.parquet", "rubric.toml", "standings.jsonl", "people.parquet", "people.jsonl"]
            ends += ["ceiling.jsonl"]
        paths = [self.folder.parent / "ratings" / f"{self.task.name}.{end}" for end in ends]
        return [path for path in paths if path.is_file() and not self.prospective]

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """Every released file with its expected SHA-256, see `released_files`."""
        return released_files(self.folder, self.manifest)


def released_files(folder: Path, manifest: Manifest) -> Iterator[tuple[PurePosixPath, str]]:
    """Every file of a release with its expected SHA-256: the manifest, its earlier versions, and what it lists."""
    yield PurePosixPath(MANIFEST), sha256_file(folder / MANIFEST)
    for entry in manifest.files:
        yield _below(entry.path, folder), entry.sha256
    previous = manifest.previous
    while previous is not None:
        path = _below(previous.path, folder)
        yield path, previous.sha256
        previous = read_version(folder / path).previous


def _below(name: str, folder: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise ReleaseError(
            f"the manifest names {name[:80]!r}",
            where=str(folder / MANIFEST),
            expected="files below its own folder",
            fix="Build the release again.",
            code="damaged-release",
        )
    return path


def opened_parts(workspace: Workspace, moment: datetime, quarters: Sequence[Edition] = ()) -> list[PublishedPart]:
    """The parts of the quarters (all, or those given) that have opened by `moment`, in order of quarter and task.

    Raises:
        ReleaseError: if no quarter has opened, or a manifest is damaged.
    """
    parts: list[PublishedPart] = []
    for edition, name, split in places(workspace):
        task, folder, undecided = get_task(name), workspace.release(edition, name, split), split == PROSPECTIVE
        phase = _phase(folder, moment) if undecided else phase_of(workspace, edition, task, moment)
        if phase is not Phase.COLLECTING and (not quarters or edition in quarters):
            manifest, sha256 = read_manifest(folder), sha256_file(folder / MANIFEST)
            parts.append(PublishedPart(task, edition, undecided, folder, manifest, sha256, phase))
    parts.sort(key=lambda part: (part.edition, part.task.name, part.prospective))
    if not parts:
        named = ", ".join(str(edition) for edition in quarters)
        raise ReleaseError(
            f"no release of {named or 'any edition'} has opened",
            where=str(workspace.root / "releases"),
            fix="See when it opens with: hellofresh quarter status",
            code="nothing-open",
        )
    return parts


def _phase(folder: Path, moment: datetime) -> Phase:
    """The phase of a prospective split, which is public from the start."""
    manifest = read_manifest(folder)
    if manifest.resolved is not None:
        return Phase.REVEALED
    return Phase.CLOSED if moment >= calendar_of(manifest, folder).deadline else Phase.OPEN


@dataclass(frozen=True, slots=True)
class SearchedCorpus:
    """A corpus that queries of a publication refer to.

    Attributes:
        name, sha256: as in the queries; other content is another corpus.
        corpus: None if it is unavailable, or only other content of that name is available.
    """

    name: str
    sha256: str
    corpus: RetrievalCorpus | None

    @property
    def licences(self) -> tuple[str, ...]:
        """The licences of its texts; empty if it is unavailable."""
        return () if self.corpus is None else tuple(licences_in(self.corpus.manifest.license))

    @property
    def is_published(self) -> bool:
        """Whether it is available and all its licences permit redistribution."""
        return bool(self.licences) and set(self.licences) <= _PASSED_ON

    @property
    def config(self) -> str:
        """Name of its configuration, different for different content."""
        return f"corpus-{self.name}-{self.sha256[:8]}"

    @property
    def table(self) -> PurePosixPath:
        """Path of its documents in a publication."""
        return PurePosixPath("data", self.config, "documents.parquet")

    @property
    def published(self) -> list[PurePosixPath]:
        """Its files in a publication: of a known corpus the manifest, and the documents if they may be passed on."""
        about = [] if self.corpus is None else [self.table.with_name(ABOUT_CORPUS)]
        return [*about, *([self.table] if self.is_published else [])]


def licences_in(phrase: str) -> list[str]:
    """The licences in a phrase such as `CC-BY-4.0 AND MIT; CC0-1.0`."""
    return [name.strip() for name in re.split(r";| AND ", phrase)]


def searched_corpora(workspace: Workspace, parts: Iterable[PublishedPart]) -> list[SearchedCorpus]:
    """The corpora that the parts' queries refer to, sorted by name."""
    return [searched_corpus(workspace, name, sha256) for name, sha256 in corpora_named(parts)]


def corpora_named(parts: Iterable[PublishedPart]) -> list[tuple[str, str]]:
    """Names and content hashes of the corpora that the parts' queries refer to, sorted."""
    named = {
        (str(row["corpus"]), str(row["corpus_sha256"]))
        for part in parts
        if part.task.output is Ranking
        for row in read_jsonl(part.folder / "samples.jsonl")
    }
    return sorted(named)


def searched_corpus(workspace: Workspace, name: str, sha256: str) -> SearchedCorpus:
    """The corpus of a name and hash, if it is available."""
    try:
        corpus = open_corpus(workspace, name)
    except HelloFreshError:
        return SearchedCorpus(name, sha256, None)
    same = (corpus.manifest.name, corpus.manifest.sha256) == (name, sha256)
    return SearchedCorpus(name, sha256, corpus if same else None)
