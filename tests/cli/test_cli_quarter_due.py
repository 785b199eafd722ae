"""What is due follows from the calendar, and is done once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.cli._output import CommandOutput
from hellofresh.cli.release.steps import ShownSteps
from hellofresh.config import (
    DailySettings,
    NotesSourceSettings,
    Settings,
    SourceSettings,
    WikiSourceSettings,
)
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import atomic_path, sweep_leftovers, temporary_prefix
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.daily import Day, due_hydrations, record_hydration, steps_due
from hellofresh.pipeline.sources import SourceRequest, collection_jobs, snapshot_day
from hellofresh.releases.settings import ProspectiveSettings, ReleaseSettings
from hellofresh.runs.evaluate import evaluate, is_finished
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task

DAYS = st.dates(date(2024, 1, 1), date(2027, 12, 31))
RULES = st.builds(CalendarRule, opens_after_days=st.integers(1, 90), deadline_before_reveal_days=st.just(0))


@given(DAYS, RULES, st.integers(1, 30))
def test_a_snapshot_is_wanted_every_so_many_days_and_shortly_before_each_opening(today, rule, every: int) -> None:
    wanted = snapshot_day(today, rule, every)
    assert timedelta(0) <= today - wanted < timedelta(days=every + 5)
    assert snapshot_day(wanted, rule, every) == wanted
    last = rule.settles(Quarter(today.year, (today.month - 1) // 3 + 1))
    assert snapshot_day(last, rule, every) == last


@given(DAYS, RULES, st.integers(1, 30))
def test_a_release_is_made_of_one_dump_however_late_it_is(today, rule, every: int) -> None:
    quarter = Quarter(today.year, (today.month - 1) // 3 + 1)
    last, opens = rule.settles(quarter), rule.of(quarter).opens.date()
    between = [last + timedelta(days=number) for number in range((opens - last).days)]
    assert {snapshot_day(day, rule, every) for day in between} <= {last}


@given(DAYS, RULES, st.integers(1, 30))
def test_which_day_is_wanted_does_not_depend_on_the_day_on_which_it_is_asked(today, rule, every: int) -> None:
    wanted = [snapshot_day(today + timedelta(days=number), rule, every) for number in range(40)]
    assert wanted == sorted(wanted)
    for one in set(wanted):
        first = wanted.index(one)
        assert first == 0 or today + timedelta(days=first) == one


def test_a_wiki_is_asked_once_a_quarter_is_decided_and_afresh_then(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    wiki = {"wikipedia-edits": WikiSourceSettings(api="http://127.0.0.1:9/api.php", contact="a@example.org")}

    def jobs(day: str, *, prospective: bool) -> dict[str, object]:
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T00:00:00Z")
        release = ReleaseSettings(prospective=ProspectiveSettings(enabled=prospective))
        settings = Settings(sources=SourceSettings.model_validate(wiki), release=release)
        found = collection_jobs(Workspace(tmp_path), settings, SourceRequest(settled=True), lambda *_: None)
        return {str(job.quarter): job.parameters["settled"] for job in found}

    assert jobs("2024-04-15", prospective=False) == {}
    assert jobs("2024-04-17", prospective=False) == {"2024Q1": True}
    assert jobs("2024-04-15", prospective=True) == {"2024Q1": False, "2024Q2": False}
    assert jobs("2024-04-17", prospective=True) == {"2024Q1": True, "2024Q2": False}


def _day(folder: Path, settings: Settings) -> Day:
    return Day(ShownSteps(Workspace(folder / "data"), folder / "submissions", CommandOutput(as_json=True)), settings)


def test_every_living_task_that_a_source_is_configured_for_is_collected_day_by_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-04-17T00:00:00Z")
    feed = tmp_path / "feed.json"
    feed.write_text("[]")
    said = {"claims": {"feed": [str(feed)]}, "x-notes": {"dump": str(tmp_path), "also": ["x-posts"]}}
    settings = Settings(sources=SourceSettings.model_validate(said))
    workspace = Workspace(tmp_path / "data")
    assert sorted(settings.sources.tasks) == ["claims", "x-notes", "x-posts"]
    assert "collect and build claims 2024Q1" in list(steps_due(workspace, settings))
    jobs = collection_jobs(workspace, settings, SourceRequest(), lambda *_: None)
    assert [str(job.quarter) for job in jobs if job.task.name == "claims"] == ["2024Q1", "2024Q2"]


def test_a_source_that_fails_keeps_no_other_from_being_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-04-17T00:00:00Z")
    said = {"claims": {"feed": ["feed.json"]}, "x-notes": {"base_url": "http://127.0.0.1:9"}}
    asked = Workspace(tmp_path), Settings(sources=SourceSettings.model_validate(said)), SourceRequest()
    failed: list[str] = []
    jobs = collection_jobs(*asked, lambda what, _: failed.append(what))
    assert failed == ["collect x-notes 2024Q1", "collect x-notes 2024Q2"]
    assert {job.task.name for job in jobs} == {"claims"}
    with pytest.raises(HelloFreshError):
        collection_jobs(*asked)


def test_a_fault_of_the_program_in_one_step_is_named_and_ends_no_other(tmp_path: Path, capsys) -> None:
    day = _day(tmp_path, Settings())

    def broken() -> None:
        raise KeyError("nowhere")

    assert not day.attempt("first", broken)
    assert day.attempt("second", lambda: "two things")
    assert [str(one) for one in day.results] == [
        "failed: first (a fault of the program, KeyError: 'nowhere')", "done: second (two things)",
    ]  # fmt: skip
    assert "KeyError" in capsys.readouterr().err


def test_posts_are_looked_at_again_after_so_many_days(make, monkeypatch) -> None:
    make.release(make.notes(2, 2))
    workspace, quarter = make.workspace(), Quarter(2023, 2)
    source = SourceSettings.model_validate({"x-notes": NotesSourceSettings(dump="d", posts="p.jsonl")})
    settings = Settings(sources=source, daily=DailySettings(hydrate_days=30))

    def due(day: str) -> list[Quarter]:
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T00:00:00Z")
        return [quarter for quarter, _ in due_hydrations(workspace, settings)]

    assert due("2023-07-01") == []  # it has not opened
    assert due("2023-07-22") == [quarter]
    record_hydration(workspace, quarter, "x-notes")
    assert due("2023-08-20") == [] and due("2023-08-21") == [quarter]
    assert list(due_hydrations(workspace, Settings())) == []  # nobody can be asked for posts


def test_an_evaluation_is_finished_once_it_was_done_and_nothing_was_added(make) -> None:
    make.release(make.notes(2, 2))
    workspace = make.workspace()
    asked = Evaluation(Quarter(2023, 2), get_task("x-notes"), "always-yes", limit=4)
    assert not is_finished(workspace, asked)
    report = evaluate(workspace, asked, lambda _: None)
    assert is_finished(workspace, asked)
    assert not is_finished(workspace, Evaluation(asked.edition, asked.task, asked.model, limit=12))
    (report.folder / "predictions.jsonl").unlink()
    assert not is_finished(workspace, asked)


@pytest.fixture
def killed(tmp_path: Path) -> Callable[[], Path]:
    """Leaves the file that a process was writing when it was killed."""

    def leave() -> Path:
        code = (
            "import os, pathlib, signal, sys\nfrom hellofresh.core.files import atomic_path\n"
            "with atomic_path(pathlib.Path(sys.argv[1])) as path:\n"
            "    path.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "below/table.json")], check=False)
        (left,) = (tmp_path / "below").iterdir()
        return left

    return leave


def test_what_a_killed_process_left_is_swept_and_what_a_live_one_writes_is_not(killed, tmp_path: Path) -> None:
    left = killed()
    other = left.with_name(f".table.json.000000-{os.getpid()}-abcdefgh")  # of another machine
    other.touch()
    folder = tmp_path / f"{temporary_prefix('published')}12345678"
    folder.mkdir()
    with atomic_path(tmp_path / "below/mine.json") as mine:
        mine.write_text("{}")
        assert sweep_leftovers(tmp_path) == 1
    assert not left.exists() and other.exists() and folder.is_dir()
    assert (tmp_path / "below/mine.json").read_text() == "{}"


def test_an_inbox_is_collected_and_what_came_of_it_is_told(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "submissions").mkdir()
    monkeypatch.setenv("HELLOFRESH_INBOX", str(tmp_path / "inbox"))
    day = _day(tmp_path, Settings())
    assert day.attempt("collect the inbox", day._inbox)
    assert day.results[0].detail == ""
    (tmp_path / "inbox/20260101T000000Z-000001-0123456789abcdef").mkdir()
    assert day.attempt("collect the inbox", day._inbox)
    assert "see hellofresh submission add --inbox --list" in day.results[1].detail
