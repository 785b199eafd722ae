"""The bundled sample comes out of the collector as it was written."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from made.sample.notes import AuthoredNote, AuthoredPost, read_sample

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.notes.dump.tables import ENROLLMENT, HISTORY, NOTES, RATINGS
from collectors.notes.posts import snowflake_time
from collectors.sample import write_notes_dump
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.releases.candidates.rows import Collection

QUARTERS = ("2026Q2", "2026Q3")
CLASSES = {"helpful": 1, "not-helpful": 0}


@pytest.fixture(scope="module")
def sample_dir(root: Path) -> Path:
    return root / "benchmarks" / "made" / "sample" / "written_notes"


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    write_notes_dump(folder)
    return folder


@pytest.fixture(scope="module")
def written(sample_dir: Path) -> list[tuple[AuthoredPost, AuthoredNote]]:
    return [(post, note) for post in read_sample(sample_dir) for note in post.note]


@pytest.fixture(scope="module", params=QUARTERS)
def collected(request: Any, rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Collection]:
    work = tmp_path_factory.mktemp("work")
    quarter = Quarter.parse(request.param)
    return request.param, collect(quarter, NotesSource(rendered), NotesSettings(), workdir=work)


def reason(post: AuthoredPost, note: AuthoredNote, quarter: str) -> str:
    """Why the note should be dropped, from what is written; empty if it should be kept."""
    media = {"none": "", "quoted-photo": "quoted-media"}.get(post.media, "media")
    return next(
        filter(
            None,
            (
                "" if parse_utc(note.at) in Quarter.parse(quarter) else "other-quarter",
                "" if note.locked else "not-locked",
                "" if note.status in CLASSES else "needs-more-ratings",
                post.state if post.state not in ("ok", "truncated") else "",
                "" if post.lang == "en" else "not-english",
                media,
                "truncated" if post.state == "truncated" else "",
            ),
        ),
        "",
    )


def one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def test_what_is_kept_is_what_was_written(
    collected: tuple[str, Collection], written: list[tuple[AuthoredPost, AuthoredNote]]
) -> None:
    quarter, collection = collected
    expected = Counter(
        (post.text, one_line(note.text), note.at, CLASSES[note.status], note.votes)
        for post, note in written
        if not reason(post, note, quarter)
    )
    found = Counter(
        (
            item.sample.post.text,  # type: ignore[attr-defined]  # a Note
            item.sample.note.text,  # type: ignore[attr-defined]  # a Note
            f"{item.sample.date:%Y-%m-%dT%H:%M:%SZ}",
            item.label.label,
            item.label.facts["ratings"],
        )
        for item in collection.candidates
    )
    assert found == expected
    assert len(found) > 80


def test_what_is_dropped_is_dropped_for_the_written_reason(
    collected: tuple[str, Collection], written: list[tuple[AuthoredPost, AuthoredNote]]
) -> None:
    quarter, collection = collected
    expected = Counter(why for post, note in written if (why := reason(post, note, quarter)))
    assert {drop.reason: drop.count for drop in collection.funnel.drops if drop.count} == expected
    assert collection.warnings == []


def table(folder: Path, name: str) -> list[dict[str, str]]:
    header, *lines = (folder / name).read_text(encoding="utf-8").split("\n")[:-1]
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_every_table_has_the_columns_of_the_real_dump(rendered: Path) -> None:
    for kind, width, names in (
        (NOTES, 24, ["notes-00000.tsv", "notes-00001.tsv"]),
        (HISTORY, 23, ["noteStatusHistory-00000.tsv"]),
        (RATINGS, 35, ["ratings-00000.tsv"]),
        (ENROLLMENT, 8, ["userEnrollment-00000.tsv"]),
    ):
        for name in names:
            rows = table(rendered, name)
            assert rows
            columns = tuple(column for column in kind.columns if column not in kind.new)
            assert all(tuple(row) == columns and len(row) == width for row in rows)


def test_ids_hold_the_time_that_the_row_states(rendered: Path) -> None:
    rows = table(rendered, "notes-00000.tsv") + table(rendered, "notes-00001.tsv")
    assert len({row["noteId"] for row in rows}) == len(rows)
    for row in rows:
        assert round(snowflake_time(int(row["noteId"])).timestamp() * 1000) == int(row["createdAtMillis"])
        assert '"' not in row["summary"]


def test_status_locks_about_fourteen_days_after_the_note(rendered: Path) -> None:
    rows = table(rendered, "noteStatusHistory-00000.tsv")
    locked = [row for row in rows if row["lockedStatus"]]
    assert 0 < len(locked) < len(rows)
    for row in rows:
        assert bool(row["lockedStatus"]) == bool(row["timestampMillisOfStatusLock"])
    for row in locked:
        days = (int(row["timestampMillisOfStatusLock"]) - int(row["createdAtMillis"])) / 86_400_000
        assert 14 <= days < 14.5


def test_nobody_rates_a_note_twice_and_levels_follow_the_status(rendered: Path) -> None:
    ratings = table(rendered, "ratings-00000.tsv")
    assert len({(row["noteId"], row["raterParticipantId"]) for row in ratings}) == len(ratings)
    status = {row["noteId"]: row["currentStatus"] for row in table(rendered, "noteStatusHistory-00000.tsv")}
    share = {
        kind: sum(row["helpfulnessLevel"] == "HELPFUL" for row in ratings if status[row["noteId"]] == kind)
        / sum(status[row["noteId"]] == kind for row in ratings)
        for kind in set(status.values())
    }
    assert share["CURRENTLY_RATED_HELPFUL"] > share["NEEDS_MORE_RATINGS"] > share["CURRENTLY_RATED_NOT_HELPFUL"] > 0


def test_every_author_is_enrolled_and_machines_are_told_apart(
    rendered: Path, written: list[tuple[AuthoredPost, AuthoredNote]]
) -> None:
    states = {row["participantId"]: row["enrollmentState"] for row in table(rendered, "userEnrollment-00000.tsv")}
    notes = table(rendered, "notes-00000.tsv") + table(rendered, "notes-00001.tsv")
    by_machine = sum(states[row["noteAuthorParticipantId"]].startswith("api") for row in notes)
    assert by_machine == sum(note.ai for _, note in written)
    assert all(row["raterParticipantId"] in states for row in table(rendered, "ratings-00000.tsv"))


def test_all_times_are_in_the_months_of_their_files(sample_dir: Path) -> None:
    months = {path.stem for path in sample_dir.glob("*.toml")}
    notes = [note for post in read_sample(sample_dir) for note in post.note]
    assert {f"{datetime.fromisoformat(note.at):%Y-%m}" for note in notes} == months
