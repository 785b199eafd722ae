"""The bundled sample comes out of the collector as it was written."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from made.sample.notes import AuthoredNote, AuthoredPost, read_sample

from collectors.notes import NotesSettings, NotesSource, collect
from collectors.sample import write_notes_dump
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.releases.candidates import Collection
from tests.fakes import dropped

QUARTERS = ("2025Q4", "2026Q1", "2026Q2", "2026Q3")
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
    found = (
        "" if parse_utc(note.at) in Quarter.parse(quarter) else "other-quarter",
        "" if note.locked else "not-locked",
        "" if note.status in CLASSES else "needs-more-ratings",
        post.state if post.state not in ("ok", "truncated") else "",
        "" if post.lang == "en" else "not-english",
        {"none": "", "quoted-photo": "quoted-media"}.get(post.media, "media"),
        "truncated" if post.state == "truncated" else "",
    )
    return next(filter(None, found), "")


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
    assert len(found) > 60


def test_what_is_dropped_is_dropped_for_the_written_reason(
    collected: tuple[str, Collection], written: list[tuple[AuthoredPost, AuthoredNote]]
) -> None:
    quarter, collection = collected
    expected = Counter(why for post, note in written if (why := reason(post, note, quarter)))
    assert dropped(collection) == expected
    assert collection.warnings == []


def test_pairs_of_notes_on_one_post_agree_as_often_as_in_the_real_dump(
    written: list[tuple[AuthoredPost, AuthoredNote]],
) -> None:
    statuses: dict[str, list[str]] = {}
    for post, note in written:
        if not any(reason(post, note, quarter) for quarter in QUARTERS if parse_utc(note.at) in Quarter.parse(quarter)):
            statuses.setdefault(post.text, []).append(note.status)
    same = [one == other for found in statuses.values() for one, other in combinations(found, 2)]
    assert len(same) > 50
    assert sum(same) / len(same) == pytest.approx(0.88, abs=0.02)
