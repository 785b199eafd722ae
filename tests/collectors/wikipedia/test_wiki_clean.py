"""What a reader sees of a paragraph, and of a change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.clean import readable, spans


@pytest.mark.parametrize(
    ("wikitext", "seen"),
    [
        ("'''Tea''' is a ''drink''.", "Tea is a drink."),
        ("a [[river|stream]] and a [[hill]]s", "a stream and a hills"),
        ("text<ref>Book, p. 3.</ref>.", "text."),
        ('text<ref name="a" /> goes on', "text goes on"),
        ("see [http://a.example the site] and [http://a.example]", "see the site and"),
        ("http://a.example/x", "http://a.example/x"),
        ("[[File:A.jpg|thumb|caption]] text", "text"),
        ("[[Category:A]][[:Category:B|C]]", "C"),
        ("{{cite web|url=x}} text", "text"),
        ("{{convert|5|km}} and {{lang|fr|thé}}", "5 km and thé"),
        ("a<!-- hidden -->b", "ab"),
        ("5&nbsp;km &amp; more &ndash; x", "5 km & more \N{EN DASH} x"),
        ("* item", "item"),
        ("; term", "term"),
        ("one<br />two", "one two"),
        ("H<sub>2</sub>O", "H2O"),
        ("x ({{IPA|a}}) y", "x y"),
        ("'''unclosed [[link", "unclosed link"),
        ("شاي ''حار''", "شاي حار"),
        ("茶'''道'''", "茶道"),
        ("👩‍🚀 '''fl'''ies", "👩‍🚀 flies"),
        ("", ""),
    ],
)
def test_markup_goes_and_words_stay(wikitext, seen):
    assert readable(wikitext) == seen


def test_spans_are_joined_in_order():
    found = spans("the old mill stands by the river today", "the new mill stands near the river")
    assert (found.deleted, found.added) == ("old [...] by [...] today", "new [...] near")


def test_scripts_without_spaces_are_compared_by_character():
    assert spans("茶は飲み物です", "茶は熱い飲み物です").added == "熱い"
    assert spans("茶は飲み物です", "茶は熱い飲み物です").deleted == ""


TEXTS = st.lists(st.sampled_from(["one", "two", "three,", "four.", "שלום", "茶", "😀"]), max_size=12).map(" ".join)


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_spans_are_empty_exactly_where_the_words_are_the_same(before, after):
    found = spans(before, after)
    assert (found.deleted == found.added == "") == (before.split() == after.split())
    for joined, text in ((found.deleted, before), (found.added, after)):
        assert all(part in text for part in joined.split(" [...] "))


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_nothing_is_deleted_from_nothing_and_all_is_added_to_it(before, after):
    assert spans("", after).added == after
    assert spans(before, "").deleted == before


MARKUP = st.lists(st.sampled_from([*"ab '[]{}|<>=!-/&;:*#\n", "ref", "é", "<ref>", "{{", "]]", "&#x"]), max_size=60)


@given(MARKUP.map("".join))
@settings(deadline=None, max_examples=300)
def test_any_text_can_be_made_readable(wikitext):
    assert readable(wikitext) == " ".join(readable(wikitext).split())


def test_very_long_texts_are_compared_in_seconds():
    before = "word " * 50_000
    found = spans(before + "end", "first " + before[::-1])
    assert found.added.startswith("first") and found.deleted == before + "end"
