"""Which paragraphs a revision replaced, and by how much: against plain second implementations, on all small inputs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise, product, takewhile

import pytest

from collectors.wikipedia import edits
from collectors.wikipedia.edits import (
    ParagraphChange,
    changed_headings,
    changes_more_than,
    common_ends,
    only_urls_differ,
    paragraph_changes,
)
from collectors.wikipedia.wikitext import Kind, Splitter

ALIKE = ("a b c d", "a b c e", "a b e f", "w x y z")
"""Shares of common words: 0.75, 0.5, 0."""


def upto(most: int, items: Sequence) -> Iterator[tuple]:
    """All sequences of at most this many of the items."""
    return (each for length in range(most + 1) for each in product(items, repeat=length))


def share(one: str, other: str) -> float:
    return 2 * len(set(one.split()) & set(other.split())) / (len(set(one.split())) + len(set(other.split())))


def likest(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Of all pairings in order of pairs that are alike, the one with the greatest sum; of equal ones, the latest."""
    found = [(0.0, [])]
    for count in range(1, min(len(old), len(new)) + 1):
        for mine, others in product(combinations(range(len(old)), count), combinations(range(len(new)), count)):
            shares = [share(old[i], new[j]) for i, j in zip(mine, others, strict=True)]
            if min(shares) >= 0.5:
                found.append((sum(shares), list(zip(mine, others, strict=True))))
    return max(found)[1]


def aligned(old: Sequence[str], new: Sequence[str], most: int = 900) -> list[tuple[int, int]]:
    """The pairs that are alike, and between these, by position, where equally many are left."""
    anchors = likest(old, new) if len(old) * len(new) <= most else []
    pairs = []
    for (a, b), (c, d) in pairwise([(-1, -1), *anchors, (len(old), len(new))]):
        pairs += zip(range(a + 1, c), range(b + 1, d), strict=True) if c - a == d - b else ()
        pairs.append((c, d))
    return pairs[:-1]


@pytest.mark.parametrize("most", [900, 4])
def test_the_likest_paragraphs_are_paired_and_the_rest_by_position(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_LARGEST", most)
    for old, new in product(upto(3, ALIKE), repeat=2):
        if old and new:
            one_each = len(old) == len(new) == 1
            assert edits._align(old, new) == ([(0, 0)] if one_each else aligned(old, new, most)), (old, new)


def inner(old: Sequence, new: Sequence) -> tuple[int, int]:
    """The length of the common beginning, and of the common end of the rest."""
    start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])
    rest = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    return start, len([*takewhile(lambda pair: pair[0] == pair[1], rest)])


def placed(old: tuple[str, ...], new: tuple[str, ...], *, whole: bool, most: int) -> list[tuple]:
    start, stop = inner(old, new)
    left, right = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(left) * len(right) > most:
        places = range(start, start + min(len(left), len(right)))
        return [(place, place) for place in places if old[place] != new[place]]
    found: list[tuple] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        i, j = a, c
        for k, m in [*((a + k, c + m) for k, m in aligned(left[a:b], right[c:d])), (b, d)]:
            if whole:
                found += [(start + n, None) for n in range(i, k)] + [(None, start + n) for n in range(j, m)]
            found += [(start + k, start + m)] if k < b else []
            i, j = k + 1, m + 1
    return found


@pytest.mark.parametrize(("whole", "most"), [(False, 10**6), (True, 10**6), (True, 4)])
def test_changed_paragraphs_are_those_of_the_plain_comparison(
    whole: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "_MOST_COMPARISONS", most)
    for old, new in product(upto(3, ALIKE[1:]), repeat=2):
        assert inner(old, new) == common_ends(old, new)
        assert edits._places(old, new, whole=whole) == placed(old, new, whole=whole, most=most), (old, new)


TEXTS = (("x",), ("y",), ("* x", "z y"))


def test_changes_come_in_the_order_of_the_article_and_those_of_doubled_headings_are_marked() -> None:
    splitter = Splitter(generation=10**9)
    pages = [
        *upto(2, [*product("AB", TEXTS)]),
        *(tuple(zip(names, TEXTS, strict=True)) for names in product("AB", repeat=3)),
    ]
    sections = ["".join(f"== {name} ==\n" + "\n\n".join(texts) + "\n" for name, texts in page) for page in pages]
    split = [splitter.split(f"{text}== End ==\n") for text in sections]
    for (page, before), (later, after) in product(zip(pages, split, strict=True), repeat=2):
        old = {name: [texts for heading, texts in page if heading == name] for name in dict(page)}
        new = {name: [texts for heading, texts in later if heading == name] for name in dict(later)}
        gone = sorted(old.keys() - new.keys(), key=lambda name: (len(old[name]) > 1, [*old].index(name)))
        headings = [name for name in new if new[name] != old.get(name)] + gone
        assert changed_headings(before, after) == headings, (page, later)
        for whole in (False, True):
            expected = []
            for name in headings if gone != headings else ():
                mine, others = (tuple(sum(side.get(name, ()), ())) for side in (old, new))
                for i, j in placed(mine, others, whole=whole, most=10**6) if mine and others else ():
                    one, other = "" if i is None else mine[i], "" if j is None else others[j]
                    kinds = [Kind.LIST if text[0] == "*" else Kind.PROSE for text in (one, other) if text]
                    repeated, ambiguous = one in others or other in mine, {len(old[name]), len(new[name])} != {1}
                    change = ParagraphChange(name, one, other, (kinds[0], kinds[-1]), ambiguous, repeated)
                    assert (change.kind, change.whole) == (kinds[0], not (one and other))
                    expected.append(change)
            assert paragraph_changes(before, after, headings, whole=whole) == expected, (page, later)


def test_an_edit_stands_while_its_result_does_and_is_undone_where_the_paragraph_before_is_back() -> None:
    prose = (Kind.PROSE, Kind.PROSE)
    for before, after in product(("", "x", "y"), repeat=2):
        change = ParagraphChange("A", before, after, prose, ambiguous=False, repeated=False)
        assert not change.stands_in(None) and not change.undone_in(None)
        for there in upto(2, "xy") if before != after else ():
            section = Splitter().split("== A ==\n" + "\n\n".join(there)).sections["A"]
            assert change.stands_in(section) is (after in there if after else before not in there)
            assert change.undone_in(section) is (before in there if before else after not in there)


def test_the_shortcuts_agree_with_the_plain_comparison() -> None:
    texts = [[*map("".join, upto(3, ["a", "bb", " ", "é"]))], [*map("".join, upto(4, "a.-"))]]
    for before, after in chain.from_iterable(product(some, repeat=2) for some in texts):
        old, new = (re.findall(r"\w+|\W", text) for text in (before, after))
        start, stop = inner(old, new)
        old, new = old[start : len(old) - stop], new[start : len(new) - stop]
        opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        parts = [old[a:b] + new[c:d] for tag, a, b, c, d in opcodes if tag != "equal"]
        size = sum(len("".join(part)) for part in parts)
        for limit in (size - 1, size, size + 1):
            assert changes_more_than(limit, before, after) == (size > limit), (before, after, limit)


def test_common_ends_of_texts_stop_between_words() -> None:
    for before, after in product(map("".join, upto(4, "a _")), repeat=2):
        start = inner(before, after)[0]
        while start and before[start - 1] in "a_":
            start -= 1
        assert edits._common_start(before, after) == start
        most = min(len(before), len(after)) - start
        end = min(most, inner(before[::-1], after[::-1])[0])
        while end and before[-end] in "a_":
            end -= 1
        assert edits._common_end(before, after, most) == end


def test_pieces_are_the_shortest_from_each_word_that_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_MOVED", 4)
    for words in upto(5, ["a", "bb", "cccc"]):
        runs = [[" ".join(words[i:j]) for j in range(i + 1, len(words) + 1)] for i in range(len(words))]
        long = [next((run for run in of_word if len(run) > 4), "") for of_word in runs]
        assert [*edits._pieces(words)] == [*filter(None, long)]


@pytest.mark.parametrize(
    ("before", "after", "only"),
    [
        ("see [http://a.example x]", "see [http://b.example/y?z=1 x]", True),
        ("see", "see http://a.example/", True),
        ("see [https://a.example]", "see", True),
        ("see [//a.example t]", "see [//b.example t]", True),
        ("see [http://a.example x]", "see [http://a.example y]", False),
        ("see", "see it", False),
    ],
)
def test_addresses_alone_are_told_from_words(before, after, only):
    assert only_urls_differ(before, after) is only
