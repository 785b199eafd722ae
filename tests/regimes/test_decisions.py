"""A decision is read in whatever dress it comes, and never out of something that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.runs.regimes._reading import DecisionForm, read_certainty, read_leaning
from hellofresh.runs.regimes.search_agent import normalised, read_turn

TWO = DecisionForm(("not helpful", "helpful"))
SIX = DecisionForm(("pants-fire", "false", "barely-true", "half-true", "mostly-true", "true"))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Decision: helpful", 1),
        ("**Decision:** *Not helpful*.", 0),
        ("DECISION - NOT-HELPFUL!", 0),
        ("## Decision\n**helpful**", 1),
        ("> **Decision**: `helpful`", 1),
        ("Decision\uff1a\u201chelpful\u201d", 1),
        ("<b>Decision: not_helpful</b>", 0),
        ("Decision: helpful. Wait, there is more.\nDecision: not helpful", 0),
        ("Summary: so it is.\n\nDecision:\nhelpful\n\nThis rests on two pages.", 1),
        ("Decision: helpful (with some doubt)", 1),
        ("Decision: [not helpful]", 0),
        ("", None),
        ("My decision is helpful", None),
        ("Decision: unhelpful", None),
        ("Decision: helpfully", None),
        ("Decision: helpful or not helpful", None),
        ("Decision: helpful / not helpful", None),
        ("Decision: helpful?", None),
        ("Either Decision: helpful, or Decision: not helpful.", None),
        ("Decision: the note is helpful", None),
        ("Indecision: helpful", None),
    ],
)
def test_the_fixed_form_is_read_and_nothing_else(text: str, label: int | None) -> None:
    assert TWO.read(text) == label


@given(
    st.integers(0, 5),
    st.sampled_from(["", "*", "**", "__", "`", '"', "\u201c"]),
    st.sampled_from([": ", ":", " : ", ":\n", " - ", " = ", "\uff1a"]),
    st.sampled_from(["", ".", "!", " ", "\n", ", as I said", " (on balance)"]),
    st.sampled_from([str.lower, str.upper, str.title, lambda text: text.replace("-", " ")]),
    st.text(max_size=60).filter(lambda text: "decision" not in text.lower()),
)
def test_case_markup_and_punctuation_do_not_matter_for_any_class(label, mark, colon, end, case, before) -> None:
    answer = case(SIX.answers[label])
    assert SIX.read(f"{before}\n{mark}Decision{mark}{colon}{mark}{answer}{mark}{end}") == label


@given(st.text(max_size=200))
def test_any_text_at_all_can_be_read(text: str) -> None:
    assert TWO.read(text) in (None, 0, 1)
    assert read_turn(text).text in text
    assert read_certainty(text) is None or 0 <= read_certainty(text) <= 1


@pytest.mark.parametrize(
    ("text", "query", "kept"),
    [
        ("SEARCH: tides at the moon", "tides at the moon", "SEARCH: tides at the moon"),
        ("I look.\n\nSEARCH: a b\nSearch result: invented.\nDecision: helpful", "a b", "I look.\n\nSEARCH: a b"),
        ("SEARCH: a b Search result: invented", "a b", "SEARCH: a b"),
        ("SEARCH: first\nSEARCH: second", "first", "SEARCH: first"),
        ("**SEARCH:** `a b`", "a b", "**SEARCH:** `a b`"),
        ("- Search: a b", "a b", "- Search: a b"),
        ("1. SEARCH: a b", "a b", "1. SEARCH: a b"),
        ("I will look this up. SEARCH: a b", "a b", "I will look this up. SEARCH: a b"),
        ('SEARCH: "a b" site news', '"a b" site news', 'SEARCH: "a b" site news'),
        ("SEARCH:\nSEARCH: a", "a", "SEARCH:\nSEARCH: a"),
        ("SEARCH: ...", "", "SEARCH: ..."),
        ("Search result: nothing", "", "Search result: nothing"),
        ("I could search: for what?", "", "I could search: for what?"),
        ("Research: none", "", "Research: none"),
        ("RESEARCH: none", "", "RESEARCH: none"),
        ("### Step 1: Verify the event SEARCH: a b", "a b", "### Step 1: Verify the event SEARCH: a b"),
        ("Step 2: Look  SEARCH: a b", "a b", "Step 2: Look  SEARCH: a b"),
        ("**What is known** SEARCH: a b", "a b", "**What is known** SEARCH: a b"),
        ("## The use of the SEARCH: form", "", "## The use of the SEARCH: form"),
        ("A line with SEARCH: asks", "", "A line with SEARCH: asks"),
    ],
)
def test_the_first_line_that_searches_is_the_query_and_what_comes_after_it_is_cut(text, query, kept) -> None:
    assert (read_turn(text).query, read_turn(text).text) == (query, kept)


def test_a_query_is_one_line_of_bounded_length() -> None:
    assert len(read_turn("SEARCH: " + "word " * 1000).query) <= 300
    assert read_turn("SEARCH: a\u202eb\u2028c\x00d").query.count("\n") == 0


def test_queries_that_differ_in_case_and_punctuation_are_the_same() -> None:
    assert normalised('"Moon  Cheese", news!') == normalised("moon cheese NEWS")
    assert normalised("moon cheese") != normalised("cheese moon")


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        ("90", 0.9),
        ("**85**.", 0.85),
        ("I am 70% certain", 0.7),
        ("95/100", 0.95),
        ("95 out of 100", 0.95),
        ("0", 0.0),
        ("100", 1.0),
        ("82.5", 0.825),
        ("", None),
        ("very", None),
        ("between 60 and 80", None),
        ("120", None),
        ("-5", None),
        ("1,000", None),
    ],
)
def test_a_certainty_is_one_number_from_0_to_100(text: str, certainty: float | None) -> None:
    assert read_certainty(text) == certainty


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        ("-2", -2.0),
        ("+1", 1.0),
        ("**0**", 0.0),
        ("\u22121.5", -1.5),
        ("2,5", 2.5),
        ("4", None),
        ("", None),
        ("-1 or 1", None),
    ],
)
def test_a_leaning_is_one_number_from_minus_3_to_3(text: str, leaning: float | None) -> None:
    assert read_leaning(text) == leaning
