"""The revert-stability rule: which paragraph edits the community accepted, rejected, or left undecided.

With L paragraphs in the article, N = 2 + L // 10. An edit is **accepted** if the new paragraph stands unchanged in its
section in each of the next N revisions. It is **rejected** if within N revisions another user restores the old
paragraph, which then stands for N more. All others are discarded, with a counted reason. Source: the paper's
section 4.1.2 and appendix A.

A whole inserted paragraph (an option) is rejected when another user removes it whole, a removed one when another user
inserts it again; both count only if the paragraph does not appear in another section.

Revisions are processed in order. Memory holds the latest revision, the paragraphs of edits not yet decided, the
users since the oldest of them, and a number for each version of a paragraph that ever stood in the article, to
recognise restored text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from collectors.settings import EditsSettings
from collectors.wikipedia.edits import (
    ParagraphChange,
    changed_headings,
    changes_more_than,
    members,
    paragraph_changes,
    shares_with_others,
)
from collectors.wikipedia.lineages import Lineages
from collectors.wikipedia.names import ENGLISH, WikiNames
from collectors.wikipedia.wikitext import Revision, Snapshot, Splitter
from hellofresh.core.quarters import Quarter

_TIDY_EVERY = 64  # revisions
_ALWAYS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_SAME_PAGE_WITHIN = 100  # revisions within which a page's text is recognised


class Fate(StrEnum):
    """The fate of a paragraph edit; all but the first two are reasons to discard it, of which the first counts."""

    meaning: str

    def __new__(cls, name: str, meaning: str = "") -> Self:
        fate = str.__new__(cls, name)
        fate._value_, fate.meaning = name, meaning
        return fate

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    HIDDEN_TEXT = (
        "hidden-text",
        "the text of the revision, the one before or the deciding one is hidden, missing or not wikitext",
    )
    TOO_MANY_PARAGRAPHS = "too-many-paragraphs", "the revision changes too many paragraphs"
    PARENT_MISSING = "parent-missing", "the revision was not made on the one before it in the source"
    SECTION_AMBIGUOUS = "section-ambiguous", "the section's heading appears twice, or is missing when needed"
    PARAGRAPH_REPEATED = "paragraph-repeated", "the section holds the same paragraph twice"
    OTHER_KIND = "other-kind", "no paragraph of the requested kinds"
    TOO_SHORT = "too-short", "too few characters added and removed"
    URLS_ONLY = "urls-only", "nothing but web addresses changed"
    BOT = "bot", "made by a bot"
    RESTORES_OLD_TEXT = "restores-old-text", "restores a paragraph that the section had before"
    TOO_RECENT = "too-recent", "the history ends before a decision"
    PAGE_BLANKED = "page-blanked", "the page was blanked before a decision"
    MOVED = "moved", "the paragraph, or a long piece of what changed, was moved within the article"
    REWRITTEN = "rewritten", "the paragraph was changed again before a decision"
    SELF_REVERT = "self-revert", "taken back by the user who made it"
    HIDDEN_USER = "hidden-user", "taken back, and one of the two users is hidden"
    RE_REVERTED = "re-reverted", "taken back, and the old paragraph changed again too soon"
    MARKUP_ONLY = "markup-only", "a reader would see no difference"
    NOTHING_TO_READ = "nothing-to-read", "a reader would see nothing of the paragraph before, or after"
    UNKNOWN_TEMPLATE = (
        "unknown-template",
        "a template that readers see in the paragraph is not in the table of templates",
    )
    LITTLE_TO_READ = "little-to-read", "readers see too few of the characters added and removed"


MEANINGS = {fate: fate.meaning for fate in Fate if fate.meaning}
"""The meaning of each reason, in the order in which they apply."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A paragraph edit and its fate.

    Attributes:
        revision: the revision of the edit, without its text.
        number: position among the paragraphs that the revision changed, from 1, in the order of the article.
        change: the paragraph before and after; None if the text is hidden.
        fate: of the edit.
        required_edits: N, 0 if the edit was not followed.
        survived_edits: later revisions that the new paragraph survived, at most N.
        revert_delay_s: seconds until the revert; None if it was not reverted.
        distinct_users: users of the N revisions after it, without hidden ones; 0 if undecided.
        page_reverted: whether one of these N restored the exact text of the whole page from shortly before the edit.
        untouched: whether it is undecided and the new paragraph still stands.
        lineage: names of the paragraph's lineage at the edit (`collectors.wikipedia.lineages`); empty if not followed.
    """

    revision: Revision
    number: int
    change: ParagraphChange | None
    fate: Fate
    required_edits: int = 0
    survived_edits: int = 0
    revert_delay_s: int | None = None
    distinct_users: int = 0
    page_reverted: bool = False
    untouched: bool = False
    lineage: tuple[str, ...] = ()


class _Phase(StrEnum):
    STANDS = "stands"
    GONE = "gone"
    PUT_BACK = "put-back"
    DECIDED = "decided"


@dataclass(slots=True)
class _Watch:
    """An edit under observation."""

    begun: Decision
    change: ParagraphChange
    index: int
    deadline: int
    phase: _Phase = _Phase.STANDS
    survived: int = 0
    delay_s: int | None = None
    fallback: Fate = Fate.TOO_RECENT
    page_reverted: bool = False

    @property
    def required(self) -> int:
        return self.begun.required_edits

    def decision(self, fate: Fate, distinct_users: int = 0) -> Decision:
        untouched, self.phase = fate is Fate.TOO_RECENT and self.phase is _Phase.STANDS, _Phase.DECIDED
        return replace(
            self.begun,
            fate=fate,
            survived_edits=self.survived,
            revert_delay_s=self.delay_s,
            distinct_users=distinct_users,
            page_reverted=self.page_reverted,
            untouched=untouched,
        )


class _Pages:
    """Texts of the latest revisions, to recognise a restored one."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def add(self, digest: int, place: int) -> int | None:
        """Add a revision's text, and return the place of the latest earlier revision with the same text, if known."""
        known = self._places.pop(digest, None)
        self._places[digest] = place
        oldest = next(iter(self._places.items()))
        if oldest[1] <= place - _SAME_PAGE_WITHIN:
            del self._places[oldest[0]]
        return known


class Follower:
    """Follows one page, revision by revision, and decides its edits.

    Args:
        settings: the collector's options.
        quarter: of the edits to decide; None for all edits.
        restoring: revisions known to restore an old text of the page that is outside the given history.
        wiki: the names of its namespaces.
    """

    def __init__(
        self,
        settings: EditsSettings,
        quarter: Quarter | None = None,
        *,
        restoring: Collection[int] = frozenset(),
        wiki: WikiNames = ENGLISH,
    ) -> None:
        self.broad_revisions = 0
        self._settings = settings
        self._restoring = restoring
        self._start, self._end = (quarter.start, quarter.end) if quarter else _ALWAYS
        self._splitter = Splitter(wiki)
        self._index = -1
        self._last: Revision | None = None
        self._visible: Snapshot | None = None
        self._seen: set[int] = set()
        self._users: dict[int, str | None] = {}
        self._pages = _Pages()
        self._lineages = Lineages()
        self._same_page: int | None = None
        self._watched: dict[str, list[_Watch]] = {}
        self._due: defaultdict[int, list[_Watch]] = defaultdict(list)

    def add(self, revision: Revision) -> list[Decision]:
        """Process the next revision, and return the decisions it leads to."""
        self._index += 1
        self._users[self._index] = revision.user
        if self._index % _TIDY_EVERY == 0:
            oldest = min([watch.index for watches in self._watched.values() for watch in watches], default=self._index)
            self._users = {index: user for index, user in self._users.items() if index >= oldest}
        id_, parent, timestamp, user, text = revision
        before, self._last = self._last, Revision(id_, parent, timestamp, user, None if text is None else "")
        if revision.text is None:
            self._due[self._index + 1] += self._due.pop(self._index, [])
            return self._unseen(revision, before)
        snapshot = self._splitter.split(revision.text)
        self._see_page(snapshot)
        gap = before is not None and before.text is None
        decided = self._step(snapshot, revision, before, gap=gap)
        self._visible = snapshot
        return decided

    def _step(self, snapshot: Snapshot, revision: Revision, before: Revision | None, *, gap: bool) -> list[Decision]:
        if self._visible is None:
            self._remember(None, snapshot, snapshot.order)
            self._lineages.add(frozenset(), members(snapshot, *snapshot.order))
            return self._unseen(revision, before) if gap else []
        headings = changed_headings(self._visible, snapshot)
        old, new = members(self._visible, *headings), members(snapshot, *headings)
        self._lineages.add(old - new, new - old)
        decided = self._look(snapshot, revision, headings, gap=gap)
        decided += self._settle()
        if gap:
            decided += self._unseen(revision, before)
        elif before is not None and headings and self._wanted(revision):
            decided += self._edits(snapshot, revision, before, headings)
        self._remember(self._visible, snapshot, headings)
        return decided

    def decisions(self, revisions: Iterable[Revision]) -> Iterator[Decision]:
        """The fates of all edits of the page; reads no more revisions than needed."""
        for revision in revisions:
            if not self.needs_more(revision):
                break
            yield from self.add(revision)
        yield from self.finish()

    def finish(self) -> list[Decision]:
        """End the history; edits that are still open remain undecided."""
        open_ = [watch for watches in self._watched.values() for watch in watches]
        open_.sort(key=lambda watch: (watch.index, watch.begun.number))
        return [watch.decision(Fate.TOO_RECENT) for watch in open_]

    def needs_more(self, revision: Revision) -> bool:
        """Whether this or any later revision can matter."""
        return revision.timestamp < self._end or bool(self._watched)

    def is_open(self, revisions: Collection[int]) -> bool:
        """Whether an edit of one of these revisions is undecided."""
        return any(watch.begun.revision.id in revisions for watches in self._watched.values() for watch in watches)

    def _see_page(self, snapshot: Snapshot) -> None:
        """Mark the edits that this revision undoes by restoring an earlier text of the whole page."""
        self._same_page = self._pages.add(snapshot.digest, self._index)
        if self._same_page is None or self._same_page == self._index - 1:
            return
        for watches in self._watched.values():
            for watch in watches:
                if self._same_page < watch.index and self._index <= watch.index + watch.required:
                    watch.page_reverted = True

    def _wanted(self, revision: Revision) -> bool:
        return self._start <= revision.timestamp < self._end

    def _unseen(self, revision: Revision, before: Revision | None) -> list[Decision]:
        if before is None or not self._wanted(revision):
            return []
        return [Decision(revision, 1, None, Fate.HIDDEN_TEXT)]

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
        """Evaluate a changed section for a watched edit; returns its fate if this decides it."""
        change = watch.change
        section = snapshot.sections.get(change.heading)
        if watch.phase is _Phase.PUT_BACK:
            return None if change.undone_in(section) else Fate.RE_REVERTED
        if watch.phase is _Phase.STANDS:
            if change.stands_in(section):
                return None
            if gap:
                return Fate.HIDDEN_TEXT
            watch.phase = _Phase.GONE
            watch.survived = self._index - watch.index - 1
            if not snapshot.paragraphs:
                watch.fallback = Fate.PAGE_BLANKED
            elif snapshot.holds(change.after):
                watch.fallback = Fate.MOVED
            else:
                watch.fallback = Fate.SECTION_AMBIGUOUS if section is None else Fate.REWRITTEN
            if not change.before and not self._taken_out(watch, snapshot):
                return watch.fallback
        if not change.undone_in(section):
            return None
        return self._put_back(watch, revision, gap=gap)

    def _taken_out(self, watch: _Watch, snapshot: Snapshot) -> bool:
        """Whether an inserted paragraph was removed whole, not replaced or moved."""
        if watch.fallback is not Fate.REWRITTEN or self._visible is None:
            return False
        changes = paragraph_changes(self._visible, snapshot, [watch.change.heading], whole=True)
        return any(change.before == watch.change.after and not change.after for change in changes)

    def _put_back(self, watch: _Watch, revision: Revision, *, gap: bool) -> Fate | None:
        if gap:
            return Fate.HIDDEN_TEXT
        made = watch.begun.revision
        if revision.user is None or made.user is None:
            return Fate.HIDDEN_USER
        if revision.user == made.user:
            return Fate.SELF_REVERT
        watch.phase = _Phase.PUT_BACK
        watch.delay_s = int((revision.timestamp - made.timestamp).total_seconds())
        watch.deadline = self._index + watch.required
        self._due[watch.deadline].append(watch)
        return None

    def _settle(self) -> list[Decision]:
        """Decide edits that have been followed long enough."""
        decided = []
        for watch in self._due.pop(self._index, ()):
            if watch.phase is _Phase.DECIDED or watch.deadline > self._index:
                continue
            if watch.phase is _Phase.STANDS:
                watch.survived = watch.required
                decided.append(watch.decision(Fate.ACCEPTED, self._users_of(watch)))
            elif watch.phase is _Phase.PUT_BACK:
                decided.append(watch.decision(Fate.REJECTED, self._users_of(watch)))
            else:
                decided.append(watch.decision(watch.fallback))
            self._keep_open(watch.change.heading)
        return decided

    def _users_of(self, watch: _Watch) -> int:
        after = range(watch.index + 1, watch.index + watch.required + 1)
        return len({self._users[index] for index in after} - {None})

    def _keep_open(self, heading: str) -> None:
        open_ = [watch for watch in self._watched.get(heading, ()) if watch.phase is not _Phase.DECIDED]
        if open_:
            self._watched[heading] = open_
        else:
            self._watched.pop(heading, None)

    def _edits(self, snapshot: Snapshot, revision: Revision, before: Revision, headings: list[str]) -> list[Decision]:
        assert self._visible is not None
        changes = paragraph_changes(self._visible, snapshot, headings, whole=self._settings.whole_paragraphs)
        broad = len(changes) > self._settings.max_paragraphs
        self.broad_revisions += broad
        light = self._last or revision
        required = self._settings.required_revisions(snapshot.paragraphs)
        decided = []
        for number, change in enumerate(changes, start=1):
            fate = Fate.TOO_MANY_PARAGRAPHS if broad else self._filter(change, revision, before)
            if fate is None and self._moved(change, snapshot, headings):
                fate = Fate.MOVED
            if fate is not None:
                decided.append(Decision(light, number, change, fate))
                continue
            deadline = self._index + required
            lineage = self._lineages.names(change)
            begun = Decision(light, number, change, Fate.TOO_RECENT, required, lineage=lineage)
            watch = _Watch(begun, change, self._index, deadline)
            self._watched.setdefault(change.heading, []).append(watch)
            self._due[deadline].append(watch)
        return decided

    def _filter(  # noqa: PLR0911 -- one return a reason, in the order that counts
        self, change: ParagraphChange, revision: Revision, before: Revision
    ) -> Fate | None:
        """The first reason not to follow an edit, or None."""
        settings = self._settings
        if revision.parent not in (None, before.id):
            return Fate.PARENT_MISSING
        if change.ambiguous:
            return Fate.SECTION_AMBIGUOUS
        if not set(change.kinds) <= set(settings.kinds):
            return Fate.OTHER_KIND
        if not changes_more_than(settings.min_changed_characters, change.before, change.after):
            return Fate.TOO_SHORT
        if not settings.keep_bots and (revision.user or "").casefold().endswith(settings.bot_suffixes):
            return Fate.BOT
        stood = hash((change.heading, change.after)) in self._seen if change.after else self._same_page is not None
        if not settings.keep_restored and (stood or revision.id in self._restoring):
            return Fate.RESTORES_OLD_TEXT
        return Fate.PARAGRAPH_REPEATED if change.repeated else None

    def _moved(self, change: ParagraphChange, snapshot: Snapshot, headings: list[str]) -> bool:
        """Whether inserted text existed elsewhere before, or removed text exists elsewhere now."""
        assert self._visible is not None
        if change.whole and (self._visible.holds(change.after) if change.after else snapshot.holds(change.before)):
            return True
        return shares_with_others(change, self._visible, snapshot, headings)

    def _remember(self, before: Snapshot | None, after: Snapshot, headings: Iterable[str]) -> None:
        for heading in headings:
            new = members(after, heading)
            if before is not None:
                new = new - members(before, heading)
            # Strings cache their hashes; the numbers never leave the process.
            self._seen.update([hash((heading, paragraph)) for paragraph in new])
