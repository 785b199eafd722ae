"""The paragraphs that a revision replaced, and how much of each it changed.

Common parts of two sequences are found as by `difflib` without its heuristic for common items. `cydifflib` is its
port to C; the tests check that it gives the same blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cydifflib import SequenceMatcher

from collectors.settings import Kind
from collectors.wikipedia.wikitext import Snapshot, WikiSection

_MOST_COMPARISONS = 1_000_000  # beyond it a comparison takes seconds, and only vandalism does so
_Place = tuple[int, int] | tuple[int, None] | tuple[None, int]  # old and new index of a changed paragraph
_LIKE = 0.5  # share of common words, for two paragraphs to be versions of one
_LARGEST = 900  # pairs to compare; a larger rewrite changes too many paragraphs anyway
_TOKEN = re.compile(r"\w+|\W")
_MOVED = 50  # characters of a piece that can hardly occur in two paragraphs by chance
_URL = re.compile(r"\[?\b(?:https?|ftp)://[^\s\[\]<>|{}]+\]?|\[//[^\s\[\]<>|{}]+\]?", re.IGNORECASE)
Gap = tuple[int, int, int, int]
"""`a, b, c, d`: `new[c:d]` replaces `old[a:b]`; one of the two may be empty."""


@dataclass(frozen=True, slots=True)
class ParagraphChange:
    """A paragraph that one revision replaced, inserted or removed.

    Attributes:
        heading: heading of the section, the same before and after.
        before: the old paragraph, white space normalised; empty if one was inserted.
        after: the new one; empty if one was removed.
        kinds: the kinds of the old and the new one; twice the same if there is only one.
        ambiguous: the heading occurs more than once before or after.
        repeated: the old paragraph still exists after, or the new one already existed before.
    """

    heading: str
    before: str
    after: str
    kinds: tuple[Kind, Kind]
    ambiguous: bool
    repeated: bool

    @property
    def kind(self) -> Kind:
        """The kind of the old paragraph, or of the inserted one."""
        return self.kinds[0]

    @property
    def whole(self) -> bool:
        """Whether the whole paragraph was inserted or removed."""
        return not (self.before and self.after)

    def stands_in(self, section: WikiSection | None) -> bool:
        """Whether the edit's result is unchanged."""
        if section is None:
            return False
        return self.after in section.members if self.after else self.before not in section.members

    def undone_in(self, section: WikiSection | None) -> bool:
        """Whether the state before the edit is restored."""
        if section is None:
            return False
        return self.before in section.members if self.before else self.after not in section.members


def changed_headings(before: Snapshot, after: Snapshot) -> list[str]:
    """Headings whose sections differ, those of `after` first, in the order of the article."""
    if before is after:
        return []
    old, new = before.sections, after.sections
    changed = [heading for heading, section in new.items() if old.get(heading) is not section]
    changed += [heading for heading in old if heading not in new and heading not in after.repeated]
    for heading, group in after.repeated.items():
        if before.repeated.get(heading) != group:
            changed.append(heading)
    changed += [heading for heading in before.repeated if heading not in new and heading not in after.repeated]
    if after.repeated:
        place = {heading: number for number, heading in enumerate(after.order)}
        changed.sort(key=lambda heading: place.get(heading, len(place)))
    return changed


def paragraph_changes(
    before: Snapshot, after: Snapshot, headings: Sequence[str], *, whole: bool = False
) -> list[ParagraphChange]:
    """The replaced paragraphs of sections that exist before and after, in the order of the article.

    Args:
        before, after: the two states of the page.
        headings: of the sections to compare.
        whole: also give whole inserted or removed paragraphs, which have no counterpart.
    """
    found: list[ParagraphChange] = []
    for heading in headings:
        old, new = before.sections.get(heading), after.sections.get(heading)
        ambiguous = old is None or new is None
        olds = before.repeated.get(heading, ()) if old is None else (old,)
        news = after.repeated.get(heading, ()) if new is None else (new,)
        if olds and news:
            old_side, new_side = _side(olds), _side(news)
            places = _places(old_side.paragraphs, new_side.paragraphs, whole=whole)
            found += [_change(heading, old_side, new_side, place, ambiguous=ambiguous) for place in places]
    return found


@dataclass(frozen=True, slots=True)
class _Side:
    """The combined contents of all sections with one heading."""

    paragraphs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    members: frozenset[str]


def _side(sections: Sequence[WikiSection]) -> WikiSection | _Side:
    if len(sections) == 1:
        return sections[0]
    paragraphs = tuple(paragraph for section in sections for paragraph in section.paragraphs)
    kinds = tuple(kind for section in sections for kind in section.kinds)
    return _Side(paragraphs, kinds, frozenset(paragraphs))


def _change(
    heading: str, old: WikiSection | _Side, new: WikiSection | _Side, place: _Place, *, ambiguous: bool
) -> ParagraphChange:
    i, j = place
    before, after = "" if i is None else old.paragraphs[i], "" if j is None else new.paragraphs[j]
    known = [side.kinds[at] for side, at in ((old, i), (new, j)) if at is not None]
    repeated = before in new.members or after in old.members
    return ParagraphChange(heading, before, after, (known[0], known[-1]), ambiguous, repeated)


@lru_cache(maxsize=512)  # articles swing between two states
def _places(old: tuple[str, ...], new: tuple[str, ...], *, whole: bool) -> Sequence[_Place]:
    """Indices of paired paragraphs that differ; optionally, of those without a partner too."""
    if old == new:
        return []
    start, stop = common_ends(old, new)
    left, right = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(left) == len(right) == 1:
        return [(start, start)]
    if not (left and right) and not whole:
        return []
    if len(left) * len(right) > _MOST_COMPARISONS:
        return [(start + i, start + i) for i in range(min(len(left), len(right))) if left[i] != right[i]]
    places: list[_Place] = []
    for gap in gaps(left, right):
        a, b, c, d = (start + place for place in gap)
        pairs = [(a + i, c + j) for i, j in _align(old[a:b], new[c:d])] if a < b and c < d else []
        places += _with_whole(pairs, range(a, b), range(c, d)) if whole else pairs
    return places


def _with_whole(pairs: Iterable[tuple[int, int]], olds: range, news: range) -> Iterator[_Place]:
    """The pairs of a stretch in order, with the old and then the new indices without a partner between them."""
    a, c = olds.start, news.start
    for i, j in [*pairs, (olds.stop, news.stop)]:
        yield from ((place, None) for place in range(a, i))
        yield from ((None, place) for place in range(c, j))
        if i < olds.stop:
            yield i, j
        a, c = i + 1, j + 1


def _align(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair paragraphs of a replaced stretch: the most similar ones, then others by position if equally many remain."""
    if len(old) == len(new) == 1:
        return [(0, 0)]
    anchors = _likest(old, new) if len(old) * len(new) <= _LARGEST else []
    pairs: list[tuple[int, int]] = []
    i = j = 0
    for a, b in [*anchors, (len(old), len(new))]:
        if a - i == b - j:
            pairs += zip(range(i, a), range(j, b), strict=True)
        if a < len(old):
            pairs.append((a, b))
        i, j = a + 1, b + 1
    return pairs


def _likest(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The order-preserving pairing with the greatest total similarity, using only sufficiently similar pairs."""
    left, right = [_words(text) for text in old], [_words(text) for text in new]
    like = [[_likeness(a, b) for b in right] for a in left]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            paired = like[i][j] + best[i + 1][j + 1] if like[i][j] >= _LIKE else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    anchors, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            anchors.append((i, j))
            i, j = i + 1, j + 1
    return anchors


def alike(one: str, other: str) -> bool:
    """Whether two paragraphs share enough words to be versions of one."""
    return _likeness(_words(one), _words(other)) >= _LIKE


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """The distinct words of a paragraph; paragraphs are compared again in every revert."""
    return frozenset(text.split())


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice coefficient of the words, 0 to 1; 0 also where the numbers of words show that it is below `_LIKE`."""
    few, many = sorted((len(one), len(other)))
    return 2 * len(one & other) / (few + many) if many <= few * (2 / _LIKE - 1) else 0.0


def changes_more_than(characters: int, before: str, after: str) -> bool:
    """Whether more than this many characters were inserted or deleted, compared word by word.

    Bounds settle nearly all cases at a fifth of the cost of a comparison. The upper one is the text between the common
    start and end; the lower ones are the difference in length, and the words that one side has more of.
    """
    if abs(len(before) - len(after)) > characters:
        return True
    start = _common_start(before, after)
    end = _common_end(before, after, min(len(before), len(after)) - start)
    if len(before) + len(after) - 2 * (start + end) <= characters:
        return False
    old, new = _trimmed(
        _TOKEN.findall(before, start, len(before) - end), _TOKEN.findall(after, start, len(after) - end)
    )
    total = _length(old) + _length(new)
    if total <= characters:
        return False
    if _length(set(old) ^ set(new)) > characters:
        return True
    left, right = Counter(old), Counter(new)
    if (
        _length((left - right).elements()) + _length((right - left).elements()) > characters
        or len(old) * len(new) > _MOST_COMPARISONS
    ):
        return True
    changed = sum(_length(old[a:b]) + _length(new[c:d]) for a, b, c, d in gaps(old, new))
    return changed > characters


def _trimmed(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both lists without their common start and end."""
    start, stop = common_ends(old, new)
    return old[start : len(old) - stop], new[start : len(new) - stop]


def _common_start(before: str, after: str) -> int:
    """Length of the common start, found by bisection, moved back to the start of a word."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before.startswith(after[low:middle], low):
            low = middle
        else:
            high = middle - 1
    while low and _is_word(before[low - 1]):
        low -= 1
    return low


def _common_end(before: str, after: str, most: int) -> int:
    """Length of the common end, at most `most`, moved back to a word boundary."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if before.endswith(after[len(after) - middle : len(after) - low], 0, len(before) - low):
            low = middle
        else:
            high = middle - 1
    while low and _is_word(before[len(before) - low]):
        low -= 1
    return low


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _length(tokens: Iterable[str]) -> int:
    return sum(map(len, tokens))


def shares_with_others(change: ParagraphChange, before: Snapshot, after: Snapshot, headings: Iterable[str]) -> bool:
    """Whether a long inserted piece came from another changed paragraph, or a removed one went to one."""
    gone: set[str] = set()
    come: set[str] = set()
    for heading in headings:
        olds, news = members(before, heading), members(after, heading)
        gone |= olds - news
        come |= news - olds
    gone.discard(change.before)
    come.discard(change.after)
    if not gone and not come:
        return False
    old, new = _trimmed(change.before.split(), change.after.split())
    if sum(map(len, old)) + len(old) <= _MOVED + 1 and sum(map(len, new)) + len(new) <= _MOVED + 1:
        return False
    taken: set[str] = set()
    given: set[str] = set()
    for a, b, c, d in gaps(old, new):
        taken.update(_pieces(old[a:b]))
        given.update(_pieces(new[c:d]))
    return _any_holds(come, taken) or _any_holds(gone, given)


def long_pieces(text: str, before: str = "") -> Iterator[str]:
    """All minimal pieces of a text that can hardly occur in two paragraphs by chance.

    Pieces from parts unchanged since `before` are left out where these are cheap to find.
    """
    start = _common_start(before, text)
    end = len(text) - _common_end(before, text, min(len(before), len(text)) - start)
    return _pieces(text[max(0, start - 3 * _MOVED) : end + 3 * _MOVED].split())


def _any_holds(texts: Iterable[str], pieces: set[str]) -> bool:
    """Whether a piece is in one of the texts; pieces are used since moved text is often edited."""
    return bool(pieces) and any(not pieces.isdisjoint(_pieces(text.split())) for text in texts)


def _pieces(words: Sequence[str]) -> Iterator[str]:
    """For each word, the shortest sequence from it that is long enough."""
    stop, length = 0, -1
    for start, word in enumerate(words):
        while length <= _MOVED and stop < len(words):
            length += len(words[stop]) + 1
            stop += 1
        if length <= _MOVED:
            return
        yield " ".join(words[start:stop])
        length -= len(word) + 1


def members(snapshot: Snapshot, *headings: str) -> frozenset[str]:
    """The paragraphs of all sections with these headings."""
    found: list[frozenset[str]] = []
    for heading in headings:
        section = snapshot.sections.get(heading)
        alone = () if section is None else (section,)
        found += [section.members for section in alone or snapshot.repeated.get(heading, ())]
    return found[0] if len(found) == 1 else frozenset().union(*found)


def only_urls_differ(before: str, after: str) -> bool:
    """Whether the two differ only by web addresses (with their brackets) and white space."""
    bare, other = ("".join(_URL.sub("", text).split()) for text in (before, after))
    return bare == other


def common_ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """The number of common items at the start, and of common items among the rest at the end."""
    shortest = min(len(old), len(new))
    start = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        start += 1
    end = 0
    for place in range(-1, start - shortest - 1, -1):
        if old[place] != new[place]:
            break
        end += 1
    return start, end


def gaps(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Gap]:
    """The gaps between the common blocks, in order."""
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(a, b, c, d) for tag, a, b, c, d in codes if tag != "equal"]
