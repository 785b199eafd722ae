"""Collect the candidates of wikipedia-edits for one quarter from a wiki's API.

Reads either the whole histories of given pages, with the same result as a dump of them, or edits drawn from
the recent changes, each with as much history as decides it. Only some revisions before a drawn edit are read,
so restorations of older texts are also found by the wiki's own tags, and by the hashes of more revisions.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

# Private names: both routes share the code that makes candidates of decisions.
from collectors.settings import EditsSettings
from collectors.wikipedia.collect import EditsFound, _take, _Task, collection_of
from collectors.wikipedia.polite import PoliteSession, WikiLimits
from collectors.wikipedia.site import BAD_CONTINUE, REVERTED, WikiAnswers, WikiSite
from collectors.wikipedia.source import EditSampling, LiveSource, WikiAccount, Window
from collectors.wikipedia.stability import Decision, Follower
from collectors.wikipedia.wikitext import Revision, WikiPage, collapse_runs
from hellofresh.core.errors import SourceError
from hellofresh.core.net.paging import NO_PROGRESS
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.releases.candidates import Collection, SourceFile

Progress = Callable[[str], None]
_BETWEEN_REPORTS_S = 2.0
_RESTORING = frozenset({"mw-undo", "mw-rollback", "mw-manual-revert"})
_GONE = "pages that were gone when their history was asked for"


@dataclass(frozen=True, slots=True)
class _Target:
    """A page to read: around drawn edits, or whole without any; and how many earlier revisions to compare by hash."""

    page: int
    drawn: frozenset[int] = frozenset()
    lookback: int = 0


def _targets(run: _Run, source: LiveSource, quarter: Quarter) -> tuple[list[_Target], list[str]]:
    """The pages to read, given or with edits drawn from the recent changes; and warnings."""
    if source.titles:
        return [_Target(id_) for id_ in sorted(set(run.site.page_ids(source.titles).values()))], []
    reach = run.site.reach()
    targets = _draw(run, source.sampling, reach)
    since = f"the recent changes begin on {utc_text(reach.start)}"
    if reach.start >= quarter.end and not targets:
        raise SourceError(
            f"{since}, after {quarter}",
            expected="a quarter that they reach back to (a wiki keeps them for 30 to 90 days)",
            fix="Name pages with --pages, or use a dump.",
            code="no-recent-changes",
        )
    what = f"earlier edits of {quarter} are included only if they were requested in time."
    return targets, [f"{since}: {what}"] if reach.start > quarter.start else []


def collect_live(
    quarter: Quarter,
    source: LiveSource,
    settings: EditsSettings,
    *,
    folder: Path,
    refresh: bool = False,
    progress: Progress,
    pending: bool = False,
) -> Collection:
    """Find and decide the paragraph edits of a quarter by a wiki's API; other arguments as of `collect`.

    Responses are stored in `folder`, from which an interrupted run continues; `refresh` repeats requests whose answers
    may have grown: the ends of histories.

    Raises:
        SourceError: if the wiki is unavailable, or its recent changes do not reach back to the quarter.
        WorkspaceError: if the folder cannot be used.
    """
    limits = WikiLimits(per_minute=source.per_minute, total_s=source.deadline_h * 3600)
    host = re.sub(r"[^a-z0-9.-]", "-", source.host.lower())
    file_name = f"{host}-{hashlib.sha256(source.api.encode()).hexdigest()[:8]}.sqlite"
    with WikiAnswers(folder / file_name) as answers, PoliteSession(source.contact, limits) as session:
        if refresh:
            answers.forget_open()
        site = WikiSite(source.api, session, answers, WikiAccount.from_environment(source.api))
        run = _Run(site, _Task((folder,), quarter, settings, pending), session, progress)
        targets, warnings = _targets(run, source, quarter)
        found, ledgers = run.read(targets)
    ids = [id_ for ledger in ledgers for id_ in ledger.ids]
    what = f"{len(ids)} revisions, {min(ids)} to {max(ids)}" if ids else "no revision"
    digest = hashlib.sha256(b"".join(ledger.hash.digest() for ledger in ledgers)).hexdigest()
    found.name = source.host
    found.context.update(site.losses.values())
    found.sources = [SourceFile(f"{source.api} ({what})", sum(ledger.size for ledger in ledgers), digest)]
    collection = collection_of([found], settings, pending=pending)
    if found.context[_GONE]:
        warnings.append(f"{found.context[_GONE]:,} {_GONE}.")
    parameters = {**collection.parameters, **source.parameters()}
    return replace(collection, parameters=parameters, warnings=[*collection.warnings, *warnings])


def _draw(run: _Run, sampling: EditSampling, reach: Window) -> list[_Target]:
    """Pages with edits drawn from their recent changes; each page is from a single window."""
    drawn: dict[int, set[int]] = {}
    settings = run.task.settings
    left = {REVERTED: sampling.pages // 2, None: sampling.pages - sampling.pages // 2}
    windows = [window for window in sampling.windows(run.task.quarter) if window.start < reach.end]
    for number, window in enumerate(windows, start=1):
        if not any(left.values()):
            break
        earlier = frozenset(drawn)
        for tag in [tag for tag, room in left.items() if room]:
            most = min(left[tag], sampling.per_window)
            changes = run.site.changes(window, tag=tag, bots=settings.keep_bots, ask=window.end > reach.start)
            pages: dict[int, int] = {}
            for change in sorted(changes, key=lambda item: sampling.rank(item.revid)):
                if len(pages) == most:
                    break
                other_half = tag is None and REVERTED in change.tags
                if (
                    other_half
                    or (_RESTORING.intersection(change.tags) and not settings.keep_restored)
                    or change.pageid in earlier
                ):
                    continue
                pages.setdefault(change.pageid, change.revid)
            left[tag] -= len(pages)
            for page, revision in pages.items():
                drawn.setdefault(page, set()).add(revision)
        run.say(f"drawing edits: {len(drawn):,} pages from {number:,} of {len(windows):,} windows")
    lookback = 0 if settings.keep_restored else sampling.lookback
    return [_Target(page, frozenset(revisions), lookback) for page, revisions in sorted(drawn.items())]


class _Ledger:
    """Digest of the revisions read of one page."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.size = 0
        self.hash = hashlib.sha256()

    def pass_on(self, revisions: Iterable[Revision]) -> Iterator[Revision]:
        for revision in revisions:
            text = b"" if revision.text is None else revision.text.encode("utf-8", "surrogatepass")
            self.ids.append(revision.id)
            self.size += len(text)
            head = (revision.id, revision.parent, utc_text(revision.timestamp), revision.text is None, len(text))
            self.hash.update(f"{head}\n".encode() + text)
            yield revision


class _Run:
    """Reads pages, a few at once; the result does not depend on the order in which they finish."""

    def __init__(self, site: WikiSite, task: _Task, session: PoliteSession, say: Progress) -> None:
        self.site, self.task = site, task
        self._wiki = site.names()
        self._session, self._say = session, say
        self._told = float("-inf")

    def say(self, what: str) -> None:
        now = time.monotonic()
        if now - self._told > _BETWEEN_REPORTS_S:
            self._told = now
            self._say(f"{what}, {self._session.requests_sent:,} requests")

    def read(self, targets: Sequence[_Target]) -> tuple[EditsFound, list[_Ledger]]:
        with ThreadPoolExecutor(self._session.limits.at_once) as executor:
            futures = [executor.submit(self._page, target) for target in targets]
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    future.result()
                    self.say(f"{done:,} of {len(targets):,} pages")
            except BaseException:  # Ctrl-C too: the other threads would go on asking the wiki
                self._session.stop()
                executor.shutdown(cancel_futures=True)
                raise
        results = [future.result() for future in futures]
        total = EditsFound("")
        for found, _ in results:
            total.add(found)
        return total, [ledger for _, ledger in results]

    def _page(self, target: _Target) -> tuple[EditsFound, _Ledger]:
        try:
            return self._read_anew(target)
        except SourceError as error:
            if error.code not in (BAD_CONTINUE, NO_PROGRESS):
                raise
        return self._read_anew(target)

    def _read_anew(self, target: _Target) -> tuple[EditsFound, _Ledger]:
        """Read a page; if its stored answers lead nowhere, forget them, so that the next time begins at its start."""
        try:
            return self._read(target)
        except SourceError as error:
            if error.code in (BAD_CONTINUE, NO_PROGRESS):
                self.site.forget_page(target.page)
            raise

    def _read(self, target: _Target) -> tuple[EditsFound, _Ledger]:
        found, ledger = EditsFound(""), _Ledger()
        page = self.site.page(target.page, around=min(target.drawn, default=None))
        if page is None:
            found.context[_GONE] += 1
            return found, ledger
        # Drawn edits that restore a text from before the revisions read.
        drawn = sorted(target.drawn) if target.lookback else []
        asked, lookback = self.site.gives_old_text, target.lookback
        restoring = frozenset(id_ for id_ in drawn if asked(page.id, id_, lookback=lookback))
        read = replace(page, revisions=ledger.pass_on(page.revisions), wiki=self._wiki)
        _follow(read, target, self.task, found, restoring=restoring)
        found.context["pages"] += 1
        found.context["revisions"] += len(ledger.ids)
        return found, ledger


def _follow(
    page: WikiPage, target: _Target, task: _Task, found: EditsFound, *, restoring: frozenset[int] = frozenset()
) -> None:
    """Apply the rule to all edits of the quarter, or until the drawn ones are decided."""
    collapse = task.settings.collapse_runs
    follower = Follower(task.settings, task.quarter, restoring=restoring, wiki=page.wiki)
    asked = _Asked(target.drawn, collapse=collapse)
    watched = asked.watch(page.revisions if target.drawn else _counted(page.revisions, task.quarter, found))
    for revision in collapse_runs(watched) if collapse else watched:
        if not follower.needs_more(revision):
            break
        for decision in follower.add(revision):
            if asked.about(decision):
                _take(decision, page, task, found)
        if asked.passed(revision) and not follower.is_open(asked.revisions):
            return
    for decision in follower.finish():
        if asked.about(decision):
            _take(decision, page, task, found)
    if not target.drawn:
        found.context["revisions that changed too many paragraphs"] += follower.broad_revisions


def _counted(revisions: Iterable[Revision], quarter: Quarter, found: EditsFound) -> Iterator[Revision]:
    for revision in revisions:
        if revision.timestamp in quarter:
            found.context["revisions in the quarter"] += 1
            found.context["revisions in the quarter with hidden text"] += revision.text is None
        yield revision


class _Asked:
    """Tracks the drawn edits of a page through the rule; without any, all edits count."""

    def __init__(self, drawn: frozenset[int], *, collapse: bool) -> None:
        self.revisions: set[int] = set()
        self._all, self._left, self._collapse = not drawn, set(drawn), collapse
        self._under_way: set[int] = set()

    def watch(self, revisions: Iterable[Revision]) -> Iterator[Revision]:
        """The same revisions; with collapsed runs, a drawn edit gets the id of its run's last one."""
        last: Revision | None = None
        for revision in revisions:
            same_run = self._collapse and last is not None and last.user is not None and last.user == revision.user
            goes_on = same_run and last is not None and last.id in self._under_way
            if goes_on and last is not None:
                self._under_way.discard(last.id)
                self.revisions.discard(last.id)
            if goes_on or revision.id in self._left:
                self._under_way.add(revision.id)
                self.revisions.add(revision.id)
            self._left.discard(revision.id)
            last = revision
            yield revision

    def about(self, decision: Decision) -> bool:
        """Whether the edit is a drawn one, or all edits count."""
        return self._all or decision.revision.id in self.revisions

    def passed(self, revision: Revision) -> bool:
        """Record that the rule has processed a revision; returns whether all drawn ones are processed."""
        self._under_way.discard(revision.id)
        return not (self._all or self._left or self._under_way)
