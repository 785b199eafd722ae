"""Ratings of notes, and votes of any people on any items."""

from __future__ import annotations

import itertools
import lzma
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from collectors.notes import NotesSettings
from collectors.notes.collect import NoteRow, post_fault, second_of, time_text
from collectors.notes.noted_posts import _pair
from collectors.notes.posts.base import FoundPost
from collectors.notes.tables import gathered
from hellofresh.core.errors import SourceError
from hellofresh.results.note_writers import WriterKind
from hellofresh_parts.voters import writers
from hellofresh_parts.voters.fit import _busiest, _end, _name, _or_none
from hellofresh_parts.voters.ratings import FIRST_MS, _coded, _one_a_pair, _renumbered, hashed
from hellofresh_parts.voters.votes import fit_votes, read_votes
from hellofresh_parts.voters.writers import NoteWriter, _counts, _helpful, _place
from tests.conftest import Cli


def table(path: Path, rows: int = 900, seed: int = 0) -> Path:
    """Two camps of raters who agree on the items of even numbers."""
    random = np.random.default_rng(seed)
    rater, item = random.integers(0, 40, rows), random.integers(0, 24, rows)
    liked = np.where(item % 2 == 0, item % 4 == 0, (rater % 2 == 0) == (item % 4 == 1))
    vote = np.where(random.random(rows) < 0.9, np.where(liked, 1, -1), 0)
    names = {"rater": [f"r{n}" for n in rater], "item": [f"i{n:02}" for n in item], "vote": vote}
    pl.DataFrame(names).unique(["rater", "item"], maintain_order=True).write_csv(path)
    return path


def test_what_both_camps_favour_stands_first_whatever_the_order_of_rows(tmp_path: Path) -> None:
    path = table(tmp_path / "votes.csv")
    items, _ = fit_votes(path)
    best = items.sort("intercept", descending=True)["item"].head(6).to_list()
    assert sorted(best) == ["i00", "i04", "i08", "i12", "i16", "i20"]
    assert (items["votes"] == items["against"] + items["neither"] + items["in_favour"]).all()
    assert items["error"].is_between(0, 0.5).all()
    pl.read_csv(path).sample(fraction=1, shuffle=True, seed=3).write_csv(tmp_path / "shuffled.csv")
    assert fit_votes(tmp_path / "shuffled.csv")[0].equals(items)


def test_the_last_of_several_votes_counts_and_names_of_polis_are_known(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("voter-id,comment-id,vote\na,x,1\na,x,-1\nb,x,0\n")
    items, votes = read_votes(path)
    assert items == ["x"] and votes.level.tolist() == [0, 1]
    path.write_text("item,vote,rater\nx,0.5,a\nx,0,b\n")
    assert read_votes(path)[1].level.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("rater,item\na,x\n", "no column vote"),
        ("rater,item,vote\na,x,1\nb,x,NaN\n", "row 2 of 2"),
        ("rater,item,vote\na,x,7\n", "row 1 of 1"),
        ("rater,item,vote\na,x,0.5\nb,x,-1\n", "row 1 of 2"),
        ("rater,item,vote\na,,1\n", "row 1 of 1"),
        ("", "cannot be read"),
        ("rater,item,vote\na,x,1\n", "too little to fit"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(content)
    with pytest.raises(SourceError, match=fault):
        fit_votes(path)


def test_the_command_writes_the_items_beside_the_table(tmp_path: Path, cli: Cli) -> None:
    command = ("collect", "ratings", "--table", table(tmp_path / "votes.csv"))
    assert "i00" in cli(*command)
    assert pl.read_csv(tmp_path / "votes.fitted.csv").height == 24
    cli(*command, "--quarter", "2026Q2", code=2)
    cli("collect", "ratings", code=2)


def test_real_votes_are_fitted(shared_data: Path, tmp_path: Path, needed: Callable[[bool, str], None]) -> None:
    packed = shared_data / "polis" / "brexit-consensus.votes.csv.xz"
    needed(packed.is_file(), "shared/data/polis")
    (tmp_path / "votes.csv").write_bytes(lzma.decompress(packed.read_bytes()))
    items, _ = fit_votes(tmp_path / "votes.csv")
    assert items.height == items["intercept"].count() == 50
    assert items["error"].median() < 0.05


def test_of_two_votes_the_later_one_counts_whatever_the_order_of_rows(tmp_path: Path) -> None:
    rows = [("r", "i", 1, 5), ("r", "i", -1, 9), ("r", "i", 0, 7), ("s", "i", 0, 5), ("s", "i", 1, 5), ("s", "j", 1, 2)]
    found = set()
    for order in itertools.permutations(rows):
        lines = ["voter-id,comment-id,vote,timestamp", *(",".join(map(str, row)) for row in order)]
        (tmp_path / "v.csv").write_text("\n".join(lines))
        items, votes = read_votes(tmp_path / "v.csv")
        found.add((tuple(items), tuple(votes.note), tuple(votes.rater), tuple(votes.level)))
    assert found == {(("i", "j"), (0, 0, 1), (0, 1, 1), (0, 2, 2))}
    (tmp_path / "v.csv").write_text("rater,item,vote,timestamp\nr,i,1,soon\n")
    with pytest.raises(SourceError, match="row 1 of 1 has a timestamp"):
        read_votes(tmp_path / "v.csv")


# --- Ratings as numbers, pairs of notes, and facts on labels: exact values on small inputs, and plain second readings.


KEY, LATER = b"key", FIRST_MS + 1999
HELPFUL, NOT_HELPFUL = "CURRENTLY_RATED_HELPFUL", "CURRENTLY_RATED_NOT_HELPFUL"
COLUMNS = ("noteId", "createdAtMillis", "raterParticipantId", "helpfulnessLevel", "helpful", "notHelpful")


def digest(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8, key=KEY).digest(), "big")


def test_ratings_become_numbers_and_odd_ones_are_counted() -> None:
    rows = [
        (1, LATER, "a", "HELPFUL", "", "", "POPULATION_SAMPLED"), (2, LATER, "b", "SOMEWHAT_HELPFUL", "1", "", ""),
        (3, FIRST_MS, "a", "NOT_HELPFUL", "1", "", "x"), (4, LATER, "d", "", "1", "1", ""),
        (5, LATER, "e", "", "0", "1", ""), (6, LATER, "f", "", "0", "0", ""),
        (7, LATER, "g", "ODD_NAME", "1", "", ""), (8, LATER, "h", "odd name!", "", "", ""),
        (9, FIRST_MS - 1, "i", "HELPFUL", "", "", ""), (10, LATER, "", "HELPFUL", "", "", ""),
    ]  # fmt: skip
    dropped: Counter[str] = Counter()
    values: set[str] = set()
    frame = pl.DataFrame(rows, schema=[*COLUMNS, "ratingSourceBucketed"], orient="row")
    second = FIRST_MS // 1000
    assert _coded(frame, KEY, dropped, values).rows() == [
        (1, digest("a"), second + 1, 2, True), (2, digest("b"), second + 1, 1, False),
        (3, digest("a"), second, 0, False), (4, digest("d"), second + 1, 2, False),
        (5, digest("e"), second + 1, 0, False),
    ]  # fmt: skip
    assert dropped == {
        "ratings with an unknown value": 3, "ratings from before 2021": 1, "ratings without a rater": 1
    }  # fmt: skip
    assert values == {"ODD_NAME"}
    assert hashed(pl.Series("x", [], dtype=pl.String), KEY).dtype == pl.UInt64


@pytest.mark.parametrize("seed", range(30))
def test_of_several_ratings_of_a_pair_the_latest_counts(seed: int) -> None:
    random = np.random.default_rng(seed)
    pair, second, level = (random.integers(0, most, 9) for most in (4, 3, 3))
    sampled = random.integers(0, 2, 9).astype(bool)
    kept = _one_a_pair(pair, second.astype(np.int32), level.astype(np.int8), sampled)
    best: dict[int, tuple[int, int, bool]] = {}
    for key, *rating in zip(pair.tolist(), second.tolist(), level.tolist(), sampled.tolist(), strict=True):
        best[key] = max(best.get(key, tuple(rating)), tuple(rating))
    assert pair[kept].tolist() == sorted(best)
    assert [*zip(second[kept].tolist(), level[kept].tolist(), sampled[kept].tolist(), strict=True)] == [
        best[key] for key in sorted(best)
    ]


def test_raters_are_numbered_by_their_ratings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    note, rater = random.integers(0, 9, 60), random.integers(0, 7, 60)
    second, level = random.integers(0, 10**6, 60).astype(np.int32), random.integers(0, 3, 60).astype(np.int8)
    found = []
    for names, rows in ((np.arange(7), 10**6), (random.permutation(7), 10**6), (random.permutation(7), 7)):
        monkeypatch.setattr("hellofresh_parts.voters.ratings._ROWS_AT_ONCE", rows)
        pair = note * 7 + names[rater]
        order = _renumbered(pair, second, level, 7)
        assert sorted(order.tolist()) == [*range(7)] and (pair // 7 == note).all()
        assert (order[pair % 7] == names[rater]).all()
        found.append(pair.tolist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("heights", "rows", "joined"), [((1, 1, 3, 1), 2, [2, 3, 1]), ((2, 1), 3, [3]), ((), 1, [])])
def test_frames_are_gathered_until_there_are_enough_rows(
    heights: tuple[int, ...], rows: int, joined: list[int]
) -> None:
    frames = [pl.DataFrame({"n": [0] * height}) for height in heights]
    assert [frame.height for frame in gathered(frames, rows)] == joined


def row(note_id: int, label: int | None, *, created: int = 0, text: str = "note", post: int = 7) -> NoteRow:
    return NoteRow(note_id, created, post, text, label, None, None, None, None, None)


SCORES = (None, 0.04, 0.05, 0.25, 0.26, 0.34, 0.35, 0.5)


def test_a_pair_is_the_best_helpful_note_and_the_best_of_its_partners() -> None:
    kinds = [*product((0, 1, None), SCORES[::2]), *product((0, 1), SCORES[1::2])]
    for first, second in product(kinds, repeat=2):
        notes = [row(1, first[0], created=5), row(2, second[0], created=5), row(3, 1, created=9), row(4, 0, created=9)]
        scores = {1: first[1], 2: second[1], 3: 0.35, 4: 0.05}
        known = {number: score for number, score in scores.items() if score is not None}
        ranked = sorted(
            (note for note in notes if note.note_id in known), key=lambda note: (-known[note.note_id], note[1])
        )
        high = [note for note in ranked if note.label == 1 and known[note.note_id] >= 0.35]
        partners = [note for note in ranked if 0.05 <= known[note.note_id] <= 0.25]
        assert _pair(notes, known) == (high[0], partners[0]), (first, second)
        helpful, others = ([note for note in notes if note.label == label] for label in (1, 0))
        assert _pair(notes, None) == (helpful[0], others[0])
    assert _pair([row(1, 1), row(2, 1)], None) is _pair([row(1, 0)], None) is _pair([row(1, 1)], {1: 0.5}) is None


def test_names_and_numbers_of_a_dump_are_written_or_left_out() -> None:
    assert [_name(value, None) for value in (None, HELPFUL, "NEEDS_MORE_RATINGS", "ODD")] == [
        None, HELPFUL, "NEEDS_MORE_RATINGS", None
    ]  # fmt: skip
    assert _or_none(np.array([np.nan, 0.12345678949])) == [None, 0.123456789]
    assert [writers._or_none(value) for value in (np.nan, np.inf, 0.12345678949)] == [None, None, 0.123456789]


def test_the_end_of_a_dump_ignores_clocks_that_are_ahead_and_the_busiest_are_of_its_last_weeks() -> None:
    day = 86_400
    second = np.array([*[100 * day] * 1998, 110 * day, 500 * day], np.int32)
    assert _end(SimpleNamespace(second=second)) == 110 * day
    last = 100 * day
    moments = [last] * 5 + [last - 7 * day + 1] + [last - 7 * day] * 9 + [last - 28 * day] * 99
    rater = [0] * 5 + [1] + [2] * 9 + [3] * 99
    ratings = SimpleNamespace(second=np.array(moments, np.int32), rater=np.array(rater, np.int32), raters=np.arange(5))
    assert _busiest(ratings).tolist() == [True, False, True, False, False]


def test_writers_stand_by_rank_then_people_then_by_their_notes() -> None:
    kinds = {"P": WriterKind.PEOPLE, "C": WriterKind.COLLABORATIVE, "M": WriterKind.MACHINE}
    given = [("M", None, 3), ("M", 2, 1), ("P", None, 9), ("M", 1, 1), ("C", None, 10), ("M", None, 4), ("M", 2, 1)]
    rows = [SimpleNamespace(kind=kinds[kind], rank=rank, notes=notes) for kind, rank, notes in given]
    order = sorted(range(7), key=lambda number: _place(rows[number], number))
    assert order == [3, 1, 6, 4, 2, 5, 0]
    assert NoteWriter.__dataclass_fields__.keys() >= {"kind", "rank", "notes"}


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (None, None),
        (-1, None),
        (0, "1970-01-01T00:00:00Z"),
        (999, "1970-01-01T00:00:00Z"),
        (1000, "1970-01-01T00:00:01Z"),
    ],
)
def test_times_of_a_dump_are_whole_seconds(moment: int | None, text: str | None) -> None:
    assert time_text(moment) == text
    if moment is not None and moment >= 0:
        assert second_of(moment) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment // 1000)


def test_a_post_and_its_longest_note_fit_together_or_not() -> None:
    post = FoundPost("7", text="Five words are in here.", language="en")
    notes = [row(1, 1, text="short"), row(2, 0, text="a longer one")]
    length = len(post.text) + len(notes[1].text)
    for most, fault in ((length, None), (length - 1, "too-long")):
        settings = NotesSettings(max_characters=most)
        assert post_fault(post, notes, settings, illustrated=False) == fault


def test_the_notes_of_a_writer_are_counted_and_shared_out() -> None:
    names = ("number", "currentStatus", "ratings", "hours", "media", "foreign", "minutes", "tweetId", "alone", "first")
    rows = [
        (0, HELPFUL, 3, 1.0, True, None, 5.0, 11, True, True),
        (0, NOT_HELPFUL, 2, 3.0, False, True, 7.0, 12, False, False),
        (0, None, 1, None, None, False, None, 12, False, True), (2, "OTHER", 0, *[None] * 7),
    ]  # fmt: skip
    types = {"media": pl.Boolean, "foreign": pl.Boolean, "alone": pl.Boolean, "first": pl.Boolean}
    frame = pl.DataFrame(rows, schema=names, schema_overrides=types, orient="row")
    mine, other = _counts(frame).sort("number").to_dicts()
    assert mine == {
        "number": 0, "notes": 3, "helpful": 1, "not_helpful": 1, "ratings": 6, "hours": 2.0, "minutes": 6.0,
        **dict.fromkeys(("media", "foreign", "alone", "first"), 0.5),
    }  # fmt: skip
    none = dict.fromkeys(("hours", "media", "foreign", "minutes", "alone", "first"))
    assert other == none | {"number": 2, "notes": 1, "helpful": 0, "not_helpful": 0, "ratings": 0}


def test_notes_on_one_post_tell_less_of_a_share_than_notes_on_many() -> None:
    statuses = [HELPFUL, HELPFUL, None, NOT_HELPFUL, HELPFUL, HELPFUL]

    def limits(posts: list[int | None]) -> tuple[float, float]:
        frame = pl.DataFrame({"currentStatus": statuses, "tweetId": posts}, schema_overrides={"tweetId": pl.Int64})
        return _helpful(frame)

    alone, pairs = limits([None] * 6), limits([7, 7, 8, 8, 9, 9])
    assert alone == limits([0, -1, None, 7, 8, 9]) == limits([1, 2, 3, 4, 5, 6]) != pairs
    for low, high in (alone, pairs):
        assert low < 2 / 3 < high and low + high > 1
        assert (low, high) == (round(low, 9), round(high, 9))
