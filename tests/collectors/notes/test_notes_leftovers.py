"""Words of a web page and signs of missing media are known, and only where the source says nothing of media."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.notes.texts import has_page_leftovers, speaks_of_media
from tests.collectors.notes.conftest import run
from tests.fakes import dropped

OF_A_PAGE = [
    "The tower is high. Translate post",
    "It goes on and on\u2026 Show more",
    "Nov 5, 2022\n@someone\n\u00b7\nFollow\nThe tower is high.",
    "Look at that Some One @some_one \u00b7 May 6, 2022 The tower is high.",
    "Look at that Some One @some_one \u00b7 Apr 4 The tower is high.",
    "A round of applause\nWatch on X",
    "The tower is high. Last edited",
    "It is high. 7:18 AM \u00b7 Oct 26, 2022",
    "The tower is high. Readers added context they thought people might want to know",
    "Remember this. This post is unavailable.",
]
OF_MEDIA = [
    "The tower is high. 0:17",
    "The tower is high. 0:33 1:10",
    "They want us gone. 1:31 From  Some One",
    "before midnight on Tuesday 0:25",
    "Trust the experts. ALT",
    "ALT ALT",
    "What a day! ALT The minister at the opening of the bridge",
    "Unbelievable.\nALT\n@someone A whole other post",
    "They risked their lives. GIF",
    "The following media includes potentially sensitive content. Change settings View",
    "Look at these photos and weep",
    "this old photo shows it",
    "I cannot stop watching this video",
    "The chart is wrong, see image below",
]
PLAIN = [
    "Follow the money.",
    "Follow us for more, and translate posts into French",
    "Show more respect",
    "The train leaves at 8:50",
    "Meet me at 10:30 tomorrow. Bring your own lunch.",
    "For God so loved the world, John 3:16",
    "They won 3:1. Remarkable.",
    "He lost 0:3.",
    "Please add ALT text to your images",
    "alt right",
    "Look. ALT text is for the blind",
    "Learn ALT codes",
    "He had photos of the tower",
    "The video was removed",
    "Watch on Sunday",
    "@someone is right",
    "This is what they said",
]


@pytest.mark.parametrize("text", [*OF_A_PAGE, *OF_MEDIA, *PLAIN])
def test_words_of_a_page_signs_of_missing_media_and_an_authors_own_words_are_told_apart(text: str) -> None:
    assert has_page_leftovers(text) == (text in OF_A_PAGE)
    assert text in OF_A_PAGE or speaks_of_media(text) == (text in OF_MEDIA)


@pytest.fixture
def copied(dump: Any) -> Any:
    """Four notes on posts that were copied from a page, and one on a whole post."""
    for number, text in enumerate([OF_A_PAGE[0], OF_A_PAGE[1], OF_MEDIA[0], OF_MEDIA[8], "The tower is high."], 1):
        dump.note(number, post=number + 10)
        dump.post(number + 10, text=text)
    return dump


def test_a_silent_source_costs_the_posts_that_show_it_and_a_setting_keeps_them(copied: Any) -> None:
    found = run(copied)
    assert dropped(found) == {"page-leftovers": 2, "missing-media": 2}
    assert [item.sample.id for item in found.candidates] == ["xn-5"]
    assert found.parameters["keep_incomplete"] is False
    kept = run(copied, keep_incomplete=True)
    assert (dropped(kept), len(kept.candidates)) == ({}, 5)
    assert kept.parameters["keep_incomplete"] is True


@pytest.mark.parametrize("word", [{"mediaDetails": [{"type": "photo"}]}, {"mediaDetails": []}, {"photos": []}])
def test_one_word_on_media_anywhere_in_the_file_is_enough_to_believe_it(copied: Any, word: dict[str, Any]) -> None:
    copied.post(99, **word)
    found = run(copied)
    assert (dropped(found), len(found.candidates)) == ({}, 5)
