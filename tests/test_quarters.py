"""Quarters and periods cover time without gap or overlap."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.errors import UsageError
from hellofresh.core.quarters import PeriodKind, Quarter, parse_utc, utc_text

QUARTERS = st.builds(Quarter, st.integers(1000, 2999), st.integers(1, 4))
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.integers(-30_000_000_000, 32_000_000_000).map(
    lambda n: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=n)
)


@given(QUARTERS)
def test_a_quarter_reads_back_what_it_writes(quarter: Quarter) -> None:
    assert Quarter.parse(str(quarter)) == quarter


@given(QUARTERS)
def test_next_and_previous_undo_each_other_and_touch(quarter: Quarter) -> None:
    assert quarter.next().previous() == quarter == quarter.previous().next()
    assert quarter.end == quarter.next().start
    assert quarter.previous() < quarter < quarter.next()
    assert 90 <= (quarter.end - quarter.start).days <= 92


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
    with pytest.raises(UsageError) as caught:
        Quarter.parse(text)
    assert caught.value.code == "bad-quarter"
    assert "2023Q2" in caught.value.expected


@given(MOMENTS)
def test_a_time_reads_back_to_the_second(moment: datetime) -> None:
    assert parse_utc(utc_text(moment)) == moment.replace(microsecond=0)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        parse_utc("2023-04-01T12:00:00")


def test_a_day_is_written_without_a_time() -> None:
    assert utc_text(date(2023, 4, 1)) == "2023-04-01"
