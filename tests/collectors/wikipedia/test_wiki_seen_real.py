"""What a reader sees of templates, beside a real MediaWiki in which the same templates are written."""

# ruff: noqa: RUF001 -- primes and dashes are what a reader sees
from __future__ import annotations

import json
import random
import re
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

import lxml.html
import pytest
from served import is_ready, served_wiki

from collectors.wikipedia.clean import read

pytestmark = pytest.mark.integration

# Name, what the page of the template says, and a call.
TEMPLATES = [
    ("Circa", "<abbr title='about'>c.</abbr>&nbsp;{{{1}}}", "{{circa|1951}}"),
    ("Floruit", "''fl.'' {{{1}}}&nbsp;– {{{2}}}", "{{floruit|1500|1510}}"),
    ("Reign", "<small>r. {{{1}}} – {{{2}}}</small>", "{{reign|1500|1510}}"),
    ("US$", "[[Dollar|US$]]{{{1}}}", "{{US$|20 million}}"),
    ("GBP", "£{{{1}}}", "{{GBP|5,000}}"),
    ("EUR", "€{{{1}}}", "{{EUR|7.5}}"),
    ("INR", "₹{{{1}}}", "{{INR|300}}"),
    ("Ill", "[[{{{1}}}]]", "{{ill|Hans Muster|de}}"),
    ("Nowrap", "<span style='white-space:nowrap'>{{{1}}}</span>", "{{nowrap|a mile or two}}"),
    ("Abbr", "<abbr title='{{{2}}}'>{{{1}}}</abbr>", "{{abbr|BBC|a broadcaster}}"),
    ("Lang", "<i lang='{{{1}}}'>{{{2}}}</i>", "{{lang|fr|pain d'épice}}"),
    ("Transliteration", "<i>{{{2}}}</i>", "{{transliteration|ru|Moskva}}"),
    ("Lang-de", "German: ''{{{1}}}''", "{{lang-de|Brücke}}"),
    ("Langx", "French: ''{{{2}}}''", "{{langx|fr|pont}}"),
    ("Frac", "{{{1}}}&frasl;{{{2}}}", "{{frac|3|4}}"),
    ("Sfrac", "{{{1}}}/{{{2}}}", "{{sfrac|22|7}}"),
    ("Val", "{{{1}}}<span>&plusmn;</span>{{{2}}}&nbsp;{{{u}}}", "{{val|1.23|0.05|u=km}}"),
    ("E", "&times;10<sup>{{{1}}}</sup>", "3{{e|8}}"),
    ("Nihongo", "{{{1}}} ({{{2}}}, ''{{{3}}}'')", "{{nihongo|Tea|茶|cha}}"),
    ("Snd", "&nbsp;&ndash; ", "1900{{snd}}1901"),
    ("Ndash", "&ndash;", "1900{{ndash}}1901"),
    ("Mdash", "&mdash;", "so{{mdash}}or not"),
    ("Nbsp", "&nbsp;", "5{{nbsp}}km"),
    ("Sic", "{{{1}}} <nowiki>[</nowiki>[[thus|sic]]<nowiki>]</nowiki>", "{{sic|wich}}"),
    ("As of", "As of {{{1}}}", "{{as of|2010}}"),
    ("Start date", "{{{1}}}", "{{start date|1987}}"),
    ("Convert", "{{{1}}} {{{2}}}", "{{convert|5|km|mi}}"),
    ("Height", "{{{ft}}} ft {{{in}}} in", "{{height|ft=6|in=2}}"),
    ("Chem", "{{{1}}}<sub>{{{2}}}</sub>{{{3}}}", "{{chem|H|2|O}}"),
    ("Keypress", "<kbd>{{{1}}}</kbd>+<kbd>{{{2}}}</kbd>", "{{keypress|Ctrl|C}}"),
    ("Angbr", "⟨{{{1}}}⟩", "{{angbr|th}}"),
    ("Literal translation", "<small>lit.</small> '{{{1}}}'", "{{literal translation|stone bridge}}"),
    ("Sup", "<sup>{{{1}}}</sup>", "x{{sup|2}}"),
    ("Mvar", "<i>{{{1}}}</i>", "{{mvar|n}}"),
    ("Smallcaps", "<span style='font-variant:small-caps'>{{{1}}}</span>", "{{smallcaps|Anno}}"),
    ("Sclass", "''{{{1}}}''-class {{{2}}}", "{{sclass|Iowa|battleship}}"),
    ("HMS", "HMS ''{{{1}}}''", "{{HMS|Victory}}"),
    ("Bibleverse", "{{{1}}} {{{2}}}", "{{bibleverse|John|3:16}}"),
    ("Ordinal", "{{{1}}}th", "{{ordinal|14}}"),
    ("Coord", "{{{1}}}°{{{2}}}′{{{3}}} {{{4}}}°{{{5}}}′{{{6}}}", "{{coord|51|30|N|0|7|W}}"),
    ("Okina", "ʻ", "Hawai{{okina}}i"),
    ("Flag", "{{{1}}}", "{{flag|France}}"),
    ("Music", "♭", "B{{music|flat}}"),
    ("Color", "<span style='color:{{{1}}}'>{{{2}}}</span>", "{{color|red|the red line}}"),
    ("ISBN", "ISBN {{{1}}}", "{{ISBN|3-598-21500-2}}"),
    ("Quote inline", "{{{1}}}", "{{quote inline|so be it}}"),
    ("Cn", "", "a claim{{cn|date=May 2020}}"),
    ("Sfn", "", "a fact{{sfn|Muster|1990}}"),
    ("Anchor", "<span id='{{{1}}}'></span>", "{{anchor|top}}the top"),
    ("Harvtxt", "{{{1}}} ({{{2}}})", "{{harvtxt|Muster|1990}}"),
]
PLAIN = ["a '''bold''' word", "[[river|stream]]s", "[[Mill]]", "[http://a.example the site]", "10<sup>6</sup> people",
         "H<sub>2</sub>O", "the 19<sup>th</sup> century", "5&nbsp;km", "<nowiki>''plain''</nowiki>",
         "{{formatnum:12345}}", "{{lc:ABC}}", "[[Category:Mills]] on"]  # fmt: skip
WORDS = ["the", "old", "mill", "by", "water", "was", "opened", "sold", "before", "many", "years", "had", "passed"]


def paragraphs(count: int) -> list[str]:
    draw = random.Random(60)
    calls = [call for _, _, call in TEMPLATES] + PLAIN
    found = []
    for number in range(count):
        parts = [calls[number % len(calls)], *draw.sample(calls, draw.randint(0, 2))]
        found.append("It " + " ".join(" ".join([*draw.sample(WORDS, 3), part]) for part in parts) + ", as was said.")
    return found


def as_a_reader_sees(paragraph) -> str:
    """The text of an element, with superscript numbers as `^6`."""
    for raised in paragraph.iter("sup"):
        raised.text = f"^{raised.text}" if raised.text.isdigit() else raised.text
    return re.sub(r" +([,.])", r"\1", " ".join(paragraph.text_content().split()))


def test_two_hundred_paragraphs_with_templates_read_as_the_wiki_shows_them(tmp_path, needed):
    needed(is_ready(), "MediaWiki with PHP (tests/mediawiki/up.sh prepare)")
    pages = "".join(
        f"<page><title>Template:{name}</title><ns>10</ns><id>{number}</id><revision><id>{number}</id>"
        f"<timestamp>2020-01-01T00:00:00Z</timestamp><contributor><username>A</username><id>1</id></contributor>"
        f"<model>wikitext</model><format>text/x-wiki</format><text>{escape(body)}</text></revision></page>"
        for number, (name, body, _) in enumerate(TEMPLATES, start=100)
    )
    dump = tmp_path / "templates.xml"
    dump.write_text(f'<mediawiki version="0.11" xml:lang="en">{pages}</mediawiki>', encoding="utf-8")
    (tmp_path / "wiki").mkdir()
    written = paragraphs(200)
    with served_wiki(tmp_path / "wiki", [dump]) as wiki:
        form = {"action": "parse", "format": "json", "contentmodel": "wikitext", "text": "\n\n".join(written)}
        data = urllib.parse.urlencode(
            {**form, "prop": "text", "disablelimitreport": "1", "formatversion": "2"}
        ).encode()
        with urllib.request.urlopen(wiki.api, data, timeout=120) as answer:
            page = lxml.html.fromstring(json.load(answer)["parse"]["text"])
    seen = [as_a_reader_sees(one) for one in page.iter("p")]
    readings = [read(one) for one in written]
    assert len(seen) == len(written)
    differing = [pair for pair in zip([one.text for one in readings], seen, strict=True) if pair[0] != pair[1]]
    assert len(differing) <= 4, differing
    assert not [one.unknown for one in readings if one.unknown]
