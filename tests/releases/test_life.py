"""A quarter opens, closes and is revealed by the calendar; once open it stays as it is, its labels as promised."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.clock import Event
from hellofresh.core.files import read_json, read_jsonl, sha256_file, sha256_text, write_json, write_jsonl
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import Published, load_labels, load_release
from hellofresh.releases.life.manifest import BUNDLED, COUNTS, DRAW_KEY
from hellofresh.releases.life.phases import Phase, labels_are_public, phase_of, release_events
from hellofresh.releases.life.record import record_opening, record_waiting
from hellofresh.releases.life.state import reveal, state_of
from hellofresh.releases.life.takedown import take_down
from tests.fakes import fails_with, refused

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


def test_each_moment_has_its_phase_and_says_what_is_next(make, quarter, notes_task) -> None:
    workspace, days = make.workspace(), CalendarRule().of(quarter)
    opens, deadline, reveals = map(utc_text, (days.opens, days.deadline, days.reveals))

    def states(moment: datetime) -> tuple[Phase, int | None, bool, str]:
        state = state_of(workspace, quarter, notes_task, moment)
        assert phase_of(workspace, quarter, notes_task, moment) is state.phase
        return state.phase, state.samples, state.late, state.next_step

    todo = f"is to be released on {opens}: collect it, then run 'hellofresh release run'."
    assert states(days.opens - SECOND) == (Phase.COLLECTING, None, False, todo)
    assert states(days.opens) == (Phase.COLLECTING, None, True, f"{todo} It is late.")
    assert not labels_are_public(workspace, quarter, "x-notes") and list(release_events(workspace)) == []
    make.release(make.notes(3, 3))
    built = f"is built and opens on {opens}; until then it may be rebuilt."
    for moment, phase, step in (
        (days.opens - SECOND, Phase.COLLECTING, built),
        (days.opens, Phase.OPEN, f"accepts predictions until {deadline}."),
        (days.deadline - SECOND, Phase.OPEN, f"accepts predictions until {deadline}."),
        (days.deadline, Phase.CLOSED, f"is revealed on {reveals}."),
        (days.reveals - SECOND, Phase.CLOSED, f"is revealed on {reveals}."),
        (days.reveals, Phase.CLOSED, "is due to be revealed: run 'hellofresh release run'."),
    ):
        assert states(moment) == (phase, 18, False, step)
    opened = Published.open(workspace, quarter, "x-notes")
    assert [opened.has_opened(workspace, moment) for moment in (days.opens - SECOND, days.opens)] == [False, True]
    release = opened.release(workspace, notes_task)
    assert [release.is_over(days.deadline - SECOND), release.is_over(days.deadline)] == [False, True]
    assert not reveal(workspace, quarter, notes_task, days.reveals - SECOND)
    assert reveal(workspace, quarter, notes_task, days.reveals)
    finished = "is finished: labels and salts are public, scores are final."
    assert states(days.opens) == (Phase.REVEALED, 18, False, finished)
    assert not reveal(workspace, quarter, notes_task, days.reveals)
    assert labels_are_public(workspace, quarter, "x-notes")
    assert load_release(workspace, quarter, notes_task).is_over(days.opens)
    take_down(workspace, quarter, notes_task, {"xn-4001": "asked"}, days.opens)
    path = str(workspace.release(quarter, "x-notes") / "manifest.json")
    assert list(release_events(workspace)) == [
        Event(days.reveals, "the reveal of x-notes 2023Q2", path),
        Event(days.opens, "the takedown of xn-4001", path),
    ]


def test_the_first_samples_take_turns_by_class_and_grow_with_the_limit(make, quarter, notes_task) -> None:
    make.release(make.notes(9, 9))
    release = load_release(make.workspace(), quarter, notes_task)
    order = sorted((sample.id for sample in release.samples), key=lambda key: sha256_text(f"limit:{key}"))
    assert [sample.id for sample in release.first(None)] == order
    classes = {key: int(place % 5 == 0) for place, key in enumerate(sorted(order)) if place}
    of_class = [[key for key in order if classes.get(key) == label] for label in (0, 1, None)]
    turns = {key: (2 * n + 1) / (2 * len(keys)) for keys in of_class for n, key in enumerate(keys)}
    mixed = sorted(order, key=lambda key: (turns[key], order.index(key)))
    for limit in (0, 1, 7, 54, None):
        assert [sample.id for sample in release.first(limit, classes)] == mixed[:limit]
    without = replace(release, without_texts=frozenset(mixed[1:3]))
    assert [sample.id for sample in without.first(4, classes)] == [mixed[0], mixed[3]]


def test_labels_are_not_revealed_without_the_key_of_the_draw_or_with_another(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace, reveals = make.workspace(), CalendarRule().of(quarter).reveals
    key = workspace.private(quarter, "x-notes") / DRAW_KEY
    right = key.read_text()
    key.write_text("another")
    refused("bad-commitment", reveal, workspace, quarter, notes_task, reveals)
    key.unlink()
    assert str(key) in refused("missing-file", reveal, workspace, quarter, notes_task, reveals)
    key.write_text(right)
    assert reveal(workspace, quarter, notes_task, reveals)


def test_a_quarter_is_frozen_once_it_was_opened_whatever_the_date(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace, opens = make.workspace(), CalendarRule().of(quarter).opens
    folder = workspace.release(quarter, "x-notes")
    before = sha256_file(folder / "samples.jsonl")
    assert not build_release(workspace, quarter, notes_task, seed="another", cap=1, moment=opens).skipped
    assert sha256_file(folder / "samples.jsonl") != before
    record_opening(workspace, folder, opens)
    before = sha256_file(folder / "samples.jsonl")
    for moment in (opens - SECOND, opens):
        frozen = build_release(workspace, quarter, notes_task, seed="a third", cap=1, moment=moment)
        assert (frozen.skipped, frozen.frozen) == (True, True)
    assert sha256_file(folder / "samples.jsonl") == before


def test_a_quarter_that_waits_is_not_open_after_its_day_and_reveals_nothing(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    workspace, days = make.workspace(), CalendarRule().of(quarter)
    folder = workspace.release(quarter, "x-notes")
    record_waiting(workspace, folder)
    for moment in (days.opens, days.deadline, days.reveals):
        assert phase_of(workspace, quarter, notes_task, moment) is Phase.COLLECTING
        assert not reveal(workspace, quarter, notes_task, moment)
    assert "hellofresh quarter open 2023Q2" in state_of(workspace, quarter, notes_task, days.opens).next_step
    record_opening(workspace, folder, days.opens)
    record_waiting(workspace, folder)  # what was opened never waits again
    assert phase_of(workspace, quarter, notes_task, days.opens) is Phase.OPEN


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
    refused("bad-hash", load_labels, workspace, quarter, notes_task)


def test_labels_are_those_that_were_committed_to_and_classes_of_the_task(make, quarter, notes_task) -> None:
    make.release(make.notes(3, 3))
    private = make.workspace().private(quarter, "x-notes") / "labels.jsonl"
    rows = list(read_jsonl(private))
    write_jsonl(private, [{**rows[0], "label": 1 - rows[0]["label"]}, *rows[1:]])
    refused("bad-commitment", load_labels, make.workspace(), quarter, notes_task)
    write_jsonl(private, [{**rows[0], "id": "x" * 81, "label": 2}, *rows[1:]])
    with fails_with("damaged-release") as caught:
        load_labels(make.workspace(), quarter, notes_task)
    assert (caught.value.what, caught.value.expected) == (f"{'x' * 80} has the label 2", "0 to 1")


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
