"""Posts with two notes become samples of x-posts, and nothing public says of which notes, or what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.notes import NotesSettings, NotesSource, collect_posts
from collectors.notes.bridged import BRIDGED_NOTES
from hellofresh.core.clock import now
from hellofresh.core.errors import SourceError
from hellofresh.core.files import read_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection
from hellofresh.releases.life.state import reveal
from hellofresh.tasks import get_task
from hellofresh.tasks.corrections import NotedPost
from hellofresh.tasks.images import Media
from tests.collectors.notes.conftest import HELPFUL, NOT_HELPFUL, QUARTER, UNDECIDED
from tests.conftest import Cli
from tests.fakes import dropped

TASK = get_task("x-posts")
EPOCH_MS = 1_288_834_974_657
APRIL, JULY = 1_680_350_400_000, 1_688_300_000_000
"""Moments of the quarter and after it, in ms."""


def post_id(number: int, at: int = APRIL) -> int:
    return ((at + 1000 * number - EPOCH_MS) << 22) + number


def noted(
    dump: Any, number: int, *statuses: str, at: int = APRIL, note_at: str = "2023-05-01T12:00:00", **post: Any
) -> int:
    """A post with a note of each status; notes are numbered from 100 times the post's number."""
    made = post_id(number, at)
    for place, status in enumerate(statuses):
        dump.note(100 * number + place, at=note_at, status=status, post=made, text=f"Note {number}-{place} refutes it.")
    dump.post(made, created_at=None, text=f"Post {number} claims a lot about the old bridge of the town.", **post)
    return made


def run(dump: Any, **more: Any) -> Collection:
    folder = dump.write()
    return collect_posts(QUARTER, NotesSource(folder), NotesSettings(**more), workdir=folder.parent / "work")


def facts(found: Collection) -> dict[int, tuple[Any, Any]]:
    return {
        int(item.label.facts["high_note"]) // 100: (item.label.facts["high_note"], item.label.facts["second_note"])  # type: ignore[arg-type]
        for item in found.candidates
    }


def scored(dump: Any, scores: dict[int, float | str]) -> None:
    folder = dump.write()
    rows = [f"{note}\t0.5\t{score}\tx" for note, score in scores.items()]
    head = "noteId\tcoreNoteFactor1\tcoreNoteIntercept\tmore"
    (folder / "scored_notes.tsv").write_text("\n".join([head, *rows]) + "\n")


def test_by_status_a_post_needs_a_helpful_note_and_one_that_is_not(dump: Any) -> None:
    noted(dump, 1, HELPFUL, NOT_HELPFUL)
    noted(dump, 2, NOT_HELPFUL, HELPFUL, HELPFUL, NOT_HELPFUL)
    noted(dump, 3, HELPFUL)
    noted(dump, 4, HELPFUL, HELPFUL)
    noted(dump, 5, HELPFUL, UNDECIDED)
    noted(dump, 6, HELPFUL, NOT_HELPFUL, at=JULY)  # a post of the next quarter
    noted(dump, 7, HELPFUL, NOT_HELPFUL, note_at="2023-07-03T12:00:00")  # noted after the quarter
    found = run(dump)
    assert facts(found) == {1: ("100", "101"), 2: ("201", "200"), 7: ("700", "701")}
    assert dropped(found) == {"one-note": 2, "no-pair": 1}
    assert found.funnel.rows_in == 6
    assert {item.label.facts["chosen_by"] for item in found.candidates} == {"status"}
    assert {item.label.label for item in found.candidates} == {0}


def test_with_the_scorers_output_scores_decide_and_the_best_of_each_kind_is_taken(dump: Any) -> None:
    noted(dump, 1, HELPFUL, HELPFUL, UNDECIDED, UNDECIDED)
    noted(dump, 2, HELPFUL, NOT_HELPFUL)
    noted(dump, 3, HELPFUL, UNDECIDED)
    noted(dump, 4, UNDECIDED, UNDECIDED)
    noted(dump, 5, HELPFUL, UNDECIDED)
    scores = {100: 0.41, 101: 0.52, 102: 0.05, 103: 0.25, 200: 0.45, 201: -0.2, 300: 0.34, 301: 0.2, 400: 0.4, 401: 0.1}
    scored(dump, {**scores, 500: 0.35, 501: "NA"})
    found = run(dump)
    assert facts(found) == {1: ("101", "103")}
    (only,) = found.candidates
    assert (only.label.facts["high_score"], only.label.facts["second_score"]) == ("0.5200", "0.2500")
    assert only.label.facts["chosen_by"] == "scores" and found.parameters["notes_by"] == "scores"
    assert "scored_notes.tsv" in {item.name for item in found.sources}


def test_intercepts_of_our_own_fit_decide_where_the_scorers_output_is_absent(dump: Any, tmp_path: Path) -> None:
    noted(dump, 1, HELPFUL, HELPFUL, UNDECIDED)
    noted(dump, 2, HELPFUL, NOT_HELPFUL)
    folder, table = dump.write(), tmp_path / "2023Q2.parquet"
    values = {"note": ["100", "101", "102", "200"], "intercept": [0.41, 0.52, 0.2, None]}
    missing = [name for name in BRIDGED_NOTES.schema if name not in values]
    empty = [pl.lit(0).cast(BRIDGED_NOTES.schema[name]).alias(name) for name in missing]
    pl.DataFrame(values).with_columns(empty).write_parquet(table)
    source = NotesSource(folder, bridging=(table,))
    found = collect_posts(QUARTER, source, NotesSettings(), workdir=tmp_path / "work")
    assert facts(found) == {1: ("101", "102")}
    assert found.parameters["notes_by"] == "scores"
    assert table.name in {item.name for item in found.sources}
    other = NotesSource(folder, bridging=(table.rename(tmp_path / "2023Q1.parquet"),))
    found = collect_posts(QUARTER, other, NotesSettings(), workdir=tmp_path / "work")
    assert facts(found) == {2: ("200", "201")}  # by status: nothing is known of the quarter's own notes
    table.write_bytes(b"nothing")
    with pytest.raises(SourceError, match="intercepts cannot be read"):
        collect_posts(QUARTER, source, NotesSettings(), workdir=tmp_path / "work")


@pytest.mark.parametrize("content", ["noteId\tother\n1\t2\n", "", "noteId\tcoreNoteIntercept\nx\ty\n"])
def test_scores_that_cannot_be_read_are_named_and_not_passed_over(dump: Any, content: str) -> None:
    noted(dump, 1, HELPFUL, NOT_HELPFUL)
    (dump.write() / "scored_notes.tsv").write_text(content)
    with pytest.raises(SourceError, match="scores cannot be read"):
        run(dump)


def test_posts_with_and_without_pictures_stand_side_by_side_with_what_they_show(dump: Any) -> None:
    photo = {"type": "photo", "media_url_https": "https://pbs.example/1.jpg", "ext_alt_text": "A bridge"}
    noted(dump, 1, HELPFUL, NOT_HELPFUL)
    noted(dump, 2, HELPFUL, NOT_HELPFUL, mediaDetails=[photo])
    noted(dump, 3, HELPFUL, NOT_HELPFUL, quoted_tweet={"mediaDetails": [photo]})
    noted(dump, 4, HELPFUL, NOT_HELPFUL, lang="fr")
    found = run(dump)
    shown = {item.sample.modality: item.sample.media for item in found.candidates if isinstance(item.sample, NotedPost)}
    media = (Media("photo", "https://pbs.example/1.jpg", description="A bridge"),)
    assert shown == {"unimodal": (), "multimodal": media}
    assert dropped(found) == {"quoted-media": 1, "not-english": 1}


def test_notes_of_machines_are_no_references(dump: Any) -> None:
    noted(dump, 1, HELPFUL, NOT_HELPFUL)
    noted(dump, 2, HELPFUL, NOT_HELPFUL)
    for row in dump.rows["notes"]:
        row["isCollaborativeNote"] = "1" if row["noteId"] == 201 else "0"
    assert facts(run(dump)).keys() == {1}


def test_a_quarter_from_its_opening_to_its_reveal_shows_the_notes_to_nobody(
    dump: Any, place: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    for number in range(1, 8):
        noted(dump, number, HELPFUL, NOT_HELPFUL, at=APRIL + number * 86_400_000)
    where, release = ("--quarter", "2023Q2", "--dump", dump.write()), place / "data" / "releases" / "2023Q2" / "x-posts"
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-07-25T00:00:00Z")
    cli("collect", "x-posts", *where)
    cli("release", "build", *where[:2])
    rows = list(read_jsonl(release / "samples.jsonl"))
    assert len(rows) == 7
    notes = [str(100 * number + place) for number in range(1, 8) for place in (0, 1)]
    public = "".join(path.read_text() for path in release.rglob("*") if path.is_file())
    assert "refutes" not in public and "bridge" not in public
    values = {value for row in rows for value in row.values() if isinstance(value, str)}
    assert not {note for note in notes if note in values or f'"{note}"' in public}
    cli("release", "verify", release.parent)
    cli("hydrate", *where, "--task", "x-posts")
    private, hydrated = (place / "data" / side / "2023Q2/x-posts/samples.jsonl" for side in ("private", "hydrated"))
    assert hydrated.read_bytes() == private.read_bytes()
    monkeypatch.setenv("HELLOFRESH_NOW", "2024-06-01T00:00:00Z")
    assert reveal(Workspace(place / "data"), QUARTER, TASK, now())
    cli("release", "verify", release.parent)
    cli("release", "publish")
    published = [path.read_bytes() for path in (place / "data" / "published").rglob("*") if path.is_file()]
    assert not [content for content in published if b"refutes" in content or b"old bridge" in content]
    labels = list(read_jsonl(release / "labels.jsonl"))
    assert {row["high_note"] for row in labels} == {str(100 * number) for number in range(1, 8)}
    assert "refutes" not in (release / "labels.jsonl").read_text()


def test_undecided_posts_are_refused_in_words(dump: Any, place: Path, cli: Cli) -> None:
    asked = ("collect", "x-posts", "--quarter", "2023Q2", "--dump", dump.write(), "--pending")
    assert "no undecided samples" in cli(*asked, code=2)
