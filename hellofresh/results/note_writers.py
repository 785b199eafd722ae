"""A board of the writers of notes on X, which needs no model calls.

Programs that write by the API are a row each, people are one row, and so are collaborative notes. Shares of helpful
notes do not compare writers, since different people see different notes. So ranks rest on raters who rated notes of
two writers on one post (`hellofresh.stats.equal_exposure`), by the one rule of `hellofresh.results.standings`: every
pair is tested, step-down, and rank intervals and tie groups follow from the pairs that differ. People and
collaborative notes are compared and not ranked; neither is a program that shares fewer than `LEAST_POSTS` posts with
others.

The tables are made where ratings are (`hellofresh collect ratings`), and name no rater. A writer's statuses tell labels
of samples that are not revealed: see `notes_splits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.parquet import BadTableError, Table
from hellofresh.results.split.tables import PairDifference
from hellofresh.stats.equal_exposure import WriterEffects
from hellofresh.stats.metrics import mean
from hellofresh.stats.ranking import Differences, RankIntervals, differences, rank_systems
from hellofresh.tasks import TASKS

LEAST_POSTS = 30
"""Fewest posts shared with others for a writer to be ranked."""
_INTERCEPT = mean("intercept", (-2.0, 2.0))
_SIDES = ("difference", "standard_error", "low", "high", "p_value", "adjusted")


class WriterKind(StrEnum):
    """Kind of a writer."""

    MACHINE = "machine"
    PEOPLE = "people"
    COLLABORATIVE = "collaborative"


@dataclass(frozen=True, slots=True)
class NoteWriter:
    """The statistics of a writer in a quarter.

    Attributes:
        writer, kind: the name, such as `Writer 3` or `People`, and a `WriterKind`.
        notes, helpful, not_helpful: notes of the quarter, and those of each status by X.
        ratings: of all its notes.
        hours: from a note to its first status that says yes or no, the median of notes that have one; None without any.
        media, foreign: shares of notes on a post's picture or video, and of notes in another language than English;
            None where it is not known.
        posts, raters: posts on which it is compared, and the raters who rated both.
        intercept, intercept_low, intercept_high, intercept_p: by how much its notes' intercepts are above those of
            people's notes on the same posts by the same raters, with the 95% interval and the p-value of this
            difference alone; None where the two share no posts, nor by way of others.
        share, share_low, share_high, share_p: the same of the share of these ratings that say helpful.
        rank, rank_low, rank_high, tie_group: its place; None where it is not ranked.
        helpful_low, helpful_high: 95% interval of `helpful` among its notes, clustered by post.
        minutes: from a post to the note, the median; None where no post's time is known.
        alone: share of its posts on which no other writer wrote a note.
        first: share of its notes on other posts that were the first there; None without such notes.
        ordered, ordered_low, ordered_high, ordered_p: as `intercept`, but with what the first note on a post gains
            fitted beside the writers.
        gain, gain_low, gain_high: this gain, the same for all writers of a quarter; None where it cannot be separated
            from who writes.
    """

    writer: str
    kind: str
    notes: int
    helpful: int
    not_helpful: int
    ratings: int
    hours: float | None
    media: float | None
    foreign: float | None
    posts: int
    raters: int
    intercept: float | None
    intercept_low: float | None
    intercept_high: float | None
    intercept_p: float | None
    share: float | None
    share_low: float | None
    share_high: float | None
    share_p: float | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None
    helpful_low: float | None = None
    helpful_high: float | None = None
    minutes: float | None = None
    alone: float | None = None
    first: float | None = None
    ordered: float | None = None
    ordered_low: float | None = None
    ordered_high: float | None = None
    ordered_p: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None


NOTE_WRITERS, WRITER_PAIRS = Table(NoteWriter), Table(PairDifference)


@dataclass(frozen=True, slots=True, eq=False)
class WriterStandings:
    """Places of writers and all pairs.

    Attributes:
        ranked: numbers of the writers that have a rank.
        ranking: their places.
        compared: numbers of the writers that are compared.
        pairs: their differences.
    """

    ranked: NDArray[np.intp]
    ranking: RankIntervals | None
    compared: NDArray[np.intp]
    pairs: Differences | None

    def place(self, writer: int) -> tuple[int, int, int, int] | None:
        """Rank, best and worst rank, and tie group; None where it is missing."""
        (found,) = np.flatnonzero(self.ranked == writer).tolist() or (None,)
        if found is None or self.ranking is None:
            return None
        found_in = (self.ranking.rank, self.ranking.low, self.ranking.high, self.ranking.tie_group)
        rank, low, high, group = (int(side[found]) for side in found_in)
        return rank, low, high, group

    def rows(self, names: Sequence[str], order: Sequence[int]) -> Iterator[PairDifference]:
        """Every pair, in this order of writers."""
        if self.pairs is None:
            return
        of = {writer: place for place, writer in enumerate(self.compared.tolist())}
        known = [of[writer] for writer in order if writer in of]
        parts = (self.pairs.difference, self.pairs.low, self.pairs.high, self.pairs.p_value, self.pairs.adjusted)
        for first, one in enumerate(known):
            for two in known[first + 1 :]:
                numbers = (float(part[one, two]) for part in parts)
                yield PairDifference(names[self.compared[one]], names[self.compared[two]], *numbers)


def standings_of_writers(effects: WriterEffects, kinds: Sequence[WriterKind]) -> WriterStandings:
    """Places of writers by their notes' intercepts under equal exposure.

    Args:
        effects: on intercepts.
        kinds: of each writer.
    """
    machine = np.array([kind is WriterKind.MACHINE for kind in kinds])
    is_ranked = machine & effects.compared & (effects.posts >= LEAST_POSTS)
    ranked, compared = np.flatnonzero(is_ranked), np.flatnonzero(effects.compared)
    if compared.size < 2:
        return WriterStandings(ranked, None, compared, None)
    families = is_ranked[compared][:, None].astype(np.int64) + is_ranked[compared]
    fewest = float(effects.effective[compared].min())
    among = np.ix_(compared, compared)
    pairs = differences(
        _INTERCEPT, effects.value[compared], effects.error[among], effects.parts[compared], fewest, families=families
    )
    if not ranked.size:
        return WriterStandings(ranked, None, compared, pairs)
    mine = is_ranked[compared]
    sides = {name: getattr(pairs, name)[np.ix_(mine, mine)] for name in _SIDES}
    return WriterStandings(ranked, rank_systems(replace(pairs, values=pairs.values[mine], **sides)), compared, pairs)


def writers_file(bridging: Path) -> Path:
    """The file of writers of a quarter, by that of its notes."""
    return bridging.parent / "writers" / bridging.name


def pairs_file(writers: Path) -> Path:
    """The file of pairs beside one of writers."""
    return writers.with_suffix(".pairs.parquet")


def read_note_writers(path: Path) -> tuple[list[NoteWriter], list[PairDifference]]:
    """A quarter's writers and pairs.

    Raises:
        DataError: if a file is damaged (`damaged-writers`).
    """
    try:
        return NOTE_WRITERS.rows(NOTE_WRITERS.read(path)), WRITER_PAIRS.rows(WRITER_PAIRS.read(pairs_file(path)))
    except BadTableError as error:
        fix = f"Recreate it: hellofresh collect ratings --quarter {path.stem} --dump DIR"
        raise DataError(str(error), where=str(path), fix=fix, code="damaged-writers") from error


def notes_splits(splits: Iterable[tuple[Edition, str, bool]]) -> dict[Edition, tuple[str, bool]]:
    """By quarter, the first task whose samples are notes or posts with notes, and whether writers may be public.

    They may once the labels of every split of these tasks are, main and prospective: a writer's statuses are labels. Of
    a quarter without a split nothing is said, since it may still be released.

    Args:
        splits: of a workspace, in order: edition, task, and whether labels are public.
    """
    found: dict[Edition, tuple[str, bool]] = {}
    for edition, task, revealed in splits:
        if task in TASKS and TASKS[task].source == "x-notes" and edition.is_living:
            first, before = found.get(edition, (task, True))
            found[edition] = first, before and revealed
    return found
