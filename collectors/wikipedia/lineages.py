"""Lineages of paragraphs: which paragraphs of an article's history are states of one paragraph.

Two states are of one lineage if a revision changed one into the other, if they are a revision's only removal and
only addition, if one replaced the other and shares most of its words, or if they have a long piece in common,
wherever and whenever they existed: so moves, reverts, splits, rewrites and hidden revisions are followed. Later
revisions never change the lineage of an edit, which therefore is independent of the edit's fate.
"""

from __future__ import annotations

from collections.abc import Collection

from collectors.wikipedia.edits import ParagraphChange, alike, long_pieces
from hellofresh.core.files import sha256_text

_MOST_PAIRS = 900  # pairs to compare; beyond it the page was rewritten as a whole, and only long pieces are followed


class Lineages:
    """The lineages of one page, revision by revision.

    A lineage has a name for each paragraph that began it, the hash of its text: several if separate ones were joined.
    """

    def __init__(self) -> None:
        self._of: dict[int, int] = {}  # from a paragraph's mark to a number; numbers point on, up to the lineage's own
        self._parents: list[int] = []
        self._names: dict[int, tuple[str, ...]] = {}

    def add(self, gone: Collection[str], come: Collection[str]) -> None:
        """Process the paragraphs that a revision removed from the page, and those that it added."""
        replaced = next(iter(gone)) if len(gone) == len(come) == 1 else ""
        for paragraph in sorted(come):
            self._place(paragraph, replaced)
        if len(gone) * len(come) > _MOST_PAIRS:
            return
        news = [(new, self._of[hash(new)]) for new in come]
        for old in gone:
            number = self._find(self._of[hash(old)])
            for new, mark in news:
                if mark != number and (other := self._find(mark)) != number and (replaced or alike(old, new)):
                    number, other = sorted((number, other))
                    self._merge(number, other)

    def names(self, change: ParagraphChange) -> tuple[str, ...]:
        """The names of the lineages of both paragraphs of a change, sorted; nearly always both have the same one."""
        found = {self._find(self._of[hash(text)]) for text in (change.before, change.after) if text}
        return tuple(sorted(name for number in found for name in self._names[number]))

    def _place(self, paragraph: str, before: str) -> None:
        # Strings cache their hashes; the numbers never leave the process.
        if hash(paragraph) in self._of:
            return
        marks = {hash(paragraph), *map(hash, long_pieces(paragraph, before))}
        numbers = set(map(self._of.get, marks))  # few: most pieces of a known paragraph have one number
        known = {self._find(number) for number in numbers if number is not None}
        if before:
            known.add(self._find(self._of[hash(before)]))
        if known:
            number = min(known)
            for other in known - {number}:
                self._merge(number, other)
        else:
            number = len(self._parents)
            self._parents.append(number)
            self._names[number] = (sha256_text(paragraph),)
        self._of.update(dict.fromkeys(marks.difference(self._of), number))

    def _merge(self, number: int, other: int) -> None:
        self._parents[other] = number
        self._names[number] = (*self._names[number], *self._names.pop(other))

    def _find(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = number = self._parents[self._parents[number]]
        return number
