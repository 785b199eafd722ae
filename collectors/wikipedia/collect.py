"""Candidates of wikipedia-edits for one quarter from full-history dumps."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

from collectors.wikipedia.clean import readable, spans
from collectors.wikipedia.dumps import DumpReader
from collectors.wikipedia.edits import only_urls_differ
from collectors.wikipedia.history import Page, Revision, collapse_runs
from collectors.wikipedia.settings import Settings
from collectors.wikipedia.stability import MEANINGS, Decision, Fate, Follower
from hellofresh.candidates import Collection, SourceFile
from hellofresh.errors import SourceError, UsageError
from hellofresh.files import sha256_file
from hellofresh.funnel import Drop, Funnel
from hellofresh.quarters import Quarter
from hellofresh.samples import Candidate, Label
from hellofresh.tasks.wikipedia_edits import LICENSE, TASK, Edit
from hellofresh.tasks.wikipedia_edits import Revision as EditRevision

__all__ = ["Settings", "collect"]

Progress = Callable[[str], None]
_BETWEEN_REPORTS_S = 2.0


def collect(
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: Settings,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Collection:
    """Find the paragraph edits of a quarter in dumps, and decide them.

    Args:
        quarter: edits saved in it are asked about; later revisions decide them.
        dumps: full-history exports, in any order; a page is in one of them, with its whole history.
        settings: what counts as an edit and as its fate.
        jobs: files read at once, each by a process of its own.
        progress: takes a sentence now and then.

    Raises:
        UsageError: without a dump, or with the same one twice.
        SourceError: if a dump cannot be read to its end, or two hold the same edit.
    """
    _check_dumps(dumps, jobs)
    files = sorted(dumps, key=lambda path: (path.name, str(path)))
    tell = progress or _say_nothing
    tasks = [_Task(path, quarter, settings) for path in files]
    if min(jobs, len(files)) > 1:
        with ProcessPoolExecutor(min(jobs, len(files)), mp_context=get_context("spawn")) as executor:
            found = _on(executor, tasks, tell)
    else:
        found = [_read(task, tell) for task in tasks]
    return _collection(found, settings)


def _say_nothing(_: str) -> None:
    pass


def _check_dumps(dumps: Sequence[Path], jobs: int) -> None:
    if not dumps:
        raise UsageError("no dump named", expected="at least one full-history XML file", code="no-dump")
    if jobs < 1:
        raise UsageError(f"{jobs} jobs", expected="at least 1", code="bad-jobs")
    counts = Counter(path.resolve() for path in dumps)
    twice = sorted(str(path) for path, count in counts.items() if count > 1)
    if twice:
        raise UsageError("named twice", where=twice[0], expected="each dump once", code="duplicate-dump")


@dataclass(frozen=True, slots=True)
class _Task:
    """One unit of work: small to send, and the same result wherever it is done."""

    path: Path
    quarter: Quarter
    settings: Settings


@dataclass(slots=True)
class _Found:
    """What one file gave."""

    source: SourceFile
    candidates: list[Candidate] = field(default_factory=list)
    drops: Counter[Fate] = field(default_factory=Counter)
    context: Counter[str] = field(default_factory=Counter)


def _on(executor: Executor, tasks: Sequence[_Task], tell: Progress) -> list[_Found]:
    """Do the tasks on an executor; the results come in the order of the tasks."""
    futures = [executor.submit(_read, task) for task in tasks]
    try:
        for future in as_completed(futures):
            future.result()
            tell(_summary(future.result()))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def _summary(found: _Found) -> str:
    context = found.context
    return (
        f"{found.source.name}: {context['pages']:,} pages, {context['revisions']:,} revisions, "
        f"{len(found.candidates):,} candidates"
    )


def _read(task: _Task, tell: Progress = _say_nothing) -> _Found:
    """Read one dump: pages whose revisions are not in order of time are read a second time, sorted."""
    reader = DumpReader(task.path)
    pages = _Pages(task, _Found(_source(task.path)), reader, tell)
    pages.add(reader.pages())
    if pages.late:
        again = DumpReader(task.path)
        late = frozenset(pages.late)
        pages.add(again.pages(only=late))
    found = pages.found
    found.context.update(
        {
            "pages": reader.pages_read,
            "pages of other namespaces": reader.pages_other,
            "pages without revisions": reader.pages_empty,
            "pages whose revisions had to be put in order of time": len(pages.late),
            "revisions": reader.revisions_read,
        }
    )
    tell(_summary(found))
    return found


def _source(path: Path) -> SourceFile:
    try:
        return SourceFile(path.name, path.stat().st_size, sha256_file(path))
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror or error})", where=str(path), code="unreadable"
        ) from None


class _OutOfOrderError(Exception):
    """A page's revisions are not in order of time; caught where the page is taken."""


class _Pages:
    """Takes the pages of one file."""

    def __init__(self, task: _Task, found: _Found, reader: DumpReader, tell: Progress) -> None:
        self.found = found
        self.late: list[int] = []
        self._task, self._reader, self._tell = task, reader, tell
        self._told = time.monotonic()

    def add(self, pages: Iterator[Page]) -> None:
        for page in pages:
            try:
                result = self._page(page)
            except _OutOfOrderError:
                self.late.append(self._reader.pages_read - 1)
                continue
            self.found.candidates += result.candidates
            self.found.drops += result.drops
            self.found.context.update(result.context)

    def _page(self, page: Page) -> _Found:
        task, result = self._task, _Found(self.found.source)
        follower = Follower(task.settings, task.quarter)
        revisions = self._watched(page.revisions, result.context)
        if task.settings.collapse_runs:
            revisions = collapse_runs(revisions)
        for revision in revisions:
            if not follower.needs_more(revision):
                _check_order(page.revisions, revision)
                break
            for decision in follower.add(revision):
                _take(decision, page, task, result)
        for decision in follower.finish():
            _take(decision, page, task, result)
        result.context["revisions that changed too many paragraphs"] += follower.broad_revisions
        return result

    def _watched(self, revisions: Iterable[Revision], context: Counter[str]) -> Iterator[Revision]:
        """The same revisions, counted, told of, and checked to be in order of time."""
        quarter, last = self._task.quarter, None
        start, end = quarter.start, quarter.end
        for revision in revisions:
            if last is not None and (revision.timestamp, revision.id) < (last.timestamp, last.id):
                raise _OutOfOrderError
            last = revision
            if start <= revision.timestamp < end:
                context["revisions in the quarter"] += 1
                context["revisions in the quarter with hidden text"] += revision.text is None
            self._report()
            yield revision

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._told > _BETWEEN_REPORTS_S:
            self._told = now
            read = self._reader
            self._tell(f"{self._task.path.name}: {read.pages_read:,} pages, {read.revisions_read:,} revisions so far")
