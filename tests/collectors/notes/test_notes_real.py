"""The funnel on real rows, against counts taken from the files in another way."""

from __future__ import annotations

import csv
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from collectors.notes import LabelSource, NotesSettings, NotesSource, collect
from collectors.notes.texts import is_foreign
from hellofresh.core.quarters import Quarter
from tests.fakes import dropped

pytestmark = pytest.mark.integration


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def old(shared_data: Path) -> Path:
    return shared_data / "x" / "dump-2022Q4-2023Q2"


@pytest.fixture(scope="module")
def recent(shared_data: Path) -> Path:
    return shared_data / "x" / "dump-2024-11-06"


FUNNELS = {
    "2022Q4": {"other-quarter": 1508, "needs-more-ratings": 639, "page-leftovers": 8, "missing-media": 6},
    "2023Q1": {
        "other-quarter": 1680, "needs-more-ratings": 508, "not-english": 10, "post-language": 6, "page-leftovers": 1,
        "missing-media": 14,
    },
    "2023Q2": {
        "other-quarter": 1310, "needs-more-ratings": 799, "not-english": 12, "post-language": 15, "note-language": 2,
        "page-leftovers": 16, "missing-media": 18,
    },
}  # fmt: skip
KEPT = {
    "2022Q4": {"2022-10": {0: 8, 1: 23}, "2022-11": {0: 21, 1: 15}, "2022-12": {0: 5, 1: 16}},
    "2023Q1": {"2023-01": {0: 0, 1: 6}, "2023-02": {0: 1, 1: 9}, "2023-03": {0: 4, 1: 10}},
    "2023Q2": {"2023-04": {0: 21, 1: 11}, "2023-05": {0: 7, 1: 13}, "2023-06": {0: 9, 1: 16}},
}
FOREIGN_LETTERS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\u00c0-\u00ff]")


@pytest.mark.parametrize("name", FUNNELS)
def test_the_funnel_of_a_real_quarter(old: Path, tmp_path: Path, name: str) -> None:
    collection = collect(Quarter.parse(name), NotesSource(old), NotesSettings(), workdir=tmp_path)
    assert (collection.funnel.rows_in, dropped(collection)) == (2249, FUNNELS[name])
    assert collection.funnel.kept == KEPT[name]
    assert collection.warnings == []


def test_three_quarters_are_what_plain_python_finds(old: Path, tmp_path: Path) -> None:
    languages, posts = {}, {}
    for line in (old / "posts.jsonl").read_text(encoding="utf-8").splitlines():
        post = json.loads(line)
        languages[post["id_str"]], posts[post["id_str"]] = post["lang"], post["text"]
    locked = {row["noteId"]: row["lockedStatus"] for row in rows(old / "noteStatusHistory-00000.tsv")}
    expected = {
        f"xn-{row['noteId']}": (html.unescape(row["summary"]), int("NOT" not in locked[row["noteId"]]))
        for row in rows(old / "notes-00000.tsv")
        if languages[row["tweetId"]] == "en" and locked[row["noteId"]] != "NEEDS_MORE_RATINGS"
    }
    found = {}
    for name in FUNNELS:
        settings = NotesSettings(keep_incomplete=True)
        for item in collect(Quarter.parse(name), NotesSource(old), settings, workdir=tmp_path).candidates:
            found[item.sample.id] = (item.sample.note.text, item.label.label)  # type: ignore[attr-defined]  # a Note
    assert found.items() <= expected.items()
    foreign = expected.keys() - found.keys()
    texts = {f"xn-{row['noteId']}": row["summary"] + posts[row["tweetId"]] for row in rows(old / "notes-00000.tsv")}
    assert len(foreign) == 23
    assert all(FOREIGN_LETTERS.search(texts[key]) for key in foreign)


def test_no_note_of_2024_is_locked_yet(recent: Path, old: Path, tmp_path: Path) -> None:
    source = NotesSource(recent, old / "posts.jsonl")
    collection = collect(Quarter(2024, 4), source, NotesSettings(), workdir=tmp_path)
    assert dropped(collection) == {"not-locked": 3637}
    assert collection.warnings == [
        "notes-00000.tsv: without the columns isCollaborativeNote.",
        "ratings-00000.tsv: without the columns ratingSourceBucketed, suggestion, suggestionId.",
        "No status of 2024Q4 is locked: use a later dump.",
    ]


def test_current_labels_and_votes_of_2024_are_what_plain_python_finds(recent: Path, tmp_path: Path) -> None:
    notes = {row["noteId"]: row for row in rows(recent / "notes-00000.tsv")}
    posts = tmp_path / "posts.jsonl"
    ids = {row["tweetId"] for row in notes.values()} - {"NA"}
    plain = {"lang": "xx", "text": "Words.", "created_at": "2024-11-01T00:00:00Z"}
    posts.write_text("".join(json.dumps(plain | {"id_str": id_}) + "\n" for id_ in sorted(ids)), encoding="utf-8")
    settings = NotesSettings(label_source=LabelSource.CURRENT, min_age_days=0, languages=("xx",))
    collection = collect(Quarter(2024, 4), NotesSource(recent, posts), settings, workdir=tmp_path)

    pairs = {(row["noteId"], row["raterParticipantId"]) for row in rows(recent / "ratings-00000.tsv")}
    votes = Counter(note for note, _ in pairs)
    current = {row["noteId"]: row["currentStatus"] for row in rows(recent / "noteStatusHistory-00000.tsv")}
    expected = {
        f"xn-{note}": (int(current[note] == "CURRENTLY_RATED_HELPFUL"), votes[note])
        for note, row in notes.items()
        if current[note].startswith("CURRENTLY") and row["tweetId"] != "NA"
    }
    assert {
        item.sample.id: (item.label.label, item.label.facts["ratings"]) for item in collection.candidates
    } == expected
    unnamed = sum(current[note].startswith("CURRENTLY") and row["tweetId"] == "NA" for note, row in notes.items())
    assert dropped(collection).get("no-post", 0) == unnamed


def test_notes_in_many_languages_are_told_from_english_ones(recent: Path, tmp_path: Path) -> None:
    """Notes of two days, in a dozen languages; the word `the` hardly stands twice in notes of another one."""
    found = [html.unescape(row["summary"]) for row in rows(recent / "notes-00000.tsv")]
    plainly = [text for text in found if text.casefold().split().count("the") > 1]
    assert len(plainly) > 900
    assert not [text for text in plainly if is_foreign(text, ("en",))]
    assert 1000 < sum(is_foreign(text, ("en",)) for text in found) < 1300
