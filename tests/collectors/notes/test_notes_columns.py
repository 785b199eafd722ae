"""The columns of 2025 and 2026: what they say is used, and none of them is unknown."""

from __future__ import annotations

import tomllib
from datetime import date
from importlib.resources import files

import pytest

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, REQUESTS
from hellofresh.core.quarters import Quarter

QUARTER = Quarter(2026, 4)
UNDECIDED = "NEEDS_MORE_RATINGS"
DAY = 1_795_000_000_000  # in ms, in November 2026


def run(folder, **more):
    return collect(QUARTER, NotesSource(folder), NotesSettings(), workdir=folder.parent / "work", **more)


def test_every_published_column_is_known_and_there_is_no_warning(dump):
    dump.note(1, at="2026-10-05T10:00:00", raters=["a"])
    found = run(dump.write())
    assert not found.warnings
    sizes = {table.stem: len(table.columns) for table in (NOTES, HISTORY, RATINGS, ENROLLMENT, REQUESTS)}
    assert sizes == {"notes": 24, "noteStatusHistory": 24, "ratings": 35, "userEnrollment": 8, "batSignals": 7}


def test_the_threshold_time_is_known_by_the_name_that_the_dump_gives_it(dump):
    dump.note(1, at="2026-10-05T10:00:00")
    path = dump.write() / "noteStatusHistory-00000.tsv"
    path.write_text(path.read_text().replace("abovePcrhThresholdTime", "timestampMillisAbovePcrhThreshold"))
    assert not run(path.parent).warnings


@pytest.mark.parametrize(
    ("column", "value", "open_still"),
    [
        ("timestampMillisOfFirstNonNMRStatus", DAY, False),
        ("timestampMillisOfFirstNmrDueToMinStableCrhTime", DAY, False),
        ("timestampMillisOfNmrDueToMinStableCrhTime", DAY, False),
        ("abovePcrhThresholdTime", DAY, False),
        ("abovePcrhThresholdTime", -DAY, False),
        ("abovePcrhThresholdTime", -1, True),
        ("timestampMillisOfNmrDueToMinStableCrhTime", -1, True),
        ("timestampMillisOfStatusLock", "", True),
    ],
)
def test_a_note_that_ever_met_the_criteria_is_not_undecided(dump, column, value, open_still):
    for number in (1, 2):
        dump.note(number, at="2026-11-18T10:00:00", status=UNDECIDED, locked=False)
    dump.rows[HISTORY.stem][-1][column] = value
    found = run(dump.write(), pending=True)
    assert [sample.id for sample in found.pending] == (["xn-1", "xn-2"] if open_still else ["xn-1"])


def test_a_label_knows_when_it_could_first_be_seen_and_which_model_decided(dump):
    dump.note(1, at="2026-10-05T10:00:00", shown="2026-10-07T10:00:00")
    dump.rows[HISTORY.stem][-1] |= {
        "timestampMillisOfFirstNmrDueToMinStableCrhTime": 1_791_201_600_000,
        "currentDecidedBy": "GaussianModel (v1.0)",
    }
    dump.note(2, at="2026-10-05T10:00:00")
    one, two = run(dump.write()).candidates
    assert one.extras == {"first_shown_at": "2026-10-05T12:00:00Z"}
    assert (one.label.facts["decided_by"], two.label.facts["decided_by"]) == ("GaussianModel (v1.0)", None)


def test_of_several_collaborative_versions_the_last_is_kept_and_the_others_are_counted(dump):
    dump.post(77)
    times = {1: "05T10", 2: "07T10", 3: "06T10", 4: "08T10"}
    for number, at in times.items():
        dump.note(number, at=f"2026-10-{at}:00:00", post=77)
        dump.rows[NOTES.stem][-1]["isCollaborativeNote"] = int(number < 4)
    dump.note(5, at="2026-10-05T10:00:00")
    dump.rows[NOTES.stem][-1]["isCollaborativeNote"] = 1
    found = run(dump.write())
    assert [candidate.sample.id for candidate in found.candidates] == ["xn-2", "xn-4", "xn-5"]
    assert [drop.count for drop in found.funnel.drops if drop.reason == "older-version"] == [2]


def test_votes_of_sampled_readers_are_counted_apart(dump):
    dump.note(1, at="2026-10-05T10:00:00", raters=["a", "b", "c", "d", "d"])
    dump.note(2, at="2026-10-05T10:00:00", raters=["a"])
    for row, bucket in zip(
        dump.rows[RATINGS.stem], ["DEFAULT", "POPULATION_SAMPLED", "", *["POPULATION_SAMPLED"] * 2, ""], strict=True
    ):
        row["ratingSourceBucketed"] = bucket
    facts = [candidate.label.facts for candidate in run(dump.write()).candidates]
    assert [(fact["ratings"], fact["sampled_ratings"]) for fact in facts] == [(4, 2), (1, 0)]


def test_where_the_dump_does_not_tell_readers_apart_nothing_is_claimed(dump):
    dump.note(1, at="2026-10-05T10:00:00", raters=["a"])
    [candidate] = run(dump.write()).candidates
    assert (candidate.label.facts["ratings"], candidate.label.facts["sampled_ratings"]) == (1, None)


def test_changes_of_the_rule_are_listed_by_date_with_a_source():
    listed = tomllib.loads(files("hellofresh.tasks").joinpath("x_notes_rules.toml").read_text())
    changes = listed["change"]
    days = [change["date"] for change in changes]
    assert days == sorted(set(days))
    assert all(isinstance(day, date) for day in days)
    assert all(change["what"] and change.get("source", listed["source"]) for change in changes)
    assert {date(2025, 4, 8), date(2025, 9, 30), date(2025, 11, 10), date(2026, 4, 30)} <= set(days)
