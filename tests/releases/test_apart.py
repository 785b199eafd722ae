"""Samples that tell of each other's labels: no open sample of notes is on a post that is a sample of x-posts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hellofresh.core.errors import ReleaseError
from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import PeriodKind, Quarter
from hellofresh.releases.draw.apart import groups_told_of
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate, Label
from hellofresh.tasks.x_notes import Post
from hellofresh.tasks.x_posts import NotedPost
from tests.conftest import Maker

FIRST, SECOND = Quarter(2023, 2), Quarter(2023, 3)
FACTS = {"chosen_by": "status", "high_note": "1", "high_note_at": None, "high_score": None, "second_note": "2",
         "second_note_at": None, "second_score": None}  # fmt: skip


def noted_post(number: int, quarter: Quarter) -> Candidate:
    """A post with two notes, which is in the group of notes on it."""
    made = datetime.combine(quarter.start, datetime.min.time(), UTC).replace(day=2)
    sample = NotedPost(
        id=f"xp-{number}", task="x-posts", edition=str(quarter), period=PeriodKind.MONTH.of(made), date=made,
        group=f"x-{number}", license="LicenseRef-X-content", post=Post(str(number), made, f"Post {number}."), media=(),
        modality="unimodal",
    )  # fmt: skip
    return Candidate(sample, Label(sample.id, 0, dict(FACTS)), {"high_text": "a", "second_text": "b"})


def groups(make: Maker, quarter: Quarter, task: str, split: str = "") -> set[object]:
    return {row["group"] for row in read_jsonl(make.workspace().release(quarter, task) / split / "samples.jsonl")}


def notes(make: Maker, quarter: Quarter, numbers: range, first: int = 0) -> list[Candidate]:
    day = datetime.combine(quarter.start, datetime.min.time(), UTC).replace(day=3)
    return [make.candidate(make.note(first + n, date=day, post=n), n % 2) for n in numbers]


def test_no_post_is_a_sample_of_both_in_a_quarter_or_the_next(make: Maker) -> None:
    make.release(notes(make, FIRST, range(10)), quarter=FIRST)
    make.release([noted_post(n, FIRST) for n in range(5, 15)], quarter=FIRST)
    assert groups(make, FIRST, "x-posts") == {f"x-{n}" for n in range(10, 15)}
    # Notes of the next quarter on posts of this one: what is revealed of x-posts names the notes.
    make.release(notes(make, SECOND, range(12, 20), first=100), quarter=SECOND)
    assert groups(make, SECOND, "x-notes") <= {f"x-{n}" for n in range(15, 20)}
    make.release([noted_post(n, SECOND) for n in (3, 16, 30)], quarter=SECOND)
    assert groups(make, SECOND, "x-posts") == {"x-30"}
    told = groups_told_of(make.workspace(), get_task("x-notes"), before=SECOND.next())
    assert told == {f"x-{n}" for n in (*range(10, 15), 30)}
    assert groups_told_of(make.workspace(), get_task("wikipedia-edits"), before=SECOND.next()) == frozenset()


def test_a_release_of_notes_does_not_change_because_posts_were_released(make: Maker) -> None:
    found = notes(make, FIRST, range(10))
    make.release(found, quarter=FIRST)
    before = groups(make, FIRST, "x-notes")
    make.release([noted_post(n, FIRST) for n in range(5, 15)], quarter=FIRST)
    assert make.release(found, quarter=FIRST).skipped
    assert groups(make, FIRST, "x-notes") == before


def test_the_wrong_order_is_refused(make: Maker) -> None:
    make.release([noted_post(n, FIRST) for n in range(5)], quarter=FIRST)
    with pytest.raises(ReleaseError, match="x-notes must be released before x-posts") as raised:
        make.release(notes(make, FIRST, range(10)), quarter=FIRST)
    assert raised.value.code == "wrong-order"


def test_posts_wait_for_the_notes_of_their_quarter_where_notes_are_released(make: Maker) -> None:
    make.release(notes(make, FIRST, range(10)), quarter=FIRST)
    with pytest.raises(ReleaseError, match="x-notes must be released before x-posts"):
        make.release([noted_post(n, SECOND) for n in range(40, 45)], quarter=SECOND)
    make.release(notes(make, SECOND, range(20, 30), first=100), quarter=SECOND)
    make.release([noted_post(n, SECOND) for n in range(40, 45)], quarter=SECOND)
    assert len(groups(make, SECOND, "x-posts")) == 5
