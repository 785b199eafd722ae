"""Long histories, large pages and every script, through the whole path; and persistence by an independent measure."""

from __future__ import annotations

import json
import re
import time
import unicodedata
import zlib
from pathlib import Path

import pytest

from collectors.wikipedia.collect import collect
from collectors.wikipedia.export import read_pages
from collectors.wikipedia.stability import EditsSettings, Fate
from hellofresh.core.quarters import Quarter
from tests.collectors.wikipedia.conftest import decide

QUARTER = Quarter(2026, 2)
TAIL = " and what follows was put in by somebody who had read about it in a very old book"


def collected(wiki, path, texts, title="Tea"):
    users = [f"User {n}" for n in range(len(texts))]
    return collect(QUARTER, [wiki.write(path, wiki.page_xml(title, wiki.history(texts, users)))], EditsSettings())


SCRIPTS = {
    "arabic": "الشاي مشروب ساخن يعد من أوراق نبات الشاي",
    "hebrew": "תה הוא משקה חם שמכינים מעלים של שיח",
    "japanese": "茶は植物の葉から作られる飲み物である。",
    "thai": "ชาเป็นเครื่องดื่มที่ทำจากใบของต้นชา",
    "hindi": "चाय एक गर्म पेय है जो पत्तियों से बनती है",
    "nfc": unicodedata.normalize("NFC", "Thé à la menthe, café crème et gâteau"),
    "nfd": unicodedata.normalize("NFD", "Thé à la menthe, café crème et gâteau"),
    "emoji": "Tea 🫖 is 👩‍🍳 made 🏳️‍🌈 hot 🇫🇷",
    "marks": "\u202eright to left\u202c and\u200b zero\ufeff width",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_titles_headings_and_texts_of_any_script_come_out_as_they_went_in(wiki, tmp_path, name):
    words = SCRIPTS[name]
    before, after = (f"Lead.\n\n== {words} ==\n\n{text}" for text in (words, words + TAIL))
    [candidate] = collected(wiki, tmp_path / "d.xml", [before, *[after] * 4], title=words).candidates
    sample = candidate.sample
    seen = " ".join(words.split())
    assert (sample.article, sample.section, sample.paragraph) == (words, seen, seen)
    assert sample.added.endswith(TAIL.strip())
    assert candidate.label.label == 1


def test_two_ways_of_writing_one_letter_are_not_the_same_text(wiki):
    nfc, nfd = (f"{SCRIPTS[form]}{TAIL}." for form in ("nfc", "nfd"))
    texts = [SCRIPTS["nfc"], nfc, SCRIPTS["nfd"], SCRIPTS["nfd"], SCRIPTS["nfd"]]
    first = next(iter(decide(wiki.history(texts, list("ABCDE")), EditsSettings())))
    assert nfc != nfd
    assert first.fate is Fate.REWRITTEN


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("''Italic'' and [[link|shown]]", "Italic and shown"),
        ("Notes<ref>x</ref>", "Notes"),
        ("A = B", "A = B"),
        ("<span id='x'></span>Anchored", "Anchored"),
        ("H<sub>2</sub>O &amp; co <!-- hidden -->", "H2O & co"),
    ],
)
def test_headings_with_markup_are_found_again_and_shown_as_read(wiki, tmp_path, heading, section):
    before, after = (f"Lead.\n\n== {heading} ==\n\n{text}" for text in ("Tea is a drink.", f"Tea is a drink{TAIL}."))
    [candidate] = collected(wiki, tmp_path / "d.xml", [before, *[after] * 4]).candidates
    assert candidate.sample.section == section


def test_a_page_of_two_megabytes_is_collected_in_seconds(wiki, tmp_path):
    body = "\n\n".join(f"== H{n} ==\nParagraph {n} says this. " + "word " * 3900 for n in range(100))
    assert len(body) > 1_900_000
    texts = [f"{body}\n\n{'x' * (n % 3)}" for n in range(16)]
    texts[1:] = [text.replace("Paragraph 50 says this", f"Paragraph 50 says that{TAIL}") for text in texts[1:]]
    begin = time.process_time()
    found = collected(wiki, tmp_path / "d.xml", texts)
    assert [candidate.label.label for candidate in found.candidates] == [1]
    assert found.candidates[0].label.facts["required_edits"] == 12
    assert time.process_time() - begin < 60


@pytest.mark.integration
@pytest.mark.parametrize("name", ["rio_grande_247revs.xml.xz", "amen_49revs.xml.gz"])
def test_text_of_an_accepted_edit_persists_at_least_as_long_by_an_independent_measure(shared_data, name):
    [history] = [list(page.revisions) for page in read_pages(shared_data / "wikipedia" / name)]
    recorded = json.loads((Path(__file__).parent / "data" / "persistence.json").read_text())[
        name
    ]  # by benchmarks/record_histories.py
    place = {r.id: n for n, r in enumerate(history)}
    checked = 0
    for decision in decide(history, EditsSettings()):
        if decision.fate is not Fate.ACCEPTED:
            continue
        standing = {zlib.crc32(word.encode()) for word in re.findall(r"\w+", decision.change.after)}
        for word, stood in recorded.get(str(place[decision.revision.id]), []):
            if word in standing:
                checked += 1
                assert stood >= decision.required_edits
    assert checked > 5
