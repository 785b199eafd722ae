"""The canary finds an item in a page by thirteen words in a row, and nothing less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hellofresh.evidence.web.text import canary

WORDS = [f"word{n}" for n in range(40)]
ITEM = " ".join(WORDS[:20])


def test_thirteen_words_in_a_row_are_found_and_twelve_are_not() -> None:
    assert canary(f"before {' '.join(WORDS[3:16])} after", [ITEM])
    assert not canary(f"before {' '.join(WORDS[3:15])} after", [ITEM])
    assert not canary(" ".join(reversed(WORDS)), [ITEM])


def test_case_punctuation_forms_and_hidden_characters_do_not_hide_it() -> None:
    page = " -- ".join(f"\u201c{word[0].upper()}\u200b{word[1:]}\u201d" for word in WORDS[:13])
    assert canary(page, [ITEM])
    assert canary("STRASSE " + " ".join(WORDS[:12]), ["stra\u00dfe " + " ".join(WORDS[:12])])
    assert canary(" ".join(WORDS[:13]).replace("1", "\uff11"), [ITEM])


def test_words_are_whole() -> None:
    assert not canary("x" + " ".join(WORDS[:13]), [" ".join(WORDS[:13])])
    assert not canary(" ".join(WORDS[:13]) + "x", [" ".join(WORDS[:13])])


def test_a_short_item_is_not_found() -> None:
    assert not canary("breaking news today", ["breaking news today", ""])
    assert canary("breaking news today", ["Breaking news!"], n=2)


@given(st.lists(st.sampled_from(WORDS), min_size=13, max_size=30), st.data())
def test_a_page_that_quotes_any_piece_is_found(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 13))
    assert canary("so it says: " + ", ".join(words[start : start + 13]) + ".", ["other words", " ".join(words)])
