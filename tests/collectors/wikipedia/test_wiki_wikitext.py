"""Splitting wikitext into sections and paragraphs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.wikitext import Splitter, normalise

MARKS = ["=", "==", "\n", "\n\n", "{{", "}}", "{|", "|}", "<!--", "-->", "<ref>", "</ref>", "* ", "[[File:a|b]]",
         "a ", "b c", "== H ==", "\n== H ==\n", "\n=", "<pre>", "</pre>", "\u00a0", "|}}",
         "{{{", "}}}", "é", "😀"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(MARKS), max_size=40).map("".join)


def split(text):
    snapshot = Splitter().split(text)
    return {heading: list(zip(s.kinds, s.paragraphs, strict=True)) for heading, s in snapshot.sections.items()}


def test_headings_of_all_levels_divide_sections():
    text = "lead\n== A ==\none\n===B===\ntwo\n = no heading =\n==== ''C'' ==== <!-- note -->\nthree\n=D=\nfour"
    assert list(split(text)) == ["", "A", "B", "''C''", "D"]


@pytest.mark.parametrize("line", ["= ", "==", "== A", "A ==", "=A", "==  =="])
def test_lines_that_only_look_like_headings_are_text(line):
    found = split(f"lead\n{line}\nmore")
    assert all(heading in {"", "="} for heading in found)


def test_a_heading_that_occurs_twice_is_kept_apart():
    snapshot = Splitter().split("x\n== A ==\none\n== B ==\ntwo\n== A ==\nthree")
    assert list(snapshot.sections) == ["", "B"]
    assert [s.paragraphs for s in snapshot.repeated["A"]] == [("one",), ("three",)]
    assert snapshot.order == ("", "A", "B")
    assert snapshot.paragraphs == 4


def test_headings_within_a_comment_are_no_headings():
    assert list(split("lead <!-- \n== A ==\n gone --> on\n== B ==\nx")) == ["", "B"]


KINDS = {
    "": ["", " \n\n \n"],
    "prose": ["{{IPA|x}} is a word", "text with {{cite\n\n| x}} inside", "[[Image:A.jpg]] prose goes on",
              "[[Category theory]] is"],
    "prose prose": ["one\ntwo\n\nthree", "{{open\n\nafter"],
    "prose list prose": ["para\n* item\nrest"],
    "list list": ["* item {{cite\n| a\n}} end\n* next"],
    "list list list list list": ["* a\n* b\n# c\n: d\n; e"],
    "template": ["{{a}} {{b}}"],
    "template prose": ["{{Infobox\n| a = 1\n\n| b = 2\n}}\n'''X''' is"],
    "table": ["{|\n{|\n|x\n|}\n\n|}\n"],
    "table prose": ["{|\n| a\n\n| b\n|}\nafter"],
    "file": ["<gallery>\nA.jpg\n\nB.jpg\n</gallery>"],
    "file prose": ["[[File:A.jpg|thumb|a [[link]] here]]\nprose"],
    "quote": ["<blockquote>\none\n\ntwo\n</blockquote>", "{{Quote|words}}"],
    "reference": ["<ref>x</ref>"],
    "reference reference": ["{{Reflist}}\n<references />"],
    "comment": ["<!-- a\n\nb -->"],
    "links": ["[[Category:A]]\n[[Category:B]]\n[[de:C]]"],
}  # fmt: skip


@pytest.mark.parametrize("expected", KINDS)
def test_each_kind_of_paragraph(expected):
    for text in KINDS[expected]:
        assert " ".join(kind.value for kind, _ in split(text)[""]) == expected, text


@given(TEXTS)
@settings(deadline=None)
def test_no_word_is_lost_and_none_is_added(text):
    snapshot = Splitter().split(text)
    groups = [*((s,) for s in snapshot.sections.values()), *snapshot.repeated.values()]
    words = "".join(p for group in groups for s in group for p in (s.heading, *s.paragraphs))
    for letter in "abcHé😀":
        # A heading may lose a comment behind it, and nothing else.
        assert words.count(letter) == text.count(letter) or ("<!--" in text and "=" in text)


@given(st.lists(TEXTS, min_size=1, max_size=6))
@settings(deadline=None)
def test_what_was_split_before_makes_no_difference(texts):
    remembering = Splitter(generation=2)
    for text in texts:
        one, other = remembering.split(text), Splitter().split(text)
        assert one.order == other.order
        assert one.paragraphs == other.paragraphs
        assert {h: (s.paragraphs, s.kinds) for h, s in one.sections.items()} == {
            h: (s.paragraphs, s.kinds) for h, s in other.sections.items()
        }


def test_an_unchanged_section_is_the_same_object_again():
    splitter = Splitter()
    one = splitter.split("lead\n== A ==\nx\n== B ==\ny")
    two = splitter.split("lead\n== A ==\nchanged\n== B ==\ny")
    assert one.sections["B"] is two.sections["B"]
    assert one.sections["A"] is not two.sections["A"]


@given(st.text())
def test_normalising_twice_is_normalising_once(text):
    assert normalise(normalise(text)) == normalise(text)


HUGE = {
    "equals": "\n=x" * 400_000,
    "braces": "{{\n" * 400_000,
    "comments": "<!--\n" * 300_000,
    "refs": "<ref\n" * 300_000,
    "nested": "{{" * 500_000 + "}}" * 500_000,
    "tables": "\n{|" * 300_000,
    "tables-in-line": "{|" * 900_000,
    "line": "=" * 2_000_000,
    "headings": "\n== a ==" * 200_000,
    "words": "word " * 400_000,
    "links": "[[" * 900_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_two_megabytes_of_anything_are_split_in_seconds(name):
    begin = time.process_time()
    Splitter().split(HUGE[name])
    assert time.process_time() - begin < 5
