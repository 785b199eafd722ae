"""A wiki's dump becomes a corpus: the newest text of each article as a reader sees it, in chunks that lose no word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.wikipedia.corpus import DumpDocuments, chunks

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>W</sitename><dbname>w</dbname></siteinfo>
{pages}</mediawiki>
"""


def page(number: int, title: str, *texts: str) -> str:
    revisions = "".join(
        f"<revision><id>{10 * number + place}</id><timestamp>2024-0{place + 1}-03T00:00:00Z</timestamp>"
        f"<contributor><username>U</username><id>1</id></contributor><model>wikitext</model><format>text/x-wiki</format>"
        f'<text bytes="{len(text.encode())}" xml:space="preserve">{text}</text><sha1>x</sha1></revision>'
        for place, text in enumerate(texts)
    )
    return f"<page><title>{title}</title><ns>0</ns><id>{number}</id>{revisions}</page>\n"


def test_the_newest_text_is_there_without_markup_and_redirects_are_not(cli, place) -> None:
    old = "The ''kite'' is a bird of long ago that nobody has seen since the hill was a hill."
    new = "The '''kite''' is a [[bird]] of the hill{{citation needed}}.\n\n== Life ==\n\nIt sings, and it rests."
    dump = place / "dump.xml"
    dump.write_text(DUMP.format(pages=page(1, "Kite", old, new) + page(2, "Kites", "#REDIRECT [[Kite]]")))
    imported = ("corpus", "import", "wiki", dump, "--name", "wiki", "--chunk")
    for chunk, count in (("0", 1), ("8", 2)):
        assert cli.json(*imported, chunk)["documents"] == count
    shown = cli.json("corpus", "show", "wiki", "1-1")
    assert (shown["text"], shown["date"]) == ("The kite is a bird of the hill.", "2024-02-03")
    cli(*imported, "-1", code=2)


INVENTED = ("Blorple|12|km", "Zug-Takt|60", "quantité posée|7", "medida vieja|vara", "古い単位|尺", "mill count")
INVENTED += ("Ø-verdi|3", "Wasserstand|Rhein", "données/population|x=1", "表示値|5")


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ja"])
def test_a_paragraph_with_a_template_that_the_table_lacks_is_left_out_and_counted(place, language) -> None:
    holed = [f"The mill has {{{{{name}}}}} of canals." for name in INVENTED]
    holed += ["{{x|foo={{A}, {B}}|bar=1}} Text", "It has {{{1|12}}} km of canals."]
    text = "\n\n".join([*holed, "The mill is old.", "<ref>a</ref> <ref>b</ref>"])
    dump = place / "dump.xml"
    pages = page(1, "Mill", text) + page(2, "Mills", "#REDIRECT [[Mill]]") + page(3, "Bare", "{{Blorple}} x")
    escaped = pages.replace("<ref", "&lt;ref").replace("</ref", "&lt;/ref")
    dump.write_text(DUMP.replace('"en"', f'"{language}"').format(pages=escaped), encoding="utf-8")
    documents = DumpDocuments([dump], 0)
    assert [found.document.text for found in documents] == ["The mill is old."]
    assert documents.left_out()["documents"] == {"redirect": 1, "nothing-to-read": 1}
    [ledger] = documents.paragraphs()
    assert (ledger.came_in, ledger.went_on) == (15, 1)
    assert ledger.left_out == {"unknown-template": 13, "nothing-to-read": 1}


@given(st.lists(st.text(st.sampled_from("ab "), max_size=40), max_size=8), st.integers(1, 9))
def test_chunks_hold_every_word_once_and_are_no_longer_than_said(paragraphs: list[str], words: int) -> None:
    made = chunks(paragraphs, words)
    assert " ".join(made).split() == " ".join(paragraphs).split()
    assert all(1 <= len(chunk.split()) <= words for chunk in made)
