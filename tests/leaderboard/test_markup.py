"""Text stays text, on pages and in files to take away."""

from __future__ import annotations

import csv
import io
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.components.markup import Html, el, inner_link, link, named, visible
from leaderboard.components.tables import as_csv, as_latex


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
