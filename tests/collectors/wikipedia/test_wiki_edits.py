"""Which paragraphs a revision replaced, and by how much."""

from __future__ import annotations

import difflib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.edits import changed_headings, changes_more_than, gaps, only_urls_differ, paragraph_changes
from collectors.wikipedia.wikitext import Splitter

ITEMS = st.lists(st.sampled_from("aabbcdé茶"), max_size=40)
PARAGRAPHS = st.lists(st.sampled_from([f"paragraph {w} of the text" for w in "abcdefgh"]), max_size=7)


def changes(before, after):
    splitter = Splitter()
    one, two = splitter.split(before), splitter.split(after)
    return paragraph_changes(one, two, changed_headings(one, two))


def pairs(before, after):
    return [(c.before, c.after) for c in changes("\n\n".join(before), "\n\n".join(after))]


@given(PARAGRAPHS)
def test_nothing_changed_is_no_edit(paragraphs):
    assert pairs(paragraphs, paragraphs) == []


@given(PARAGRAPHS, PARAGRAPHS)
def test_pairs_differ_stand_in_order_and_use_each_paragraph_once(before, after):
    found = pairs(before, after)
    assert all(old != new for old, new in found)
    for texts, side in ((before, 0), (after, 1)):
        walk = iter(texts)
        assert all(any(pair[side] == text for text in walk) for pair in found)


@given(PARAGRAPHS, PARAGRAPHS)
def test_two_paragraphs_that_stand_on_both_sides_in_common_places_are_untouched(before, after):
    kept = ["a paragraph that stays at the beginning", *before], ["a paragraph that stays at the beginning", *after]
    assert pairs(*kept) == pairs(before, after)


def test_the_likest_paragraphs_stand_against_each_other():
    before = ["tall ships came into the old harbour at dawn", "bread was baked twice a week"]
    after = ["bread was baked three times a week", "an inserted paragraph of other words", "and one more"]
    assert pairs(before, after) == [(before[1], after[0])]


def test_one_paragraph_wholly_rewritten_in_its_place_is_one_edit():
    assert pairs(["x", "old words", "y"], ["x", "nothing alike", "y"]) == [("old words", "nothing alike")]


@pytest.mark.parametrize(("before", "after"), [(["x", "y"], ["x", "new", "y"]), (["x", "new", "y"], ["x", "y"])])
def test_whole_paragraphs_put_in_or_taken_out_are_no_edits(before, after):
    assert pairs(before, after) == []


def test_sections_keep_apart_what_is_alike():
    [change] = changes("== A ==\nsame\n== B ==\nsame", "== A ==\nsame\n== B ==\nother")
    assert (change.heading, change.before, change.after, change.ambiguous) == ("B", "same", "other", False)


def test_edits_come_in_the_order_of_the_article():
    before = "".join(f"== {n} ==\ntext {n}\n" for n in "CAB")
    after = before.replace("text", "word")
    assert [c.heading for c in changes(before, after)] == ["C", "A", "B"]
    twice = "== X ==\none\n== X ==\ntwo\n"
    assert [c.heading for c in changes(twice + before, twice.replace("one", "1") + after)] == ["X", "C", "A", "B"]


def test_a_doubled_heading_makes_its_edits_ambiguous():
    [change] = changes("== A ==\none\n== A ==\ntwo", "== A ==\none\n== A ==\nthree")
    assert change.ambiguous


@pytest.mark.parametrize(
    ("before", "after"), [("a\n\na", "a\n\nb"), ("a\n\nb", "b\n\nb")], ids=["old-still-there", "new-was-there"]
)
def test_a_paragraph_that_stands_twice_is_marked(before, after):
    [change] = changes(before, after)
    assert change.repeated


WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", " ", ".", "é", "茶", "_", "\u0301"]), max_size=25).map("".join)


@given(WORDS, WORDS, st.integers(0, 30))
@settings(max_examples=300)
def test_the_shortcuts_agree_with_the_plain_comparison(before, after, limit):
    def inner(old, new):
        while old and new and old[0] == new[0]:
            old, new = old[1:], new[1:]
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        return old, new

    old, new = inner(re.findall(r"\w+|\W", before), re.findall(r"\w+|\W", after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    size = sum(
        len("".join(old[a:b])) + len("".join(new[c:d])) for t, a, b, c, d in matcher.get_opcodes() if t != "equal"
    )
    assert changes_more_than(limit, before, after) == (size > limit)


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


@given(ITEMS, ITEMS)
@settings(max_examples=500)
def test_gaps_are_those_of_difflib(old, new):
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert [tuple(gap) for gap in gaps(old, new)] == [code[1:] for code in codes if code[0] != "equal"]
