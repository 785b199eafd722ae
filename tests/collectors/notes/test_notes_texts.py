"""What a text shows of itself: words of a web page, signs of missing media, and its language."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.notes.texts import KNOWN, has_page_leftovers, is_foreign, speaks_of_media
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


# --- Texts in another language than asked for are known by script and small words; names and noise are of no language.


ENGLISH = [
    "The minister did not say that; the recording is from 2019.",
    "Opinion. NNN.",
    "No note needed",
    "lol \u30c4",
    "\u00af\\_(\u30c4)_/\u00af whatever, that is what he said",
    "He wrote \u300c\u5d50\u300d on the wall, which means storm in Japanese",
    "Kylian Mbapp\u00e9, Vin\u00edcius J\u00fanior and M\u00fcller are in the squad",
    "Pizza, p\u00e3o de queijo, cr\u00e8me br\u00fbl\u00e9e: the best food in the world",
    'The song is called "La vie en rose" and was written in 1945',
    "Angela Merkel, Olaf Scholz, Friedrich Merz",
    "https://www.example.org/de/la/que/para/los/como",
    "@para @com @que #como #los",
    "3de4la5que6",
    "".join(chr(0x1D5D4 + ord(letter) - ord("A")) for letter in "THISISNOTTRUE"),  # bold letters of mathematics
    "\uff34\uff48\uff49\uff53 \uff49\uff53 \uff57\uff49\uff44\uff45",
    "Sen. Smith spoke to Sen. Jones of the Med. Soc.",
    "\u03b2-blockers and \u03b1-synuclein",
    "\U0001f602\U0001f602\U0001f602",
    "100% 2:17 $8",
    "WHO? YOU!",
    "",
]
OTHERS = {
    "ja": "塔の高さは四百メートルです。 Translate post",
    "zh": "这座塔有四百米高。",
    "ko": "그 탑은 사백 미터입니다.",
    "ru": "Эта башня высотой 400 метров.",
    "ar": "هذا البرج طويل جدا",
    "he": "המגדל הזה גבוה",
    "hi": "यह मीनार ऊँची है",
    "es": "La torre no tiene m\u00e1s de 330 metros, seg\u00fan los planos.",
    "pt": "A torre n\u00e3o tem mais do que 330 metros, e isso \u00e9 tudo.",
    "fr": "La tour ne fait pas plus de 330 m\u00e8tres, et c'est tout.",
    "de": "Der Turm ist nicht h\u00f6her als 330 Meter, und das ist alles.",
    "it": "La torre non \u00e8 pi\u00f9 alta di 330 metri, e questo \u00e8 tutto.",
    "nl": "De toren is niet hoger dan 330 meter, en dat is het.",
    "tr": "Bu kule 330 metreden daha y\u00fcksek de\u011fil ve bu kadar.",
    "pl": "Ta wie\u017ca nie jest wy\u017csza ni\u017c 330 metr\u00f3w i to jest wszystko, co jest.",
    "id": "Menara ini tidak lebih tinggi dari 330 meter dan itu saja.",
    "sv": "Tornet \u00e4r inte h\u00f6gre \u00e4n 330 meter och det \u00e4r allt.",
}


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_what_is_of_no_language_is_not_foreign(text: str) -> None:
    assert not is_foreign(text, ("en",))


@pytest.mark.parametrize("language", OTHERS)
def test_a_text_is_foreign_unless_its_language_is_asked_for(language: str) -> None:
    text = OTHERS[language]
    assert is_foreign(text, ("en",))
    assert not is_foreign(text, (language,))
    assert not is_foreign(text, ("en", language))


@pytest.mark.parametrize("language", sorted(KNOWN - {"en"}))
def test_english_is_foreign_where_another_language_is_asked_for(language: str) -> None:
    assert is_foreign("The minister did not say that, and the recording they have is from 2019.", (language,))


def test_where_a_language_is_asked_for_that_it_does_not_know_nothing_is_foreign() -> None:
    assert not any(is_foreign(text, ("en", "xx")) for text in OTHERS.values())


@pytest.mark.parametrize(
    "around", ["\U0001f602 {} \U0001f602", "@some_one {} #tag https://t.co/abc", "\n\n{}\n", "2:17 {} 100%"]
)
@pytest.mark.parametrize("text", [ENGLISH[0], *OTHERS.values()])
def test_what_stands_around_a_text_changes_nothing(text: str, around: str) -> None:
    assert is_foreign(around.format(text), ("en",)) == is_foreign(text, ("en",))


@given(st.text(), st.sampled_from(sorted(KNOWN)))
def test_it_always_answers_and_names_no_text_foreign_to_its_own_language_and_another(text: str, other: str) -> None:
    """A text that two languages each call their own is not foreign to both together."""
    assert is_foreign(text, ("en",)) in (True, False)
    if not is_foreign(text, ("en",)) and not is_foreign(text, (other,)):
        assert not is_foreign(text, (other, "en")) or other == "en"
