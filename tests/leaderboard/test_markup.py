"""Text stays text, on pages and in files to take away; only web addresses become links."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.results.board.system_rows import Mistakes
from hellofresh.results.split.tables import CHANCE, AnswerRow
from leaderboard.components.labels import Links
from leaderboard.components.markup import Html, el, inner_link, link, named, visible
from leaderboard.components.tables import as_csv, as_latex
from leaderboard.data.board import SplitKey, table_of
from leaderboard.views.samples import edit_html, long_text, reason, reasons_of_system
from leaderboard.views.system import _sentence


class Reader(HTMLParser):
    """Notes the elements and the text of a piece of HTML."""

    def __init__(self, html: Html) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_any_string_comes_back_as_the_same_text_and_makes_no_element(text: str) -> None:
    read = Reader(el("p", text))
    assert read.tags == ["p"]
    assert read.text == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])))
def test_any_string_as_an_attribute_stays_one_attribute(text: str) -> None:
    assert Reader(el("p", title=text)).attributes == [("title", text)]


@given(st.text(), st.integers(min_value=1, max_value=200))
def test_what_is_visible_hides_nothing_and_keeps_the_limit(text: str, limit: int) -> None:
    shown = visible(text, limit)
    assert len(shown) <= limit
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_bidi_characters_are_shown_by_number() -> None:
    assert visible("safe\u202egnp.exe") == "safe⟨U+202E⟩gnp.exe"


def test_piled_up_marks_are_cut_to_three() -> None:
    assert visible("Z" + "\u0301" * 10_000 + "y") == "Z\u0301\u0301\u0301"
    assert visible("Z" + "\u0301" * 20 + "y") == "Z\u0301\u0301\u0301y"


def test_names_are_isolated_in_their_direction() -> None:
    assert Reader(named("<b>")).tags == ["bdi"]


@pytest.mark.parametrize("address", ["https://example.org/a?b=c&d", "http://example.org"])
def test_web_addresses_become_links(address: str) -> None:
    read = Reader(link(address, "there"))
    assert ("href", address) in read.attributes
    assert ("rel", "noopener noreferrer nofollow") in read.attributes


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//example.org", "HTTPS://x y", " https://example.org", ""]
)
def test_all_other_addresses_stay_text(address: str) -> None:
    assert Reader(link(address, "there")).tags == []


@pytest.mark.parametrize(
    "address", ["https://a.example", "//a.example", "/x", "javascript:alert(1)", "./a b", './"', ".\\x"]
)
def test_an_inner_link_cannot_leave_the_site(address: str) -> None:
    with pytest.raises(ValueError, match="leaves the site"):
        inner_link(address, "text")


def test_an_inner_link_without_an_address_is_its_text() -> None:
    assert str(inner_link(None, "a < b")) == "a &lt; b"
    assert (
        str(inner_link("./system?task=x&system=y", "a"))
        == '<a href="./system?task=x&amp;system=y" target="_self">a</a>'
    )


# --- Files to take away hold what the table holds, and nothing that acts.


@given(st.sampled_from("=+-@"), st.text(max_size=20))
def test_no_cell_of_a_csv_is_a_formula(first: str, rest: str) -> None:
    row = next(csv.DictReader(io.StringIO(as_csv([{"system": first + rest, "f1": -0.5}]))))
    assert row["system"].startswith("'")
    assert float(row["f1"]) == -0.5


@given(st.text(alphabet='ab\\{}$&#%_^~|"', max_size=30))
def test_no_text_acts_in_latex(text: str) -> None:
    body = as_latex([{"x": text}]).split("\\midrule\n")[1]
    cell = body.split(" \\\\\n")[0]
    for command in ("textbackslash", "textasciicircum", "textasciitilde", "textbar", "textquotedbl"):
        cell = cell.replace(f"\\{command}{{}}", "")
    for char in "{}$&#%_":
        cell = cell.replace(f"\\{char}", "")
    assert not set(cell) & set('\\{}$&#%_^~|"')


# --- Texts of samples and of systems are shown whole, and as text; only web addresses become links.


WORDS = st.lists(st.sampled_from(["a", "b", "river", "<b>", "&", "the"]), max_size=8).map(" ".join)
SPLIT = SplitKey("2023Q2", "x-notes")
HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202egnp.exe", "](javascript:alert(1))",
    "a" * 9000, "line\n" * 40, "\x00\x1b[31m", "&lt;b&gt;",
)  # fmt: skip
SOURCES = ("https://good.example/a?b=1", "javascript:alert(1)", "data:text/html,<script>", "http://x y", "Doc_12",
           'https://a.example/"onmouseover="x')  # fmt: skip


def answer(rationale: str, sources: Sequence[str] = (), words: str | None = None) -> AnswerRow:
    return AnswerRow("s-1", "run", "p", False, "answered", 1, (), None, words, None, None, rationale, tuple(sources))


def shown(source: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", str(source))).split())


@given(WORDS, WORDS, WORDS)
def test_nothing_of_the_paragraph_and_of_the_spans_is_lost(before: str, gone: str, after: str) -> None:
    drawn = shown(edit_html(f"{before} {gone} {after}", gone, "new words"))
    whole = f"{before} {gone} {after} Added new words"
    assert "".join(drawn.split()) == "".join(whole.split())  # what is gone may be marked within a longer word


def test_spans_are_marked_in_their_order() -> None:
    drawn = str(edit_html("one two one two", "two [...] two", "three"))
    assert drawn.count("<del>") == 2
    assert "<ins>" in drawn


def test_a_span_that_is_not_there_is_named() -> None:
    assert "Also removed missing" in shown(edit_html("one two", "missing", ""))


def test_markup_stays_text_and_lines_stay_lines() -> None:
    drawn = str(long_text("<script>\nsafe\u202egnp"))
    assert "<script>" not in drawn and "\u202e" not in drawn
    assert drawn.count("<br>") == 2


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reasons_are_only_ever_text(hostile: str) -> None:
    for html in (reason(answer(hostile, [hostile])), reason(answer("", (), hostile))):
        source = str(html)
        assert not re.search(r"<(script|img|b)\b", source)
        assert "\u202e" not in source and "\x00" not in source and "\x1b" not in source
        assert not re.search(r'href="(?!https?://)', source)


def test_only_web_addresses_become_links_and_these_tell_nobody_where_they_were_found() -> None:
    source = str(reason(answer("Because.", SOURCES)))
    assert re.findall(r'href="([^"]*)"', source) == ["https://good.example/a?b=1"]
    assert source.count("noopener") == source.count("href=")


def test_long_reasons_are_folded_and_short_ones_are_not() -> None:
    assert "<details>" not in str(reason(answer("Because it is so.")))
    assert str(reason(answer("word " * 500))).count("<details>") == 1


def test_a_system_without_reasons_has_no_section() -> None:
    assert reasons_of_system([], SPLIT, Links({}, "index.html")) is None
    assert "In its own words" in str(reasons_of_system([answer("Because.")], SPLIT, Links({}, "index.html")))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((390, 12, 0, 0), "It was wrong on 12 of 390 samples (3%)."),
        ((390, 0, 0, 0), "Nowhere: it was right on all 390 samples."),
    ],
)
def test_mistakes_are_one_plain_sentence(counts: tuple[int, int, int, int], said: str) -> None:
    sentence = shown(_sentence(Mistakes("run", *counts), None))
    assert sentence.endswith(said)


@pytest.mark.parametrize("label", [None, 0, 1])
@pytest.mark.parametrize("probabilities", [(), (0.25, 0.75)])
@pytest.mark.parametrize("certainty", [None, 0.5])
def test_a_table_of_answers_has_the_chances_of_its_rows(
    label: int | None, probabilities: tuple[float, ...], certainty: float | None
) -> None:
    row = AnswerRow("s-1", "run", "p", True, "answered", label, probabilities, certainty, None, None, None, "", ())
    frame = table_of(AnswerRow).frame([row], **dict.fromkeys(table_of(AnswerRow).keys, "x"))
    assert frame.select(CHANCE).item() == row.chance
