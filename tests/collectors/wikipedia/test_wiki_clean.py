"""What a reader sees of a paragraph, and of a change."""

from __future__ import annotations

import difflib
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia import clean
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
        ("x ({{IPA|a}}) y ({{efn|a}})", "x (a) y"),
        ("'''unclosed [[link", "unclosed link"),
        ("شاي ''حار''", "شاي حار"),
        ("茶'''道'''", "茶道"),
        ("👩‍🚀 '''fl'''ies", "👩‍🚀 flies"),
        ("{{convert|5|km|mi|2}} {{nowrap|a}} {{lang|italic=no|fr|thé}}", "5 km a thé"),
        ("{{NoBR|a}}{{spaced_ndash}}b{{mdash}}c", "a \N{EN DASH} b\N{EM DASH}c"),
        ("[[:File:A.jpg]] [[A:B]] [[ image : A]][[A|]] c", "File:A.jpg A:B c"),
        ("one<hr>two<references/><gallery>A</gallery>", "one two"),
        ("&#x110000; &lt;b&gt;", "&#x110000; <b>"),
        ("a (b) , c . d ( ;) e.f ,g", "a (b), c. d e.f ,g"),
        ("", ""),
    ],
)
def test_markup_goes_and_words_stay(wikitext, seen):
    assert readable(wikitext) == seen


def test_spans_are_joined_in_order():
    found = spans("the old mill stands by the river today", "the new mill stands near the river")
    assert (found.deleted, found.added) == ("old [...] by [...] today", "new [...] near")


def common_start(one, other):
    return next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), min(len(one), len(other))
    )


@pytest.mark.parametrize("most", [10**7, 4])
def test_spans_are_those_of_the_plain_comparison_and_of_long_texts_all_between_both_ends(most, monkeypatch):
    monkeypatch.setattr(clean, "_MOST_COMPARISONS", most)
    texts = [words for length in range(4) for words in product("abc", repeat=length)]
    for old, new in product(texts, repeat=2):
        start = common_start(old, new)
        stop = common_start(old[start:][::-1], new[start:][::-1])
        left, right = old[start : len(old) - stop], new[start : len(new) - stop]
        whole = [("replace", 0, len(left), 0, len(right))]
        plain = difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        codes = [code for code in (whole if len(left) * len(right) > most else plain) if code[0] != "equal"]
        gone, come = [left[a:b] for _, a, b, _, _ in codes], [right[c:d] for _, _, _, c, d in codes]
        expected = tuple(" [...] ".join(" ".join(words) for words in side if words) for side in (gone, come))
        assert spans(" ".join(old), " ".join(new)) == expected, (old, new)


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


MARKUP = st.lists(st.sampled_from([*"ab '[]{}|<>=!-/&;:*#\n", "ref", "é", "<ref>", "{{", "]]", "&#x"]), max_size=60)


@given(MARKUP.map("".join))
@settings(deadline=None, max_examples=300)
def test_any_text_can_be_made_readable(wikitext):
    assert readable(wikitext) == " ".join(readable(wikitext).split())


def test_very_long_texts_are_compared_in_seconds():
    before = "word " * 50_000
    found = spans(before + "end", "first " + before[::-1])
    assert found.added.startswith("first") and found.deleted == before + "end"
