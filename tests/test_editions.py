"""Names, order and kinds of editions."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.editions import Edition, Frozen, is_edition, parse_edition, quarter_of, quarters_of
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import PeriodKind, Quarter

NAMES = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,3}", fullmatch=True)
VERSIONS = st.from_regex(r"[a-z0-9]{1,6}([.-][a-z0-9]{1,6}){0,3}", fullmatch=True)
EDITIONS: st.SearchStrategy[Edition] = st.one_of(
    st.builds(Frozen, NAMES, VERSIONS), st.builds(Quarter, st.integers(1000, 2999), st.integers(1, 4))
)


@given(EDITIONS)
def test_text_of_an_edition_is_read_back_as_the_same_edition(edition: Edition) -> None:
    assert parse_edition(str(edition)) == edition


@given(EDITIONS)
def test_text_of_an_edition_is_one_part_of_a_path(edition: Edition) -> None:
    place = Path("/data/releases") / str(edition)
    assert place.name == str(edition)
    assert place.parent == Path("/data/releases")


@given(st.lists(EDITIONS, max_size=8), st.randoms())
def test_quarters_come_first_and_order_does_not_depend_on_the_start(editions: list[Edition], random: Random) -> None:
    ordered = sorted(editions)
    assert ordered == sorted(random.sample(editions, len(editions)))
    assert quarters_of(ordered) == sorted(quarters_of(editions))
    assert [edition.is_living for edition in ordered] == sorted((e.is_living for e in editions), reverse=True)


@given(st.text(max_size=30))
def test_any_text_is_an_edition_in_its_one_spelling_or_refused(text: str) -> None:
    try:
        assert str(parse_edition(text)) == text
    except UsageError as error:
        assert error.code == "bad-edition"
        assert not is_edition(text)


@pytest.mark.parametrize(
    "text",
    ["", "@", "liar", "liar@", "@1", "liar@..", "../x@1", "liar@1/2", "liar@1\n", "Liar@1", "liar@1@2", "a b@1",
     ".liar@1", "liar@-1", "liar--new@1", "liar@1.", "x" * 41 + "@1", "x@" + "1" * 41,
     "2023Q5", "2023q2", "liar@\u0661"],
)  # fmt: skip
def test_what_is_no_edition_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"liar-new@588") as caught:
        parse_edition(text)
    assert caught.value.code == "bad-edition"


def test_numbers_within_a_version_count_as_numbers() -> None:
    versions = ["9", "10", "1.9", "1.10", "2024-11-06", "588"]
    ordered = sorted(Frozen("liar-new", version) for version in versions)
    assert [edition.version for edition in ordered] == ["1.9", "1.10", "9", "10", "588", "2024-11-06"]


def test_an_edition_says_what_kind_it_is() -> None:
    quarter, frozen = parse_edition("2023Q2"), parse_edition("liar-new@588")
    assert (quarter.is_living, quarter.has_public_labels) == (True, False)
    assert (frozen.is_living, frozen.has_public_labels) == (False, True)
    assert len(frozen.periods(PeriodKind.MONTH)) == 1
    assert quarter.periods(PeriodKind.MONTH) == ["2023-04", "2023-05", "2023-06"]
    assert quarter_of(quarter, "a calendar") is quarter
    with pytest.raises(UsageError, match="liar-new@588 has no calendar") as caught:
        quarter_of(frozen, "a calendar")
    assert caught.value.code == "not-a-quarter"
