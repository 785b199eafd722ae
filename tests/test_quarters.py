"""Quarters and periods cover time without gap or overlap; editions have one name; the clock may be stopped."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.clock import VARIABLE, now
from hellofresh.core.editions import Edition, Frozen, is_edition, parse_edition, quarter_of, quarters_of
from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import PeriodKind, Quarter, parse_utc, utc_text
from tests.fakes import fails_with, refused

QUARTERS = st.builds(Quarter, st.integers(1000, 2999), st.integers(1, 4))
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.integers(-30_000_000_000, 32_000_000_000).map(
    lambda n: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=n)
)


@given(MOMENTS)
def test_every_moment_is_in_exactly_one_quarter(moment: datetime) -> None:
    quarter = Quarter.containing(moment)
    assert moment in quarter
    assert moment not in quarter.next()
    assert moment not in quarter.previous()


def test_the_first_instant_belongs_and_the_end_does_not() -> None:
    quarter = Quarter(2023, 2)
    assert quarter.start == datetime(2023, 4, 1, tzinfo=UTC)
    assert quarter.start in quarter
    assert quarter.end not in quarter
    assert quarter.end - timedelta(microseconds=1) in quarter


@given(MOMENTS, ZONES)
def test_a_moment_means_the_same_in_every_time_zone(moment: datetime, zone: timezone) -> None:
    elsewhere = moment.astimezone(zone)
    assert Quarter.containing(elsewhere) == Quarter.containing(moment)
    assert utc_text(elsewhere) == utc_text(moment)
    for kind in PeriodKind:
        assert kind.of(elsewhere) == kind.of(moment)


@given(QUARTERS, st.sampled_from(list(PeriodKind)))
def test_the_periods_are_those_of_the_quarters_days_in_order(quarter: Quarter, kind: PeriodKind) -> None:
    periods = quarter.periods(kind)
    days = [quarter.start + timedelta(days=n) for n in range((quarter.end - quarter.start).days)]
    assert set(periods) == {kind.of(day + timedelta(hours=23)) for day in days}
    assert periods == sorted(set(periods))
    assert len(periods) == 3 if kind is PeriodKind.MONTH else len(periods) in {13, 14, 15}


def test_a_week_over_new_year_belongs_to_its_iso_year() -> None:
    assert PeriodKind.WEEK.of(datetime(2021, 1, 3, tzinfo=UTC)) == "2020-W53"
    assert PeriodKind.WEEK.of(datetime(2024, 12, 30, tzinfo=UTC)) == "2025-W01"
    assert Quarter(2021, 1).periods(PeriodKind.WEEK)[0] == "2020-W53"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023",
        "2023Q0",
        "2023Q5",
        "2023q2",
        "23Q2",
        "2023Q2\n",
        " 2023Q2",
        "2023-Q2",
        "\u0662\u0660\u0662\u0663Q2",
        "../2023Q2",
        "0000Q1",
    ],
)
def test_other_forms_are_refused_by_name(text: str) -> None:
    with fails_with("bad-quarter") as caught:
        Quarter.parse(text)
    assert "2023Q2" in caught.value.expected


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        parse_utc("2023-04-01T12:00:00")


def test_a_day_is_written_without_a_time() -> None:
    assert utc_text(date(2023, 4, 1)) == "2023-04-01"


def test_without_the_variable_it_is_the_machines_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    assert abs(now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_the_variable_stops_it_and_any_zone_is_brought_to_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2027-01-15T13:00:00+13:00")
    assert now() == datetime(2027, 1, 15, tzinfo=UTC)
    assert now().utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["tomorrow", "2027-01-15", "2027-01-15T13:00:00", "1e9"])
def test_what_is_no_time_with_a_zone_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    refused("bad-time", now)


NAMES = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,3}", fullmatch=True)
VERSIONS = st.from_regex(r"[a-z0-9]{1,6}([.-][a-z0-9]{1,6}){0,3}", fullmatch=True)
EDITIONS: st.SearchStrategy[Edition] = st.one_of(
    st.builds(Frozen, NAMES, VERSIONS), st.builds(Quarter, st.integers(1000, 2999), st.integers(1, 4))
)


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
    with fails_with("bad-edition", r"liar-new@588"):
        parse_edition(text)


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
    with fails_with("not-a-quarter", "liar-new@588 has no calendar"):
        quarter_of(frozen, "a calendar")
