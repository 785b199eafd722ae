"""The gate before an opening and the status: nothing opens on what is not there, and one line says what to type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.config import Settings
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day, StepState, summary_of
from hellofresh.pipeline.memory import Memory, StepRecord
from hellofresh.pipeline.opening import openings
from hellofresh.pipeline.sources import quarter_states
from hellofresh.pipeline.status import StatusLine, status_lines
from hellofresh.pipeline.steps import Steps
from hellofresh.releases.life.manifest import calendar_of, read_manifest
from hellofresh.releases.life.record import record_opening, record_waiting, was_opened
from hellofresh.releases.publish.folder import publish_to_folder
from tests.conftest import Cli, Maker

QUARTER = Quarter(2023, 2)
DAYS, SETTLES = CalendarRule().of(QUARTER), CalendarRule().settles(QUARTER)
COLLECT = "collect and build x-notes 2023Q2"
DAY = timedelta(days=1)
SHOW = ConsoleShow(CommandOutput(as_json=True))


def built(make: Maker, each: int, quarter: Quarter = QUARTER, months: int = 3) -> Workspace:
    """Notes of every class in each month."""
    months_of = [datetime(quarter.year, 3 * quarter.number - 2 + k, 5, tzinfo=DAYS.opens.tzinfo) for k in range(months)]
    numbers = iter(range(quarter.number * 1000, quarter.number * 1000 + 999))
    dates = [(when, label) for when in months_of for label in (0, 1) for _ in range(each)]
    make.release([make.candidate(make.note(next(numbers), date=when), label) for when, label in dates], quarter=quarter)
    return make.workspace()


def remember(workspace: Workspace, **steps: StepRecord) -> None:
    Memory("2023-07-20T06:00:00Z", steps).write(workspace)


def good(day: str = SETTLES.isoformat()) -> dict[str, StepRecord]:
    return {COLLECT: StepRecord("2023-07-20T06:00:00Z", source=day)}


GATE: dict[str, tuple[dict[str, StepRecord], int, int, str]] = {
    "all is well": (good(), 6, 3, ""),
    "collected too early": (good("2023-07-02"), 6, 3, "its source is of 2023-07-02, and labels settle on 2023-07-17"),
    "never collected": ({}, 6, 3, "an unknown day"),
    "the source fails": ({**good(), "archive x-notes": StepRecord(since="2023-07-01T06:00:00Z", why="404")}, 6, 3,
                         "'archive x-notes' has failed since 2023-07-01: 404"),
    "the collection fails": ({COLLECT: StepRecord("", "2023-07-18T06:00:00Z", "columns", "2023-07-17")}, 6, 3,
                             f"'{COLLECT}' has failed since 2023-07-18: columns"),
    "too few": (good(), 2, 3, "12 samples, fewer than least_samples (20)"),
    "a month of one class": (good(), 12, 2, "2023-06 has no samples of every class"),
}  # fmt: skip


@pytest.mark.parametrize("name", GATE)
def test_a_quarter_opens_by_itself_only_if_nothing_speaks_against_it(make: Maker, monkeypatch, name: str) -> None:
    steps, each, months, fault = GATE[name]
    workspace = built(make, each, months=months)
    remember(workspace, **steps)
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.opens))
    for opens, is_open in (("when asked", False), ("by itself", not fault)):
        settings = Settings.model_validate({"daily": {"opens": opens}})
        day = Day(Steps(workspace, make.folder / "submissions", SHOW), settings)
        for opening in openings(workspace, settings):
            day._open(opening)
        folder = workspace.release(QUARTER, "x-notes")
        assert was_opened(workspace, folder, read_manifest(folder)) is is_open
        state = StepState.DONE if is_open else StepState.WAITS
        assert [one.state for one in day.results] == [state]
        if not is_open:
            assert f"hellofresh quarter open {QUARTER}: " in summary_of(workspace, day.results)
            assert fault in day.results[0].detail and day.news
            lines = status_lines(workspace, settings, [], DAYS.opens, everything=False)
            assert [line.needs_person for line in lines if "quarter open" in line.text] == [True]


def test_half_of_the_last_quarter_is_too_few(make: Maker, monkeypatch) -> None:
    built(make, 12, QUARTER.previous())
    workspace = built(make, 5)
    remember(workspace, **good())
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.opens))
    found = {one.quarter: one.faults for one in openings(workspace, Settings())}
    assert found[QUARTER] == ("it has 30 samples, the last quarter had 72",)


def test_open_shows_both_funnels_and_opens_what_is_sound(make: Maker, monkeypatch, place: Path, cli: Cli) -> None:
    workspace = built(make, 2)
    folder = workspace.release(QUARTER, "x-notes")
    record_waiting(workspace, folder)
    command = ("quarter", "open", str(QUARTER), "--yes-it-is")
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.opens - DAY))
    assert "opens on 2023-07-22" in cli(*command, "2023-07-21", "--anyway", code=2)
    late = DAYS.opens + 3 * DAY
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(late))
    said = cli(*command, "2023-07-25", code=1)
    assert all(part in said for part in ("2023Q1", "= samples", "least_samples (20)", "--task x-notes --anyway"))
    assert "is open" in cli(*command, "2023-07-25", "--task", "x-notes", "--anyway")
    assert calendar_of(read_manifest(folder), folder).opens == late  # the calendar says what was done
    assert publish_to_folder(workspace, make.folder / "out", late).files
    assert "waits to be opened" in cli(*command, "2023-07-25", code=2)


def test_the_source_that_lost_its_rows_fails_and_does_not_count_as_collected(make: Maker, monkeypatch) -> None:
    workspace = built(make, 4)
    day = Day(Steps(workspace, make.folder / "submissions", SHOW), Settings())
    monkeypatch.setenv("HELLOFRESH_NOW", utc_text(DAYS.opens - DAY))
    day._sources[COLLECT] = "2023-07-17"
    job = replace(make.job([], quarter=QUARTER), parameters={"columns": "others"})
    assert not day.attempt(COLLECT, lambda: day._collect_and_build(job))
    assert Memory.of(workspace).steps[COLLECT].since == utc_text(DAYS.opens - DAY)
    assert not Memory.of(workspace).steps[COLLECT].source


def lines_of(workspace: Workspace, moment: datetime, **more: Any) -> list[StatusLine]:
    settings = Settings.model_validate(more)
    return status_lines(workspace, settings, quarter_states(workspace, settings, moment), moment, everything=False)


def test_the_first_quarter_of_a_new_benchmark_needs_nobody(make: Maker) -> None:
    lines = lines_of(make.workspace(), DAYS.opens + DAY, sources={"x-notes": {"dump": "d"}})
    assert lines and not any(line.needs_person for line in lines)


def troubles(make: Maker, monkeypatch) -> Iterator[tuple[str, bool]]:
    """What happens, one after the other; the line that says so, and whether it needs a person."""
    workspace = built(make, 6)
    folder, published = workspace.release(QUARTER, "x-notes"), workspace.published
    record_opening(workspace, folder, DAYS.opens)
    publish_to_folder(workspace, published, DAYS.opens)
    yield "2023Q2 accepts predictions until 2023-10-15T00:00:00Z. x-notes 36 samples", False
    yield "next: 2023Q2 closes on 2023-10-15", False
    remember(workspace, **{"archive x-notes": StepRecord(since=utc_text(DAYS.opens), why="404")})
    yield "fails since 2023-07-22: archive x-notes: 404", False
    remember(workspace, **{"archive x-notes": StepRecord(since="2023-07-01T00:00:00Z", why="404")})
    yield "fails since 2023-07-01: archive x-notes: 404", True
    key = workspace.escrow_key.read_bytes()
    workspace.escrow_key.unlink()
    yield "hellofresh quarter restore --new-key", True
    workspace.escrow_key.write_bytes(key)
    (published / "README.md").write_text("mine")
    yield "data/published was edited by hand (README.md): hellofresh release publish --to data/published", True
    publish_to_folder(workspace, published, DAYS.opens)
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text() + " ")
    yield "hellofresh quarter restore --from data/published", True


def test_each_trouble_has_a_line_that_says_what_to_type(make: Maker, monkeypatch) -> None:
    for text, needs_person in troubles(make, monkeypatch):
        lines = lines_of(make.workspace(), DAYS.opens + DAY)
        assert [line.needs_person for line in lines if text in line.text] == [needs_person], (text, lines)
        assert len(lines) <= 10


def test_more_than_ten_lines_are_counted(make: Maker) -> None:
    workspace = make.workspace()
    remember(workspace, **{f"step {n}": StepRecord(since="2023-07-01T00:00:00Z", why="x") for n in range(20)})
    lines = lines_of(workspace, DAYS.opens)
    assert len(lines) == 10 and "more lines: hellofresh quarter status --all" in lines[-1].text
