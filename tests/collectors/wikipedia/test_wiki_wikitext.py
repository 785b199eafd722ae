"""Splitting wikitext into sections and paragraphs."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia.wikitext import Splitter, host_of, normalise

MARKS = ["=", "==", "\n", "\n\n", "{{", "}}", "{|", "|}", "<!--", "-->", "<ref>", "</ref>", "* ", "[[File:a|b]]",
         "a ", "b c", "== H ==", "\n== H ==\n", "\n=", "<pre>", "</pre>", "\u00a0", "|}}",
         "{{{", "}}}", "é", "😀"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(MARKS), max_size=40).map("".join)


def split(text):
    snapshot = Splitter().split(text)
    return {heading: list(zip(s.kinds, s.paragraphs, strict=True)) for heading, s in snapshot.sections.items()}


HEADINGS = {
    "= A =": "A", "== A ==": "A", "=== A ==": "= A", "== A ===": "A =", "== A  b ==  ": "A b", "=A=": "A",
    "======= A =======": "= A =", "===": "=", "====": "==", "=====": "=", "=" * 13: "=", "=" * 15: "===",
    "== ''C'' == <!-- note -->": "''C''", "== A == <!-- x --> <!-- y -->": "A", "== A <!-- x --> ==": "A <!-- x -->",
    "=": None, "==": None, "== A": None, "=A": None, "==  ==": None, "== A == b": None, " = A =": None,
}  # fmt: skip


@pytest.mark.parametrize("line", HEADINGS)
def test_headings_divide_sections_and_other_lines_with_signs_are_text(line):
    heading = HEADINGS[line]
    snapshot = Splitter().split(f"lead\n{line}\nmore")
    if heading is None:
        assert snapshot.order == ("",) and snapshot.sections[""].paragraphs == (normalise(f"lead {line} more"),)
    else:
        assert snapshot.order == ("", heading) and snapshot.sections[heading].paragraphs == ("more",)


def test_a_heading_that_occurs_twice_is_kept_apart():
    snapshot = Splitter().split("x\n== A ==\none\n== B ==\ntwo\n== A ==\nthree")
    assert list(snapshot.sections) == ["", "B"]
    assert [s.paragraphs for s in snapshot.repeated["A"]] == [("one",), ("three",)]
    assert snapshot.order == ("", "A", "B")
    assert snapshot.paragraphs == 4


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("a <!--\n== A ==\n--> b\n== B ==\nc", {"": "a <!-- == A == --> b", "B": "c"}),
        ("<!-- a -->\n== A ==\n<!--\n== B ==\n--> <!--\n= C =\n-->\n= D =\nx",
         {"": "<!-- a -->", "A": "<!-- == B == --> <!-- = C = -->", "D": "x"}),
        ("--> a\n== A ==\nx <!--\n== B ==\ny", {"": "--> a", "A": "x <!-- == B == y"}),
        ("a\n= b\n== A ==\nc\n= d\n= e\n== B ==\nf", {"": "a = b", "A": "c = d = e", "B": "f"}),
        ("<!--\n= b\n-->\n== A ==\nc", {"": "<!-- = b -->", "A": "c"}),
    ],
)  # fmt: skip
def test_lines_that_are_no_headings_stay_with_their_section_as_do_those_in_comments(text, sections):
    snapshot = Splitter().split(text)
    assert {heading: " ".join(section.paragraphs) for heading, section in snapshot.sections.items()} == sections


# Each paragraph after its kind; a pilcrow stands for a line end.
PARAGRAPHS = {
    "": [], " ¶¶ ¶ ": [],
    "one¶two¶¶three": ["prose one two", "prose three"], " a  b": ["prose a b"],
    "para¶* item¶rest": ["prose para", "list * item", "prose rest"],
    "* a¶* b¶# c¶: d¶; e": ["list * a", "list * b", "list # c", "list : d", "list ; e"],
    "* item {{cite¶| a¶}} end¶* next": ["list * item {{cite | a }} end", "list * next"],
    "{{IPA|x}} is a word": ["prose {{IPA|x}} is a word"],
    "text with {{cite¶¶| x}} inside": ["prose text with {{cite | x}} inside"],
    "{{a}} {{b}}": ["template {{a}} {{b}}"], " {{a}}": ["template {{a}}"],
    "{{a {{b}} c}}": ["template {{a {{b}} c}}"], "{{a}} x {{b}}": ["prose {{a}} x {{b}}"],
    "{{a}}}}": ["prose {{a}}}}"], "{{a}} }}{{b}}": ["prose {{a}} }}{{b}}"], "{{a {{b}}": ["prose {{a {{b}}"],
    "{{Box¶| a = 1¶¶| b = 2¶}}¶'''X''' is": ["template {{Box | a = 1 | b = 2 }}", "prose '''X''' is"],
    "{{Quote|a}}": ["quote {{Quote|a}}"], "{{blockquote|a}}": ["quote {{blockquote|a}}"],
    "{{xquote|a}}": ["template {{xquote|a}}"], "{{ reflist }}": ["reference {{ reflist }}"],
    "{{Reflist}}¶<references />": ["reference {{Reflist}}", "reference <references />"],
    "{|¶{|¶|x¶|}¶¶|}¶": ["table {| {| |x |} |}"], "{|¶| a¶¶| b¶|}¶after": ["table {| | a | b |}", "prose after"],
    ": {|¶a¶¶|}": ["table : {| a |}"], "a {|¶¶|} b": ["prose a {|", "prose |} b"],
    "<table>¶¶</TABLE>": ["table <table> </TABLE>"], "<table>¶¶|}": ["table <table>", "prose |}"],
    " " * 31 + "{|¶¶|}": ["table {| |}"], " " * 32 + "{|¶¶|}": ["table {|", "prose |}"],
    "x¶" + " " * 32 + "{|¶¶|}": ["prose x", "table {|", "prose |}"],
    "x¶" + " " * 31 + "{|¶¶|}": ["prose x", "table {| |}"],
    "[[File:A.jpg|thumb|a [[link]] here]]¶prose": ["file [[File:A.jpg|thumb|a [[link]] here]]", "prose prose"],
    "[[ image :A]] [[File:B]]": ["file [[ image :A]] [[File:B]]"], "[[Filet:A]] b": ["prose [[Filet:A]] b"],
    "[[Image:A.jpg]] goes on": ["prose [[Image:A.jpg]] goes on"],
    "[[Category theory]] is": ["prose [[Category theory]] is"],
    "[[Category:A]]¶[[Category:B]]¶[[de:C]]": ["links [[Category:A]] [[Category:B]] [[de:C]]"],
    "<gallery>¶A¶¶B¶</gallery>": ["file <gallery> A B </gallery>"],
    "<gallery></gallery> a": ["prose <gallery></gallery> a"], "<b>bold</b>": ["prose <b>bold</b>"],
    "<blockquote>¶one¶¶two¶</blockquote>": ["quote <blockquote> one two </blockquote>"],
    "<poem>¶¶a</poem>": ["quote <poem> a</poem>"],
    "<!-- a¶¶b -->": ["comment <!-- a b -->"], "<!-- a -->b": ["prose <!-- a -->b"],
    "<!-- a --> b <!-- c -->": ["prose <!-- a --> b <!-- c -->"],
    "<ref>x</ref>": ["reference <ref>x</ref>"], "<ref>x</ref> y": ["prose <ref>x</ref> y"],
    "<ref>x</ref> <ref>y</ref>": ["prose <ref>x</ref> <ref>y</ref>"], "a <ref>x</ref>": ["prose a <ref>x</ref>"],
    "a <ref name=a />¶¶b</ref>": ["prose a <ref name=a />", "prose b</ref>"],
    "a {{open¶¶after": ["prose a {{open", "prose after"], "a }}¶¶b {{c¶¶d}}": ["prose a }}", "prose b {{c d}}"],
    "a <!-- {{ -->¶¶x }}": ["prose a <!-- {{ -->", "prose x }}"],
    "a <!-- </ref> ¶¶}} --> b": ["prose a <!-- </ref> }} --> b"],
    "a <nowiki>{{¶¶x</nowiki> }}": ["prose a <nowiki>{{ x</nowiki> }}"],
    "a {{b <pre> }} ¶¶c</pre>": ["prose a {{b <pre> }} c</pre>"],
    "a <ref>{{b¶¶</ref> c}}¶¶d": ["prose a <ref>{{b </ref> c}}", "prose d"],
    "a {{b {{c¶¶}} {{d¶¶}} e¶¶}}¶¶f": ["prose a {{b {{c }} {{d }} e }}", "prose f"],
    "a {{b {{c}} d¶¶e}} {{f}}¶¶g": ["prose a {{b {{c}} d e}} {{f}}", "prose g"],
    "a {{" + "<ref>" * 7 + "¶¶}}": ["prose a {{" + "<ref>" * 7 + " }}"],
    "a {{" + "<ref>" * 8 + "¶¶}}": ["prose a {{" + "<ref>" * 8, "prose }}"],
}  # fmt: skip


@pytest.mark.parametrize("text", PARAGRAPHS)
def test_paragraphs_end_at_blank_lines_outside_of_constructs_and_have_a_kind(text):
    found = split(text.replace("¶", "\n"))[""]
    assert [f"{kind} {paragraph}" for kind, paragraph in found] == PARAGRAPHS[text]


@pytest.mark.parametrize(
    ("text", "count"),
    [("* a\n* b\n\n* c", 2), ("x\n* a\n* b\ny\n* c", 4), ("", 0), ("x\n== A ==\ny\n== A ==\n* a\n* b\n\nz", 4)],
)
def test_neighbouring_items_of_a_list_count_as_one_paragraph(text, count):
    assert Splitter().split(text).paragraphs == count


def test_a_snapshot_knows_its_text_and_holds_its_paragraphs():
    texts = ["".join(parts) for parts in product(["x", "y", "\n= A =\n", "\n\n"], repeat=4)]
    splitter = Splitter(generation=10**9)
    digests = {splitter.split(text).digest for text in texts}
    assert len(digests) == len(set(texts)) and splitter.split(texts[7]).digest in digests
    snapshot = Splitter().split("x\n= A =\ny\n= A =\nz")
    assert [snapshot.holds(paragraph) for paragraph in "wxyz"] == [False, True, True, True]


@pytest.mark.parametrize("letters", [*product(" a\t\u00a0", repeat=4), ("a", " ")])
def test_white_space_is_single_blanks_and_none_at_the_ends(letters):
    text = "".join(letters)
    assert normalise(text) == " ".join(text.split())


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://en.wikipedia.org/wiki/A", "en.wikipedia.org"), (" http://EN.example:80/ ", "en.example"),
        ("http://a/", "a"), ("en.example", ""), ("http://[bad", ""), ("http://-a.example/", ""),
        ("http://a_b.example/", ""), ("", ""), (f"http://{'a' * 253}/", "a" * 253), (f"http://{'a' * 254}/", ""),
    ],
)  # fmt: skip
def test_the_host_of_a_wiki_is_a_name_that_can_be_linked_to(address, host):
    assert host_of(address) == host


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
