"""What a reader sees of a paragraph, and of a change."""

# ruff: noqa: RUF001 -- primes and fractions are what a reader sees
from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.wikipedia import clean
from collectors.wikipedia.clean import read, readable, spans
from collectors.wikipedia.names import wiki_names
from collectors.wikipedia.templates import _names


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
        ("opened in {{circa|1951}} and sold for {{US$|20 million}} to {{ill|Hans Muster|de}}.",
         "opened in c. 1951 and sold for US$20 million to Hans Muster."),
        ("10<sup>6</sup>, x<sup>n+1</sup>, 19<sup>th</sup>, <math>E = mc^2</math>", "10^6, x^(n+1), 19th, E = mc^2"),
        ("{{frac|1|2}}, {{frac|3|1|2}}, {{sfrac|22|7}}", "1⁄2, 3 1⁄2, 22/7"),
        ("{{val|1.23|0.05|e=5|u=km}} {{val|7|u=m}}", "(1.23±0.05)×10^5 km 7 m"),
        ("{{as of|2010|5}}, {{as of|2010|5|3|lc=y}}, {{start date|2001|1|15|df=y}}",
         "As of May 2010, as of 3 May 2010, 15 January 2001"),
        ("{{nihongo|Tea|茶|cha}} {{lang-de|Tee}} {{langx|ru|Чай|translit=Chai}}",
         "Tea (茶, cha) German: Tee Russian: Чай, romanized: Chai"),
        ("{{height|ft=6|in=2}}, {{convert|5|to|10|km2|sqmi}}, {{convert|6|ft|2|in|m}}",
         "6 ft 2 in, 5 to 10 km^2, 6 ft 2 in"),
        ("{{coord|51|30|N|0|7|W}}{{coord|1|2|display=title}} {{Template:Abbr|A|B}}", "51°30′N 0°7′W A"),
        ("it{{cn|date=May 2020}} is{{page needed}} so{{who?}}{{efn|x {{zzz}}}} [[de:Mühle]]", "it is so"),
        ("<nowiki>{{circa|1}} ''a''</nowiki> {{!}} {{=}} {{#tag:ref|x}}{{DEFAULTSORT:x}}", "{{circa|1}} ''a'' | ="),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_goes_and_words_stay(wikitext, seen):
    assert readable(wikitext) == seen


@pytest.mark.parametrize(
    ("wikitext", "unknown"),
    [
        ("{{x|foo={{A}, {B}}|bar=1}} Text", {"x", "{{"}), ("{{circa|1|2|3}}", {"circa"}), ("{{lang|fr}}", {"lang"}),
        ("{{convert|5|km|disp=out}}", {"convert"}), ("{{flag|FRA}}", {"flag"}), ("{{#if:a|b}}", {"#if:a"}),
        ("{{nowrap|{{zzz}}}}", {"zzz", "nowrap"}), ("{{US$|5|hidden=words}}", {"US$"}), ("a }} b", {"{{"}),
        ("{{age|2000|1|1}}", {"age"}), ("{{CURRENTYEAR}}", {"CURRENTYEAR"}),
    ],
)  # fmt: skip
def test_a_call_that_no_rule_foresees_is_unknown(wikitext, unknown):
    assert set(read(wikitext).unknown) == unknown


def test_the_names_of_templates_are_enough_and_each_has_one_rule():
    told = tomllib.loads((files("collectors.wikipedia") / "templates.toml").read_text("utf-8"))
    names = {place: [name for rule in told[place] for name in _names(rule["names"])] for place in told["unseen"]}
    assert len(names["en"]) > 300 and all(len(set(found)) == len(found) for found in names.values())
    hidden = {place: set(_names(listed)) for place, listed in told["unseen"].items()}
    assert not {place: hidden[place] & set(found) for place, found in names.items() if hidden[place] & set(found)}


FRENCH = wiki_names("fr", {10: ["Modèle"]})


def test_a_wikis_own_rules_come_first():
    said = "{{unité|5000|km}} {{s|XIX|e}} {{1er}} {{date|1|mai|2000}} {{lang-en|tea}} {{circa|5}} {{modèle:nobr|a}}"
    assert read(said, FRENCH).text == "5 000 km XIXe siècle 1er 1er mai 2000 en anglais: tea c. 5 a"
    assert set(read(said).unknown) == {"unité", "s", "1er", "date", "modèle:nobr"}
    assert read("{{Höhe|123|DE-NN}} {{enS|tea}}", wiki_names("de", {})).text == "123 m ü. NN englisch tea"
    assert read("{{siglo|XIX||s}} {{unidad|5|km}}", wiki_names("es", {})).text == "siglo XIX 5 km"
    assert read("{{読み仮名|漢字|かな}} {{仮リンク|X|en|Y}}", wiki_names("ja", {})).text == "漢字（かな） X"


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
