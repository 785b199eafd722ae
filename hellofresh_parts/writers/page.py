"""Note writers on X, and the ratings of their notes by readers of both sides; no model is involved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from hellofresh.results.note_writers import LEAST_POSTS, NoteWriter, WriterKind
from hellofresh.results.split.tables import PairDifference
from leaderboard.components.markup import DASH, Html, el, heading, named
from leaderboard.components.ranking import APART, RankingPicture, front_of
from leaderboard.components.scale import signed
from leaderboard.components.tables import Cell, Column, definitions, scrolled, table
from leaderboard.export.one_file import one_page
from leaderboard.views.visit import Page, Visit, where

_QUESTION = "Whose notes do people who disagree find helpful?"
LEDE = "Who writes Community Notes: programs, beside people's notes on the same posts."
_RULE = (
    "Different people see different notes, so shares of helpful notes do not compare writers. Here two notes on the "
    "same post are compared by readers who rated both, in X's score (the intercept: 0.40 makes a note helpful) and in "
    "the share of helpful ratings, each minus that of people's notes. Programs that share at least "
    f"{LEAST_POSTS} posts with other writers are ranked; a tie group does not differ significantly from its best."
)
_RAW = (
    "Notes of the quarter as shown on X. These figures depend on who saw the notes: they do not compare writers. "
    "Minutes from the post to the note, and hours from it to a status, are medians. Alone: posts without notes by "
    "others. First: notes that came first where others wrote, too. On media: on a picture or video."
)
_PAIRS = "With limits and p-values that hold for all pairs of ranked programs together, or for all pairs with others."
_WHO = (
    ("Writer 1, 2, ...", "Programs that write through X's interface for note writers. X gives only their pseudonyms; a "
     "number stays the same from quarter to quarter. A name behind it is claimed by who listed the writer's notes; "
     "note ids are public, so it is not proven."),
    ("People", "All notes by people, with whom the others are compared."),
    ("Collaborative notes", "Notes that X marks as written together."),
)  # fmt: skip


def _signed(value: float | None, low: float | None, high: float | None) -> Cell:
    """A difference over its interval; a dash if unknown."""
    if value is None:
        return DASH
    limits = "not known" if low is None or high is None else f"{signed(low, decimals=2)} to {signed(high, decimals=2)}"
    return signed(value), limits


def _chance(value: float | None) -> str:
    return DASH if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _places(writers: Sequence[NoteWriter]) -> Html:
    """Ranked writers by their effect, then those without a rank."""
    ranked = _ranked(writers)
    columns: list[Column] = [("number", "Rank"), ("name", "Writer"), ("number", "Score"), ("number", "p")]
    columns += [("number", "Score, order fitted"), ("number", "Helpful ratings"), ("number", "Ranks")]
    columns += [("number", "Tie group"), ("number", "Posts shared"), ("number", "Readers")]
    said = "Note writers, on the same posts by readers who rated both"
    rows = [*ranked, *(row for row in writers if row not in ranked)]
    return table(said, columns, map(_place, rows), "hf-rated")


def _ranked(writers: Sequence[NoteWriter]) -> list[NoteWriter]:
    found = [row for row in writers if row.rank is not None and row.intercept is not None]
    return sorted(found, key=lambda row: -(row.intercept or 0))


def _front(writers: Sequence[NoteWriter], pairs: Sequence[PairDifference]) -> list[Html]:
    """Who leads, and the ranked writers as the systems of a board are drawn."""
    ranked = {row.writer: row for row in _ranked(writers)}
    if not ranked:
        return [el("p", f"No program is ranked: ranking needs {LEAST_POSTS} posts shared with other writers.")]
    rows = [
        {**asdict(row), "system": name, "first": math.nan, "items": row.posts, "mean": row.intercept, "rough": False,
         "low": math.nan if row.intercept_low is None else row.intercept_low,
         "high": math.nan if row.intercept_high is None else row.intercept_high}
        for name, row in ranked.items()
    ]  # fmt: skip
    close = [one for one in pairs if one.adjusted is None or one.adjusted >= APART]
    level = [(one.one, one.two) for one in close if {one.one, one.two} <= ranked.keys()]
    picture = RankingPicture.of_rows(rows, level, "people's notes")
    front = front_of(picture.lines, picture.scale)
    above = f"{signed(rows[0]['mean'])} in X's score against people's notes on the same posts."
    return [front.draw(front.said or above), picture.draw()] if front else []


def _place(row: NoteWriter) -> list[Cell]:
    """One writer's rank and effect, and the data behind them."""
    rank, ranks, group = DASH, DASH, DASH
    if row.rank is not None:
        rank, ranks, group = str(row.rank), f"{row.rank_low}{DASH}{row.rank_high}", str(row.tie_group)
    known, reference = row.kind != WriterKind.PEOPLE, "0, as reference"
    score = _signed(row.intercept, row.intercept_low, row.intercept_high) if known else reference
    ordered = _signed(row.ordered, row.ordered_low, row.ordered_high) if known else reference
    share = _signed(row.share, row.share_low, row.share_high) if known else reference
    p_value = _chance(row.intercept_p) if known else DASH
    return [rank, named(row.writer), score, p_value, ordered, share, ranks, group, f"{row.posts:,}", f"{row.raters:,}"]


def _counts(writers: Sequence[NoteWriter]) -> Html:
    columns = [("name", "Writer"), ("number", "Notes"), ("number", "Helpful"), ("number", "Not helpful")]
    columns += [("number", "Ratings a note"), ("number", "Minutes to it"), ("number", "Hours to status")]
    columns += [("number", "Alone"), ("number", "First"), ("number", "On media"), ("number", "Not English")]
    lines: list[list[Cell]] = []
    for row in writers:
        every = (row.alone, row.first, row.media, row.foreign)
        shares = [None if part is None else f"{part:.0%}" for part in every]
        helpful, bad = (f"{part / row.notes:.0%}" for part in (row.helpful, row.not_helpful))
        low, high = row.helpful_low, row.helpful_high
        shown = helpful if low is None or high is None else (helpful, f"{low:.0%} to {high:.0%}")
        times = [DASH if time is None else f"{time:,.0f}" for time in (row.minutes, row.hours)]
        numbers: list[Cell] = [f"{row.notes:,}", shown, bad, f"{row.ratings / row.notes:.0f}", *times]
        lines.append([named(row.writer), *numbers, *(part or DASH for part in shares)])
    return table("Notes by writer, not comparable", columns, lines, "hf-rated")


def _pairs(pairs: Sequence[PairDifference]) -> Html:
    columns = [("name", "Writer"), ("name", "Compared with"), ("number", "Difference in score")]
    columns += [("number", "p, alone"), ("number", "p, all pairs")]
    lines: list[list[Cell]] = [
        [named(pair.one), named(pair.two), _signed(pair.difference, pair.low, pair.high), _chance(pair.p_value),
         _chance(pair.adjusted)]
        for pair in pairs
    ]  # fmt: skip
    return table("Every pair of writers", columns, lines, "hf-rated")


def _gain(row: NoteWriter) -> list[Html]:
    """The gain of the first note on a post."""
    if row.gain is None or row.gain_low is None or row.gain_high is None:
        return []
    limits = f"{signed(row.gain_low, decimals=2)} to {signed(row.gain_high, decimals=2)}"
    gained = f"The first note on a post scores {signed(row.gain)} ({limits}) "
    return [el("p", f"{gained}against later ones by the same writer. One column takes this gain out; ranks do not.")]


def writers_sections(writers: Sequence[NoteWriter], pairs: Sequence[PairDifference]) -> tuple[list[Html], list[Html]]:
    """Parts of a quarter's page: writers on the same posts; then their notes, all pairs, and their identities."""
    every = el(
        "details", el("summary", f"All pairs compared: {len(pairs):,}"), el("p", _PAIRS), scrolled(_pairs(pairs))
    )
    counts = [heading("Not comparable: what they wrote", _RAW), scrolled(_counts(writers))]
    first = [
        *_front(writers, pairs),
        heading("On the same posts", _RULE),
        *_gain(writers[0]),
        scrolled(_places(writers)),
    ]
    return first, [*counts, every, heading("Who is who"), definitions(_WHO)]


def writers_page(quarter: str, writers: Sequence[NoteWriter], pairs: Sequence[PairDifference]) -> str:
    """The note writers' page of a quarter, for users with a dump and no board."""
    first, others = writers_sections(writers, pairs)
    rows = {"writers": list(map(asdict, writers)), "pairs": list(map(asdict, pairs))}
    said = "From the public dump of Community Notes; people are one row, and no rater is named"
    return one_page(_QUESTION, f"{LEDE} Note writers, {quarter}.", *first, *others, said=said, **rows)


def _compose(visit: Visit) -> None:
    visit.header(_QUESTION, LEDE)
    split = visit.split()
    writers = visit.board.rows(NoteWriter, split)
    if not writers:
        visit.show(el("p", "This quarter's writers are shown once the labels of all its notes are revealed."))
        return
    first, others = writers_sections(writers, visit.board.rows(PairDifference, split))
    visit.show(*first)
    visit.offer([asdict(row) for row in writers], "note-writers")
    visit.show(*others)


_THERE = where(lambda board, split: board.has(NoteWriter, split) and split.kind == "main")
PAGE = Page("Note writers", "note-writers", _compose, LEDE, _THERE, before="analyses", alone=writers_page)
