"""What is due follows from the calendar, and is done once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.cli._console import ConsoleShow
from hellofresh.cli._output import CommandOutput
from hellofresh.config import (
    DailySettings,
    NotesSourceSettings,
    Settings,
    SourceSettings,
    WikiSourceSettings,
)
from hellofresh.core.calendar import CalendarRule
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import HelloFreshError
from hellofresh.core.files import atomic_path, sweep_leftovers, temporary_prefix
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline import sources
from hellofresh.pipeline.daily import Day, due_hydrations, record_hydration, steps_due, summary_of
from hellofresh.pipeline.sources import SourceRequest, collection_jobs, quarter_states, snapshot_day
from hellofresh.pipeline.steps import Steps
from hellofresh.releases.candidates import Collection
from hellofresh.releases.draw.frozen import DatasetSource, freeze
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.settings import ProspectiveSettings, ReleaseSettings
from hellofresh.runs.evaluate import evaluate, is_finished
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import Statement, get_task
from hellofresh.tasks.samples import Candidate, Label

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


@pytest.mark.parametrize("configured", [False, True])
def test_on_all_days_of_three_years_every_quarter_that_ended_without_a_release_is_listed_and_late_ones_come_first(
    make, thorough: bool, configured: bool
) -> None:
    workspace, rule, released = make.workspace(), CalendarRule(), (Quarter(2023, 2), Quarter(2024, 1))
    for quarter in released:
        make.release([make.candidate(make.note(n, date=quarter.start), n % 2)
                      for n in range(10 * quarter.year + quarter.number, 10 * quarter.year + quarter.number + 4)],
                     quarter=quarter)  # fmt: skip
    said = {"x-notes": {"dump": "d"}, "claims": {"feed": ["f"]}} if configured else {}
    settings = Settings(sources=SourceSettings.model_validate(said))
    for number in range(0, 3 * 366, 1 if thorough else 4):
        moment = datetime(2023, 7, 1, 12, tzinfo=UTC) + timedelta(days=number)
        states = quarter_states(workspace, settings, moment)
        listed = {(state.quarter, state.task) for state in states}
        ended = [q for q in (Quarter(2023 + n // 4, n % 4 + 1) for n in range(20)) if q.end <= moment]
        owed = {(q, "x-notes") for q in ended if q >= Quarter(2023, 2)}
        owed |= {(ended[-1], "claims")} if configured else set()
        assert listed >= owed | {(Quarter.containing(moment), "x-notes")}
        late = {(q, task) for q, task in owed if rule.of(q).opens <= moment} - {(q, "x-notes") for q in released}
        assert {(state.quarter, state.task) for state in states if state.late} == late
        assert all(state.late for state in states[: len(late)])


def test_a_quarter_that_was_missed_is_due_and_status_says_so_by_its_exit_code(
    make, monkeypatch, place: Path, cli
) -> None:
    make.release([make.candidate(make.note(n, date=Quarter(2026, 3).start), n % 2) for n in range(4)],
                 quarter=Quarter(2026, 3))  # fmt: skip
    for day, code, listed in (
        ("2026-12-31", 0, ["2026Q3", "2026Q4"]),
        ("2027-01-01", 0, ["2026Q3", "2026Q4", "2027Q1"]),
        ("2027-01-22", 1, ["2026Q4", "2026Q3", "2027Q1"]),
    ):
        monkeypatch.setenv("HELLOFRESH_NOW", f"{day}T00:00:00Z")
        assert [row["quarter"] for row in cli.json("quarter", "status", code=code)] == listed
    settings = Settings(sources=SourceSettings.model_validate({"x-notes": {"dump": str(place)}}))
    monkeypatch.setenv("HELLOFRESH_NOW", "2027-08-01T00:00:00Z")
    due = [step for step in steps_due(make.workspace(), settings) if step.startswith("collect and build")]
    assert due == [f"collect and build x-notes {q}" for q in ("2026Q4", "2027Q1", "2027Q2", "2027Q3")]
    asked: list[str] = []
    monkeypatch.setattr(sources, "configured_jobs", lambda _, __, quarter, **___: asked.append(str(quarter)) or [])
    collection_jobs(make.workspace(), settings, SourceRequest())
    assert asked == ["2026Q4", "2027Q1", "2027Q2", "2027Q3"]


def test_in_an_empty_folder_nothing_is_built_unless_the_sample_is_asked_for(place: Path, cli) -> None:
    assert "hellofresh.toml names no source" in cli("quarter", "run")
    assert not (place / "data" / "releases").exists()
    workspace, nothing = Workspace(place / "data"), Settings()
    assert collection_jobs(workspace, nothing, SourceRequest()) == []
    assert {job.source for job in collection_jobs(workspace, nothing, SourceRequest(sample=True))} == {BUNDLED}


@pytest.mark.parametrize("sample", [False, True])
def test_a_release_of_data_sets_has_the_bundled_sample_only_where_that_is_asked_for(
    place: Path, cli, sample: bool
) -> None:
    workspace, task = Workspace(place / "data"), get_task("liar-new")
    edition = Frozen("liar-new", "6")
    rows = [
        Statement(id=f"ln-{n}", task=task.name, edition="", period="", date=datetime(2023, 1, 1, tzinfo=UTC),
                  group=f"s{n}", license="MIT", statement=f"Claim {n}.", language="en", speaker="", context="")
        for n in range(6)
    ]  # fmt: skip
    facts = dict.fromkeys(task.label_facts)
    found = Collection.whole([Candidate(row, Label(row.id, n % 2, facts)) for n, row in enumerate(rows)], [])
    freeze(workspace, edition, task, found, DatasetSource("L", "https://example.org", date(2023, 1, 1), "MIT"))
    more = ["--sample"] if sample else []
    run = ["release", "run", "--datasets", "liar-new", "--models", "coin", "--no-analyses"]
    cli(*run, *more)
    besides = {"claims", "x-notes", "wikipedia-edits"} if sample else set()
    assert {name for _, name in workspace.released()} == {"liar-new"} | besides


def test_looking_for_what_is_due_is_a_step_like_others(make, tmp_path: Path, monkeypatch) -> None:
    make.release(make.notes(2, 2), quarter=Quarter(2023, 2))
    manifest = make.workspace().release(Quarter(2023, 2), "x-notes") / "manifest.json"
    manifest.write_text("{}")
    day = Day(Steps(make.workspace(), tmp_path / "submissions", ConsoleShow(CommandOutput(as_json=True))), Settings())
    day.all_steps()
    states = {one.name: str(one.state) for one in day.results}
    assert states["look for evaluations"] == states["reveal x-notes 2023Q2"] == "failed"
    assert "prospective splits" in states and "publish" in states
    assert summary_of(make.workspace(), day.results).startswith("HelloFresh, ")


def _day(folder: Path, settings: Settings) -> Day:
    return Day(
        Steps(Workspace(folder / "data"), folder / "submissions", ConsoleShow(CommandOutput(as_json=True))), settings
    )


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
