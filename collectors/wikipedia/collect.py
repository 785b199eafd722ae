"""Candidates of wikipedia-edits for one quarter from full-history dumps."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from collectors.wikipedia.dump.export import ExportReader
from collectors.wikipedia.dump.shards import published_sha256, shards
from collectors.wikipedia.rules.clean import readable, spans
from collectors.wikipedia.rules.edits import only_urls_differ
from collectors.wikipedia.rules.history import Revision, WikiPage, collapse_runs
from collectors.wikipedia.rules.stability import MEANINGS, Decision, Fate, Follower
from collectors.wikipedia.settings import EditsSettings
from hellofresh.core.errors import SourceError, UsageError
from hellofresh.core.executors import cluster_pool, process_pool, run_tasks
from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import Quarter
from hellofresh.releases.candidates.funnel import Drop, Funnel
from hellofresh.releases.candidates.rows import Collection, SourceFile
from hellofresh.tasks.samples import Candidate, Label, Sample
from hellofresh.tasks.wikipedia_edits import LICENSE, TASK, Edit, EditRevision

__all__ = ["EditsSettings", "collect"]

Progress = Callable[[str], None]
_BETWEEN_REPORTS_S = 2.0


def collect(
    quarter: Quarter,
    dumps: Sequence[Path],
    settings: EditsSettings,
    *,
    jobs: int = 1,
    cluster: str = "",
    progress: Progress | None = None,
    pending: bool = False,
) -> Collection:
    """Find the paragraph edits of a quarter in dumps, and decide them.

    Args:
        quarter: edits saved in it are asked about; later revisions decide them.
        dumps: full-history exports and folders of them, in any order; a page is in one of them, with its whole history.
            A checksum that stands beside a file must be its own, see `shards`.
        settings: what counts as an edit and as its fate.
        jobs: files read at once, each by a process of its own.
        cluster: address of a Dask scheduler whose workers do it instead, such as `tcp://host:8786`; they must see the
            files under the same names.
        progress: takes a sentence now and then.
        pending: collect the edits, too, that nobody has touched and that have fewer than their N later revisions.

    Raises:
        UsageError: without a dump, or with the same one twice.
        SourceError: if a dump cannot be read to its end or is not what its checksum says, or two hold the same edit.
        RunError: if workers are lost again and again.
    """
    files = shards(dumps)
    _check_dumps(files, jobs)
    tell = progress or _say_nothing
    tasks = [_Task(path.resolve() if cluster else path, quarter, settings, pending) for path in files]
    jobs = min(jobs, len(files))
    pool = cluster_pool(cluster) if cluster else process_pool(jobs) if jobs > 1 else None
    if pool is None:
        found = [_read(task, tell) for task in tasks]
    else:
        found = run_tasks(pool, _read, tasks, done=lambda one: tell(_summary(one)))
    return _collection(found, settings, pending=pending)


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
    settings: EditsSettings
    pending: bool = False


@dataclass(slots=True)
class _Found:
    """What one file gave."""

    source: SourceFile
    candidates: list[Candidate] = field(default_factory=list)
    drops: Counter[Fate] = field(default_factory=Counter)
    context: Counter[str] = field(default_factory=Counter)
    pending: list[Sample] = field(default_factory=list)


def _summary(found: _Found) -> str:
    context = found.context
    return (
        f"{found.source.name}: {context['pages']:,} pages, {context['revisions']:,} revisions, "
        f"{len(found.candidates):,} candidates"
    )


def _read(task: _Task, tell: Progress = _say_nothing) -> _Found:
    """Read one dump: pages whose revisions are not in order of time are read a second time, sorted."""
    source, published = _source(task.path), published_sha256(task.path)
    if published not in (None, source.sha256):
        raise SourceError(
            f"SHA-256 is {source.sha256}",
            where=str(task.path),
            expected=f"{published}, as the file of checksums beside it says",
            fix="Fetch the file again.",
            code="checksum-mismatch",
        )
    reader = ExportReader(task.path)
    pages = _Pages(task, _Found(source), tell)
    pages.add(reader)
    if pages.late:
        pages.add(ExportReader(task.path), only=frozenset(pages.late))
    found = pages.found
    found.context.update(
        {
            "files that are what their checksums say": published is not None,
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
        raise SourceError(f"cannot be read ({error.strerror or error})", where=str(path), code="unreadable") from None


_REPEATED = "revisions that were there twice"


class _OutOfOrderError(Exception):
    """A page's revisions are not in order of time; caught where the page is taken."""


class _Pages:
    """Takes the pages of one file."""

    def __init__(self, task: _Task, found: _Found, tell: Progress) -> None:
        self.found = found
        self.late: list[int] = []
        self._task, self._tell = task, tell
        self._told = time.monotonic()

    def add(self, reader: ExportReader, *, only: frozenset[int] | None = None) -> None:
        seen: set[int] = set()
        for page in reader.pages(only=only):
            if page.id in seen:
                raise self._twice(page, f"page {page.id}")
            seen.add(page.id)
            try:
                result = self._page(page, reader)
            except _OutOfOrderError:
                self.late.append(reader.pages_read - 1)
                continue
            self.found.candidates += result.candidates
            self.found.pending += result.pending
            self.found.drops += result.drops
            self.found.context.update(result.context)

    def _page(self, page: WikiPage, reader: ExportReader) -> _Found:
        task, result = self._task, _Found(self.found.source)
        follower = Follower(task.settings, task.quarter)
        watched = self._watched(page, reader, result.context)
        for revision in collapse_runs(watched) if task.settings.collapse_runs else watched:
            if not follower.needs_more(revision):
                break
            for decision in follower.add(revision):
                _take(decision, page, task, result)
        reader.skip_texts()
        deque(watched, maxlen=0)  # the rest decides nothing unless it is out of order
        for decision in follower.finish():
            _take(decision, page, task, result)
        result.context["revisions that changed too many paragraphs"] += follower.broad_revisions
        return result

    def _twice(self, page: WikiPage, what: str, how: str = "") -> SourceError:
        return SourceError(
            f"{what} is there twice{how}",
            where=f"{self._task.path} (page {page.title!r})",
            expected="each page and revision once",
            fix="Fetch the file again; if it is what the wiki publishes, take the page out of it.",
            code="duplicate-page" if not how else "conflicting-revisions",
        )

    def _watched(self, page: WikiPage, reader: ExportReader, context: Counter[str]) -> Iterator[Revision]:
        """The page's revisions, each once, counted, told of, and checked to be in order of time."""
        quarter, last = self._task.quarter, None
        start, end = quarter.start, quarter.end
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
            last = revision
            if start <= revision.timestamp < end:
                context["revisions in the quarter"] += 1
                context["revisions in the quarter with hidden text"] += revision.text is None
            self._report(reader)
            yield revision

    def _report(self, reader: ExportReader) -> None:
        now = time.monotonic()
        if now - self._told > _BETWEEN_REPORTS_S:
            self._told = now
            count = f"{reader.pages_read:,} pages, {reader.revisions_read:,} revisions so far"
            self._tell(f"{self._task.path.name}: {count}")


def _is_same(one: Revision, other: Revision) -> bool:
    """Whether two revisions are one; texts that were skipped are empty."""
    return one[:-1] == other[:-1] and (one.text == other.text or not (one.text and other.text))


def _take(decision: Decision, page: WikiPage, task: _Task, result: _Found) -> None:
    """Make a candidate of a decision, or count why not."""
    fate = decision.fate
    if fate in (Fate.ACCEPTED, Fate.REJECTED):
        made = _candidate(decision, page, task.quarter)
        if isinstance(made, Candidate):
            result.candidates.append(made)
            return
        fate = made
    elif task.pending and decision.untouched:
        made = _candidate(decision, page, task.quarter)
        if isinstance(made, Candidate):
            result.pending.append(made.sample)
    result.drops[fate] += 1


def _candidate(decision: Decision, page: WikiPage, quarter: Quarter) -> Candidate | Fate:
    change, revision = decision.change, decision.revision
    assert change is not None
    if only_urls_differ(change.before, change.after):
        return Fate.URLS_ONLY
    paragraph, after = readable(change.before), readable(change.after)
    changed = spans(paragraph, after)
    if not changed.deleted and not changed.added:
        return Fate.MARKUP_ONLY
    if not change.whole and not (paragraph and after):
        return Fate.NOTHING_TO_READ
    sample = Edit(
        id=f"{TASK.id_prefix}{revision.id}-{decision.number}",
        task=TASK.name,
        edition=str(quarter),
        period=TASK.period_kind.of(revision.timestamp),
        date=revision.timestamp,
        group=f"w-{page.id}",
        license=LICENSE,
        article=page.title,
        section=readable(change.heading),
        paragraph=paragraph,
        deleted=changed.deleted,
        added=changed.added,
        revision=EditRevision(revision.id, decision.parent),
    )
    facts = {
        "revert_delay_s": decision.revert_delay_s,
        "survived_edits": decision.survived_edits,
        "required_edits": decision.required_edits,
        "distinct_users": decision.distinct_users,
        "page_hash_reverted": int(decision.page_reverted),
        "paragraph_kind": str(change.kind),
    }
    extras = {"wikitext_before": change.before, "wikitext_after": change.after}
    return Candidate(sample, Label(sample.id, int(decision.fate is Fate.ACCEPTED), facts), extras)


def _collection(found: Sequence[_Found], settings: EditsSettings, *, pending: bool = False) -> Collection:
    candidates = sorted((item for one in found for item in one.candidates), key=_order)
    _refuse_twice(found)
    drops: Counter[Fate] = Counter()
    context: Counter[str] = Counter()
    for one in found:
        drops.update(one.drops)
        context.update(one.context)
    funnel = Funnel(
        unit="paragraph edits",
        rows_in=len(candidates) + drops.total(),
        drops=tuple(Drop(fate.value, meaning, drops[fate]) for fate, meaning in MEANINGS.items()),
        kept=Funnel.count_kept(candidates),
        context=dict(sorted(context.items())),
    )
    parameters = {name: _plain(value) for name, value in asdict(settings).items()}
    waiting = [sample for one in found for sample in one.pending] if pending else None
    return Collection(candidates, funnel, parameters, [one.source for one in found], _warnings(found), waiting)


def _order(candidate: Candidate) -> tuple[int, int]:
    revision, number = candidate.sample.id.removeprefix(TASK.id_prefix).split("-")
    return int(revision), int(number)


def _plain(value: object) -> Any:
    return [str(item) for item in value] if isinstance(value, tuple) else value


def _refuse_twice(found: Sequence[_Found]) -> None:
    seen: dict[str, str] = {}
    for one in found:
        for candidate in one.candidates:
            other = seen.setdefault(candidate.sample.id, one.source.name)
            if other != one.source.name:
                raise SourceError(
                    f"edit {candidate.sample.id} is also in {other}",
                    where=one.source.name,
                    expected="each page in one dump only",
                    fix="Name only one of the two.",
                    code="duplicate-page",
                )


def _warnings(found: Sequence[_Found]) -> list[str]:
    late, empty = "pages whose revisions had to be put in order of time", "pages without revisions"
    sentences = {
        late: "pages had revisions out of order of time; they were read again, sorted by time and id.",
        empty: "pages have no revisions at all.",
        _REPEATED: "revisions are there twice; each was counted once.",
    }
    return [
        f"{one.source.name}: {one.context[name]:,} {sentence}"
        for one in found
        for name, sentence in sentences.items()
        if one.context[name]
    ]
