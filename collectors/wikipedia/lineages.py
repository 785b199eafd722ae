"""Which paragraphs of an article are states of one paragraph, as its history shows up to a revision.

Two states are of one lineage if a revision made the one of the other, if one came where only the other went, if they
share most of their words where one came as the other went, or if they have a long piece in common, wherever and
whenever they stood: so moves, reverts, splits, rewrites and hidden revisions in between are followed. What comes
later never changes the lineage of an edit, which therefore cannot depend on what became of it.
"""

from __future__ import annotations

from collections.abc import Collection

from collectors.wikipedia.edits import ParagraphChange, alike, long_pieces
from hellofresh.core.files import sha256_text


class Lineages:
    """The lineages of one page, revision by revision.

    A lineage has a name for each paragraph that began it: several where what began apart was joined.
    """

    def __init__(self) -> None:
        self._of: dict[int, int] = {}  # from a mark of a paragraph to a number; these point on, up to the lineage's own
        self._parents: list[int] = []
        self._names: dict[int, tuple[str, ...]] = {}

    def add(self, revision: int, gone: Collection[str], come: Collection[str]) -> None:
        """Take a revision by its id, the paragraphs that it took from the page, and those that it put in."""
        replaced = next(iter(gone)) if len(gone) == len(come) == 1 else ""
        for paragraph in sorted(come):
            self._place(paragraph, revision, replaced)
        pairs = ((old, new) for old in gone for new in come) if len(gone) * len(come) <= _MOST_PAIRS else ()
        for old, new in pairs:
            numbers = sorted({self._find(self._of[hash(old)]), self._find(self._of[hash(new)])})
            if len(numbers) == 2 and (replaced or alike(old, new)):
                self._merge(*numbers)

    def names(self, change: ParagraphChange) -> tuple[str, ...]:
        """The names of the lineages of both paragraphs of a change, sorted; nearly always they are of one."""
        found = {self._find(self._of[hash(text)]) for text in (change.before, change.after) if text}
        return tuple(sorted(name for number in found for name in self._names[number]))

    def _place(self, paragraph: str, revision: int, before: str) -> None:
        # Strings remember their hashes; the numbers never leave the process.
        if hash(paragraph) in self._of:
            return
        marks = {hash(paragraph), *map(hash, long_pieces(paragraph, before))}
        known = {self._find(number) for mark in marks if (number := self._of.get(mark)) is not None}
        if before:
            known.add(self._find(self._of[hash(before)]))
        if known:
            number = min(known)
            for other in known - {number}:
                self._merge(number, other)
        else:
            number = len(self._parents)
            self._parents.append(number)
            self._names[number] = (f"{revision}.{sha256_text(paragraph)[:8]}",)
        for mark in marks:
            self._of.setdefault(mark, number)

    def _merge(self, number: int, other: int) -> None:
        self._parents[other] = number
        self._names[number] = (*self._names[number], *self._names.pop(other))

    def _find(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = number = self._parents[self._parents[number]]
        return number


_MOST_PAIRS = 900  # to compare; beyond it the page was rewritten as a whole, and only long pieces are followed
