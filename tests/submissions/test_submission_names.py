# ruff: noqa: RUF001 - look-alikes are the matter
"""Names that look alike are found whatever letters they are written in, and names that differ are left alone."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hellofresh.submissions.format import SystemInfo
from hellofresh.submissions.names import FOLDER_NAME, faults_of_name, plain_text_fault, skeleton, slug, vendor_in
from hellofresh.submissions.receipts import look_alike

ALIKE = [
    ("HelloFresh", "HеlloFrеsh"),  # Cyrillic e
    ("HelloFresh", "ＨｅｌｌｏＦｒｅｓｈ"),
    ("HelloFresh", "hello-fresh"),
    ("HelloFresh", "Hello Fresh"),
    ("HelloFresh", "HELL0FRESH"),
    ("HelloFresh", "He11oFresh"),
    ("HelloFresh", "HeIIoFresh"),
    ("HelloFresh", "𝐇𝐞𝐥𝐥𝐨𝐅𝐫𝐞𝐬𝐡"),
    ("HelloFresh", "Ηello Fresh"),  # Greek Eta
    ("modern", "rnodern"),
    ("Müller", "Muller"),
    ("scope", "ѕсоре"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_look_alikes_have_one_skeleton(one: str, other: str) -> None:
    assert one != other
    assert skeleton(one) == skeleton(other)
    (fault,) = look_alike("team-b", unicodedata.normalize("NFC", other), {"team-a": frozenset({one})})
    assert "'team-a'" in fault.what


@pytest.mark.parametrize(
    ("one", "other"),
    [("Acme", "Acne"), ("Team 2", "Team 3"), ("北京", "東京"), ("Alpha", "Alpine"), ("🦊 fox", "🐻 fox")],
)
def test_names_that_differ_have_other_skeletons(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@given(st.text(max_size=30))
def test_a_skeleton_depends_on_no_case_and_no_spaces_and_never_fails(text: str) -> None:
    assert skeleton(skeleton(text)) == skeleton(text)
    if text.isascii():
        assert skeleton(text.upper()) == skeleton(text.lower()) == skeleton(f" {text} ")


@pytest.mark.parametrize(
    "name",
    ["😀", "🦊🐻", "<script>", "<img onerror=x>", "![x](https://a.example)", "a | b", "$(cmd)", "`x`", r"\input{x}",
     "=HYPERLINK(1)", "+1", "-x", "@x", "---", "a" + "\u0301" * 9, "see https://a.example"],
)  # fmt: skip
def test_names_that_others_would_take_for_something_else_are_refused(name: str) -> None:
    assert faults_of_name(name)


@pytest.mark.parametrize("text", ["a\u202eb", "a\u200bb", "a\x1b[0m", "e\u0301", "a\u2028b", "\ufeffa"])
def test_what_cannot_be_seen_is_refused(text: str) -> None:
    assert plain_text_fault(text)


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("OpenAI", "openai"),
        ("Team ΟpenАΙ", "openai"),
        ("Google fans", "google"),
        ("Metabolics", ""),
        ("Acme", ""),
        ("OpenAI\N{TRADE MARK SIGN}", "openai"),
        ("Google\N{REGISTERED SIGN} 2", "google"),
        ("ChatGPT", "chatgpt"),
        ("GPT-6", "gpt"),
        ("gpt6 mini", "gpt"),
        ("Grok 5", "grok"),
        ("Gemma", "gemma"),
        ("Kimi", "kimi"),
        ("Phi", "phi"),
        ("\N{GREEK CAPITAL LETTER MU}istral", "mistral"),
        ("M\N{GREEK SMALL LETTER EPSILON}ta", "meta"),
        ("G\N{LATIN SMALL LETTER O WITH STROKE}\N{LATIN SMALL LETTER O WITH STROKE}gle", "google"),
        ("Ant\N{CYRILLIC SMALL LETTER EN}ropic 2", "anthropic"),
        ("\N{GREEK SMALL LETTER PHI}", ""),
        ("Grokking", ""),
        ("Philipp", ""),
    ],
)
def test_a_makers_name_is_found_among_the_words(name: str, vendor: str) -> None:
    assert vendor_in(name) == vendor


@given(st.text(max_size=100))
def test_a_folder_name_made_of_a_name_is_one_or_nothing(name: str) -> None:
    found = slug(name)
    assert not found or FOLDER_NAME.fullmatch(found)


def test_folder_names_are_made_of_latin_names_only() -> None:
    assert [slug(name) for name in ("My Système 2.0", "Модель", "a" * 90, "con")] == [
        "my-systeme-2-0",
        "",
        "a" * 40,
        "",
    ]


# The `regex` package brings Unicode's table of its own; the others are the blank-looking ones that this table lacks.
IGNORABLE = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(map(chr, range(0x110000))))
BLANK = [*IGNORABLE, *"\u2800\ufffc\U00013441\U00013442\U00016fe4\U0001d159"]


def test_no_character_that_shows_nothing_is_taken_in_a_name_and_none_makes_names_differ() -> None:
    assert len(IGNORABLE) > 4000
    known = {"red-team": frozenset({"Red team"})}
    for number, char in enumerate(BLANK):
        names = (char, f"Red team{char}", f"{char}Red team", f"Red{char}team", f"HelloFresh{char}")
        assert all(faults_of_name(name) for name in names), hex(ord(char))
        assert [skeleton(name) for name in names[1:4]] == [skeleton("Red team")] * 3, hex(ord(char))
        assert skeleton(names[4]) == skeleton("HelloFresh") and skeleton(char) == "", hex(ord(char))
        if number % 20 and char >= "\U000e0000":
            continue  # the whole way for a part of them: each takes a millisecond
        assert "'red-team'" in look_alike("other", names[1], known)[0].what, hex(ord(char))
        assert vendor_in(f"Open{char}AI team") == "openai", hex(ord(char))


@pytest.mark.parametrize("field", ["name", "team", "models"])
@pytest.mark.parametrize(
    "char", ["\u3164", "\u115f", "\u1160", "\uffa0", "\ufe0f", "\U000e0041", "\U000e0fff", "\u2800"]
)
def test_a_system_toml_with_a_name_that_shows_nothing_is_refused_in_every_field(field: str, char: str) -> None:
    good = {"name": "Mine", "team": "Red team", "contact": "me", "regime": "other", "models": ["m"],
            "knowledge_cutoff": "unknown"}  # fmt: skip
    assert SystemInfo.model_validate(good)
    for text in (char, f"Red team{char}", f"Red{char}team"):
        with pytest.raises(ValidationError, match=r"shows nothing|zero-width|NFC"):
            SystemInfo.model_validate({**good, field: [text] if field == "models" else text})


@pytest.mark.parametrize(("url", "fault"), [
    ("https://ok.example/x?y=1#z", ""), ("https://user:pw@ok.example", "every reader takes alike"),
    ("http://localhost:8000", "public internet"), ("http://127.0.0.1/", "public internet"),
    ("http://[::1]/", "public internet"), ("http://10.1.2.3", "public internet"), ("http://0x7f.1", "takes alike"),
    ("https://a\u202eb.example", "bidi"),
])  # fmt: skip
def test_the_address_of_a_system_leads_to_the_public_internet_and_hides_nothing(url: str, fault: str) -> None:
    said = {"name": "a", "team": "b", "contact": "c@d.example", "regime": "other", "models": ["m"], "url": url}
    try:
        SystemInfo.model_validate({**said, "knowledge_cutoff": "unknown"}, context={"today": date(2026, 1, 1)})
        found = ""
    except ValidationError as error:
        found = str(error)
    assert (fault in found) if fault else not found
