"""The columns of 2025 and 2026: what they say is used, and none of them is unknown."""

from __future__ import annotations

import tomllib
from contextlib import nullcontext
from datetime import date
from importlib.resources import files

import pytest

from collectors.notes.tables import ENROLLMENT, HISTORY, NOTES, RATINGS, REQUESTS
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import Quarter
from tests.collectors.notes.conftest import UNDECIDED
from tests.collectors.notes.conftest import run as collected

QUARTER = Quarter(2026, 4)
DAY = 1_795_000_000_000  # in ms, in November 2026


def run(folder, **more):
    return collected(folder, QUARTER, **more)


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


@pytest.mark.parametrize(("yes", "no"), [(1, 0), ("True", "False"), ("true", ""), ("1.0", "0.0")])
def test_of_several_collaborative_versions_the_last_decided_one_is_kept_and_the_others_are_counted(dump, yes, no):
    dump.post(77)
    dump.post(78)
    # Post, time, whether it is decided, whether it is collaborative.
    written = {
        1: (77, "05T10", True, yes),
        2: (77, "07T10", True, yes),
        3: (77, "09T10", False, yes),
        4: (77, "08T10", True, no),
        5: (78, "05T10", False, yes),
        6: (78, "07T10", False, yes),
        7: (None, "05T10", True, yes),
    }
    for number, (post, at, decided, collaborative) in written.items():
        status = "CURRENTLY_RATED_HELPFUL" if decided else UNDECIDED
        dump.note(number, at=f"2026-10-{at}:00:00", post=post, status=status, locked=decided)
        dump.rows[NOTES.stem][-1]["isCollaborativeNote"] = collaborative
    found = run(dump.write(), pending=True)
    kept = {candidate.sample.id: candidate.label.facts["collaborative"] for candidate in found.candidates}
    assert kept == {"xn-2": True, "xn-4": None if no == "" else False, "xn-7": True}
    assert [sample.id for sample in found.pending] == ["xn-6"]
    assert [drop.count for drop in found.funnel.drops if drop.reason == "older-version"] == [3]


@pytest.mark.parametrize(
    ("notes_gone", "rows_gone", "error"),
    [
        (0, 0, ""),
        (6, 0, "6 of 500 notes of the table noteStatusHistory are not in the table notes"),
        (5, 0, ""),  # a few deleted ones
        (0, 6, "6 of 500 notes of the table notes are not in the table noteStatusHistory"),
        (0, 5, ""),
        (14, 0, "14 of 500"),
    ],
)
def test_a_dump_without_a_list_of_files_that_seems_to_lack_a_shard_is_refused(dump, notes_gone, rows_gone, error):
    for number in range(1, 701):
        # Those of other quarters do not count.
        dump.note(number, at="2026-10-05T10:00:00" if number > 200 else "2026-07-05T10:00:00")
        dump.rows[HISTORY.stem][-1]["createdAtMillis"] = dump.rows[NOTES.stem][-1]["createdAtMillis"]
    for stem, gone in ((NOTES.stem, notes_gone), (HISTORY.stem, rows_gone)):
        del dump.rows[stem][len(dump.rows[stem]) - gone :]
        del dump.rows[stem][:20]
    folder = dump.write()
    with pytest.raises(SourceError, match=error) if error else nullcontext():
        assert len(run(folder).candidates) == 500 - notes_gone - rows_gone
    found = run(folder, accept_partial=True)
    assert len(found.candidates) == 500 - notes_gone - rows_gone
    assert found.parameters["accept_partial"] is True


def test_texts_that_another_program_has_quoted_are_counted(dump):
    for number in range(1, 41):
        text = f'"Number {number} is ""high""."' if number % 2 else 'It is 12" high and 10"'
        dump.note(number, at="2026-10-05T10:00:00", text=text)
    (warning,) = run(dump.write()).warnings
    assert warning.startswith("notes: 20 of 40 texts are in quotation marks")


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
