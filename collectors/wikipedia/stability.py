"""The revert-stability rule: which paragraph edits the community kept, which it took back, and which say nothing.

With L paragraphs in the article, N = 2 + L // 10. An edit is **accepted** if the new paragraph stands unchanged in its
section in each of the next N revisions. It is **rejected** if within N revisions somebody else puts the old paragraph
back, and the old one then stands for N more. All else is discarded, for a reason that is counted. Source: the paper's
section 4.1.2 and appendix A.

Revisions are taken one at a time. Kept in memory are the latest revision, the paragraphs of edits not yet decided, and
eight bytes for each version of a paragraph that ever stood in the article, to know old text when it comes back.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from collectors.wikipedia.edits import ParagraphChange, changed_headings, changes_more_than, paragraph_changes
from collectors.wikipedia.history import Revision
from collectors.wikipedia.settings import Settings
from collectors.wikipedia.wikitext import Snapshot, Splitter
from hellofresh.quarters import Quarter

__all__ = ["MEANINGS", "Decision", "Fate", "Follower", "decide"]


class Fate(StrEnum):
    """What became of a paragraph edit; all but the first two are reasons to discard it."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    HIDDEN_TEXT = "hidden-text"
    TOO_MANY_PARAGRAPHS = "too-many-paragraphs"
    PARENT_MISSING = "parent-missing"
    SECTION_AMBIGUOUS = "section-ambiguous"
    PARAGRAPH_REPEATED = "paragraph-repeated"
    OTHER_KIND = "other-kind"
    TOO_SHORT = "too-short"
    URLS_ONLY = "urls-only"
    BOT = "bot"
    RESTORES_OLD_TEXT = "restores-old-text"
    TOO_RECENT = "too-recent"
    PAGE_BLANKED = "page-blanked"
    MOVED = "moved"
    REWRITTEN = "rewritten"
    SELF_REVERT = "self-revert"
    HIDDEN_USER = "hidden-user"
    RE_REVERTED = "re-reverted"
    MARKUP_ONLY = "markup-only"


MEANINGS = {
    Fate.HIDDEN_TEXT: "the text of the revision, the one before or the deciding one is hidden",
    Fate.TOO_MANY_PARAGRAPHS: "the revision changes too many paragraphs",
    Fate.PARENT_MISSING: "the revision was not made on the one before it in the source",
    Fate.SECTION_AMBIGUOUS: "the section's heading is there twice, or gone when it mattered",
    Fate.PARAGRAPH_REPEATED: "the section holds the same paragraph twice",
    Fate.OTHER_KIND: "no paragraph of the kinds asked about",
    Fate.TOO_SHORT: "too few characters put in and taken out",
    Fate.URLS_ONLY: "nothing but web addresses changed",
    Fate.BOT: "made by a bot",
    Fate.RESTORES_OLD_TEXT: "puts back a paragraph that stood in the section before",
    Fate.TOO_RECENT: "the history ends before a decision",
    Fate.PAGE_BLANKED: "the page was blanked before a decision",
    Fate.MOVED: "the paragraph went to another section",
    Fate.REWRITTEN: "the paragraph was changed again before a decision",
    Fate.SELF_REVERT: "taken back by the user who made it",
    Fate.HIDDEN_USER: "taken back, and one of the two users is hidden",
    Fate.RE_REVERTED: "taken back, and the old paragraph changed again too soon",
    Fate.MARKUP_ONLY: "a reader would see no difference",
}
"""What each reason means, in the order in which they apply."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A paragraph edit and its fate.

    Attributes:
        revision: the one that made the edit, without its text.
        parent: id of the revision it changed.
        number: counts the paragraphs that the revision changed, from 1, in the order of the article.
        change: the paragraph before and after; None where the text is hidden.
        fate: what became of it.
        required_edits: N, 0 where it was not followed.
        survived_edits: later revisions that the new paragraph stood for, at most N.
        revert_delay_s: seconds until it was put back, None if it was not.
    """

    revision: Revision
    parent: int
    number: int
    change: ParagraphChange | None
    fate: Fate
    required_edits: int = 0
    survived_edits: int = 0
    revert_delay_s: int | None = None


_ALWAYS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class _Phase(StrEnum):
    STANDS = "stands"
    GONE = "gone"
    PUT_BACK = "put-back"
    DECIDED = "decided"


@dataclass(slots=True)
class _Watch:
    """An edit on its way to a decision."""

    revision: Revision
    parent: int
    number: int
    change: ParagraphChange
    index: int
    required: int
    deadline: int
    phase: _Phase = _Phase.STANDS
    survived: int = 0
    delay_s: int | None = None
    fallback: Fate = Fate.TOO_RECENT

    def decision(self, fate: Fate) -> Decision:
        self.phase = _Phase.DECIDED
        return Decision(
            self.revision, self.parent, self.number, self.change, fate, self.required, self.survived, self.delay_s
        )


class Follower:
    """Follows one page, revision by revision, and decides its edits.

    Args:
        settings: the collector's options.
        quarter: edits of other times are not asked about; None for all.
    """

    def __init__(self, settings: Settings, quarter: Quarter | None = None) -> None:
        self.broad_revisions = 0
        self._settings = settings
        self._start = quarter.start if quarter else _ALWAYS[0]
        self._end = quarter.end if quarter else _ALWAYS[1]
        self._splitter = Splitter()
        self._index = -1
        self._last: Revision | None = None
        self._visible: Snapshot | None = None
        self._seen: set[bytes] = set()
        self._watched: dict[str, list[_Watch]] = {}
        self._due: defaultdict[int, list[_Watch]] = defaultdict(list)

    def add(self, revision: Revision) -> list[Decision]:
        """Take the next revision, and give what it decides."""
        self._index += 1
        before, self._last = self._last, revision._replace(text="" if revision.text is not None else None)
        if revision.text is None:
            self._due[self._index + 1] += self._due.pop(self._index, [])
            return self._unseen(revision, before)
        snapshot = self._splitter.split(revision.text)
        gap = before is not None and before.text is None
        decided = self._step(snapshot, revision, before, gap=gap)
        self._visible = snapshot
        return decided

    def _step(self, snapshot: Snapshot, revision: Revision, before: Revision | None, *, gap: bool) -> list[Decision]:
        if self._visible is None:
            self._remember(None, snapshot, snapshot.order)
            return self._unseen(revision, before) if gap else []
        headings = changed_headings(self._visible, snapshot)
        decided = self._look(snapshot, revision, headings, gap=gap)
        decided += self._settle()
        if gap:
            decided += self._unseen(revision, before)
        elif before is not None and headings and self._wanted(revision):
            decided += self._edits(snapshot, revision, before, headings)
        self._remember(self._visible, snapshot, headings)
        return decided

    def finish(self) -> list[Decision]:
        """The page's history ends: what is still open stays so."""
        open_ = [watch for watches in self._watched.values() for watch in watches]
        open_.sort(key=lambda watch: (watch.index, watch.number))
        return [watch.decision(Fate.TOO_RECENT) for watch in open_]

    def needs_more(self, revision: Revision) -> bool:
        """Whether the revision, or any after it, can matter."""
        return revision.timestamp < self._end or bool(self._watched)

    def is_open(self, revisions: Collection[int]) -> bool:
        """Whether an edit of one of these revisions still waits for its decision."""
        return any(watch.revision.id in revisions for watches in self._watched.values() for watch in watches)

    def _wanted(self, revision: Revision) -> bool:
        return self._start <= revision.timestamp < self._end

    def _unseen(self, revision: Revision, before: Revision | None) -> list[Decision]:
        if before is None or not self._wanted(revision):
            return []
        return [Decision(revision, before.id, 1, None, Fate.HIDDEN_TEXT)]

    def _look(self, snapshot: Snapshot, revision: Revision, headings: Iterable[str], *, gap: bool) -> list[Decision]:
        decided: list[Decision] = []
        for heading in headings:
            watches = self._watched.get(heading)
            if watches is None:
                continue
            decided += [
                watch.decision(fate)
                for watch in watches
                if (fate := self._change_of(watch, snapshot, revision, gap=gap)) is not None
            ]
            self._keep_open(heading)
        return decided

    def _change_of(self, watch: _Watch, snapshot: Snapshot, revision: Revision, *, gap: bool) -> Fate | None:
        """See what the changed section means to a watched edit; a fate if it decides."""
        section = snapshot.sections.get(watch.change.heading)
        members = section.members if section is not None else frozenset()
        if watch.phase is _Phase.PUT_BACK:
            return None if watch.change.before in members else Fate.RE_REVERTED
        if watch.phase is _Phase.STANDS:
            if watch.change.after in members:
                return None
            if gap:
                return Fate.HIDDEN_TEXT
            watch.phase = _Phase.GONE
            watch.survived = self._index - watch.index - 1
            watch.fallback = _why_gone(watch.change, snapshot)
        if watch.change.before not in members:
            return None
        return self._put_back(watch, revision, gap=gap)

    def _put_back(self, watch: _Watch, revision: Revision, *, gap: bool) -> Fate | None:
        if gap:
            return Fate.HIDDEN_TEXT
        if revision.user is None or watch.revision.user is None:
            return Fate.HIDDEN_USER
        if revision.user == watch.revision.user:
            return Fate.SELF_REVERT
        watch.phase = _Phase.PUT_BACK
        watch.delay_s = int((revision.timestamp - watch.revision.timestamp).total_seconds())
        watch.deadline = self._index + watch.required
        self._due[watch.deadline].append(watch)
        return None

    def _settle(self) -> list[Decision]:
        """Decide what has waited long enough."""
        decided = []
        for watch in self._due.pop(self._index, ()):
            if watch.phase is _Phase.DECIDED or watch.deadline > self._index:
                continue
            if watch.phase is _Phase.STANDS:
                watch.survived = watch.required
                decided.append(watch.decision(Fate.ACCEPTED))
            else:
                put_back = watch.phase is _Phase.PUT_BACK
                decided.append(watch.decision(Fate.REJECTED if put_back else watch.fallback))
            self._keep_open(watch.change.heading)
        return decided

    def _keep_open(self, heading: str) -> None:
        open_ = [watch for watch in self._watched.get(heading, ()) if watch.phase is not _Phase.DECIDED]
        if open_:
            self._watched[heading] = open_
        else:
            self._watched.pop(heading, None)

    def _edits(self, snapshot: Snapshot, revision: Revision, before: Revision, headings: list[str]) -> list[Decision]:
        assert self._visible is not None
        changes = paragraph_changes(self._visible, snapshot, headings)
        broad = len(changes) > self._settings.max_paragraphs
        self.broad_revisions += broad
        light = revision._replace(text="")
        required = self._settings.required_revisions(snapshot.paragraphs)
        decided = []
        for number, change in enumerate(changes, start=1):
            fate = Fate.TOO_MANY_PARAGRAPHS if broad else self._filter(change, revision, before)
            if fate is not None:
                decided.append(Decision(light, before.id, number, change, fate))
                continue
            deadline = self._index + required
            watch = _Watch(light, before.id, number, change, self._index, required, deadline)
            self._watched.setdefault(change.heading, []).append(watch)
            self._due[deadline].append(watch)
        return decided

    def _filter(  # noqa: PLR0911 -- one return a reason, in the order that counts
        self, change: ParagraphChange, revision: Revision, before: Revision
    ) -> Fate | None:
        """The first reason, if any, not to follow an edit at all."""
        settings = self._settings
        if revision.parent not in (None, before.id):
            return Fate.PARENT_MISSING
        if change.ambiguous:
            return Fate.SECTION_AMBIGUOUS
        if not set(change.kinds) <= set(settings.kinds):
            return Fate.OTHER_KIND
        if not changes_more_than(settings.min_changed_characters, change.before, change.after):
            return Fate.TOO_SHORT
        if settings.is_bot(revision.user) and not settings.keep_bots:
            return Fate.BOT
        if not settings.keep_restored and _digest(change.heading, change.after) in self._seen:
            return Fate.RESTORES_OLD_TEXT
        return Fate.PARAGRAPH_REPEATED if change.repeated else None

    def _remember(self, before: Snapshot | None, after: Snapshot, headings: Iterable[str]) -> None:
        for heading in headings:
            new = _members(after, heading)
            if before is not None:
                new = new - _members(before, heading)
            self._seen.update([_digest(heading, paragraph) for paragraph in new])


def _why_gone(change: ParagraphChange, snapshot: Snapshot) -> Fate:
    if not snapshot.paragraphs:
        return Fate.PAGE_BLANKED
    if snapshot.holds(change.after):
        return Fate.MOVED
    return Fate.REWRITTEN if change.heading in snapshot.sections else Fate.SECTION_AMBIGUOUS


def _members(snapshot: Snapshot, heading: str) -> frozenset[str]:
    section = snapshot.sections.get(heading)
    if section is not None:
        return section.members
    nothing: frozenset[str] = frozenset()
    return nothing.union(*(section.members for section in snapshot.repeated.get(heading, ())))


def _digest(heading: str, paragraph: str) -> bytes:
    return hashlib.blake2b(f"{heading}\0{paragraph}".encode(), digest_size=8).digest()


def decide(revisions: Iterable[Revision], settings: Settings, quarter: Quarter | None = None) -> Iterator[Decision]:
    """The fates of all paragraph edits of one page.

    Args:
        revisions: the page's, from the oldest to the newest; read no further than needed.
        settings: the collector's options.
        quarter: only edits of this quarter; None for all.
    """
    follower = Follower(settings, quarter)
    for revision in revisions:
        if not follower.needs_more(revision):
            break
        yield from follower.add(revision)
    yield from follower.finish()
