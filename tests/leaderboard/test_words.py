"""An edit is shown whole, and as text."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.leaderboard.views.samples import edit_html, long_text

WORDS = st.lists(st.sampled_from(["a", "b", "river", "<b>", "&", "the"]), max_size=8).map(" ".join)


def shown(source: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", str(source))).split())


@given(WORDS, WORDS, WORDS)
def test_nothing_of_the_paragraph_and_of_the_spans_is_lost(before: str, gone: str, after: str) -> None:
    drawn = shown(edit_html(f"{before} {gone} {after}", gone, "new words"))
    assert drawn.split() == [*f"{before} {gone} {after}".split(), "Put", "in", "new", "words"]


def test_spans_are_marked_in_their_order() -> None:
    drawn = str(edit_html("one two one two", "two [...] two", "three"))
    assert drawn.count("<del>") == 2
    assert "<ins>" in drawn


def test_a_span_that_is_not_there_is_named() -> None:
    assert "Taken out besides missing" in shown(edit_html("one two", "missing", ""))


def test_markup_stays_text_and_lines_stay_lines() -> None:
    drawn = str(long_text("<script>\nsafe\u202egnp"))
    assert "<script>" not in drawn and "\u202e" not in drawn
    assert drawn.count("<br>") == 2
