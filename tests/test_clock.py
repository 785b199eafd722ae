"""The clock is the machine's, unless HELLOFRESH_NOW stops it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hellofresh.core.clock import VARIABLE, now
from hellofresh.core.errors import UsageError


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
    with pytest.raises(UsageError) as caught:
        now()
    assert caught.value.code == "bad-time"
