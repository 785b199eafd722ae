"""A quarter opens, closes and is revealed by the calendar; once open it stays as it is, its labels as promised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.files import read_json, read_jsonl, sha256_file, write_json, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.manifest import BUNDLED, COUNTS
from hellofresh.releases.life.state import Phase, reveal, state_of
from tests.fakes import refused

SECOND = timedelta(seconds=1)


@given(st.integers(2000, 2100), st.integers(1, 4), st.integers(1, 90), st.integers(0, 60))
def test_every_calendar_is_in_order_and_a_quarter_is_revealed_when_the_next_one_opens(
    year, number, opens, spare
) -> None:
    quarter, rule = Quarter(year, number), CalendarRule(opens, spare)
    calendar = rule.of(quarter)
    assert quarter.end < calendar.opens < calendar.deadline <= calendar.reveals == rule.of(quarter.next()).opens
    assert Calendar.from_json(calendar.to_json()) == calendar


@pytest.mark.parametrize("moment", ["2023-07-22", "2023-07-01", "2023-10-23"])
def test_a_deadline_outside_the_open_time_is_refused(quarter, moment: str) -> None:
    refused("bad-deadline", CalendarRule().of, quarter, datetime.fromisoformat(moment).replace(tzinfo=UTC))


def test_the_phase_changes_at_the_very_second_of_the_calendar(make, quarter, notes_task) -> None:
    workspace = make.workspace()
    assert state_of(workspace, quarter, notes_task, quarter.end).phase is Phase.COLLECTING
    make.release(make.notes(3, 3))
    days = CalendarRule().of(quarter)

    def phase(moment: datetime) -> Phase:
        return state_of(workspace, quarter, notes_task, moment).phase

    assert [phase(days.opens - SECOND), phase(days.opens)] == [Phase.COLLECTING, Phase.OPEN]
    assert [phase(days.deadline - SECOND), phase(days.deadline)] == [Phase.OPEN, Phase.CLOSED]
    assert not reveal(workspace, quarter, notes_task, days.reveals - SECOND)
    assert phase(days.reveals) is Phase.CLOSED
    due = "is due to be revealed"
    assert due in state_of(workspace, quarter, notes_task, days.reveals).next_step
    assert due not in state_of(workspace, quarter, notes_task, days.reveals - SECOND).next_step
    assert reveal(workspace, quarter, notes_task, days.reveals)
    assert phase(days.reveals) is Phase.REVEALED
    assert due not in state_of(workspace, quarter, notes_task, days.reveals).next_step
    assert not reveal(workspace, quarter, notes_task, days.reveals)


def test_an_open_quarter_is_frozen_and_an_unopened_one_is_not(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace, opens = make.workspace(), CalendarRule().of(quarter).opens
    folder = workspace.release(quarter, "x-notes")
    before = sha256_file(folder / "samples.jsonl")
    frozen = build_release(workspace, quarter, notes_task, seed="another", cap=1, moment=opens)
    assert (frozen.skipped, frozen.frozen) == (True, True)
    assert sha256_file(folder / "samples.jsonl") == before
    rebuilt = build_release(workspace, quarter, notes_task, seed="another", cap=1, moment=opens - SECOND)
    assert not rebuilt.skipped
    assert sha256_file(folder / "samples.jsonl") != before


def test_the_bundled_sample_is_never_frozen_as_its_labels_are_no_secret(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3), source=BUNDLED)
    workspace, opens = make.workspace(), CalendarRule().of(quarter).opens
    assert not build_release(workspace, quarter, notes_task, seed="another", cap=1, moment=opens).skipped


def test_a_reveal_publishes_labels_that_a_stranger_can_check(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    ours = load_labels(workspace, quarter, notes_task)
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    (workspace.private(quarter, "x-notes") / "labels.jsonl").unlink()
    assert load_labels(workspace, quarter, notes_task) == ours
    public = workspace.release(quarter, "x-notes") / "labels.jsonl"
    rows = list(read_jsonl(public))
    write_jsonl(public, [{**rows[0], "label": 1 - rows[0]["label"]}, *rows[1:]])
    refused("bad-commitment", load_labels, workspace, quarter, notes_task)


def test_how_many_candidates_had_which_label_is_said_at_the_reveal_and_not_before(make, quarter, notes_task) -> None:
    make.release(make.notes(5, 3))
    workspace = make.workspace()
    path = workspace.release(quarter, notes_task.name) / "manifest.json"
    opened = read_json(path)
    assert all(period == {"taken_per_class": 3} for period in opened["selection"]["periods"].values())
    assert all(set(labels) == {"-1"} for labels in opened["collection"]["funnel"]["kept"].values())
    assert "counts" not in opened
    reveal(workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    revealed = read_json(path)
    assert set(map(str, revealed["counts"].values())) == {str({"negatives": 3, "positives": 5})}
    assert revealed["selection"] == opened["selection"]


def test_labels_are_not_revealed_without_counts_or_beside_commitments_to_other_rows(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace = make.workspace()
    counts = workspace.private(quarter, notes_task.name) / COUNTS
    counts.rename(counts.with_name("elsewhere"))
    refused("missing-file", reveal, workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
    counts.with_name("elsewhere").rename(counts)
    path = workspace.release(quarter, notes_task.name) / "manifest.json"
    said: Any = read_json(path)
    next(entry for entry in said["files"] if entry["path"] == "commitments.jsonl")["rows"] -= 1
    write_json(path, said)
    refused("damaged-release", reveal, workspace, quarter, notes_task, CalendarRule().of(quarter).reveals)
