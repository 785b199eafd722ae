"""Common blocks of two sequences: the very ones that difflib finds."""

from __future__ import annotations

import time
from difflib import SequenceMatcher

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.rules.edits import gaps, matching_blocks

ITEMS = st.lists(st.sampled_from("aabbcdé茶"), max_size=40)


@given(ITEMS, ITEMS)
@settings(max_examples=500)
def test_blocks_are_difflibs(old, new):
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    assert [tuple(block) for block in matching_blocks(old, new)] == [
        tuple(block) for block in matcher.get_matching_blocks()[:-1]
    ]
    assert [tuple(gap) for gap in gaps(old, new)] == [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]


@given(ITEMS, ITEMS)
def test_putting_the_gaps_in_makes_one_of_the_other(old, new):
    made, end = [], 0
    for gap in gaps(old, new):
        made += [*old[end : gap.old_start], *new[gap.new_start : gap.new_stop]]
        end = gap.old_stop
    assert made + old[end:] == new


def test_two_thousand_common_words_are_compared_in_a_moment():
    old = ["the", " "] * 1000
    new = [*old[:700], "x", *old[900:]]
    begin = time.process_time()
    assert sum(block.size for block in matching_blocks(old, new)) == 1100
    assert time.process_time() - begin < 2
