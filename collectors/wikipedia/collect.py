"""Collect the candidates of wikipedia-edits for one quarter from full-history dumps."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from collectors.settings import EditsSettings
from collectors.wikipedia.clean import read, readable, spans
from collectors.wikipedia.edits import changes_more_than, only_urls_differ
from collectors.wikipedia.export import (
    DAMAGED,
    NO_USER,
    NOT_LOADED,
    OTHER_MODEL,
    ExportReader,
    JoinedReader,
    histories,
    open_history,
    published_sha256,
    read_pages,
    shards,
)
from collectors.wikipedia.stability import MEANINGS, Decision, Fate, Follower
from collectors.wikipedia.wikitext import Revision, WikiPage, collapse_runs
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.executors import Pool, process_pool, run_tasks
from hellofresh.core.files import sha256_file, sha256_text
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates import Collection, Funnel, SourceFile
from hellofresh.tasks.samples import Candidate, Label, Sample
from hellofresh.tasks.wikipedia_edits import TASK, Edit, EditRevision, license_of

Progress = Callable[[str], None]
_BETWEEN_REPORTS_S = 2.0
_LATE = "pages whose revisions had to be put in order of time"
_JOINED = "pages that were joined from several files"
_UNCHECKED = "joined pages without a list of their files"
# Figures of a decision that come with its label.
_FACTS = ("revert_delay_s", "survived_edits", "required_edits", "distinct_users")
_REPEATED = "revisions that were there twice"
_IN_SENTENCES = "decided edits of a paragraph with a template that a reader sees"


def collect(
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: EditsSettings,
    *,
    jobs: int = 1,
    pool: Pool | None = None,
    progress: Progress | None = None,
    pending: bool = False,
) -> Collection:
    """Find the paragraph edits of a quarter in dumps, and decide them.

    Args:
        quarter: of the edits; later revisions decide them.
        dumps: full-history exports and folders of them, in any order; a page's whole history is in one of them,
            or in the files that it was cut into, see `histories`. A checksum beside a file must match it.
        settings: what counts as an edit and as its fate.
        jobs: files read in parallel, each by its own process.
        pool: replaces these processes, for instance by a Dask cluster; workers must see the files under the same names.
        pending: also collect untouched edits that have fewer than their N later revisions.

    Raises:
        UsageError: without a dump, or with the same one twice.
        SourceError: if a dump is incomplete or does not match its checksum, if two contain the same page, or
            if a part of a page that was cut is missing.
        RunError: if workers are lost again and again.
    """
    files = shards(dumps)
    if not files:
        raise UsageError("no dump named", expected="at least one full-history XML file", code="no-dump")
    if jobs < 1:
        raise UsageError(f"{jobs} jobs", expected="at least 1", code="bad-jobs")
    twice = sorted(str(path) for path, count in Counter(path.resolve() for path in files).items() if count > 1)
    if twice:
        raise UsageError("named twice", where=twice[0], expected="each dump once", code="duplicate-dump")
    say = progress or (lambda _: None)
    tasks = [
        _Task(tuple(path.resolve() if pool else path for path in paths), quarter, settings, pending)
        for paths in histories(files)
    ]
    jobs = min(jobs, len(tasks))
    pool = pool or (process_pool(jobs) if jobs > 1 else None)
    if pool is None:
        found = [_read(task, say) for task in tasks]
    else:
        found = run_tasks(pool, _read, tasks, done=lambda one: say(_summary(one)))
    _refuse_twice(found, {task.name: task.paths[0] for task in tasks})
    return collection_of(found, settings, pending=pending)


@dataclass(frozen=True, slots=True)
class _Task:
    """One unit of work: small to send, with the same result on every machine."""

    paths: tuple[Path, ...]
    quarter: Quarter
    settings: EditsSettings
    pending: bool = False

    @property
    def name(self) -> str:
        """Its name in messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0].name}{more}"


@dataclass(slots=True)
class EditsFound:
    """Results of one or more histories.

    Name in messages, files, candidates, counts, undecided edits, ids of pages, and for each template that the table
    lacks the decided edits that it costs.
    """

    name: str
    sources: list[SourceFile] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    drops: Counter[Fate] = field(default_factory=Counter)
    context: Counter[str] = field(default_factory=Counter)
    pending: list[Sample] = field(default_factory=list)
    pages: array[int] = field(default_factory=lambda: array("q"))
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, other: EditsFound) -> None:
        """Add other results, except names, files and pages."""
        self.candidates += other.candidates
        self.pending += other.pending
        self.drops.update(other.drops)
        self.context.update(other.context)
        self.unknown.update(other.unknown)


def _summary(found: EditsFound) -> str:
    context = found.context
    return (
        f"{found.name}: {context['pages']:,} pages, {context['revisions']:,} revisions, "
        f"{len(found.candidates):,} candidates"
    )


def _read(task: _Task, say: Progress = lambda _: None) -> EditsFound:
    """Read one history; pages whose revisions are not in order of time are sorted and read a second time."""
    checked = [_source(path) for path in task.paths]
    reader = open_history(task.paths)
    pages = _Pages(task, EditsFound(task.name, [source for source, _ in checked]), say)
    pages.add(reader)
    if pages.late:
        pages.add(open_history(task.paths), only=frozenset(pages.late))
    found = pages.found
    found.context.update(
        {
            "files that are what their checksums say": sum(published for _, published in checked),
            "pages": reader.read.pages,
            "pages of other namespaces": reader.read.other,
            "pages without revisions": reader.read.empty,
            _LATE: len(pages.late),
            "revisions": reader.read.revisions,
            **reader.read.losses,
        }
    )
    _refuse_no_histories(task, found, pages)
    if isinstance(reader, JoinedReader) and len(task.paths) > 1:
        found.context[_JOINED] = reader.read.pages
        found.context[_UNCHECKED] = int(reader.unchecked)
    say(_summary(found))
    return found


def _refuse_no_histories(task: _Task, found: EditsFound, pages: _Pages) -> None:
    """Refuse dumps of another kind, which a reader would take for histories without edits."""
    read, context = found.context["revisions"], found.context
    if not any(context[name] for name in ("pages", "pages of other namespaces", "pages without revisions")):
        what = "a file without a page, as dumps of logs are"
    elif read and context[NOT_LOADED] == read:
        what = "a stub dump: it has the heads of revisions without their texts"
    elif context["pages"] > 1 and pages.lone == context["pages"]:
        what = "a dump of current revisions (pages-articles or pages-meta-current): no page has its earlier revisions"
    else:
        return
    raise SourceError(
        what,
        where=str(task.paths[0]),
        expected="a full history, such as pages-meta-history or a MediaWiki content history export",
        code="no-histories",
    )


def _source(path: Path) -> tuple[SourceFile, bool]:
    """A file with its hash, and whether it was verified against a published one."""
    try:
        source, published = SourceFile(path.name, path.stat().st_size, sha256_file(path)), published_sha256(path)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror or error})", where=str(path), code="unreadable") from None
    if published not in (None, source.sha256):
        raise SourceError(
            f"SHA-256 is {source.sha256}",
            where=str(path),
            expected=f"{published}, as the file of checksums beside it says",
            fix="Fetch the file again.",
            code="checksum-mismatch",
        )
    return source, published is not None


class _OutOfOrderError(Exception):
    """A page's revisions are not in order of time; caught by the reader of the page."""


class _Pages:
    """Processes the pages of one file."""

    def __init__(self, task: _Task, found: EditsFound, say: Progress) -> None:
        self.found = found
        self.late: list[int] = []
        self.lone = 0  # pages with one revision, which was based on another
        self._task, self._say = task, say
        self._told = time.monotonic()

    def add(self, reader: ExportReader | JoinedReader, *, only: frozenset[int] | None = None) -> None:
        seen: set[int] = set()
        for page in reader.pages(only=only):
            if page.id in seen:
                raise self._twice(page, f"page {page.id}")
            seen.add(page.id)
            try:
                result = self._page(page, reader)
            except _OutOfOrderError:
                self.late.append(reader.read.pages - 1)
                continue
            self.found.pages.append(page.id)
            self.found.add(result)

    def _page(self, page: WikiPage, reader: ExportReader | JoinedReader) -> EditsFound:
        task, result = self._task, EditsFound(self.found.name)
        follower = Follower(task.settings, task.quarter, wiki=page.wiki)
        watched = self._watched(page, reader, result.context)
        for decision in follower.decisions(collapse_runs(watched) if task.settings.collapse_runs else watched):
            _take(decision, page, task, result)
        for _ in watched:  # the rest decides nothing, but it is counted, and may be out of order of time
            pass
        result.context["revisions that changed too many paragraphs"] += follower.broad_revisions
        return result

    def _twice(self, page: WikiPage, what: str, how: str = "") -> SourceError:
        return SourceError(
            f"{what} appears twice{how}",
            where=f"{self._task.paths[0]} (page {page.title!r})",
            expected="each page and revision once",
            fix="Fetch the file again; if it is what the wiki publishes, remove the page from it.",
            code="duplicate-page" if not how else "conflicting-revisions",
        )

    def _watched(
        self, page: WikiPage, reader: ExportReader | JoinedReader, context: Counter[str]
    ) -> Iterator[Revision]:
        """The page's distinct revisions, counted, reported, and checked to be in order of time."""
        last = None
        first: Revision | None = None
        seen: set[int] = set()
        for revision in page.revisions:
            if last is not None and (revision.timestamp, revision.id) < (last.timestamp, last.id):
                raise _OutOfOrderError
            if revision.id in seen:
                if last is None or not _is_same(revision, last):
                    raise self._twice(page, f"revision {revision.id}", ", with different content")
                context[_REPEATED] += 1
                continue
            seen.add(revision.id)
            first, last = first or revision._replace(text=None), revision
            if revision.timestamp in self._task.quarter:
                context["revisions in the quarter"] += 1
                context["revisions in the quarter with hidden text"] += revision.text is None
            now = time.monotonic()
            if now - self._told > _BETWEEN_REPORTS_S:
                self._told = now
                count = f"{reader.read.pages:,} pages, {reader.read.revisions:,} revisions so far"
                self._say(f"{self._task.name}: {count}")
            yield revision
        self.lone += len(seen) == 1 and bool(first and first.parent)


def _is_same(one: Revision, other: Revision) -> bool:
    """Whether two revisions are equal; either text may be missing."""
    return one[:-1] == other[:-1] and (one.text == other.text or not (one.text and other.text))


def _take(decision: Decision, page: WikiPage, task: _Task, result: EditsFound) -> None:
    """Make a candidate of a decision, or count the reason against it."""
    fate = decision.fate
    if fate in (Fate.ACCEPTED, Fate.REJECTED):
        made = _candidate(decision, page, task, result)
        if isinstance(made, Candidate):
            result.candidates.append(made)
            return
        fate = made
    elif task.pending and decision.untouched:
        made = _candidate(decision, page, task, result)
        if isinstance(made, Candidate):
            result.pending.append(made.sample)
    result.drops[fate] += 1


def _candidate(decision: Decision, page: WikiPage, task: _Task, result: EditsFound) -> Candidate | Fate:
    change, revision = decision.change, decision.revision
    assert change is not None
    if only_urls_differ(change.before, change.after):
        return Fate.URLS_ONLY
    before, later = read(change.before, page.wiki), read(change.after, page.wiki)
    if before.shown or later.shown or before.unknown or later.unknown:
        result.context[_IN_SENTENCES] += 1
    if before.unknown or later.unknown:
        result.unknown.update({*before.unknown, *later.unknown})
        return Fate.UNKNOWN_TEMPLATE
    paragraph, after = before.text, later.text
    changed = spans(paragraph, after)
    if not changed.deleted and not changed.added:
        return Fate.MARKUP_ONLY
    if not change.whole and not (paragraph and after):
        return Fate.NOTHING_TO_READ
    # The wikitext changed by more than this; what of it stands in a reference or an address no reader judges by.
    if not changes_more_than(task.settings.min_changed_characters, paragraph, after):
        return Fate.LITTLE_TO_READ
    sample = Edit(
        id=f"{TASK.id_prefix}{revision.id}-{decision.number}",
        task=TASK.name,
        edition=str(task.quarter),
        period=TASK.period_kind.of(revision.timestamp),
        date=revision.timestamp,
        group=f"w-{page.id}",
        license=license_of(page.host, revision.timestamp),
        host=page.host,
        lineage=tuple(sorted(sha256_text(f"{page.host} {page.id} {name}")[:16] for name in decision.lineage)),
        article=page.title,
        section=readable(change.heading, page.wiki),
        paragraph=paragraph,
        deleted=changed.deleted,
        added=changed.added,
        revision=EditRevision(revision.id),
    )
    facts = {
        **{name: getattr(decision, name) for name in _FACTS},
        "page_hash_reverted": int(decision.page_reverted),
        "paragraph_kind": str(change.kind),
    }
    extras = {"wikitext_before": change.before, "wikitext_after": change.after, "paragraph_after": after}
    return Candidate(sample, Label(sample.id, int(decision.fate is Fate.ACCEPTED), facts), extras)


def collection_of(found: Sequence[EditsFound], settings: EditsSettings, *, pending: bool = False) -> Collection:
    """The collection of all results, independent of their order."""
    found = sorted(found, key=lambda one: one.name)
    total = EditsFound("")
    for one in found:
        total.add(one)
    candidates = sorted(
        total.candidates, key=lambda one: [*map(int, one.sample.id.removeprefix(TASK.id_prefix).split("-"))]
    )
    rows, context = len(candidates) + total.drops.total(), dict(sorted(total.context.items()))
    funnel = Funnel.of("paragraph edits", rows, total.drops, MEANINGS, candidates=candidates, context=context)
    parameters = {
        name: [str(item) for item in value] if isinstance(value, tuple) else value
        for name, value in asdict(settings).items()
    }
    waiting = sorted(total.pending, key=lambda edit: edit.id) if pending else None
    sources = sorted((source for one in found for source in one.sources), key=lambda source: source.name)
    return Collection(candidates, funnel, parameters, sources, [*_warnings(found), *_missing(total)], waiting)


def _missing(total: EditsFound) -> list[str]:
    """One line on the templates that the table lacks, the most frequent first."""
    if not total.unknown:
        return []
    most = ", ".join(f"{{{{{name}}}}} ({count:,})" for name, count in total.unknown.most_common(10))
    left_out = f"{total.drops[Fate.UNKNOWN_TEMPLATE]:,} decided edits are left out"
    what = f"{len(total.unknown):,} templates are unknown, so {left_out}: {most}."
    return [f"{what} To keep these, add the templates to collectors/wikipedia/templates.toml."]


def _refuse_twice(found: Sequence[EditsFound], files: Mapping[str, Path]) -> None:
    """Refuse files that repeat a page without being parts of it: it would be decided twice."""
    owners = np.repeat(np.arange(len(found)), [len(one.pages) for one in found])
    ids = np.concatenate([np.empty(0, np.int64), *(np.asarray(one.pages, np.int64) for one in found)])
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if not again.size:
        return
    first = int(again[0])
    id_, one, other = int(ids[order[first]]), int(owners[order[first]]), int(owners[order[first + 1]])
    pages = read_pages(files[found[one].name])
    title = next((page.title for page in pages if page.id == id_), "")
    raise SourceError(
        f"page {id_} ({title!r}) is also in {found[one].name}",
        where=found[other].name,
        expected="each page in one file, or in files named as its parts (<wiki>-<date>-p<page>r<first>r<last>.xml.bz2)",
        fix="Name only one of the two; do not mix exports of different days, and do not rename their files.",
        code="duplicate-page",
    )


def _warnings(found: Sequence[EditsFound]) -> list[str]:
    sentences = {
        _LATE: "pages had revisions out of time order; they were read again, sorted by time and id.",
        "pages without revisions": "pages have no revisions at all.",
        NOT_LOADED: "revisions have a length and no text; they count as hidden: fetch them again.",
        DAMAGED: "revisions have a text of another length or SHA-1 than stated and count as hidden: fetch them again.",
        NO_USER: "revisions have no user although it is not hidden; they count as by an unknown user.",
        OTHER_MODEL: "revisions of articles are not wikitext; they count as hidden.",
        _REPEATED: "revisions appear twice; each was counted once.",
        _UNCHECKED: "page was joined from files without a list of them, so a missing last one would go unnoticed; put "
        "the export's SHA256SUMS beside them.",
    }
    return [
        f"{one.name}: {one.context[name]:,} {sentence}"
        for one in found
        for name, sentence in sentences.items()
        if one.context[name]
    ]
