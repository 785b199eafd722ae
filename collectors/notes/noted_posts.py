"""Candidates of x-posts: posts with notes, from a dump and its posts.

A post of the quarter is kept if it has two finished notes by people. Where the scorer's output
lies beside the dump (`scored_notes.tsv`), or else `hellofresh collect ratings` wrote intercepts of the quarter, one
must be helpful with a score of at least 0.35, and one have a score of 0.05 to 0.25; else one must be helpful and one
not. Both are stored with the label: responses are compared with them, and they reveal nothing of the post while
the quarter is open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from collectors.notes.bridging import read_bridging
from collectors.notes.collect import (
    REASONS,
    Gathering,
    NoteRow,
    NotesSource,
    released_post,
    time_text,
)
from collectors.notes.labels import NoteState
from collectors.notes.posts.base import FoundPost, PostStatus
from collectors.notes.tables import TableReader
from collectors.settings import NotesSettings
from hellofresh.core.errors import SourceError
from hellofresh.core.quarters import PeriodKind, Quarter, first_snowflake, snowflake_time
from hellofresh.releases.candidates import Collection, Funnel
from hellofresh.tasks.corrections import NOTED_TASK, NotedPost
from hellofresh.tasks.samples import Candidate, Label
from hellofresh.tasks.x_notes import LICENSE

SCORES = "scored_notes.tsv"
"""Written by the open-source scorer of Community Notes; its column of scores:"""
_SCORE = "coreNoteIntercept"
_HIGH, _SECOND = 0.35, (0.05, 0.25)
_LISTED = list(REASONS)
_OF_MEDIA = (PostStatus.MEDIA, PostStatus.NO_MEDIA)
_REASONS: Mapping[str, str] = {
    "one-note": "fewer than two notes by people, with text, that readers have done with",
    "no-pair": "no helpful note, or no second one beside it",
    # Filters of posts and their texts; posts may have media or not.
    **{name: REASONS[name] for name in _LISTED[_LISTED.index(PostStatus.UNAVAILABLE) :] if name not in _OF_MEDIA},
    "note-language": "a note in a language that is not asked for",
    "too-long": "post and a note together too long",
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two notes of a post."""

    high: NoteRow
    second: NoteRow


def score_files(source: NotesSource, quarter: Quarter) -> list[Path]:
    """The scorer's output beside a dump, else the ratings' results, if they exist for the quarter's own notes."""
    path = source.dump / SCORES
    if path.is_file():
        return [path]
    return list(source.bridging) if source.bridging_of(quarter) else []


def collect_posts(
    quarter: Quarter,
    source: NotesSource,
    settings: NotesSettings,
    *,
    workdir: Path,
    workdir_name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Collection:
    """Collect posts of the quarter that have two notes; arguments as for the notes.

    Raises:
        SourceError, WorkspaceError: as for the notes, or if the scores cannot be read.
    """
    reader = TableReader(source.dump, workdir, settings.allow_missing_columns, progress, workdir_name)
    return _PostGathering(quarter, settings, reader, source.open_posts(progress)).collection(source)


def _read_scores(path: Path) -> Mapping[int, float]:
    """Scores by note; raises SourceError if the file cannot be read."""
    if path.suffix == ".parquet":
        return dict(read_bridging(path).select(pl.col("note").cast(pl.Int64), "intercept").iter_rows())
    schema = {"noteId": pl.Int64, _SCORE: pl.Float64}
    try:
        rows = pl.read_csv(
            path, separator="\t", quote_char=None, columns=list(schema), schema_overrides=schema, null_values=["NA", ""]
        ).drop_nulls()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(
            f"the scores cannot be read ({type(error).__name__})",
            where=str(path),
            expected=f"tab-separated, with the columns noteId and {_SCORE}",
            fix="Take the file that the scorer wrote, or remove it: statuses are used then.",
            code="bad-scores",
        ) from None
    return dict(rows.select(list(schema)).iter_rows())


class _PostGathering(Gathering):
    """As for notes, but in the end it yields posts."""

    scores: Mapping[int, float] | None = None
    chosen_by = "status"

    def read_bridging(self, source: NotesSource) -> list[Path]:
        """Read the scores that select notes; returns the files read."""
        files = score_files(source, self.quarter)
        if files:
            self.scores = dict(item for path in files for item in _read_scores(path).items())
            self.chosen_by = "scores"
        return files

    @property
    def chosen(self) -> dict[str, object]:
        """Entries of the manifest besides the settings."""
        return {"notes_by": self.chosen_by}

    def remarks(self) -> list[str]:
        """Empty: the funnel already shows why nothing was kept."""
        return []

    @property
    def inside(self) -> pl.Expr:
        """Selects notes on posts that were made in the quarter, according to their ids."""
        start, end = first_snowflake(self.quarter.start), first_snowflake(self.quarter.end)
        return (pl.col("tweetId") >= start) & (pl.col("tweetId") < end)

    def run(self) -> None:
        """Read, label, pair, match with posts."""
        notes, newest = self._quarter_notes()
        self.posts_in = notes["tweetId"].n_unique()
        states = self._states(notes, newest)
        wanted = [NoteState.DECIDED.value, *([NoteState.UNDECIDED.value] if self.scores is not None else [])]
        people = ~pl.any_horizontal(pl.col("ai_writer", "collaborative").fill_null(False))
        usable = self._by_people(states.filter(pl.col("state").is_in(wanted))).filter(people)
        rows = self._readable(usable)
        self.drops.clear()  # from here on, posts are counted
        pairs = self._pairs(rows)
        self.drops["one-note"] += self.posts_in - len({row.post_id for row in rows})
        self._keep(pairs)

    def _pairs(self, rows: Sequence[NoteRow]) -> dict[int, _Pair]:
        by_post: dict[int, list[NoteRow]] = defaultdict(list)
        for row in rows:
            by_post[row.post_id or 0].append(row)
        found = {post: self._pair(notes) for post, notes in by_post.items()}
        self.drops.update(
            "no-pair" if len(by_post[post]) > 1 else "one-note" for post, pair in found.items() if not pair
        )
        return {post: pair for post, pair in found.items() if pair is not None}

    def _pair(self, notes: Sequence[NoteRow]) -> _Pair | None:
        """The best helpful note, and the best of its permitted partners; ties go to the first written."""
        high = [note for note in notes if note.label == 1 and (self.scores is None or self._score(note) >= _HIGH)]
        if self.scores is None:
            second = [note for note in notes if note.label == 0]
        else:
            second = [note for note in notes if _SECOND[0] <= self._score(note) <= _SECOND[1]]
        order = lambda note: (-self._score(note) if self.scores else 0.0, note.created_ms, note.note_id)  # noqa: E731
        return _Pair(min(high, key=order), min(second, key=order)) if high and second else None

    def _score(self, note: NoteRow) -> float:
        return (self.scores or {}).get(note.note_id, float("-inf"))

    def _keep(self, pairs: Mapping[int, _Pair]) -> None:
        found = self.posts.find({str(post) for post in pairs})
        self.paired: list[tuple[FoundPost, _Pair]] = []
        for post_id, pair in sorted(pairs.items()):
            post = found[str(post_id)]
            # Posts may have media or not.
            reason = self._fault(post, (pair.high, pair.second), illustrated=post.media)
            if reason is None:
                self.paired.append((post, pair))
            else:
                self.drops[reason] += 1

    def candidates(self) -> list[Candidate]:
        """The kept posts, sorted by id."""
        return [self._post_candidate(post, pair) for post, pair in self.paired]

    def _post_candidate(self, post: FoundPost, pair: _Pair) -> Candidate:
        made = snowflake_time(int(post.id)).replace(microsecond=0)
        sample = NotedPost(
            id=f"{NOTED_TASK.id_prefix}{post.id}",
            task=NOTED_TASK.name,
            edition=str(self.quarter),
            period=PeriodKind.MONTH.of(made),
            date=made,
            group=f"x-{post.id}",
            license=LICENSE,
            post=released_post(post),
            media=post.pictures,
            modality="multimodal" if post.pictures else "unimodal",
        )
        facts: dict[str, str | int | None] = {"chosen_by": self.chosen_by}
        for name, note in (("high", pair.high), ("second", pair.second)):
            facts |= {f"{name}_note": str(note.note_id), f"{name}_note_at": time_text(note.created_ms)}
            facts[f"{name}_score"] = None if self.scores is None else f"{self._score(note):.4f}"
        return Candidate(
            sample, Label(sample.id, 0, facts), {"high_text": pair.high.text, "second_text": pair.second.text}
        )

    def funnel(self, candidates: Iterable[Candidate]) -> Funnel:
        """Every post of the quarter that has a note, dropped or kept."""
        context = {"notes of the dump": self.notes_in, **self.context}
        asked = (PostStatus.NOT_ASKED,)
        return Funnel.of(
            "posts", self.posts_in, self.drops, _REASONS, candidates=candidates, context=context, only_if_any=asked
        )
